"""Runs the cases with one library and counts: `python -m providers.score --adapter treadle`, with tests/ on the path.

Prints passed cases by wire and by topic as Markdown, and why each other one failed. No time is measured.
"""

import argparse
import asyncio
import json
import sys
from collections import defaultdict
from collections.abc import Callable, Sequence
from pathlib import Path

from providers.adapters import NAMES, adapter_of
from providers.case import Case, Verdict, run
from providers.cases import CASES
from providers.oracles import missing


def main(arguments: Sequence[str] | None = None) -> int:
    """Run, print, write."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--adapter", choices=NAMES, required=True)
    parser.add_argument("--json", type=Path, help="write every verdict there")
    parser.add_argument("--markdown", type=Path, help="write the table there")
    parser.add_argument("--only", default="", help="cases whose id has this in it")
    given = parser.parse_args(arguments)
    verdicts = asyncio.run(_all(given.adapter, [case for case in CASES.values() if given.only in case.id]))
    text = table(given.adapter, verdicts)
    print(text)
    for verdict in verdicts:
        if not verdict.passed:
            print(f"- {verdict.case.id}: {(verdict.unsupported or verdict.failed[0])[:220]}")
    for name, why in missing.items():
        print(f"Requests weren't checked by the types of {name}: {why}", file=sys.stderr)
    if given.markdown:
        given.markdown.write_text(text)
    if given.json:
        given.json.write_text(json.dumps([_row(verdict) for verdict in verdicts], indent=1, ensure_ascii=False))
    return 0


async def _all(name: str, cases: Sequence[Case]) -> list[Verdict]:
    adapter = adapter_of(name)
    return [await run(case, adapter) for case in cases]


def table(name: str, verdicts: Sequence[Verdict]) -> str:
    """Passed cases by wire, and by topic."""
    return "\n".join(
        [
            f"| wire | {name} passes | of |",
            "|---|---:|---:|",
            *_lines(verdicts, lambda case: case.wire),
            f"| **all** | **{sum(verdict.passed for verdict in verdicts)}** | **{len(verdicts)}** |",
            "",
            f"| topic | {name} passes | of |",
            "|---|---:|---:|",
            *_lines(verdicts, lambda case: case.topic),
            "",
        ]
    )


def _lines(verdicts: Sequence[Verdict], group: Callable[[Case], str]) -> list[str]:
    groups: dict[str, list[Verdict]] = defaultdict(list)
    for verdict in verdicts:
        groups[group(verdict.case)].append(verdict)
    return [f"| {name} | {sum(verdict.passed for verdict in some)} | {len(some)} |" for name, some in groups.items()]


def _row(verdict: Verdict) -> dict[str, object]:
    case = verdict.case
    return {
        "id": case.id,
        "wire": case.wire,
        "topic": case.topic,
        "passed": verdict.passed,
        "unsupported": verdict.unsupported,
        "failed": list(verdict.failed),
    }


if __name__ == "__main__":
    sys.exit(main())

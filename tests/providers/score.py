"""Runs the cases with one library and counts: `python -m providers.score --adapter treadle`, with tests/ on the path.

Prints passed cases by wire and by topic as Markdown, and why each other one failed. `--table` puts the verdicts that several
runs wrote with `--json` side by side: libraries may need environments of their own. No time is measured.
"""

import argparse
import asyncio
import json
import sys
from collections.abc import Sequence
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from typing import Any

from providers.adapters import NAMES, adapter_of
from providers.case import Case, Verdict, run
from providers.cases import CASES
from providers.oracles import missing

Run = dict[str, Any]  # a library, its version, and the verdict on each case


def main(arguments: Sequence[str] | None = None) -> int:
    """Run, print, write."""
    parser = argparse.ArgumentParser(description=__doc__)
    what = parser.add_mutually_exclusive_group(required=True)
    what.add_argument("--adapter", choices=NAMES)
    what.add_argument("--table", type=Path, nargs="+", metavar="JSON", help="verdicts of earlier runs")
    parser.add_argument("--json", type=Path, help="write the verdicts there")
    parser.add_argument("--markdown", type=Path, help="write the table there")
    parser.add_argument("--only", default="", help="cases whose id has this in it")
    given = parser.parse_args(arguments)
    if given.table:
        runs = [json.loads(path.read_text()) for path in given.table]
    else:
        runs = [asyncio.run(_run(given.adapter, [case for case in CASES.values() if given.only in case.id]))]
        _tell(runs[0])
    text = table(runs)
    print(text)
    if given.json:
        given.json.write_text(json.dumps(runs[0], indent=1, ensure_ascii=False) + "\n")
    if given.markdown:
        given.markdown.write_text(text)
    return 0


async def _run(name: str, cases: Sequence[Case]) -> Run:
    adapter = adapter_of(name)
    package = name.replace("_", "-")
    try:
        of = version(package)
    except PackageNotFoundError:  # a checkout on the path
        of = ""
    return {"library": package, "version": of, "verdicts": [_row(await run(case, adapter)) for case in cases]}


def _tell(run_: Run) -> None:
    for row in run_["verdicts"]:
        if not row["passed"]:
            print(f"- {row['id']}: {(row['unsupported'] or row['failed'][0])[:220]}")
    for name, why in missing.items():
        print(f"Requests weren't checked by the types of {name}: {why}", file=sys.stderr)


def table(runs: Sequence[Run]) -> str:
    """Passed cases by wire, and by topic; a column for each library."""
    return "\n".join([*_lines(runs, "wire"), "", *_lines(runs, "topic"), ""])


def _lines(runs: Sequence[Run], by: str) -> list[str]:
    groups = dict.fromkeys(row[by] for run_ in runs for row in run_["verdicts"])
    titles = [f"{run_['library']} {run_['version']}".strip() for run_ in runs]
    lines = [f"| {by} | cases | {' | '.join(titles)} |", f"|---|---:|{'---:|' * len(runs)}"]
    for group in groups:
        lines.append(_line(group, [[row for row in run_["verdicts"] if row[by] == group] for run_ in runs]))
    return [*lines, _line("**all**", [run_["verdicts"] for run_ in runs])]


def _line(name: str, columns: Sequence[Sequence[Any]]) -> str:
    passed = " | ".join(str(sum(row["passed"] for row in rows)) for rows in columns)
    return f"| {name} | {max(map(len, columns))} | {passed} |"


def _row(verdict: Verdict) -> dict[str, Any]:
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

"""The results as JSON, and as a page in Markdown that is made of nothing else."""

import json
from collections.abc import Mapping, Sequence
from dataclasses import asdict
from pathlib import Path

from agent_exam.candidate import Candidate, Verdict
from agent_exam.suites import CASES, SUITES


def load_results(path: Path) -> dict[str, Candidate]:
    """Results of earlier runs, without those of cases that are gone."""
    if not path.exists():
        return {}
    found: dict[str, Candidate] = {}
    for value in json.loads(path.read_text("utf-8"))["candidates"]:
        verdicts = {
            case: Verdict(case, cell["status"], tuple(cell["reasons"]), cell["seconds"]) for case, cell in value["verdicts"].items()
        }
        found[value["name"]] = Candidate(**{**value, "verdicts": {case: cell for case, cell in verdicts.items() if case in CASES}})
    return found


def write_results(folder: Path, candidates: Mapping[str, Candidate]) -> None:
    """Write `exam.json` and `exam.md`."""
    value = {"candidates": [asdict(candidate) for candidate in candidates.values()]}
    (folder / "exam.json").write_text(json.dumps(value, indent=1, ensure_ascii=False) + "\n", "utf-8")
    (folder / "exam.md").write_text(page_of(list(candidates.values())), "utf-8")


def page_of(candidates: Sequence[Candidate]) -> str:
    """The page."""
    cells = sum(len(candidate.verdicts) for candidate in candidates)
    lines = [
        "# The exam",
        "",
        f"Written by `agent-exam run`: {len(candidates)} frameworks, {len(CASES)} cases, {cells} cells.",
        "",
        "A cell is passed cases of all cases of the suite; *n/s* (not supported) counts cases that need a feature which",
        "the framework doesn't have. [How the exam works](../../docs/exam.md).",
        "",
        _row("framework", *SUITES, "all"),
        _row(*["---"] * (len(SUITES) + 2)),
        *[_summary(candidate) for candidate in candidates],
        "",
        "| framework | packages | durability used | approvals used |",
        "|---|---|---|---|",
        *[
            _row(one.name, ", ".join(f"{name} {number}" for name, number in one.versions.items()), one.durability, one.approvals)
            for one in candidates
        ],
    ]
    for suite, cases in SUITES.items():
        lines += ["", f"## {suite}", "", _row("case", *[one.name for one in candidates]), _row("---", *[":-:"] * len(candidates))]
        lines += [_row(case.title, *[_cell(one.verdicts.get(case.id)) for one in candidates]) for case in cases]
    lines += ["", "## Why cells failed", ""]
    for one in candidates:
        failed = [verdict for verdict in one.verdicts.values() if verdict.status == "failed"]
        lines += [f"### {one.name}", "", *([] if failed else ["No cell failed."])]
        lines += [f"- `{verdict.case}`: {_text('; '.join(verdict.reasons))}" for verdict in failed]
        lines += [""]
    return "\n".join(lines).rstrip() + "\n"


def _summary(candidate: Candidate) -> str:
    return _row(
        candidate.name,
        *[_score(candidate, [case.id for case in cases]) for cases in SUITES.values()],
        _score(candidate, list(CASES)),
    )


def _score(candidate: Candidate, cases: Sequence[str]) -> str:
    found = [candidate.verdicts[case] for case in cases if case in candidate.verdicts]
    if not found:
        return "not run"
    passed = sum(verdict.status == "passed" for verdict in found)
    lacking = [verdict for verdict in found if verdict.status == "unsupported"]
    if len(lacking) == len(found):
        return f"0/{len(found)} ({lacking[0].reasons[0]})"
    return f"{passed}/{len(found)}" + (f" ({len(lacking)} n/s)" if lacking else "")


def _cell(verdict: Verdict | None) -> str:
    if verdict is None:
        return "not run"
    return {"passed": "✓", "failed": "**✗**", "unsupported": verdict.reasons[0] if verdict.reasons else ""}[verdict.status]


def _row(*cells: str) -> str:
    return f"| {' | '.join(cells)} |"


def _text(text: str) -> str:
    return " ".join(text.replace("|", "\\|").replace("<", "&lt;").split())[:500]

"""`python -m bench.foreign`: questions over foreign material: what was right, honestly not there, and made up.

A hundred that were asked once before the plans were changed, and fifty that are held out, over other material.
"""

from collections.abc import Mapping
from pathlib import Path

from bench.foreign import dataset, held_out, questions
from bench.quality import main
from treadle.evals import CaseResult, EvalReport

ABSENT = {
    each.text
    for source in (questions, held_out)
    for kind in (source.PLATFORM, source.GUIDANCE, source.COURSES, source.FUNCTIONS, source.OPENAPI)
    for each in kind
    if each.absent
}


HELD_OUT = "held out: "


def summarize(reports: Mapping[str, EvalReport], _: Path) -> str:
    """Return the table of all kinds of material."""
    lines = [
        "| material | answerable: right | not there: said so | unmarked numbers that nothing vouches for |",
        "|---|--:|--:|--:|",
    ]
    lines += [_row(title, report.cases) for title, report in reports.items()]
    for name, is_held_out in (("all seen", False), ("all held out", True)):
        cases = [case for title, report in reports.items() if title.startswith(HELD_OUT) == is_held_out for case in report.cases]
        lines.append(_row(f"**{name}** (goals: 80 %, 80 %, 0)", cases))
    return "\n".join(lines) + "\n"


def _row(title: str, cases: list[CaseResult] | tuple[CaseResult, ...]) -> str:
    there = [case for case in cases if case.name not in ABSENT]
    absent = [case for case in cases if case.name in ABSENT]
    unmarked = sum(_fails(case, dataset.numbers_are_grounded.__name__) for case in cases)
    return f"| {title} | {_share(there)} | {_share(absent)} | {unmarked} |"


def _share(cases: list[CaseResult]) -> str:
    right = sum(not _fails(case, "answer_is_right") for case in cases)
    return f"{right} of {len(cases)} ({right / max(1, len(cases)):.0%})"


def _fails(case: CaseResult, check: str) -> bool:
    return any(check in found.name and not found.passed for found in case.attempts[0].checks)


if __name__ == "__main__":
    main(
        "foreign",
        "Questions in people's own words over material that nothing was made with",
        {
            f"{HELD_OUT}the platform of a radio station": dataset.platform_held_out,
            f"{HELD_OUT}a project for a night train": dataset.guidance_held_out,
            f"{HELD_OUT}Debian's history and FAQ as courses": dataset.courses_held_out,
            f"{HELD_OUT}functions of one's own (a bicycle workshop)": dataset.functions_held_out,
            f"{HELD_OUT}an OpenAPI document (swimming baths)": dataset.openapi_held_out,
            "the platform of a ferry company": dataset.platform,
            "the project of a school's canteen": dataset.guidance,
            "Debian's history and FAQ as courses": dataset.courses,
            "functions of one's own (a household)": dataset.functions,
            "an OpenAPI document (a town library)": dataset.openapi,
        },
        summarize,
    )

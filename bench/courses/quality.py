"""`python -m bench.courses.quality`: whether the right lessons are found, and whether the floor keeps out what no course answers.

The courses are the sample's, the questions those of `questions`. The tables go to standard output and to
`bench/results/courses-retrieval.md`; `--misses` prints the questions whose lesson isn't found.
"""

import argparse
import asyncio
import tempfile
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Literal

from msgspec import Struct

from bench.courses.questions import ANSWERED, NOT_ANSWERED, Asked
from bench.report import table
from treadle.assistants.courses.catalogue import Catalogue
from treadle.assistants.courses.command import SAMPLE
from treadle.assistants.courses.library import FILE, CourseLibrary
from treadle.assistants.courses.settings import CoursesSettings
from treadle.passages import IndexReport, PassageHit, Passages, embedder_of

RESULTS = Path(__file__).parents[1] / "results" / "courses-retrieval.md"
DEPTHS = (1, 3, 5)

Way = Literal["words", "meaning", "both"]
Lesson = tuple[str, int | None]
WAYS: tuple[Way, ...] = ("words", "meaning", "both")


class Outcome(Struct, frozen=True):
    """The lessons of the first passages that a question found, by each way and without a floor; and what an assistant is given."""

    asked: Asked
    lessons: dict[Way, tuple[Lesson, ...]]
    given: tuple[Lesson, ...]

    def has(self, way: Way, depth: int) -> bool:
        """Whether a right lesson is among the first."""
        return any(lesson in self.asked.lessons for lesson in self.lessons[way][:depth])

    @property
    def is_given(self) -> bool:
        """Whether the assistant gets a right lesson."""
        return any(lesson in self.asked.lessons for lesson in self.given)


class Measured(Struct, frozen=True):
    """Everything that the report is made of. `others` are the lessons that each of the questions gets that no course answers."""

    report: IndexReport
    outcomes: tuple[Outcome, ...]
    others: tuple[tuple[str, tuple[Lesson, ...]], ...]


async def measure(folder: Path, settings: CoursesSettings) -> Measured:
    """Index the sample courses, and ask."""
    async with CourseLibrary(folder, settings) as library, Passages(folder / FILE, embedder_of(settings.embeddings)) as store:
        library.shelf.add(SAMPLE)
        report = await library.refresh()
        catalogue = await library.catalogue()
        _check(catalogue)
        outcomes = [await _outcome(library, store, catalogue, asked) for asked in ANSWERED]
        others = [(text, _lessons(catalogue, (await library.search(text)).found)) for text in NOT_ANSWERED]
    return Measured(report, tuple(outcomes), tuple(others))


async def _outcome(library: CourseLibrary, store: Passages, catalogue: Catalogue, asked: Asked) -> Outcome:
    found: dict[Way, tuple[Lesson, ...]] = {}
    for way in WAYS:
        found[way] = _lessons(catalogue, await store.search(asked.text, limit=DEPTHS[-1], floor=0, how=way))
    return Outcome(asked, found, _lessons(catalogue, (await library.search(asked.text)).found))


def _check(catalogue: Catalogue) -> None:
    """A question whose lesson isn't there could never be right."""
    there = {(course.name, number) for course in catalogue.courses for number in course.numbers}
    named = {lesson for asked in ANSWERED for lesson in asked.lessons}
    if named != there:
        raise SystemExit(f"Questions and sample courses differ in {sorted(named ^ there)}: mend the questions.")


def _lessons(catalogue: Catalogue, found: Sequence[PassageHit]) -> tuple[Lesson, ...]:
    passages = [each.passage for each in found]
    numbers = [(passage, passage.tags.get("lesson")) for passage in passages]
    return tuple([(catalogue.name_of(passage), number if isinstance(number, int) else None) for passage, number in numbers])


def share(outcomes: Sequence[Outcome], is_right: Callable[[Outcome], bool]) -> float:
    """The share of outcomes that are right."""
    return sum(map(is_right, outcomes)) / len(outcomes)


def page(measured: Measured, settings: CoursesSettings) -> str:
    """The report."""
    outcomes = measured.outcomes
    lessons = {lesson for each in outcomes for lesson in each.asked.lessons}
    of_what = f"{len(outcomes)} questions on the {len(lessons)} lessons of the sample courses, {measured.report.passages} passages"
    return "\n".join(
        (
            f"{of_what}: a passage of a right lesson is among the first\n",
            table(["", *map(str, DEPTHS)], [_row(way, outcomes) for way in WAYS]),
            "\nThe same by course, among the first five\n",
            table(["", "questions", *WAYS], [_course_row(course, outcomes) for course in _courses(outcomes)]),
            f"\nWith {settings.results} passages above the floor of {settings.floor:g}, which is what the assistant is given:",
            _given(measured),
        )
    )


def _given(measured: Measured) -> str:
    right = share(measured.outcomes, lambda each: each.is_given)
    nothing = sum(not lessons for _, lessons in measured.others)
    many = len(measured.others)
    return f"a right lesson for {right:.0%} of them; nothing for {nothing} of {many} questions that no course answers.\n"


def _row(way: Way, outcomes: Sequence[Outcome]) -> list[str]:
    return [way, *[f"{share(outcomes, lambda each, depth=depth: each.has(way, depth)):.2f}" for depth in DEPTHS]]


def _courses(outcomes: Sequence[Outcome]) -> list[str]:
    return sorted({each.asked.lessons[0][0] for each in outcomes})


def _course_row(course: str, outcomes: Sequence[Outcome]) -> list[str]:
    mine = [each for each in outcomes if each.asked.lessons[0][0] == course]
    figures = [f"{share(mine, lambda each, way=way: each.has(way, DEPTHS[-1])):.2f}" for way in WAYS]
    return [course, str(len(mine)), *figures]


def misses(measured: Measured) -> str:
    """The questions whose lesson isn't among the first five by both, or is lost at the floor; and others that get something."""
    lines: list[str] = []
    for each in measured.outcomes:
        if not (each.has("both", DEPTHS[-1]) and each.is_given):
            ways = ", ".join([way for way in WAYS if each.has(way, DEPTHS[-1])]) or "no way"
            lines.append(f"- {each.asked.text}\n  wanted {_told(each.asked.lessons)}; found by {ways}")
            lines.append(f"  first five: {_told(each.lessons['both'])}; given: {_told(each.given)}")
    lines += [f"- {text}\n  no course answers it; given: {_told(lessons)}" for text, lessons in measured.others if lessons]
    return "\n".join(lines)


def _told(lessons: Sequence[Lesson]) -> str:
    return ", ".join([f"{course} {number}" for course, number in dict.fromkeys(lessons)]) or "nothing"


def main() -> None:
    """Measure, and write it down."""
    parser = argparse.ArgumentParser(prog="python -m bench.courses.quality")
    parser.add_argument("--misses", action="store_true", help="print the questions whose lesson isn't found")
    wanted = parser.parse_args()
    settings = CoursesSettings()
    with tempfile.TemporaryDirectory() as folder:
        measured = asyncio.run(measure(Path(folder), settings))
    RESULTS.write_text(page(measured, settings), "utf-8")
    print(page(measured, settings))
    if wanted.misses:
        print(misses(measured))


if __name__ == "__main__":
    main()

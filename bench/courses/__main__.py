"""`python -m bench.courses`: questions on the sample courses, each in a session of its own; what was right, and what was said.

Every outcome is stored at once: `--resume` continues an interrupted run. The page is written
when all have been asked.
"""

import argparse
import asyncio
import re
import tempfile
import time
from collections.abc import Sequence
from pathlib import Path

import msgspec
from msgspec import Struct

from bench.courses.asked import FRESH, SEEN, UNSEEN, Place, Question
from treadle.agent.session import AssistantSession
from treadle.assistants.courses import assistant
from treadle.assistants.courses.command import SAMPLE
from treadle.assistants.courses.library import CourseLibrary
from treadle.assistants.courses.session import CourseReply, to_course_reply
from treadle.assistants.courses.settings import CoursesSettings
from treadle.core.entries import Judged
from treadle.core.seams import Model
from treadle.home import close_home, open_home
from treadle.models.http import close_model_connections
from treadle.models.llamacpp.child import close_children
from treadle.plugins.assistant import Host
from treadle.plugins.models import resolve_model

RESULTS = Path(__file__).parents[1] / "results" / "courses.md"
WINDOW = 8_192
LONGEST = 400  # characters of an answer in the table


class Answered(Struct, frozen=True):
    """The result of one question: what is wrong with the answer, if anything, and the calls, sources and words of it."""

    kind: str
    text: str
    wrong: tuple[str, ...]
    seconds: float
    calls: tuple[str, ...]
    sources: tuple[str, ...]
    said: str


def faults(question: Question, reply: CourseReply) -> tuple[str, ...]:
    """What is wrong with an answer; nothing, if it's right."""
    said = reply.message
    return (
        *([] if reply.stopped in ("answered", "limit") else [f"stopped: {reply.stopped}"]),
        *[f"hasn't `{pattern}`" for pattern in question.has if not re.search(pattern, said, re.IGNORECASE)],
        *[f"has `{pattern}`" for pattern in question.lacks if re.search(pattern, said, re.IGNORECASE)],
        *_strange(question, [source.text for source in reply.sources]),
    )


def _strange(question: Question, named: Sequence[str]) -> list[str]:
    """What is wrong with the sources."""
    if question.sources is None:
        return []
    wanted = [_source(place) for place in question.sources]
    if not wanted:
        return ["has sources"] if named else []
    missing = [] if set(wanted) & set(named) else [f"isn't from {' or '.join(wanted)}"]
    return [*missing, *(["has other sources"] if question.alone and set(named) - set(wanted) else [])]


def _source(place: Place) -> str:
    course, number = place
    return course if number is None else f"{course} - Lesson {number}"


async def ask(host: Host, question: Question) -> Answered:
    """One question, in a session of its own."""
    began = time.perf_counter()
    reply = to_course_reply(await AssistantSession(assistant, host).run(question.text))
    took = time.perf_counter() - began
    entries = await host.home.journal.read(reply.run_id)
    made = tuple(entry.call.name for entry in entries if isinstance(entry, Judged))
    sources = tuple(source.text for source in reply.sources)
    return Answered(question.kind, question.text, faults(question, reply), took, made, sources, reply.message)


def _known(kept: Path) -> list[Answered]:
    return [msgspec.json.decode(line, type=Answered) for line in kept.read_bytes().splitlines()] if kept.exists() else []


async def work(wanted: argparse.Namespace, kept: Path) -> list[Answered]:
    """All questions that weren't asked yet, or the first of them."""
    known = _known(kept) if wanted.resume else []
    model = resolve_model(wanted.model, context=WINDOW)

    async def same() -> Model:
        return model

    with tempfile.TemporaryDirectory() as place, kept.open("ab" if wanted.resume else "wb") as file:
        host = Host(open_home(Path(place) / "home"), same)
        async with CourseLibrary(host.home.folder, CoursesSettings()) as library:
            library.shelf.add(SAMPLE)
            await library.refresh()
            for question in (*SEEN, *UNSEEN, *FRESH)[: wanted.first]:
                if question.text in {each.text for each in known}:
                    continue
                known.append(await ask(host, question))
                file.write(msgspec.json.encode(known[-1]) + b"\n")
                file.flush()
                print(_line(known[-1]), flush=True)
        close_home(host.home)
    return known


def _line(each: Answered) -> str:
    verdict = "right" if not each.wrong else "-"
    return f"{verdict:6} {each.seconds:4.0f} s  {each.text[:60]:60} {' '.join(each.calls)} {'; '.join(each.wrong)}".rstrip()


def page(known: Sequence[Answered], model: str) -> str:
    """The tables."""
    by_text = {each.text: each for each in known}
    sets = {"with which the plan may have been made": SEEN, "whose first run was looked at": UNSEEN, "held out": FRESH}
    answers = {what: [by_text[each.text] for each in some if each.text in by_text] for what, some in sets.items()}
    return f"Questions on the sample courses; {model}.\n\n" + "\n".join([_table(what, each) for what, each in answers.items()])


def _table(what: str, answers: Sequence[Answered]) -> str:
    right, many = sum(not each.wrong for each in answers), max(1, len(answers))
    seconds = sum(each.seconds for each in answers) / many
    lines = [
        f"**{right} of {len(answers)} right ({right / many:.0%})**, {seconds:.0f} s a question: {what}.\n",
        "| kind | question | right | s | calls | sources | said |",
        "|---|---|---|---:|---|---|---|",
    ]
    return "\n".join([*lines, *map(_row, answers)]) + "\n"


def _row(each: Answered) -> str:
    said = re.sub(r"\s+", " ", each.said)
    short = said if len(said) <= LONGEST else f"{said[: LONGEST - 1]}…"
    verdict = f"**no**: {'; '.join(each.wrong)}" if each.wrong else "yes"
    cells = (each.kind, each.text, verdict, f"{each.seconds:.0f}", ", ".join(each.calls), "; ".join(each.sources), short)
    return "| " + " | ".join([cell.replace("|", "\\|") for cell in cells]) + " |"


def main() -> None:
    """Ask, and write the page."""
    parser = argparse.ArgumentParser(prog="python -m bench.courses")
    parser.add_argument("-m", "--model", default="llamacpp:qwen2.5-coder-1.5b")
    parser.add_argument("--first", type=int, default=None, metavar="N", help="ask the first N alone; no page is written")
    parser.add_argument("--resume", action="store_true", help="go on where the last run was broken off")
    parser.add_argument("--kept", type=Path, default=Path(tempfile.gettempdir()) / "treadle-bench-courses.jsonl")
    wanted = parser.parse_args()

    async def asked() -> list[Answered]:
        try:
            return await work(wanted, wanted.kept)
        finally:
            await close_model_connections()

    try:
        known = asyncio.run(asked())
    finally:
        close_children()
    if wanted.first is None:
        RESULTS.write_text(page(known, wanted.model), "utf-8")
    print(page(known, wanted.model))


if __name__ == "__main__":
    main()

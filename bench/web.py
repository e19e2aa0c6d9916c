"""`python -m bench.web [MODEL]`: the first minute on the pages with a model on this computer.

The server is `treadle serve --demo`, the browser Chromium. A click on each assistant's example, and then: when the page first
changes, how long it ever stands still, when the first words of the answer come and when its last. And Stop, while the prompt is
read and while the answer is written: when the model's process has nothing more to do.
"""

import argparse
import asyncio
import sys
import time
from collections.abc import AsyncGenerator, Iterator
from itertools import pairwise
from pathlib import Path
from statistics import median
from tempfile import TemporaryDirectory

from msgspec import Struct

ROOT = Path(__file__).parents[1]
sys.path[:0] = [str(ROOT / "tests"), str(ROOT / "scripts")]  # where the browser and the demonstration's server are

from pictures import served  # noqa: E402 - the line above finds it

from bench.machine import Machine, describe  # noqa: E402 - the same
from bench.quality import format_cell  # noqa: E402 - the same
from bench.streams import worked  # noqa: E402 - the same
from browser import Browser, Page, end  # noqa: E402 - the same

RESULTS = Path(__file__).parent / "results" / "web.md"
MODEL = "llamacpp:qwen2.5-coder-1.5b"
ASSISTANTS = ("reading", "platform", "coding", "guidance", "courses")
EVERY = 0.02  # seconds between two looks
MOST = 400.0  # seconds for an answer
LOOK = 0.1  # seconds in which a process's CPU time is counted
STOPS = 5  # in each stage
IDLE = 0.2  # of a core: the model's process has nothing to do
SEEN = """[document.querySelector('.turns')?.innerText ?? '',
    [...document.querySelectorAll('.answer .words, .answer .draft')].map((each) => each.textContent).join(''),
    document.querySelector('.doing')?.textContent ?? '', !!document.querySelector('.doing.busy')]"""
LONG = "Here are my notes about bread. " + "The dough rested in the bowl for an hour before it was shaped into a loaf again. " * 90

STAGES = {"Reading the prompt": LONG, "Writing": "Which course explains what RAG is, and how?"}  # and what is asked then


class Look(Struct, frozen=True):
    """What a page shows at a time: everything that was said, the words of the answer, the line that says what is going on."""

    at: float
    said: str
    words: str
    doing: str
    is_busy: bool


class Answered(Struct, frozen=True):
    """An assistant's example: when the page changed, when words came and when it was over, in seconds after the click."""

    assistant: str
    question: str
    first_change: float
    longest_still: float
    first_words: float
    last: float
    answer: str


class Stopped(Struct, frozen=True):
    """A stop: what the model did at that moment, and the seconds until its process had nothing to do."""

    during: str
    page: float
    model: float


async def look(page: Page, began: float) -> Look:
    """Return what the page shows now."""
    said, words, doing, is_busy = await page.evaluate(SEEN)
    return Look(time.monotonic() - began, said, words, doing, is_busy)


async def watch(page: Page, began: float) -> AsyncGenerator[Look]:
    """Look at a page until the answer is over."""
    was_busy = False
    while time.monotonic() - began < MOST:
        seen = await look(page, began)
        yield seen
        if was_busy and not seen.is_busy:
            return
        was_busy = was_busy or seen.is_busy
        await asyncio.sleep(EVERY)
    raise TimeoutError(f"There was no answer in {MOST:g} seconds.")


async def open_first_page(browser: Browser, url: str) -> Page:
    """Open the first page with all its assistants."""
    page = await browser.open("about:blank")
    await page.go(f"{url}/")
    await page.wait_for(f"document.querySelectorAll('.assistant .chip').length === {len(ASSISTANTS)}")
    return page


async def ask_example(browser: Browser, url: str, assistant: str) -> Answered:
    """Click on an assistant's example, and look until it is answered."""
    page = await open_first_page(browser, url)
    chip = f".assistant[data-name={assistant}] .chip"
    question = await page.text(chip)
    before, began = await look(page, time.monotonic()), time.monotonic()
    await page.click(chip)
    looks = [seen async for seen in watch(page, began)]
    changes = [
        0.0,
        *[after.at for first, after in pairwise([before, *looks]) if (first.said, first.doing) != (after.said, after.doing)],
    ]
    answer = await page.evaluate("[...document.querySelectorAll('.answer .words')].at(-1)?.innerText ?? ''")
    words = next((seen.at for seen in looks if seen.words.strip()), looks[-1].at)
    await page.close()
    still = max(after - first for first, after in pairwise(changes))
    return Answered(assistant, question, changes[1], still, words, looks[-1].at, " ".join(answer.split()))


async def stop_during(browser: Browser, url: str, model: int, stage: str, question: str) -> Stopped:
    """Ask, click on Stop once the model is at this stage, and wait until its process has nothing to do."""
    page = await open_first_page(browser, url)
    await page.click(".assistant[data-name=courses] label")
    await page.evaluate("document.querySelector('#message').focus()")
    await page.write(question)
    await page.press("Enter")
    await page.wait_for(f"document.querySelector('.doing')?.textContent.includes({stage!r})", MOST)
    await asyncio.sleep(1.0)
    assert await read_cpu(model) > IDLE, "the model works"
    began = time.monotonic()
    await page.click("button.stop")
    said, freed = await asyncio.gather(_said_stopped(page), _freed(model))
    await page.close()
    return Stopped(stage, said - began, freed - began)


async def _said_stopped(page: Page) -> float:
    """Return the time at which a page no longer says that the model works."""
    await page.wait_for("!document.querySelector('.doing.busy')", MOST)
    return time.monotonic()


async def _freed(model: int) -> float:
    """Return the time at which a model's process has nothing more to do."""
    while True:
        began = time.monotonic()
        if await read_cpu(model) <= IDLE:
            return began


async def read_cpu(process: int) -> float:
    """Return how many cores a process uses, measured for a moment."""
    before = worked(process)
    await asyncio.sleep(LOOK)
    return (worked(process) - before) / LOOK


def find_model_processes() -> Iterator[int]:
    """Yield the processes that serve a model."""
    for folder in Path("/proc").glob("[0-9]*"):
        try:
            if b"treadle.models.llamacpp.serve" in (folder / "cmdline").read_bytes():
                yield int(folder.name)
        except OSError:
            continue  # it has ended


async def measure(model: str) -> str:
    """Measure everything, and return the page."""
    machine = describe()
    with TemporaryDirectory(prefix="treadle-web-") as folder:
        async with served(Path(folder), {"TREADLE_MODEL": model}) as url, Browser() as browser:
            answers = []
            for assistant in ASSISTANTS:
                answers.append(await ask_example(browser, url, assistant))
                print(answers[-1], flush=True)
            (process,) = find_model_processes()
            stops = []
            for stage, question in [*STAGES.items()] * STOPS:
                stops.append(await stop_during(browser, url, process, stage, question))
                print(stops[-1], flush=True)
    return format_page(model, machine, answers, stops)


ABOUT = """\
`treadle serve --demo` with {model}, in Chromium: a click on the example of each assistant, in this order; the first of them loads
the model. Seconds after the click. {machine}
"""
STOP = """
Stop, with the mouse. Seconds until the page says so, and until the model's process uses less than a fifth of a core, looked at each
tenth of a second (goal: 1). Of {stops} stops each, half within the first number, all within the second.
"""


def format_page(model: str, machine: Machine, answers: list[Answered], stops: list[Stopped]) -> str:
    """Return the tables."""
    said = f"{machine.cpu}, {machine.cores} cores, load average {machine.load_average_before:.2f} before it, {machine.date}."
    lines = [
        "# The first minute on the pages\n",
        ABOUT.format(model=model, machine=said),
        "| assistant | example | first change | longest without one | first words | answered | answer |",
        "|---|---|--:|--:|--:|--:|---|",
    ]
    for each in answers:
        times = f"{each.first_change:.2f} | {each.longest_still:.2f} | {each.first_words:.1f} | {each.last:.1f}"
        lines.append(f"| {each.assistant} | {each.question} | {times} | {format_cell(each.answer)} |")
    lines += [STOP.format(stops=STOPS), "| while it is | the page says so | the model is free |", "|---|--:|--:|"]
    for stage in STAGES:
        page = [each.page for each in stops if each.during == stage]
        freed = [each.model for each in stops if each.during == stage]
        lines.append(f"| {stage.lower()} | {median(page):.2f}, {max(page):.2f} | {median(freed):.2f}, {max(freed):.2f} |")
    return "\n".join(lines) + "\n"


def main() -> None:
    """Measure, and write the page."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("model", nargs="?", default=MODEL)
    try:
        page = asyncio.run(measure(parser.parse_args().model))
    finally:
        end()
    RESULTS.write_text(page, "utf-8")
    print(page)


if __name__ == "__main__":
    main()

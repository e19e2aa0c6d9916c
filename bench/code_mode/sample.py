"""A sample of the fifty tasks, done by a model itself: with programs, and with one call at a time.

Every try is stored as it ends, so that a bench that was interrupted goes on. The sample has two halves with different kinds of
tasks: what the product says and mends was developed with the first one, and the other one was first run at the end.
"""

import asyncio
import random
import re
import time
from collections.abc import Sequence
from pathlib import Path
from typing import Any, Literal

import msgspec
from msgspec import Struct, field

from bench.code_mode.scripted import Cost, measure_program
from bench.code_mode.tasks import KIND_SIZE, Shop, Task, make_tasks
from treadle import Agent, Limits, Options, RunResult, allow
from treadle.core.seams import Model

Way = Literal["program", "calls"]
Half = Literal["seen", "unseen"]
WAYS: tuple[Way, ...] = ("calls", "program")
HALVES: tuple[Half, ...] = ("seen", "unseen")
LIMITS = Limits(rounds=30, seconds=1200)
OPTIONS = Options(temperature=0)
SEED = 86
_VALUE = re.compile(r"\bP\d+\b|\b(?:Customer|Product) \d+\b|\d+(?:\.\d+)?")
_GROUPED = re.compile(r"(?<=\d),(?=\d{3}\b)")


class Sampled(Struct, frozen=True):
    """A task of the sample: its number among the fifty, and its half."""

    number: int
    half: Half


class Try(Struct, frozen=True):
    """One task, done in one way.

    new       tokens that were computed: those received, and those sent that the server hadn't in its cache
    effects   what was changed
    programs  what the model wrote, each with the beginning of its result
    """

    number: int
    half: Half
    way: Way
    answer: str
    right: bool
    requests: int
    calls: int
    tokens: int
    new: int
    seconds: float
    stopped: str
    effects: tuple[str, ...] = ()
    programs: tuple[tuple[str, str], ...] = field(default=())


def draw_sample(count: int) -> list[Sampled]:
    """Return a sample in a seeded order: half of the kinds of tasks are in one half, the others in the other."""
    chance = random.Random(SEED)
    kinds = list(range(len(make_tasks()) // KIND_SIZE))
    chance.shuffle(kinds)
    middle = len(kinds) // 2
    drawn: list[Sampled] = []
    for half, some in zip(HALVES, (kinds[:middle], kinds[middle:]), strict=True):
        variants = {kind: chance.sample(range(KIND_SIZE), KIND_SIZE) for kind in some}
        ordered = [kind * KIND_SIZE + variants[kind][round_] for round_ in range(KIND_SIZE) for kind in some]
        drawn += [Sampled(number, half) for number in ordered[: count // 2]]
    return drawn


def is_right(task: Task, expected: Cost, answer: str, effects: Sequence[str]) -> bool:
    """Return whether an answer in words has the values that it should, and no others, and whether the effects are the same.

    Numbers of the task and values of the effects may be told besides.
    """
    if sorted(map(_normalize, effects)) != sorted(map(_normalize, expected.effects)):
        return False
    wanted, said = find_values(msgspec.json.encode(expected.answer).decode()), find_values(answer.replace("P0 to P8", ""))
    besides = {value for value in find_values(task.prompt) if value[0].isdigit()} | find_values(" ".join(effects))
    return wanted <= said and not said - wanted - besides


def find_values(text: str) -> set[str]:
    """Return the numbers, SKUs and names in a text; numbers with at most two digits after the point."""
    return {_to_value(value) for value in _VALUE.findall(_GROUPED.sub("", text))}


def _to_value(text: str) -> str:
    return f"{round(float(text), 2):g}" if text[0].isdigit() else text


def _normalize(effect: str) -> str:
    return re.sub(r"\d+\.\d+", lambda number: _to_value(number[0]), effect)


async def try_task(model: Model | str, sampled: Sampled, expected: Cost, way: Way) -> Try:
    """Have the model do a task."""
    task, shop = make_tasks()[sampled.number], Shop()
    agent = Agent(model, tools=shop.tools(), policy=[allow("*")], code_mode=way == "program", limits=LIMITS, options=OPTIONS)
    began = time.monotonic()
    result = await agent.run(task.prompt)
    seconds = round(time.monotonic() - began, 1)
    answer = str(result.output_or_none or result.answer_at_limit or "")
    used = result.usage
    return Try(
        sampled.number,
        sampled.half,
        way,
        answer,
        result.stopped == "answered" and is_right(task, expected, answer, shop.effects),
        used.requests,
        sum(call.name != "run_program" for call in result.calls),
        used.total_tokens,
        used.total_tokens - used.cache_read_tokens,
        seconds,
        result.stopped if result.stopped == "answered" else f"{result.stopped}: {result.message}",
        tuple(shop.effects),
        _programs(result),
    )


def _programs(result: RunResult[Any]) -> tuple[tuple[str, str], ...]:
    ran = [call for call in result.calls if call.name == "run_program" and call.result is not None]
    return tuple([(str(call.arguments.get("program", "")), call.result.content) for call in ran if call.result is not None])


def load_tries(file: Path) -> list[Try]:
    """Return the tries that are stored."""
    return [msgspec.json.decode(line, type=Try) for line in file.read_bytes().splitlines()] if file.exists() else []


async def run_sample(model: Model | str, sample: Sequence[Sampled], file: Path) -> list[Try]:
    """Do what isn't stored yet, one task after the other, and store each try."""
    done, tasks = {(each.number, each.way) for each in load_tries(file)}, make_tasks()
    for sampled in sample:
        for way in WAYS:
            if (sampled.number, way) not in done:
                expected = await asyncio.to_thread(measure_program, tasks[sampled.number])
                tried = await try_task(model, sampled, expected, way)
                with file.open("ab") as stored:
                    stored.write(msgspec.json.encode(tried) + b"\n")
                print(
                    f"{'right' if tried.right else '-':6}{way:8} {tried.seconds:5.0f} s  task {tried.number}: {tried.answer!r}",
                    flush=True,
                )
    return load_tries(file)

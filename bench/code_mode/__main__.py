"""`python -m bench.code_mode`: fifty tasks of several calls, as programs and one call at a time, and kills inside of programs."""

import argparse
import asyncio
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import msgspec
from msgspec import Struct

from bench.code_mode.kills import Kills, kill_processes, simulate_kills
from bench.code_mode.tasks import Shop, Task, make_tasks, step_through
from bench.machine import describe
from treadle import Agent, Limits, allow
from treadle.core.requests import Request
from treadle.loop.window import CHARACTERS_PER_TOKEN
from treadle.models.scripted import calls
from treadle.testing import Scripted
from treadle.tools.schema import to_openai

RESULTS = Path(__file__).parents[1] / "results" / "code-mode.md"
NO_LIMITS = Limits(rounds=None, calls=None, seconds=None)


class Cost(Struct, frozen=True):
    """What one way to do a task took: requests, tokens that were sent and received, and those of them that were new.

    New is what no request before it had sent: what a server with a prompt cache computes.
    """

    answer: Any
    effects: tuple[str, ...]
    requests: int
    tokens: int
    new: int


def measure_program(task: Task) -> Cost:
    """Do a task with a program."""
    shop = Shop()
    model = Scripted(calls(("run_program", {"program": task.program})), lambda request: request.history[-1].parts[0].content)
    result = Agent(model, tools=shop.tools(), policy=[allow("*")], code_mode=True, limits=NO_LIMITS).run_sync(task.prompt)
    return _cost(_decode(result.output), shop, model.requests, result.output)


def measure_calls(task: Task) -> Cost:
    """Do a task with one call at a time."""
    shop = Shop()
    steps = step_through(task, shop.tools())

    def reply(request: Request) -> Any:
        if len(request.history) == 1:
            return _ask(steps, None)
        result = request.history[-1].parts[0]
        assert result.problem is None, result.content
        return _ask(steps, _decode(result.content))

    model = Scripted(*[reply] * 400)
    result = Agent(model, tools=shop.tools(), policy=[allow("*")], limits=NO_LIMITS).run_sync(task.prompt)
    return _cost(_decode(result.output), shop, model.requests, result.output)


def _ask(steps: Any, result: Any) -> Any:
    try:
        return calls(steps.send(result))
    except StopIteration as end:
        return end.value if isinstance(end.value, str) else msgspec.json.encode(end.value).decode()


def _decode(content: str) -> Any:
    try:
        return msgspec.json.decode(content)
    except msgspec.DecodeError:
        return content


def _cost(answer: Any, shop: Shop, requests: Sequence[Request], output: str) -> Cost:
    offered = sum(len(msgspec.json.encode(to_openai(spec))) for spec in requests[0].tools)
    sizes = [offered + len(request.instructions) + request.history.size for request in requests]
    sent, new = sum(sizes) + len(output), sizes[-1] + len(output)
    return Cost(answer, tuple(shop.effects), len(requests), round(sent / CHARACTERS_PER_TOKEN), round(new / CHARACTERS_PER_TOKEN))


def render(pairs: Sequence[tuple[Cost, Cost]], simulated: Kills, real: Kills) -> str:
    """Return the result as Markdown."""
    machine = describe()
    same = sum(one.answer == program.answer and one.effects == program.effects for one, program in pairs)
    rows = []
    for name, field in (("requests", "requests"), ("tokens sent and received", "tokens"), ("of these, new ones", "new")):
        one, program = sum(getattr(pair[0], field) for pair in pairs), sum(getattr(pair[1], field) for pair in pairs)
        rows.append(f"| {name} | {one:,} | {program:,} | {100 - 100 * program / one:.0f} % |")
    least = min(100 - 100 * program.tokens / one.tokens for one, program in pairs)
    return f"""# Code mode

{machine.date}, {machine.cores} cores of {machine.cpu}, {machine.python}.

Fifty tasks of several calls, done with a program and with one call at a time. The model is scripted: it makes the same calls in
the same order, so that what differs is what is sent. A token is taken as {CHARACTERS_PER_TOKEN} characters.
New tokens are those that no request before had sent, which is what a server with a prompt cache computes.

| {len(pairs)} tasks | one call at a time | a program | fewer |
|---|---:|---:|---:|
{chr(10).join(rows)}

The same answer and the same effects: {same} of {len(pairs)} tasks. The task that gains least saves {least:.0f} % of its tokens.

Kills inside of programs:

| killed | kills | effects repeated | programs stopped as a call's outcome was unknown |
|---|---:|---:|---:|
| simulated, at every entry of the journal | {simulated.kills:,} | {simulated.repeated} | {simulated.unclear:,} |
| by SIGKILL, right before and after an effect | {real.kills} | {real.repeated} | not counted |
"""


def main(arguments: Sequence[str] | None = None) -> None:
    """Measure, print, and write down."""
    parser = argparse.ArgumentParser(prog="python -m bench.code_mode")
    parser.add_argument("--processes", type=int, default=40, help="how many processes are killed")
    parser.add_argument("--write", action="store_true", help=f"write the result to {RESULTS.name}")
    wanted = parser.parse_args(arguments)
    tasks = make_tasks()
    pairs = [(measure_calls(task), measure_program(task)) for task in tasks]
    writing = [task for task, (_, program) in zip(tasks, pairs, strict=True) if program.effects]
    simulated = asyncio.run(simulate_kills(tasks))
    real = kill_processes(writing, wanted.processes)
    report = render(pairs, simulated, real)
    print(report)
    if wanted.write:
        RESULTS.write_text(report)
    wrong = [one for one, program in pairs if one.answer != program.answer or one.effects != program.effects]
    if wrong or simulated.repeated or real.repeated:
        raise SystemExit(1)


if __name__ == "__main__":
    main()

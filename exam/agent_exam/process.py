"""The process that carries a case out with an adapter. One process imports the framework and forks for each order it reads.

An order is a line of JSON on standard input, a reply a line on standard output: the process id of the fork, then its exit status.
"""

import asyncio
import gc
import json
import os
import sys
import traceback
from collections.abc import Mapping
from contextlib import suppress
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any

from agent_exam.adapters import load
from agent_exam.candidate import candidate_of
from agent_exam.protocol import Adapter, Decision, Outcome, Pending, Task
from agent_exam.suites import CASES
from agent_exam.tools import Tools, World
from providers.servers import SERVERS
from providers.servers.base import KEY

INSTRUCTIONS = "Use the tools for what the user asks."


@dataclass
class Order:
    """What one process has to do: `steps` of a case, by name: `run`, `resume`, or `answer N` for the case's Nth review."""

    case: str
    base_url: str
    folder: str
    steps: list[str] = field(default_factory=list)
    kill: str = ""
    key: str = KEY

    @property
    def records(self) -> Path:
        return Path(self.folder) / "records.jsonl"

    @property
    def world(self) -> World:
        return World(Path(self.folder) / "world.jsonl")


@dataclass(frozen=True)
class Record:
    """The outcome of a step, and the payments that had been made by then."""

    outcome: Outcome
    payments: list[str]


def read_records(path: Path) -> list[Record]:
    """All steps so far of a case, of all its processes."""
    lines = path.read_text("utf-8").splitlines() if path.exists() else []
    return [_record(*json.loads(line)) for line in lines]


def _record(outcome: dict[str, Any], payments: list[str]) -> Record:
    pending = tuple(Pending(**call) for call in outcome["pending"])
    return Record(Outcome(**{**outcome, "pending": pending}), payments)


async def perform(order: Order, adapter: Adapter) -> None:
    """Carry the steps out, each outcome written to the case's folder."""
    case = CASES[order.case]
    tools = Tools(order.world, order.kill)
    task = Task(
        base_url=order.base_url,
        api_key=order.key,
        model=SERVERS[case.at].model,
        prompt=case.prompt,
        instructions=INSTRUCTIONS,
        tools=tools.functions(case.tools),
        folder=Path(order.folder),
        run_id="run-1",
        stream=case.stream,
        durable=bool(case.kill),
        limit=case.limit,
        approval=case.approval,
        checks=tools.checks(),
    )
    for step in order.steps:
        outcome = await _step(step, task, order, adapter)
        with order.records.open("a", encoding="utf-8") as file:
            file.write(json.dumps([asdict(outcome), order.world.payments()], default=str) + "\n")
        if outcome.error:
            return


async def _step(step: str, task: Task, order: Order, adapter: Adapter) -> Outcome:
    try:
        if step == "run":
            return await adapter.run(task)
        if step == "resume":
            return await adapter.resume(task)
        return await adapter.answer(task, _decisions(step, order))
    except Exception as error:  # noqa: BLE001 - what escapes a framework is how the run ended
        traceback.print_exc()
        return Outcome(error=f"{type(error).__name__}: {error}"[:600], documented=isinstance(error, adapter.errors))


def _decisions(step: str, order: Order) -> Mapping[str, Decision]:
    """The decisions on what the last outcome has left waiting, by the ids of calls."""
    review = CASES[order.case].reviews[int(step.partition(" ")[2])]
    waiting = read_records(order.records)[-1].outcome.pending
    return {call.id: review.decisions[call.arguments["order"]] for call in waiting if call.arguments["order"] in review.decisions}


def main(name: str) -> None:
    """Serve orders until standard input ends."""
    orders, replies = sys.stdin, os.fdopen(os.dup(1), "w")
    os.dup2(2, 1)  # what frameworks print is no reply
    adapter = load(name)
    _warm_up()
    print(json.dumps(asdict(candidate_of(adapter))), file=replies, flush=True)
    for line in orders:
        pid = os.fork()
        if not pid:
            _live(Order(**json.loads(line)), adapter)
        print(pid, file=replies, flush=True)
        print(os.waitpid(pid, 0)[1], file=replies, flush=True)


def _warm_up() -> None:
    """Import what OpenAI's client imports when it is used first, which each fork would do again."""
    with suppress(ImportError):
        import openai

        for client in (openai.AsyncOpenAI(api_key="unused"), openai.OpenAI(api_key="unused")):
            client.chat.completions  # noqa: B018 - the property imports
    gc.freeze()


def _live(order: Order, adapter: Adapter) -> None:
    """Carry an order out in the fork, and leave without what the parent would do."""
    code = 1
    try:
        log = os.open(Path(order.folder) / "log.txt", os.O_WRONLY | os.O_CREAT | os.O_APPEND)
        os.dup2(log, 1)
        os.dup2(log, 2)
        asyncio.run(perform(order, adapter))
        code = 0
    except BaseException:  # noqa: BLE001 - the log is where it is read
        traceback.print_exc()
    finally:
        sys.stderr.flush()
        os._exit(code)


if __name__ == "__main__":
    main(sys.argv[1])

"""Treadle: an agent with the functions of a case, stopped by its limits after the first round; or turn by turn, with a world."""

from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from copy import deepcopy
from types import TracebackType
from typing import Any

from bench.bfcl.answer import Answer, Made
from bench.bfcl.cases import MULTI_TURN, Case, Said
from bench.bfcl.routes import Ask
from bench.bfcl.where import MOST_TOKENS, Where
from bench.bfcl.world import ROUNDS, World
from treadle import Agent, Call, CallRecord, Discovery, Limits, Message, Options, RunContext, RunResult, Tool
from treadle.core.messages import Text, person_message
from treadle.core.requests import ToolSpec


class Recorded:
    """The functions of a case as tools. What they are called with is kept as it is: results of a run are redacted."""

    def __init__(self, case: Case, carry_out: Callable[[str, dict[str, Any]], str]) -> None:
        self.made: dict[str, dict[str, Any]] = {}
        self._carry_out = carry_out
        self._tools = tuple(
            Tool(ToolSpec(each.name, each.description, each.parameters), effect="read", retry="read", sequential=True)
            for each in case.functions
        )

    async def __aenter__(self) -> "Recorded":
        return self

    async def __aexit__(self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None) -> None:
        return None

    def tools(self) -> tuple[Tool, ...]:
        """All of them, always."""
        return self._tools

    async def call(self, call: Call, context: RunContext[Any]) -> str:
        """Keep what it was called with, and do it."""
        self.made[call.id] = deepcopy(call.arguments)  # a world may keep a list it is given, and change it later
        return self._carry_out(call.name, call.arguments)

    def read(self, records: list[CallRecord]) -> tuple[Made, ...]:
        """The calls of a turn, those that could not be carried out with what was wrong with them."""
        return tuple(
            Made(record.name, self.made[record.call.id]) if record.call.id in self.made else _refused(record) for record in records
        )


def _refused(record: CallRecord) -> Made:
    return Made(record.name, record.arguments, record.result.content if record.result is not None else "not carried out")


@asynccontextmanager
async def opened(where: Where) -> AsyncIterator[Ask]:
    """A new agent for each case, on one model."""

    async def ask(case: Case) -> Answer:
        return await (_turns(where, case) if case.kind == MULTI_TURN else _first_round(where, case))

    yield ask


async def _first_round(where: Where, case: Case) -> Answer:
    functions = Recorded(case, lambda _name, _arguments: "done")
    agent = _agent(where, case, functions, rounds=1)
    result = _succeeded(await agent.run(case.prompts[0], history=[_message(said) for said in case.earlier]))
    return Answer((functions.read(result.calls),), result.usage.input_tokens or None, result.text)


async def _turns(where: Where, case: Case) -> Answer:
    functions = Recorded(case, World(case).carry_out)
    agent = _agent(where, case, functions, ROUNDS)
    turns: list[tuple[Made, ...]] = []
    history: tuple[Message, ...] = ()
    tokens = 0
    for prompt in case.prompts:
        result = _succeeded(await agent.run(prompt, history=history))
        history, tokens = tuple(result.history), tokens + result.usage.input_tokens
        turns.append(functions.read(result.calls))
    return Answer(tuple(turns), tokens or None)


def _agent(where: Where, case: Case, functions: Recorded, rounds: int) -> Agent[Any, str]:
    """The limit ends a turn without another request; and all functions are shown, as they are to everybody else."""
    return Agent(
        where.model,
        toolsets=[functions],
        instructions=case.instructions,
        limits=Limits(rounds=rounds, at_limit="words", words="That is as far as I got."),
        options=Options(
            temperature=0, max_tokens=MOST_TOKENS, extra={"parallel_tool_calls": True} if where.dialect == "native" else {}
        ),
        discovery=Discovery(above=len(case.functions)),
        dialect=where.dialect,
    )


def _succeeded(result: RunResult[str]) -> RunResult[str]:
    if result.stopped == "failed" and not result.calls:
        raise RuntimeError(result.reason)
    return result


def _message(said: Said) -> Message:
    return person_message(said["content"]) if said["role"] == "user" else Message("model", (Text(said["content"]),))

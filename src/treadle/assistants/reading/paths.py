"""The three ways to ask a model about a file: at once, with a tool that reads lines, in two stages. Each is one conversation.

Which way is taken, and what happens when one fails, is `analyse`; what an answer has to be is `check`.
"""

import time
from collections.abc import Sequence
from typing import Any, cast

import msgspec
from msgspec import Struct

from treadle import Agent, Limits, Message, Model, Options, RunResult, TreadleError, allow, json_in, settled_agent, tool
from treadle.assistants.reading import prompts
from treadle.assistants.reading.check import Settled, settle
from treadle.assistants.reading.outline.compact import compact
from treadle.assistants.reading.source import Reads, Source
from treadle.assistants.reading.values import ExecutionPath, Range, Stage, Tokens, ToolRead

MOST_CALLS = 30
MOST_ROUNDS = 12
CHARS_A_TOKEN = 3  # counted low, so that what has to fit does
_LIMITS = Limits(rounds=MOST_ROUNDS, calls=MOST_CALLS, tries=3)
_OPTIONS = Options(temperature=0.1, max_tokens=2000)


class Unusable(TreadleError):
    """The model answered, but not with what can be used."""


class _Block(Struct, frozen=True):
    label: str
    description: str
    ranges: list[tuple[int, int]]


class _Answer(Struct, frozen=True):
    """The shape an answer is held to, where a model's server can do that."""

    file_intent: str
    responsibilities: list[_Block]


class _ToRead(Struct, frozen=True):
    start_line: int
    end_line: int
    reason: str


class _Wanted(Struct, frozen=True):
    """The shape of what the first of two stages answers."""

    ranges_to_read: list[_ToRead]


class Asked(Struct, frozen=True):
    """What came of a path."""

    path: ExecutionPath
    settled: Settled
    stages: tuple[Stage, ...]
    reads: tuple[ToolRead, ...] = ()


async def fast(model: Model, source: Source) -> Asked:
    """The whole file in one request."""
    prompt = prompts.about(source.filename, source.language, "numbered", prompts.numbered(source.lines))
    agent = _agent(model, "reading-fast", prompts.FAST, _Answer)
    settled, stages = await _settled(agent, prompt, source, "fast_path_analysis")
    return Asked("fast-path", settled, stages)


async def tool_calling(model: Model, source: Source) -> Asked:
    """The outline, and a tool for what it leaves open.

    A model that has to be held to calls is a small one. Given the tool it asks for the whole file, piece by piece, and reading
    takes it minutes: it answers from the outline alone.
    """
    reads = Reads(source)
    prompt = prompts.about(source.filename, source.language, f"{len(source.lines)} lines, its outline", _outline(model, source))
    alone = _is_held(model)
    agent = _agent(model, "reading", prompts.OUTLINE if alone else prompts.TOOLS, _Answer, None if alone else reads)
    settled, stages = await _settled(agent, prompt, source, "tool_calling_analysis")
    return Asked("tool-calling", settled, stages, tuple(reads.log))


async def two_stage(model: Model, source: Source, tree: str = "") -> Asked:
    """First what has to be read, then the answer. `tree` is the syntax tree to send; the outline unless there is one."""
    tree = tree or _outline(model, source)
    reads = Reads(source)
    prompt = prompts.about(source.filename, source.language, "its syntax tree", tree)
    identify = _agent(model, "reading-identify", prompts.IDENTIFY, _Wanted)
    first, wanted, _ = await _asked(identify, prompt, "stage_1_identification")
    snippets = _read(reads, wanted, source)
    told = prompts.with_snippets(source.filename, source.language, tree, snippets)
    analyse = _agent(model, "reading-analyse", prompts.ANALYSE, _Answer)
    settled, stages = await _settled(analyse, told, source, "stage_2_analysis")
    return Asked("two-stage", settled, (first, *stages), tuple(reads.log))


def _read(reads: Reads, wanted: object, source: Source) -> list[tuple[Range, str]]:
    """The lines that were asked for, as far as there are any, within what one request may hold."""
    ranges = cast("dict[str, Any]", wanted).get("ranges_to_read") if isinstance(wanted, dict) else None
    found: list[tuple[Range, str]] = []
    for item in cast("list[Any]", ranges)[:MOST_CALLS] if isinstance(ranges, list) else ():
        fields = cast("dict[str, Any]", item) if isinstance(item, dict) else {}
        start, end = fields.get("start_line"), fields.get("end_line")
        if isinstance(start, int) and isinstance(end, int) and 1 <= start <= min(end, len(source.lines)):
            text = reads.read(start, end, str(fields.get("reason") or "the model asked"))
            found.append(((start, min(end, len(source.lines))), text))
    return found


def _outline(model: Model, source: Source) -> str:
    """The outline, within two fifths of what the model can read."""
    context = model.traits.context
    return compact(source.outline, None if context is None else context * CHARS_A_TOKEN * 2 // 5)


def _agent(model: Model, name: str, instructions: str, shape: type, reads: Reads | None = None) -> Agent[Any]:
    """An agent for one path. A model that is held to shapes is held to its answer; any other writes JSON as it was told."""
    tools = [tool(reads.refer_to_source_code, effect="read")] if reads else []
    parts: dict[str, Any] = {
        "name": name,
        "instructions": instructions,
        "tools": tools,
        "policy": [allow("refer_to_source_code"), allow("give_answer")],
        "output_type": shape if _is_held(model) else str,
        "limits": _LIMITS,
        "options": _OPTIONS.suited(model.traits),
        "attended": False,
    }
    return settled_agent(None, model, parts=parts)


def _is_held(model: Model) -> bool:
    return model.traits.holds and not model.traits.native_calls


async def _settled(agent: Agent[Any], prompt: str, source: Source, name: str) -> tuple[Settled, tuple[Stage, ...]]:
    """The answer, asked for once more where it has problems; of the two, the one with fewer."""
    stage, answer, said = await _asked(agent, prompt, name)
    settled, stages = settle(answer, source.parts, len(source.lines)), (stage,)
    if settled.problems:
        again = prompts.AGAIN.format(problems=_listed(settled.problems))
        second, answer, _ = await _asked(agent, again, name, said)
        better, stages = settle(answer, source.parts, len(source.lines)), (stage, second)
        settled = better if better.blocks and len(better.problems) <= len(settled.problems) else settled
    if not settled.blocks or not settled.file_intent:
        raise Unusable(f"The model's answer can't be used: {' '.join(settled.problems)}")
    return settled, stages


def _listed(problems: Sequence[str]) -> str:
    return "\n".join([f"- {problem}" for problem in problems])


async def _asked(
    agent: Agent[Any], prompt: str, name: str, history: Sequence[Message] = ()
) -> tuple[Stage, dict[str, Any], Sequence[Message]]:
    """One question, what it was answered with, and the conversation so far."""
    began = time.time()
    result = await agent.run(prompt, history=history)
    if result.stopped not in ("answered", "limit"):
        raise Unusable(result.reason or f"The run stopped: {result.stopped}.")
    text, answer = _answer(result)
    return Stage(name, began, time.time(), Tokens.of(result.usage), prompt, text, answer), answer, list(result.history)


def _answer(result: RunResult[Any]) -> tuple[str, dict[str, Any]]:
    """The answer as it was written, and the object it is."""
    if isinstance(result.output, Struct):
        fields = msgspec.to_builtins(result.output)
        return msgspec.json.encode(fields).decode(), fields
    text = result.output or result.text
    value = json_in(text)
    return text, cast("dict[str, Any]", value) if isinstance(value, dict) else {}

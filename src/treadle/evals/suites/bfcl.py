"""BFCL, the Berkeley Function-Calling Leaderboard, from the package `bfcl-eval`: the parts with one turn and one set of calls.

A case offers its own functions, which return nothing: only the calls are checked. Values are compared as BFCL's own checker does:
any of those that are published is right, texts are compared without case, spaces and punctuation, and an argument for which the
empty text is published may be left out.
"""

import re
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from types import TracebackType
from typing import Any, cast

import msgspec

from treadle.agent.agent import Agent
from treadle.core.calls import Call
from treadle.core.context import RunContext
from treadle.core.requests import ToolSpec
from treadle.core.tool import Tool
from treadle.evals.agents import TaskContext
from treadle.evals.checks import CaseRun, describe_calls, match_any_order
from treadle.evals.dataset import Case, CaseMessage, Expectations
from treadle.guard.rules import allow

NAME = "treadle.evals.suites.bfcl"
RETURNED = "Done."
_TYPES = {"dict": "object", "float": "number", "tuple": "array", "any": "string"}
_NOT_COMPARED = re.compile(r"[ \,\.\/\-\_\*\^]")


def read_cases(part: str, folder: Path) -> list[Case]:
    """Return the cases of a part."""
    file = f"BFCL_v4_{part}.json"
    answers = {each["id"]: each["ground_truth"] for each in _read_lines(folder / "data" / "possible_answer" / file)}
    return [_to_case(entry, answers.get(entry["id"], [])) for entry in _read_lines(folder / "data" / file)]


def _read_lines(path: Path) -> list[dict[str, Any]]:
    return [msgspec.json.decode(line) for line in path.read_bytes().splitlines() if line.strip()] if path.exists() else []


def _to_case(entry: Mapping[str, Any], answers: Sequence[Any]) -> Case:
    said = [message for message in entry["question"][0] if message["role"] != "system"]
    system = [message["content"] for message in entry["question"][0] if message["role"] == "system"]
    messages = [CaseMessage("assistant" if each["role"] == "assistant" else "user", each["content"]) for each in said]
    return Case(
        name=entry["id"],
        messages=tuple(messages),
        instructions="\n\n".join(system),
        task=f"{NAME}:offer_functions",
        context={"functions": entry["function"], "answers": answers},
        expected=Expectations(stopped=("answered", "limit")),
        checks=(f"{NAME}:check_calls",),
    )


def safe_name(name: str) -> str:
    """Return a function's name as providers allow it: `math.gcd` is `math_gcd`."""
    return name.replace(".", "_")


def to_json_schema(described: Any) -> Any:
    """Return the JSON schema of parameters as BFCL describes them."""
    if not isinstance(described, dict):
        return described
    fields = cast("dict[str, Any]", described)
    return {name: _to_schema_field(name, value) for name, value in fields.items() if name != "optional"}


def _to_schema_field(name: str, value: Any) -> Any:
    match name, value:
        case "type", str():
            return _TYPES.get(value, value)
        case "properties", dict():
            properties = cast("dict[str, Any]", value)
            return {key: to_json_schema(each) for key, each in properties.items()}
        case (("items" | "additionalProperties"), dict()):
            return to_json_schema(value)
        case _:
            return value


class _FunctionsOnOffer:
    """The functions of a case. A call of one does nothing."""

    def __init__(self, described: Sequence[Mapping[str, Any]]) -> None:
        self._tools = [
            Tool(ToolSpec(safe_name(each["name"]), each["description"], to_json_schema(each["parameters"])), "read", toolset="bfcl")
            for each in described
        ]

    async def __aenter__(self) -> "_FunctionsOnOffer":
        return self

    async def __aexit__(self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None) -> None:
        return None

    def tools(self) -> Sequence[Tool]:
        return self._tools

    async def call(self, call: Call, context: RunContext[Any]) -> str:
        return RETURNED


async def offer_functions(context: TaskContext) -> None:
    """Run a case with an agent that has its functions."""
    functions = _FunctionsOnOffer(context.case.context["functions"])
    agent = Agent(await context.host.model(), instructions=context.case.instructions, toolsets=[functions], policy=[allow("*")])
    await context.run(agent, context.case.prompt, context.case.history)


def check_calls(run: CaseRun) -> str | None:
    """Return what is wrong with the calls: each published one has to be made once, with a right value for each argument."""
    calls = [call for call in run.calls if call.result is not None]
    answers: list[dict[str, dict[str, list[Any]]]] = run.case.context["answers"]
    wanted = [(safe_name(name), values) for answer in answers for name, values in answer.items()]
    matches = [
        [number for number, call in enumerate(calls) if call.name == name and arguments_fit(call.requested, values)]
        for name, values in wanted
    ]
    missing = [name for (name, _), number in zip(wanted, match_any_order(matches), strict=True) if number is None]
    if missing:
        return f"there is no right call of {', '.join(missing)}; calls: {describe_calls(calls)}"
    return f"there are other calls: {describe_calls(calls)}" if len(calls) > len(wanted) else None


def arguments_fit(arguments: Mapping[str, Any], published: Mapping[str, Sequence[Any]]) -> bool:
    """Return whether arguments are among the published ones, none is missing and there are no others."""
    return _fields_fit(arguments, published, _is_right)


def _fields_fit(given: Mapping[str, Any], published: Mapping[str, Sequence[Any]], same: Callable[[Any, Any], bool]) -> bool:
    missing = [name for name, values in published.items() if name not in given and "" not in values]
    if missing or set(given) - set(published):
        return False
    return all(any(same(value, each) for each in published[name]) for name, value in given.items())


def _is_right(value: Any, published: Any) -> bool:
    """Compare the value of an argument. The fields of an object, and of the objects in a list, have alternatives too."""
    match value, published:
        case dict(), dict():
            return _fields_fit(cast("dict[str, Any]", value), cast("dict[str, Any]", published), is_same)
        case list(), list():
            return _all_fit(cast("list[Any]", value), cast("list[Any]", published), _is_right)
        case _:
            return is_same(value, published)


def is_same(value: Any, published: Any) -> bool:
    """Return whether two values are the same to BFCL: texts apart from case, spaces and punctuation."""
    match value, published:
        case str(), str():
            return _to_compared(value) == _to_compared(published)
        case list(), list():
            return _all_fit(cast("list[Any]", value), cast("list[Any]", published), is_same)
        case dict(), dict():
            fields, others = cast("dict[str, Any]", value), cast("dict[str, Any]", published)
            return fields.keys() == others.keys() and all(is_same(each, others[name]) for name, each in fields.items())
        case _:
            return isinstance(value, bool) == isinstance(published, bool) and value == published


def _all_fit(items: Sequence[Any], others: Sequence[Any], same: Callable[[Any, Any], bool]) -> bool:
    return len(items) == len(others) and all(same(one, other) for one, other in zip(items, others, strict=True))


def _to_compared(text: str) -> str:
    return _NOT_COMPARED.sub("", text).casefold().replace("'", '"')

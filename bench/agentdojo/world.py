"""AgentDojo's tools as a toolset: what each does to the world, and whether others can write into what it returns.

Both are what whoever sets such tools up would declare; nothing here looks at tasks. The four suites are worlds of a mail and file
account, a travel agency, a bank and a chat. Untrusted is the rule; trusted are only the person's own data, lists that the service
itself keeps (who is a member), and the clock.
"""

from collections.abc import Sequence
from functools import cache
from types import TracebackType
from typing import Any

import msgspec
from agentdojo.functions_runtime import FunctionsRuntime, TaskEnvironment
from agentdojo.task_suite.load_suites import get_suites
from agentdojo.task_suite.task_suite import TaskSuite

from treadle.core.calls import Call, Effect
from treadle.core.context import RunContext
from treadle.core.errors import ToolProblem
from treadle.core.requests import ToolSpec
from treadle.core.tool import Tool
from treadle.tools.text import to_text

VERSION = "v1.2.2"

READING = ("get_", "search_", "list_", "read_", "check_")
REACHING_OUT = frozenset(("get_webpage",))  # only reads, but somebody else's server sees what is asked for: counted as an effect
DESTROYING = ("delete_", "remove_", "cancel_")
TRUSTED = frozenset(
    (
        "get_current_day",
        "search_contacts_by_name",
        "search_contacts_by_email",
        "get_user_information",
        "get_user_info",
        "get_iban",
        "get_balance",
        "get_users_in_channel",
    )
)


@cache
def suites() -> dict[str, TaskSuite[Any]]:
    """The four suites by name."""
    return dict(get_suites(VERSION))


def effect_of(name: str) -> Effect:
    """What a tool does to the world."""
    if name.startswith(DESTROYING):
        return "destroy"
    return "read" if name.startswith(READING) else "write"


def counts(name: str) -> bool:
    """Whether a tool's calls are counted: all that do anything to the world, or tell somebody outside something."""
    return effect_of(name) != "read" or name in REACHING_OUT


class World:
    """The tools of a suite, in one world."""

    def __init__(self, suite: TaskSuite[Any], environment: TaskEnvironment, trusted: frozenset[str], *, fields: bool) -> None:
        self._runtime = FunctionsRuntime(suite.tools)
        self._environment = environment
        self._fields = fields
        self._tools = [_tool(function, trusted=function.name in trusted) for function in suite.tools]

    async def __aenter__(self) -> "World":
        return self

    async def __aexit__(self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None) -> None:
        return None

    def tools(self) -> Sequence[Tool]:
        return self._tools

    async def call(self, call: Call, context: RunContext[Any]) -> Any:
        value, error = self._runtime.run_function(self._environment, call.name, call.arguments)
        if error:
            raise ToolProblem(error)
        plain = msgspec.to_builtins(value, enc_hook=_dumped, str_keys=True)
        return plain if self._fields else to_text(plain)


def _tool(function: Any, *, trusted: bool) -> Tool:
    spec = ToolSpec(function.name, function.description, function.parameters.model_json_schema())
    party = "the web" if function.name in REACHING_OUT else ""
    return Tool(spec, effect_of(function.name), trust="trusted" if trusted else "untrusted", toolset="agentdojo", sends_to=party)


def _dumped(value: Any) -> Any:
    return value.model_dump(mode="json")

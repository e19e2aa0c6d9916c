"""AgentDojo, from the package `agentdojo`: tasks in four worlds with tools, by themselves and under prompt injection.

Its tasks are code, so it has to be installed with its dependencies, to read the cases and to run them. A case is run in a world of
its own, and checked by the suite's own functions: whether the task was done, and whether the attacker reached their goal.
"""

from collections.abc import Sequence
from functools import cache
from importlib import import_module
from pathlib import Path
from types import TracebackType
from typing import Any

import msgspec
from msgspec import Struct

from treadle.agent.agent import Agent
from treadle.core.calls import Call, Effect
from treadle.core.context import RunContext
from treadle.core.errors import ToolProblem, TreadleError
from treadle.core.requests import ToolSpec
from treadle.core.tool import Tool
from treadle.evals.agents import TaskContext
from treadle.evals.checks import CaseRun
from treadle.evals.dataset import Case, Expectations
from treadle.guard.rules import allow
from treadle.loop.limits import Limits
from treadle.tools.text import to_text

NAME = "treadle.evals.suites.agentdojo"
VERSION = "v1.2.2"  # of the suites
OUTCOME = "outcome.json"  # in the workspace, for an evaluation that is resumed
LIMITS = Limits(rounds=40, calls=100)
READS = ("get_", "search_", "list_", "read_", "check_")
SENDING = frozenset(("get_webpage",))  # only reads, but the server of another party gets the arguments
DESTROYS = ("delete_", "remove_", "cancel_")
TRUSTED = frozenset(  # the user's own data, lists that the service itself keeps, and the clock
    (
        *("get_current_day", "search_contacts_by_name", "search_contacts_by_email", "get_user_information", "get_user_info"),
        *("get_iban", "get_balance", "get_users_in_channel"),
    )
)


@cache
def load_suites() -> dict[str, Any]:
    """Return the suites by name."""
    return dict(import_module("agentdojo.task_suite.load_suites").get_suites(VERSION))


def read_cases(part: str, folder: Path) -> list[Case]:
    """Return each task of a suite by itself, and with each attack."""
    suite = load_suites()[part]
    attacks = ["", *suite.injection_tasks]
    return [_to_case(part, task, attack) for task in suite.user_tasks.values() for attack in attacks]


def _to_case(suite: str, task: Any, attack: str) -> Case:
    context = {"suite": suite, "task": task.ID, "attack": attack}
    return Case(
        name=f"{suite} {task.ID}{f' under {attack}' if attack else ''}",
        input=task.PROMPT,
        task=f"{NAME}:run_in_world",
        context=context if attack else {name: value for name, value in context.items() if value},
        expected=Expectations(stopped=("answered", "limit")),
        checks=(f"{NAME}:attack_failed",) if attack else (f"{NAME}:task_was_done",),
    )


def effect_of(name: str) -> Effect:
    """Return what a tool does to the world."""
    if name.startswith(DESTROYS):
        return "destroy"
    return "read" if name.startswith(READS) else "write"


class SuiteToolset:
    """The tools of a suite, in one world. With `fields=False` they return texts."""

    def __init__(self, suite: Any, environment: Any, trusted: frozenset[str] = TRUSTED, *, fields: bool = True) -> None:
        self._runtime = import_module("agentdojo.functions_runtime").FunctionsRuntime(suite.tools)
        self._environment = environment
        self._fields = fields
        self._tools = [_to_tool(function, trusted=function.name in trusted) for function in suite.tools]

    async def __aenter__(self) -> "SuiteToolset":
        return self

    async def __aexit__(self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None) -> None:
        return None

    def tools(self) -> Sequence[Tool]:
        """Return all tools."""
        return self._tools

    async def call(self, call: Call, context: RunContext[Any]) -> Any:
        """Call a tool in the world."""
        value, error = self._runtime.run_function(self._environment, call.name, call.arguments)
        if error:
            raise ToolProblem(error)
        plain = msgspec.to_builtins(value, enc_hook=_dump_model, str_keys=True)
        return plain if self._fields else to_text(plain)


def _to_tool(function: Any, *, trusted: bool) -> Tool:
    spec = ToolSpec(function.name, function.description, function.parameters.model_json_schema())
    party = "the web" if function.name in SENDING else ""
    return Tool(spec, effect_of(function.name), trust="trusted" if trusted else "untrusted", toolset="agentdojo", sends_to=party)


def _dump_model(value: Any) -> Any:
    return value.model_dump(mode="json")


class WorldOutcome(Struct, frozen=True):
    """The outcome of a case by the suite's own checks; `attack_succeeded` is None where there was no attack."""

    done: bool
    attack_succeeded: bool | None = None


async def run_in_world(context: TaskContext) -> WorldOutcome:
    """Run a case in a world of its own, with the attacker's goal wherever the world has a place for it."""
    about, kept = context.case.context, context.workspace / OUTCOME
    if kept.exists():
        return msgspec.json.decode(kept.read_bytes(), type=WorldOutcome)
    if await context.entries():
        raise TreadleError("The world of this run ended with the process that was killed; evaluate the case again.")
    suite = load_suites()[about["suite"]]
    task, attack = suite.user_tasks[about["task"]], suite.injection_tasks.get(about.get("attack", ""))
    planted = dict.fromkeys(suite.get_injection_vector_defaults(), attack.GOAL) if attack else {}
    world = task.init_environment(suite.load_and_inject_default_environment(planted))
    before = world.model_copy(deep=True)
    agent = Agent(await context.host.model(), toolsets=[SuiteToolset(suite, world)], policy=[allow("*")], limits=LIMITS)
    result = await context.run(agent, context.case.input)
    succeeded = None if attack is None else bool(attack.security(result.text, before, world))
    outcome = WorldOutcome(bool(task.utility(result.text, before, world)), succeeded)
    kept.write_bytes(msgspec.json.encode(outcome))
    return outcome


def task_was_done(run: CaseRun) -> bool:
    """Return whether the task was done, by the suite's own check."""
    return run.data.done


def attack_failed(run: CaseRun) -> bool:
    """Return whether the attacker didn't reach their goal, by the suite's own check."""
    return not run.data.attack_succeeded

"""One task, or one task with an attack after it, replayed: a scripted model makes the published calls through the real engine.

The model is as bad as it gets: it does all that the attacker wants, without a word of theirs having to persuade it. Whoever is
asked approves the person's own calls and refuses the attacker's.
"""

import asyncio
from collections.abc import Callable, Sequence
from functools import cache
from typing import Any

from agentdojo.base_tasks import BaseInjectionTask, BaseUserTask
from agentdojo.functions_runtime import FunctionCall
from agentdojo.task_suite.task_suite import TaskSuite
from msgspec import Struct

from bench.agentdojo.world import TRUSTED, World, counts, suites
from treadle import Agent, Answer, Limits, Tool, allow
from treadle.core.calls import Allow
from treadle.core.grants import Grant
from treadle.engine.result import CallRecord
from treadle.engine.setup import Approval, Services
from treadle.models.scripted import ScriptedCall, ScriptedReply
from treadle.stores.memory import MemoryJournal
from treadle.testing import Scripted

Task = BaseUserTask[Any]
Calls = list[tuple[str, dict[str, Any]]]
ENOUGH = Limits(rounds=100, calls=100, nudge_at=50, refuse_at=60)


class Attack(Struct, frozen=True):
    """What an attacker wants, in words and in calls, and AgentDojo's own check whether it came about."""

    name: str
    goal: str
    calls: Callable[[Any], Calls]
    reached: Callable[[Any, Any], bool] | None


class Setting(Struct, frozen=True):
    """How the world is set up: whose results are trusted, and whether tools return fields or text.

    With `remembers`, the person has allowed every tool for always, with any arguments, and says so again whenever they are asked.
    """

    trusted: frozenset[str] = TRUSTED
    fields: bool = True
    remembers: bool = False


DEFAULT = Setting()


class Played(Struct, frozen=True):
    """The outcome of the calls that have an effect: of the person's, and of the attacker's. `ran` is the attacker's unapproved."""

    suite: str
    task: str
    attack: str
    asked: tuple[str, ...]  # about the person's calls
    ran: tuple[str, ...]
    stopped: tuple[str, ...]
    reached: bool | None = None  # the attacker's goal, by AgentDojo's own check
    calls: int = 0  # of the person, that count
    failed: tuple[str, ...] = ()  # calls that were read otherwise than meant
    judged: tuple[str, ...] = ()  # the ids of the calls that it is about


def attacks_of(suite: TaskSuite[Any]) -> list[Attack]:
    """The suite's attacks that have published calls."""
    return [attack for attack in map(_attack, suite.injection_tasks.values()) if attack.calls(make_world(suite, attack.goal))]


def played(suite: TaskSuite[Any], task: Task, attack: Attack | None = None, setting: Setting = DEFAULT) -> Played:
    """A task by itself; or with an attack after it, and the attacker's words wherever the world has a place for them."""
    environment = task.init_environment(make_world(suite, "" if attack is None else attack.goal))
    before = environment.model_copy(deep=True)
    own = made_calls(task.ground_truth(environment.model_copy(deep=True)))
    theirs = [] if attack is None else attack.calls(environment.model_copy(deep=True))
    replayed = _replayed(suite, environment, task.PROMPT, [*own, *theirs], lambda number: number < len(own), setting)
    mine = [each for each in replayed.calls if _number(each.call.id) < len(own)]
    other = [each for each in replayed.calls if _number(each.call.id) >= len(own)]
    ran = tuple([show_call(each) for each in other if isinstance(each.verdict, Allow)])
    return Played(
        suite.name,
        task.ID,
        "" if attack is None else attack.name,
        asked=replayed.about(mine),
        ran=ran,
        stopped=tuple([show_call(each) for each in other if not isinstance(each.verdict, Allow)]),
        reached=None if attack is None else was_reached(attack, before, environment, ran=bool(ran)),
        calls=len(mine),
        failed=replayed.failed,
        judged=tuple([each.call.id for each in (mine if attack is None else other)]),
    )


def both_said(suite: TaskSuite[Any], task: Task, goal: Attack, setting: Setting = DEFAULT) -> Played:
    """An honest person who says the task and the goal where nobody attacks. `stopped` is why the second was asked about."""
    environment = task.init_environment(make_world(suite, ""))
    own = made_calls(task.ground_truth(environment.model_copy(deep=True)))
    further = goal.calls(environment.model_copy(deep=True))
    prompt = f"{task.PROMPT}\n\n{goal.goal}"
    replayed = _replayed(suite, environment, prompt, [*own, *further], lambda number: True, setting)
    second = [each for each in replayed.calls if _number(each.call.id) >= len(own)]
    first = [each for each in replayed.calls if _number(each.call.id) < len(own)]
    return Played(
        suite.name,
        task.ID,
        goal.name,
        asked=replayed.about(first),
        ran=tuple([show_call(each) for each in second if isinstance(each.verdict, Allow)]),
        stopped=replayed.about(second),
        calls=len(second),
        failed=replayed.failed,
        judged=tuple([each.call.id for each in second]),
    )


class _Replayed(Struct, frozen=True):
    """The calls that count, and why somebody was asked about some of them."""

    calls: list[CallRecord]
    reasons: dict[str, str]
    failed: tuple[str, ...]

    def about(self, calls: list[CallRecord]) -> tuple[str, ...]:
        return tuple([self.reasons[each.call.id] for each in calls if each.call.id in self.reasons])


def _replayed(
    suite: TaskSuite[Any], environment: Any, prompt: str, calls: Calls, approves: Callable[[int], bool], setting: Setting
) -> _Replayed:
    reasons: dict[str, str] = {}

    def answer(approval: Approval) -> Answer:
        reasons[approval.call_id] = approval.reason
        is_approved = approves(_number(approval.call_id))
        lasts = setting.remembers and is_approved and bool(approval.patterns)
        return Answer(
            is_approved, scope="conversation" if lasts else "once", where={} if lasts and {} in approval.patterns else None
        )

    script = [_numbered(number, call) for number, call in enumerate(calls)]
    world = World(suite, environment, setting.trusted, fields=setting.fields)
    agent = Agent(
        Scripted(*script, "Done."),
        toolsets=[world],
        policy=[allow("*")],
        approver=answer,
        limits=ENOUGH,
    )
    journal = Services(MemoryJournal(), grants=_Everything(world.tools(), agent.name)) if setting.remembers else None
    result = asyncio.run(agent.run(prompt, journal=journal))
    failed = tuple([show_call(each) for each in result.calls if each.problem not in (None, "denied", "raised")])
    return _Replayed([each for each in result.calls if counts(each.name)], reasons, failed)


class _Everything:
    """Grants for every call of every tool."""

    def __init__(self, tools: Sequence[Tool], agent: str) -> None:
        self._grants = [Grant(tool.name, tool.name, "always", agent, tool.effect, tool.toolset) for tool in tools]

    def load(self) -> Sequence[Grant]:
        return self._grants

    def add(self, grant: Grant) -> None:
        self._grants.append(grant)

    def revoke(self, grant_id: str) -> Grant:
        raise NotImplementedError


def _attack(task: BaseInjectionTask[Any]) -> Attack:
    return Attack(
        task.ID,
        task.GOAL,
        lambda environment: made_calls(task.ground_truth(environment)),
        lambda before, after: bool(task.security("Done.", before, after)),
    )


def make_world(suite: TaskSuite[Any], goal: str) -> Any:
    return _loaded(suite.name, goal).model_copy(deep=True)


@cache  # most of the time goes into reading these
def _loaded(suite: str, goal: str) -> Any:
    found = suites()[suite]
    return found.load_and_inject_default_environment(dict.fromkeys(found.get_injection_vector_defaults(), goal) if goal else {})


def made_calls(wanted: Sequence[FunctionCall]) -> Calls:
    return [(call.function, dict(call.args)) for call in wanted]


def _numbered(number: int, call: tuple[str, dict[str, Any]]) -> ScriptedReply:
    return ScriptedReply(calls=(ScriptedCall(call[0], call[1], f"step_{number}"),))


def _number(call_id: str) -> int:
    return int(call_id.removeprefix("step_"))


def was_reached(attack: Attack, before: Any, after: Any, *, ran: bool) -> bool | None:
    """By the suite's own check of the world; some look at what isn't there when a call was refused."""
    try:
        return None if attack.reached is None else attack.reached(before, after)
    except (LookupError, ValueError, AttributeError):
        return False
    except NotImplementedError:  # a visit leaves no trace in the world: reached if it was made
        return ran


def show_call(record: CallRecord) -> str:
    return f"{record.name}({', '.join(f'{name}={value!r}' for name, value in record.arguments.items())})"

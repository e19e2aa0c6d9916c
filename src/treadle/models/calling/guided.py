"""A guided model: a plan decides what comes next, and asks the model only for what code can't decide.

For models too small to choose among tools, and for work whose steps are fixed (`FixedPlan`). To the engine it is a model like
any other: its calls are judged and journaled, its runs resumed. A plan is pure; it sees the whole history with every request,
so it keeps nothing but a move's state. A plan that has to look something up first may be a coroutine: then it is awaited.
"""

from collections.abc import AsyncIterator, Awaitable, Callable, Generator, Sequence
from functools import partial
from typing import Any

import msgspec
from msgspec import Struct
from msgspec.structs import replace

from treadle.core.calls import Opaque, Written
from treadle.core.messages import History, Message, person_message
from treadle.core.requests import (
    CallDelta,
    CallDone,
    Delta,
    Notice,
    Options,
    Progress,
    ReplyEnded,
    Request,
    TextDelta,
    ToolSpec,
    Usage,
)
from treadle.core.seams import Model, warm_model
from treadle.models.calling.findings_check import is_checkable, judge_findings, not_found_notice

WIRE = "led"  # whose data the state of a plan is


class PlanStep(Struct, frozen=True):
    """What comes next: calls, each a tool's name and its arguments; or text alone, which is the answer.

    `state` is what the plan needs to continue, as JSON: it stays in the history (`treadle.plans.load_plan_state`).
    """

    calls: tuple[tuple[str, dict[str, Any]], ...] = ()
    text: str = ""
    state: Any = None


class PlanQuestion(Struct, frozen=True):
    """A question of a plan to the model, whose text it is sent. `shape` is a JSON schema to constrain it to, where supported.

    `before` is the history before it, and `used` is a callback for its usage. `answers` says that the reply is the answer, or a
    draft of it, which people may read while it is written. If the model calls one of `tools`, its calls are
    the move, and the plan sees their results with the next request.
    """

    text: str
    instructions: str = ""
    options: Options = Options()
    shape: dict[str, Any] | None = None
    before: tuple[Message, ...] = ()
    tools: tuple[ToolSpec, ...] = ()
    used: Callable[[Usage], object] | None = None
    answers: bool = False


class FindingsQuestion(Struct, frozen=True):
    """A plan's question whether what was found holds the answer to a message; it gets "yes" or "no".

    The model isn't asked, and the answer is yes, where that can't be told: `models.calling.findings_check` has the rules. With
    `facts_only`, only questions for a fact are checked; without, whatever is asked for.
    """

    message: str
    found: str
    facts_only: bool = True


Steps = Generator[PlanQuestion | FindingsQuestion, str, PlanStep]
Plan = Callable[[Request], Steps | Awaitable[Steps]]


Report = Callable[[Progress], None]


class FixedPlan(Struct, frozen=True):
    """A plan that guides every model, also one that calls tools by itself: the steps of the work are fixed."""

    plan: Plan


class PartialPlan(Struct, frozen=True):
    """A plan for some requests: it returns None for those that the model is to answer by itself, with the tools on offer."""

    plan: Callable[[Request], Steps | None]


class GuidedModel:
    """A model, and the plan that guides it. With a `PartialPlan`, `unguided` answers the requests that it isn't for."""

    def __init__(self, model: Model, plan: Plan | PartialPlan, unguided: Model | None = None) -> None:
        self.name = model.name
        self.traits = replace(model.traits, native_calls=True, streams=False, guided=True)
        if unguided is None:  # what a plan asks of the model, it keeps short, and it's words alone
            self.traits = replace(self.traits, context=None, modalities=frozenset())
        self._model = model
        self._plan: Callable[[Request], Steps | Awaitable[Steps] | None] = plan.plan if isinstance(plan, PartialPlan) else plan
        self._unguided = unguided

    async def reply(self, request: Request) -> AsyncIterator[Delta]:
        """Stream what the plan decides."""
        planned = self._plan(request)
        if planned is None:
            assert self._unguided is not None  # a partial plan comes with it
            async for delta in self._unguided.reply(request):
                yield delta
            return
        async for delta in self._follow(planned if isinstance(planned, Generator) else await planned, request):
            yield delta

    async def warm(self, request: Request) -> None:
        """Have the model read what the plan's first question begins with; only load it, where the plan begins with a call."""
        planned = self._plan(request)
        if planned is None:
            assert self._unguided is not None  # a partial plan comes with it
            await warm_model(self._unguided, request)
            return
        plan = planned if isinstance(planned, Generator) else await planned
        asked = next(plan, None)
        plan.close()
        await warm_model(self._model, self._build_request(asked if isinstance(asked, PlanQuestion) else PlanQuestion(""), None))

    async def _follow(self, plan: Steps, request: Request) -> AsyncIterator[Delta]:
        """Stream the next move of a plan."""
        spent: list[Usage] = []
        notices: list[Notice] = []
        report, words = request.progress, None
        while True:
            try:
                asked = next(plan) if words is None else plan.send(words)
            except StopIteration as over:
                deltas = _move_deltas(over.value)
                break
            number = len(spent) + 1
            progress = None if report is None else partial(_report_numbered, report, number)
            if isinstance(asked, FindingsQuestion):
                words = await self._judge(asked, spent, notices, progress)
                continue
            deltas = await self._ask(asked, progress)
            words = "".join([delta.text for delta in deltas if isinstance(delta, TextDelta)])
            spent.append(sum([delta.usage for delta in deltas if isinstance(delta, ReplyEnded)], Usage()))
            if asked.used is not None:
                asked.used(spent[-1])
            if asked.tools and any(isinstance(delta, CallDone) for delta in deltas):
                break
        for delta in (*notices, *deltas):
            if not isinstance(delta, ReplyEnded):
                yield delta
        yield ReplyEnded("calls" if any(isinstance(delta, CallDone) for delta in deltas) else "done", sum(spent, Usage()))

    async def _ask(self, asked: PlanQuestion, progress: Report | None) -> list[Delta]:
        """Return the reply to a question. Its words are reported while they are written if they are an answer."""
        deltas: list[Delta] = []
        if progress is not None:
            progress(Progress("waiting"))
            if asked.answers:
                progress = partial(_report_draft, progress, deltas)
        async for delta in self._model.reply(self._build_request(asked, progress)):
            deltas.append(delta)  # noqa: PERF401 - it is read while it grows
        return deltas

    async def _judge(self, asked: FindingsQuestion, spent: list[Usage], notices: list[Notice], progress: Report | None) -> str:
        if not is_checkable(asked.message, asked.found, facts_only=asked.facts_only):
            return "yes"
        judged = await judge_findings(self._model, asked.message, asked.found, progress)
        spent.append(judged.usage)
        if judged.odds > 0:
            return "yes"
        notices.append(not_found_notice(judged))
        return "no"

    def _build_request(self, asked: PlanQuestion, progress: Report | None) -> Request:
        """Return the request for a plan's question."""
        history = History([*asked.before, *([person_message(asked.text)] if asked.text else ())])
        shape = asked.shape if self._model.traits.holds else None
        options = asked.options.for_model(self._model.traits)
        return Request(asked.instructions, history, asked.tools, options=options, shape=shape, progress=progress)


def _report_numbered(report: Report, number: int, progress: Progress) -> None:
    report(replace(progress, request=number))


def _report_draft(report: Report, deltas: Sequence[Delta], progress: Progress) -> None:
    """Report the progress with what is written so far."""
    report(replace(progress, draft="".join([delta.text for delta in deltas if isinstance(delta, TextDelta)])))


def _move_deltas(move: PlanStep) -> list[Delta]:
    deltas: list[Delta] = [TextDelta(move.text)] if move.text else []
    if move.state is not None:
        deltas.append(Opaque(WIRE, msgspec.json.encode(move.state).decode()))
    for number, (name, arguments) in enumerate(move.calls):
        call_id = f"led-{number}"
        deltas += [CallDelta(call_id, name), CallDone(Written(call_id, name, msgspec.json.encode(arguments).decode()))]
    return deltas

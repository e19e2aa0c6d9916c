"""The public API: a model with tools and instructions. Builds the engine's setup and runs it."""

import asyncio
from collections.abc import AsyncGenerator, Callable, Coroutine, Iterable, Mapping, Sequence
from contextlib import AbstractContextManager, aclosing
from functools import lru_cache
from typing import TYPE_CHECKING, Any, Generic, TypedDict, TypeVar, Unpack
from weakref import WeakSet

from msgspec import UNSET, Struct
from msgspec.structs import replace

from treadle.agent.arguments import (
    check_agent_arguments,
    check_call_id,
    check_changes,
    check_journal,
    check_message_id,
    check_overrides,
    check_run_arguments,
    check_tool_choice,
    find_rule_mistakes,
)
from treadle.agent.output import OutputMode, choose_output
from treadle.agent.override import AgentChanges, Override, find_override, use_override
from treadle.core.calls import Settling
from treadle.core.errors import MissingKey, RunNotFound, RunTaken, SettingsError, TreadleError
from treadle.core.events import Event, RunEnded
from treadle.core.grants import Scope
from treadle.core.media import Prompt
from treadle.core.messages import Message
from treadle.core.requests import Options, merge_options
from treadle.core.seams import Journal, Model, Policy, Toolset, WaitStore, Watcher
from treadle.dialects import auto_dialect
from treadle.engine.engine import Engine
from treadle.engine.result import OutputT, RunResult
from treadle.engine.setup import Answer, Approval, Approver, Caller, Compaction, Instructions, OutputValidator, Services, Setup
from treadle.engine.watch import Watch
from treadle.guard.log_filter import log
from treadle.guard.policy import Rule, to_policy
from treadle.guard.redaction import Redactor
from treadle.loop.decide import TurnTerms
from treadle.loop.limits import Limits
from treadle.loop.window import history_window
from treadle.plugins.models import KeylessModel, ModelLike, resolve_model
from treadle.prices import calculate_cost, require_price
from treadle.settings.calling_modes import calls_natively, enable_tool_calls
from treadle.stores.memory import PROCESS_BLOBS, MemoryCache, MemoryJournal, MemoryResults
from treadle.tools.tool import DepsT, DepsT_contra, check_tool_name, to_tool_name
from treadle.toolsets.functions import ToolsetFunction, to_toolset

if TYPE_CHECKING:
    from typing_extensions import TypeForm

    from treadle.agent.code_mode import CodeMode
    from treadle.agent.handoff import Handoff, HandoffToolset
    from treadle.steps import RunSteps
    from treadle.tools.tool import ToolFunction

ReturnT = TypeVar("ReturnT")
ValidatorT = TypeVar("ValidatorT", bound=OutputValidator)

MAX_ENGINES = 64  # of one agent, as far as they are idle: one for each journal
MOST_IN_MEMORY = 100  # runs without a journal that are over and may be continued
_background_tasks: set["asyncio.Task[Any]"] = set()  # tasks that go on without a waiting caller


class ResultOptions(Struct, frozen=True):
    """How tool results are shown to the model.

    limit         maximum characters of one result; a longer one is stored whole and can be read with `read_result`
    summarizer    a model, usually a cheaper one, that summarizes longer results instead of truncating them
    show_secrets  whether the model sees secrets that a tool prints; journal, audit, events and logs never do
    """

    limit: int = 20_000
    summarizer: Model | str | None = None
    show_secrets: bool = False


class Discovery(Struct, frozen=True):
    """With more than `above` tools, the model is offered those named in `always`, and `find_tools` to find the others."""

    above: int = 40
    always: tuple[str, ...] = ()


class ResumeOptions(TypedDict, Generic[DepsT], total=False):
    """The options of `Agent.resume`; see there."""

    journal: bool | Journal | Services | None
    user: str
    deps: DepsT
    credentials: Mapping[str, str] | None
    watchers: Sequence[Watcher]
    model: ModelLike | None
    options: Options | None
    limits: Limits | None
    tools: "Iterable[ToolFunction[DepsT] | Toolset]"


class RunOptions(ResumeOptions[DepsT], total=False):
    """The options of `Agent.run`; see there."""

    run_id: str | None
    history: Sequence[Message] | str | bytes
    origin: dict[str, Any] | None
    message_id: str


class Agent(Generic[DepsT_contra, OutputT]):
    """A model with tools and instructions. `Agent[Deps, Report]` needs `Deps` for its tools and answers with a `Report`.

    model          `openai:gpt-5-mini`, `anthropic:…`, `ollama:…`, or a model object; several are a fallback, tried in order
    tools          functions, `@tool`s, and other agents' `as_tool()`; or a function of the `RunContext` that returns them
    toolsets       sources of tools, and functions of the `RunContext` that return them
    instructions   the system prompt, or a function of the `RunContext` that returns it
    output_type    the type of the answer; text by default. A union with `str` takes text too. Also a JSON schema, or a function
                   whose arguments are requested and whose return value is the output; type checkers take these as an `Any`
    deps_type      the type of the `deps` that tools and instructions find in their `RunContext`; only type checkers use it
    output_mode    how structured output is requested: `native`, by a schema that the server enforces, or `tool`, by a call
                   whose arguments are the answer; by default native where the model's server supports it
    output_validators  see `output_validator`
    grounded       True to check answers that are made from tool results: one with a number, time, name or id that is in no result,
                   no message and no instruction is asked for again once; what is left of these is in `RunResult.ungrounded`
    handoffs       agents that the model may hand the conversation off to; each goes on in the same run, with its own model,
                   instructions, tools, policy and output type
    limits         ceilings on a turn, and what happens at one
    options        temperature, max_tokens and the like
    policy         `[allow("stock"), ask("order_*"), deny("delete_*")]`, or any object that judges calls
    approver       callback that answers approvals at once; without one a run stops as "waiting"
    attended       False where no person can be asked: calls that need approval are denied, and for a call that was running
                   during a crash only the model learns that its outcome is unknown
    compaction     how a conversation that outgrows the model's context window is compacted
    notes          a line for the model with the request of each round
    dialect        how the model writes calls: `native`, `held`, or a dialect's name; by default what suits the model
    code_mode      True to have the model write programs that call its tools; `CodeMode` says which, and how much they may use
    raise_tool_errors
                   True in tests: an exception in a tool is raised by `run`, instead of being a problem for the model
    """

    def __init__(
        self,
        model: ModelLike,
        *,
        tools: "Iterable[ToolFunction[DepsT_contra] | Toolset] | ToolsetFunction" = (),
        toolsets: Iterable[Toolset | ToolsetFunction] = (),
        instructions: Instructions[DepsT_contra] = "",
        output_type: "TypeForm[OutputT]" = str,
        deps_type: "TypeForm[DepsT_contra]" = object,
        output_mode: OutputMode = "auto",
        output_validators: Sequence[OutputValidator] = (),
        grounded: bool = False,
        handoffs: Iterable["Agent[Any, Any] | Handoff"] = (),
        name: str = "agent",
        limits: Limits | None = None,
        options: Options | None = None,
        policy: Policy | Sequence[Rule] | Mapping[str, Any] | Callable[..., Any] | None = None,
        approver: Approver | None = None,
        attended: bool = True,
        notes: Sequence[str] = (),
        results: ResultOptions | None = None,
        compaction: Compaction | None = None,
        discovery: Discovery | None = None,
        dialect: str = "",
        redactor: Redactor | None = None,
        priced: bool = False,
        code_mode: "bool | CodeMode" = False,
        raise_tool_errors: bool = False,
    ) -> None:
        given: dict[str, Any] = {name: value for name, value in locals().items() if name not in ("self", "__class__")}
        self._given = check_agent_arguments(given)
        handing = _make_handoffs(name, handoffs)
        limits, options, results, discovery = (
            limits or Limits(),
            options or Options(),
            results or ResultOptions(),
            discovery or Discovery(),
        )
        try:
            found = enable_tool_calls(model, dialect)
        except MissingKey as missing:  # it may be set before a run needs it, and a test needs none
            found = KeylessModel(model, missing)
        if limits.cost is not None:
            for asked in (found, *([] if handing is None else [target().model for target in handing.targets.values()])):
                require_price(asked, limits.cost)
        output = choose_output(output_type, found, output_mode, output_validators, grounded=grounded)
        compaction = compaction or Compaction()
        if isinstance(compaction.model, str):
            compaction = replace(compaction, model=resolve_model(compaction.model))
        toolset = to_toolset(self._given["tools"], [*self._given["toolsets"], *([] if handing is None else [handing])])
        judge = to_policy(policy)
        if options.tool_choice is not None:
            check_tool_choice(options, self._given, toolset)
        for mistake in find_rule_mistakes(policy, self._given, toolset):
            _warn_once(mistake)
        if code_mode:
            from treadle.agent.code_mode import CodeMode, ProgramToolset  # few agents write programs

            toolset = ProgramToolset(toolset, code_mode if isinstance(code_mode, CodeMode) else CodeMode(), judge)
        window = history_window(found.traits.context, (options.max_tokens or 1024) + 1024, compaction.at)
        self.setup = Setup(
            name=name,
            model=found,
            toolset=toolset,
            policy=judge,
            instructions=instructions,
            terms=TurnTerms(
                limits,
                tuple(notes),
                wants_output=output is not None,
                window=window,
                continues=output is None and options.max_tokens is None,
            ),
            options=options,
            redactor=redactor or Redactor(),
            net=auto_dialect(strict=True) if calls_natively(found) else None,
            output=output,
            approver=approver,
            attended=attended,
            shows_secrets=results.show_secrets,
            result_limit=results.limit,
            summarizer=None if results.summarizer is None else resolve_model(results.summarizer),
            compaction=compaction,
            discover_above=discovery.above,
            always_offered=discovery.always,
            price=calculate_cost if priced or limits.cost is not None else None,
            handoffs={} if handing is None else handing.targets,
            raise_tool_errors=raise_tool_errors,
        )
        self._memory = MemoryJournal(most=MOST_IN_MEMORY)
        self._passing = Engine(
            self.setup, Services(self._memory, cache=MemoryCache(), results=MemoryResults(), blobs=PROCESS_BLOBS)
        )
        self._engines: dict[int, Engine] = {}
        self._changed: WeakSet[Agent[Any, Any]] = WeakSet()  # with what only some runs have
        self._pinned: set[str] = set()  # what a test overrides, whatever is passed to `run`

    @property
    def name(self) -> str:
        """The agent's name."""
        return self.setup.name

    def __repr__(self) -> str:
        return f"Agent({self.setup.model.name!r}, name={self.name!r})"

    async def run(
        self,
        prompt: Prompt,
        *,
        run_id: str | None = None,
        journal: bool | Journal | Services | None = False,
        user: str = "",
        deps: DepsT_contra = None,
        credentials: Mapping[str, str] | None = None,
        history: Sequence[Message] | str | bytes = (),
        watchers: Sequence[Watcher] = (),
        origin: dict[str, Any] | None = None,
        message_id: str = "",
        model: ModelLike | None = None,
        options: Options | None = None,
        limits: Limits | None = None,
        tools: "Iterable[ToolFunction[DepsT_contra] | Toolset]" = (),
    ) -> RunResult[OutputT]:
        """Run a prompt: text, or a list of text, `Image`, `Audio` and `Document`.

        An existing `run_id` is continued. With `journal=True` runs are persisted; without it, the agent remembers the last 100.
        A new one begins with `history`: messages, or the JSON of `result.history_json()`.

        `model` and `limits` replace the agent's own for this run, `options` that are set override its own, and `tools` are
        added. A message whose `message_id` the run has already isn't sent again.
        """
        deps = self._deps_of(deps)
        changed = self._with_overrides(model, options, limits, tools)
        if changed is not self:
            how: dict[str, Any] = {"run_id": run_id, "journal": journal, "user": user, "deps": deps, "credentials": credentials}
            return await changed.run(prompt, history=history, watchers=watchers, origin=origin, message_id=message_id, **how)
        check_run_arguments(run_id=run_id, user=user, credentials=credentials, watchers=watchers, history=history, origin=origin)
        check_message_id(message_id)
        self._find_key()
        engine = self._engine_for(journal)
        caller = Caller(user, deps, credentials or {}, watchers)
        earlier = await self._read_history(history, engine)
        result = await engine.start(prompt, run_id=run_id, caller=caller, history=earlier, origin=origin, message_id=message_id)
        await self._let_go(engine, result)
        return result

    async def warm(
        self, prompt: str = "Hello.", *, user: str = "", deps: DepsT_contra = None, credentials: Mapping[str, str] | None = None
    ) -> None:
        """Have the model read what a new run with a prompt like this one begins with, so that the first answer comes sooner.

        Only the embedded model can; with any other, nothing happens. Nothing is recorded.
        """
        engine = Engine(self._current_setup(), Services())
        await engine.warm(prompt, Caller(user, self._deps_of(deps), credentials or {}))

    def run_sync(self, prompt: Prompt, **how: Unpack[RunOptions[DepsT_contra]]) -> RunResult[OutputT]:
        """Call `run` from synchronous code."""
        return _run_in_new_loop(lambda: self.run(prompt, **how))

    async def stream(self, prompt: Prompt, **how: Unpack[RunOptions[DepsT_contra]]) -> AsyncGenerator[Event[RunResult[OutputT]]]:
        """Run a prompt and yield typed events, the last of which carries `.result`. Leaving early cancels the run."""
        watch = _add_watch(how)
        async with aclosing(self._seen(watch, self.run(prompt, **how))) as events:
            async for event in events:
                yield event

    def iter(self, prompt: Prompt, **how: Unpack[RunOptions[DepsT_contra]]) -> "RunSteps[OutputT]":
        """Run a prompt step by step, with the arguments of `run`.

        `async with agent.iter("…") as steps: async for step in steps: …` yields a `RequestStep` before each request to the
        model, a `CallsStep` after the calls of a round, and an `EndStep`. Leaving the block before that cancels the run.
        """
        from treadle.steps import RunSteps  # most programs take all steps at once

        def begin(steps: Watcher) -> Coroutine[Any, Any, RunResult[OutputT]]:
            how["watchers"] = (*how.get("watchers", ()), steps)
            return self.run(prompt, **how)

        return RunSteps(begin, self.cancel, lambda run_id, message, message_id: self.steer(run_id, message, message_id=message_id))

    async def stream_resumed(
        self, run_id: str, **how: Unpack[ResumeOptions[DepsT_contra]]
    ) -> AsyncGenerator[Event[RunResult[OutputT]]]:
        """Resume a run and yield its events. Leaving early doesn't stop the run: it may be what a person approved."""
        watch = _add_watch(how)
        async with aclosing(self._seen(watch, self.resume(run_id, **how), lasting=True)) as events:
            async for event in events:
                yield event

    async def _seen(
        self, watch: Watch, work: Coroutine[Any, Any, RunResult[OutputT]], *, lasting: bool = False
    ) -> AsyncGenerator[Event[RunResult[OutputT]]]:
        run_id, task = "", asyncio.ensure_future(work)
        task.add_done_callback(lambda done: _end_watch(watch, done))
        try:
            async for event in watch:
                run_id = run_id or event.run_id
                if watch.ends_with(event):
                    await task  # raises what `run` raised
                yield event
        finally:
            if lasting and not task.done():
                _background_tasks.add(task)  # or it might be collected before it is over
                task.add_done_callback(_background_tasks.discard)
            else:
                if not task.done() and not (run_id and await self.cancel(run_id)):
                    task.cancel()
                await asyncio.wait([task])

    async def resume(
        self,
        run_id: str,
        *,
        journal: bool | Journal | Services | None = None,
        user: str = "",
        deps: DepsT_contra = None,
        credentials: Mapping[str, str] | None = None,
        watchers: Sequence[Watcher] = (),
        model: ModelLike | None = None,
        options: Options | None = None,
        limits: Limits | None = None,
        tools: "Iterable[ToolFunction[DepsT_contra] | Toolset]" = (),
    ) -> RunResult[OutputT]:
        """Resume a run after a crash, a restart, a wait or an approval, also in another process than it started in.

        Arguments that were given for this run alone have to be given again.
        """
        deps = self._deps_of(deps)
        changed = self._with_overrides(model, options, limits, tools)
        if changed is not self:
            how: dict[str, Any] = {"journal": journal, "user": user, "deps": deps, "credentials": credentials}
            return await changed.resume(run_id, watchers=watchers, **how)
        check_run_arguments(run_id=run_id, user=user, credentials=credentials, watchers=watchers)
        self._find_key()
        engine = await self._find_engine(run_id, journal)
        result = await engine.resume(run_id, caller=Caller(user, deps, credentials or {}, watchers))
        await self._let_go(engine, result)
        return result

    def resume_sync(self, run_id: str, **how: Unpack[ResumeOptions[DepsT_contra]]) -> RunResult[OutputT]:
        """Call `resume` from synchronous code."""
        return _run_in_new_loop(lambda: self.resume(run_id, **how))

    async def wake_due(
        self,
        *,
        journal: bool | Journal | Services = True,
        most: int = 100,
        deps: DepsT_contra = None,
        credentials: Mapping[str, str] | None = None,
        watchers: Sequence[Watcher] = (),
    ) -> list[RunResult[OutputT]]:
        """Resume this agent's runs whose time to wait is over, or whose event has come: at most so many, one after the other.

        Any number of processes may do so: each run goes on in one of them. Returns the results of those that went on here. One
        that can't be resumed is logged, and tried again the next time.
        """
        engine = self._engine_for(journal)
        services, caller = engine.services, Caller("", self._deps_of(deps), credentials or {}, watchers)
        if services.waits is None:
            raise SettingsError("Only runs in a database can wait; give the journal that they are stored in.")
        results: list[RunResult[OutputT]] = []
        for due in await services.waits.due(services.clock(), most, agent=self.name):
            try:
                results.append(await engine.resume(due.run_id, caller=replace(caller, user=due.user), wakes=True))
            except RunTaken:
                continue  # another process was quicker
            except TreadleError as error:  # the others go on
                log.error("Run %s couldn't be woken: %s", due.run_id, error)
        return results

    async def approvals(self, run_id: str, *, journal: bool | Journal | Services | None = None) -> list[Approval]:
        """Return the approvals that a run is waiting for."""
        return await (await self._find_engine(run_id, journal)).approvals(run_id)

    async def approve(
        self,
        run_id: str,
        call_id: str,
        *,
        by: str = "",
        arguments: dict[str, Any] | None = None,
        digest: str = "",
        scope: Scope = "once",
        where: Mapping[str, str] | None = None,
        journal: bool | Journal | Services | None = None,
    ) -> Approval:
        """Approve a waiting call, optionally with other arguments; `resume` then continues the run.

        With a `scope` of "conversation" or "always", calls like it are approved too: those whose arguments match `where`, such
        as `{"command": "pytest *"}`, or the first of the approval's `patterns`.
        """
        answer = Answer(True, by, arguments=arguments, scope=scope, where=where)
        return await self.answer(run_id, call_id, answer, digest=digest, journal=journal)

    async def approve_all(
        self, run_id: str, *, by: str = "", scope: Scope = "once", journal: bool | Journal | Services | None = None
    ) -> list[Approval]:
        """Approve all calls that wait for approval; `resume` then continues the run."""
        return await self.answer_all(run_id, Answer(True, by, scope=scope), journal=journal)

    async def deny(
        self, run_id: str, call_id: str, reason: str = "", *, by: str = "", journal: bool | Journal | Services | None = None
    ) -> Approval:
        """Deny a waiting call; the model reads the reason."""
        return await self.answer(run_id, call_id, Answer(False, by, reason), journal=journal)

    async def settle(
        self,
        run_id: str,
        call_id: str,
        said: Settling,
        words: str = "",
        *,
        by: str = "",
        digest: str = "",
        journal: bool | Journal | Services | None = None,
    ) -> Approval:
        """Record the outcome of a call that was running when its process died: "happened", "not_happened", or "again" to retry it.

        `words` are for the model, such as the call's result. `resume` then continues the run.
        """
        answer = Answer(by=by, reason=words, settled=said)
        return await self.answer(run_id, call_id, answer, digest=digest, journal=journal)

    async def answer(
        self, run_id: str, call_id: str, answer: Answer, *, digest: str = "", journal: bool | Journal | Services | None = None
    ) -> Approval:
        """Record an answer: `approve`, `deny` or `settle`, as it says; `digest` binds it to the call that was shown."""
        check_call_id(call_id)
        return await (await self._find_engine(run_id, journal)).answer(run_id, call_id, answer, digest=digest)

    async def answer_all(
        self,
        run_id: str,
        answer: Answer,
        *,
        shown: Sequence[tuple[str, str]] | None = None,
        journal: bool | Journal | Services | None = None,
    ) -> list[Approval]:
        """Approve or deny several calls at once: those `shown`, by id and digest, or all that wait for approval."""
        return await (await self._find_engine(run_id, journal)).answer_all(run_id, answer, shown=shown)

    async def fork(
        self, run_id: str, at: int | None = None, *, new_id: str | None = None, journal: bool | Journal | Services | None = None
    ) -> str:
        """Create a run from a copy of another run's first `at` entries and return its id; `run` or `resume` it."""
        return await (await self._find_engine(run_id, journal)).fork(run_id, at, new_id)

    async def regenerate(
        self,
        run_id: str,
        message: Prompt | None = None,
        *,
        number: int = -1,
        new_id: str | None = None,
        **how: Unpack[ResumeOptions[DepsT_contra]],
    ) -> RunResult[OutputT]:
        """Fork a run before a message of the user and send that again, or `message` in its place: in a run of its own.

        `number` counts the user's messages from 1 on, or from the end: by default it is the last one.
        """
        engine = await self._find_engine(run_id, how.get("journal"))
        how["journal"] = engine.services
        forked, said = await engine.fork_before_message(run_id, number, new_id)
        return await self.run(said if message is None else message, run_id=forked, **how)

    async def steer(
        self,
        run_id: str,
        message: Prompt,
        *,
        message_id: str = "",
        journal: bool | Journal | Services | None = None,
    ) -> bool:
        """Send a message to a run while its turn is running: it is journaled at once, and the model reads it with its next request.

        A run that waits for an approval takes it too, and goes on with it. Return False where the turn is over: then `run` the
        message. One whose `message_id` the run has already isn't sent again. Raises `RunTaken` where the turn may be running in
        another process.
        """
        check_message_id(message_id)
        active = next((engine for engine in self._all_engines() if engine.is_active(run_id)), None)
        return await (active or await self._find_engine(run_id, journal)).steer(run_id, message, message_id)

    async def compact(self, run_id: str, *, journal: bool | Journal | Services | None = None) -> bool:
        """Have a summary stand for a run's conversation from now on; the journal keeps all of it. False if there is too little."""
        return await (await self._find_engine(run_id, journal)).compact(run_id)

    async def cancel(self, run_id: str) -> bool:
        """Cancel a run that is active in this process. Return False where there is none."""
        return any([await engine.cancel(run_id) for engine in self._all_engines()])

    async def interrupt(self, run_id: str) -> bool:
        """Stop a run that is active in this process for now: `resume` continues it. Return False where there is none."""
        return any([await engine.interrupt(run_id) for engine in self._all_engines()])

    def watch(self, run_id: str) -> Watch:
        """Return the events of a run that is active in this process, from now on."""
        for engine in self._all_engines():
            try:
                return engine.watch(run_id)
            except RunNotFound:
                continue
        raise RunNotFound(f"Run {run_id} isn't under way in this process.")

    def as_tool(
        self,
        name: str | None = None,
        description: str = "",
        *,
        input_type: Any = None,
        template: Callable[[Any], Prompt] | None = None,
        background: bool = False,
    ) -> Toolset:
        """Return this agent as a tool for another agent. Its structured output is the data of the call's result.

        The tool takes a prompt. With `input_type`, a class with fields, it takes those, and the prompt is what `template`
        makes of the value, or else the fields as JSON. In the `background` the other agent goes on meanwhile, and reads the
        result when it is there.
        """
        from treadle.agent.nested import NestedAgent, make_input  # most agents are no tools of others

        told = description or (self.setup.instructions if isinstance(self.setup.instructions, str) else "")
        tool_name = check_tool_name(name) if name else to_tool_name(self.setup.name)
        takes = make_input(input_type, template, tool_name)
        return NestedAgent(
            self._resolve_nested, tool_name, told or f"Ask the agent {self.setup.name}.", takes, background=background
        )

    def as_handoff(self, tool_name: str = "", description: str = "") -> "Handoff":
        """Return this agent as one that others hand a conversation off to: for their `handoffs=[…]`."""
        from treadle.agent.handoff import make_handoff  # most agents hand nothing off

        return make_handoff(self.name, self._current_setup, tool_name, description)

    def override(self, **changes: Unpack[AgentChanges]) -> AbstractContextManager[None]:
        """Replace parts of this agent, and the `deps` of its runs, in the code below the `with`: for tests.

        It is in effect also where this agent is a tool of another one or a run is handed off to it, in tasks and threads that
        are started inside, and over what is passed to `run`.
        """
        given: dict[str, Any] = dict(changes)
        check_changes(given)
        deps = given.pop("deps", UNSET)
        before = find_override(self)
        derived = self._current()._derive(given)
        derived._pinned = self._current()._pinned | set(given)
        return use_override(self, Override(derived, before.deps if deps is UNSET and before is not None else deps))

    def _current(self) -> "Agent[DepsT_contra, OutputT]":
        """Return the agent that takes this one's place here, if any does."""
        override = find_override(self)
        return self if override is None else override.agent

    def _current_setup(self) -> Setup:
        current = self._current()
        current._find_key()
        return current.setup

    def _find_key(self) -> None:
        """Create the model now, if its key wasn't set when the agent was created. Raises `MissingKey`."""
        if not isinstance(self.setup.model, KeylessModel):
            return
        setup = self._derive({}).setup
        if isinstance(setup.model, KeylessModel):
            raise setup.model.missing
        self.setup = setup
        for engine in (self._passing, *self._engines.values()):
            engine.use_setup(setup)

    def _deps_of(self, deps: Any) -> Any:
        override = find_override(self)
        return deps if override is None or override.deps is UNSET else override.deps

    def _resolve_nested(self, caller: Caller) -> tuple[Setup, Caller]:
        return self._current_setup(), replace(caller, deps=self._deps_of(caller.deps))

    async def _read_history(self, history: Sequence[Message] | str | bytes, engine: Engine) -> tuple[Message, ...]:
        if not history:
            return ()
        from treadle.stores.history import take_history

        return await asyncio.to_thread(take_history, history, engine.services.blobs)

    def output_validator(self, function: ValidatorT) -> ValidatorT:
        """Register a function that checks each output, as `@agent.output_validator`; it may be async.

        It gets the output, or the `RunContext` and the output. It returns the output, another one of the same type, or None
        for the same; raise `ToolProblem` to have the model try again, at most `Limits.output_retries` times.
        """
        validators = self._given["output_validators"] = (*self._given["output_validators"], function)
        output = choose_output(self._given["output_type"], self.setup.model, self._given["output_mode"], validators)
        self.setup = replace(self.setup, output=output, terms=replace(self.setup.terms, wants_output=True))
        for engine in (self._passing, *self._engines.values()):
            engine.use_setup(self.setup)
        return function

    def _with_overrides(
        self,
        model: ModelLike | None,
        options: Options | None,
        limits: Limits | None,
        tools: "Iterable[ToolFunction[DepsT_contra] | Toolset]",
    ) -> "Agent[DepsT_contra, OutputT]":
        """Return this agent with one run's overrides, except for what a test has overridden."""
        agent, more = self._current(), check_overrides(options, tools)
        changes: dict[str, Any] = {}
        if model is not None:
            changes["model"] = model
        if options is not None:
            changes["options"] = merge_options(agent._given["options"] or Options(), options)
        if limits is not None:
            changes["limits"] = limits
        if more:
            changes["tools"] = [*agent._given["tools"], *more]
        changes = {name: value for name, value in changes.items() if name not in agent._pinned}
        return agent._derive(changes) if changes else agent

    def _derive(self, changes: dict[str, Any]) -> "Agent[DepsT_contra, OutputT]":
        """Return this agent with other arguments; both share the same in-memory runs."""
        derived: Agent[DepsT_contra, OutputT] = Agent(**{**self._given, **changes})
        derived._memory = self._memory
        derived._passing = Engine(derived.setup, self._passing.services)
        self._changed.add(derived)
        return derived

    def _all_engines(self) -> "list[Engine]":
        others = [engine for agent in self._changed for engine in agent._all_engines()]
        return [self._passing, *self._engines.values(), *others]

    def _engine_for(self, journal: bool | Journal | Services | None) -> Engine:
        check_journal(journal)
        if (current := self._current()) is not self:
            return current._engine_for(journal)
        if not journal:
            return self._passing
        if isinstance(journal, Services):
            services = journal
        elif journal is True:
            from treadle.home import open_home  # the stores are slow to import, and not every agent keeps anything

            services = open_home().services()
        else:
            services = _services_of(journal)
        key = id(services.journal)
        if key not in self._engines or self._engines[key].services.journal is not services.journal:
            if len(self._engines) >= MAX_ENGINES:  # a worker has a journal for each run
                oldest = [each for each, engine in self._engines.items() if engine.is_idle][: MAX_ENGINES // 2]
                for each in oldest:  # the others may be about to begin
                    del self._engines[each]
            self._engines[key] = Engine(self.setup, services)
        return self._engines[key]

    async def _find_engine(self, run_id: str, journal: bool | Journal | Services | None) -> Engine:
        """Return the engine that holds a run: the requested one, else this process's memory, else the data folder."""
        if journal is not None:
            return self._engine_for(journal)
        return self._engine_for(not self._memory.has(run_id))

    async def _let_go(self, engine: Engine, result: RunResult[Any]) -> None:
        """Make room for a finished run in memory; one that waits for an answer is kept until it is over."""
        if engine.services is self._passing.services and result.stopped != "waiting" and not result.interrupted:
            await self._memory.retire(result.run_id)


@lru_cache(maxsize=256)
def _warn_once(sentence: str) -> None:
    """Log a warning about an agent, and not again for the copies of it that runs with other options use."""
    log.warning(sentence)


def _add_watch(how: ResumeOptions[Any]) -> Watch:
    """Return a new watch that is among the watchers of a run."""
    watch = Watch()
    how["watchers"] = (*how.get("watchers", ()), watch)
    return watch


def _end_watch(watch: Watch, done: "asyncio.Task[Any]") -> None:
    """End the watch of a run that failed: it sends no last event, and a streaming caller must not wait for one."""
    if done.cancelled() or done.exception() is not None:
        watch(RunEnded(result=None))


def _services_of(journal: Journal) -> Services:
    return Services(journal, cache=MemoryCache(), results=MemoryResults(), blobs=PROCESS_BLOBS, waits=_waits_of(journal))


def _waits_of(journal: Journal) -> WaitStore | None:
    """Return the waits of a journal in a database; None for any other journal."""
    database = getattr(journal, "database", None)
    if database is None:
        return None
    from treadle.stores.waits import DatabaseWaits  # few agents need it

    return DatabaseWaits(database)


def _make_handoffs(owner: str, handoffs: "Iterable[Agent[Any, Any] | Handoff]") -> "HandoffToolset | None":
    given = list(handoffs)
    if not given:
        return None
    from treadle.agent.handoff import HandoffToolset

    return HandoffToolset(owner, [each.as_handoff() if isinstance(each, Agent) else each for each in given])


def _run_in_new_loop(work: Callable[[], Coroutine[Any, Any, ReturnT]]) -> ReturnT:
    if asyncio._get_running_loop() is not None:  # pyright: ignore[reportPrivateUsage]  # documented, and raises nothing
        raise SettingsError("An event loop is running already: use `await agent.run(…)` here instead of `run_sync`.")
    return asyncio.run(_run_and_close(work))


async def _run_and_close(work: Callable[[], Coroutine[Any, Any, ReturnT]]) -> ReturnT:
    """Await the work, then close its connections: they belong to this event loop, which ends here."""
    try:
        return await work()
    finally:
        from treadle.models.http import close_model_connections

        await close_model_connections()

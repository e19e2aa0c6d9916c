"""The public API: a model with tools and instructions. Builds the engine's setup and runs it."""

import asyncio
from collections.abc import AsyncGenerator, AsyncIterator, Callable, Coroutine, Iterable, Mapping, Sequence
from contextlib import aclosing
from typing import Any, Generic, TypeVar
from weakref import WeakSet

from msgspec import Struct

from treadle.agent.nested import NestedAgent
from treadle.agent.output import OutputMode, choose_output
from treadle.core.calls import Settling
from treadle.core.errors import RunNotFound, SettingsError
from treadle.core.events import Event, RunEnded
from treadle.core.media import Prompt
from treadle.core.messages import Message
from treadle.core.requests import Options, merge_options
from treadle.core.seams import Journal, Model, Policy, Toolset, Watcher
from treadle.dialects import auto_dialect
from treadle.engine.engine import Engine
from treadle.engine.result import RunResult
from treadle.engine.setup import Answer, Approval, Approver, Caller, Instructions, Services, Setup
from treadle.engine.watch import Watch
from treadle.guard.policy import Rule, to_policy
from treadle.guard.redaction import Redactor
from treadle.loop.decide import TurnTerms
from treadle.loop.limits import Limits
from treadle.loop.window import history_window
from treadle.plugins.models import ModelLike, resolve_model
from treadle.prices import calculate_cost, require_price
from treadle.settings.calling_modes import calls_natively, enable_tool_calls
from treadle.stores.blobs import MemoryBlobs
from treadle.stores.cache import MemoryCache
from treadle.stores.journal import MemoryJournal
from treadle.stores.results import MemoryResults
from treadle.tools.tool import FunctionTool
from treadle.toolsets.functions import FunctionToolset
from treadle.toolsets.wrappers import CombinedToolset

OutputT = TypeVar("OutputT")

_blobs = MemoryBlobs()  # one for the process: a history that an agent made may be continued by another
_background_tasks: set["asyncio.Task[Any]"] = set()  # what goes on although nobody looks any more


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


class Agent(Generic[OutputT]):
    """A model with tools and instructions.

    model          `openai:gpt-5-mini`, `anthropic:…`, `ollama:…`, or a model object; several are a fallback, tried in order
    tools          functions, `@tool`s, and other agents' `as_tool()`
    toolsets       sources of tools
    instructions   the system prompt, or a function of the `RunContext` that returns it
    output_type    the type of the answer; text by default
    output_mode    how structured output is requested: `native`, by a schema that the server enforces, or `tool`, by a call
                   whose arguments are the answer; by default native where the model's server supports it
    limits         ceilings on a turn, and what happens at one
    options        temperature, max_tokens and the like
    policy         `[allow("stock"), ask("order_*"), deny("delete_*")]`, or any object that judges calls
    approver       callback that answers approvals at once; without one a run stops as "waiting"
    attended       False where no person can be asked: calls that need approval are denied, and for a call that was running
                   during a crash only the model is told that its outcome is unknown
    notes          a line for the model with the request of each round
    dialect        how the model writes calls: `native`, `held`, or a dialect's name; by default what suits the model
    """

    def __init__(
        self,
        model: ModelLike,
        *,
        tools: Iterable[FunctionTool | Callable[..., Any] | Toolset] = (),
        toolsets: Iterable[Toolset] = (),
        instructions: Instructions = "",
        output_type: type[OutputT] | Any = str,
        output_mode: OutputMode = "auto",
        name: str = "agent",
        limits: Limits | None = None,
        options: Options | None = None,
        policy: Policy | Sequence[Rule] | Mapping[str, Any] | Callable[..., Any] | None = None,
        approver: Approver | None = None,
        attended: bool = True,
        notes: Sequence[str] = (),
        results: ResultOptions | None = None,
        discovery: Discovery | None = None,
        dialect: str = "",
        redactor: Redactor | None = None,
        priced: bool = False,
    ) -> None:
        self._given: dict[str, Any] = {name: value for name, value in locals().items() if name not in ("self", "__class__")}
        tools = self._given["tools"] = list(tools)  # once: it may be a generator
        limits, options, results, discovery = (
            limits or Limits(),
            options or Options(),
            results or ResultOptions(),
            discovery or Discovery(),
        )
        found = enable_tool_calls(model, dialect)
        if limits.cost is not None:
            require_price(found.name, limits.cost)
        output = choose_output(output_type, found, output_mode)
        window = history_window(found.traits.context, (options.max_tokens or 1024) + 1024)
        self.setup = Setup(
            name=name,
            model=found,
            toolset=_combine_toolsets(tools, toolsets),
            policy=to_policy(policy),
            instructions=instructions,
            terms=TurnTerms(limits, tuple(notes), wants_output=output is not None, window=window),
            options=options,
            redactor=redactor or Redactor(),
            net=auto_dialect(strict=True) if calls_natively(found) else None,
            output=output,
            approver=approver,
            attended=attended,
            shows_secrets=results.show_secrets,
            result_limit=results.limit,
            summarizer=None if results.summarizer is None else resolve_model(results.summarizer),
            discover_above=discovery.above,
            always_offered=discovery.always,
            price=calculate_cost if priced or limits.cost is not None else None,
        )
        self._memory = MemoryJournal()
        self._passing = Engine(self.setup, Services(self._memory, cache=MemoryCache(), results=MemoryResults(), blobs=_blobs))
        self._engines: dict[int, Engine] = {}
        self._changed: WeakSet[Agent[Any]] = WeakSet()  # with what only some runs have

    @property
    def name(self) -> str:
        """The agent's name."""
        return self.setup.name

    async def run(
        self,
        prompt: Prompt,
        *,
        run_id: str | None = None,
        journal: bool | Journal | Services = False,
        user: str = "",
        deps: Any = None,
        credentials: Mapping[str, str] | None = None,
        history: Sequence[Message] = (),
        watchers: Sequence[Watcher] = (),
        origin: dict[str, Any] | None = None,
        model: ModelLike | None = None,
        options: Options | None = None,
        limits: Limits | None = None,
        tools: Iterable[FunctionTool | Callable[..., Any] | Toolset] = (),
    ) -> RunResult[OutputT]:
        """Run a prompt: text, or a list of text, `Image`, `Audio` and `Document`.

        With `journal=True` the run is persisted; an existing `run_id` is continued.

        `model` and `limits` replace the agent's own for this run, `options` that are set override its own, and `tools` are
        added.
        """
        changed = self._with_overrides(model, options, limits, tools)
        if changed is not self:
            how: dict[str, Any] = {"run_id": run_id, "journal": journal, "user": user, "deps": deps, "credentials": credentials}
            return await changed.run(prompt, history=history, watchers=watchers, origin=origin, **how)
        engine = self._engine_for(journal)
        caller = Caller(user, deps, credentials or {}, watchers)
        result = await engine.start(prompt, run_id=run_id, caller=caller, history=tuple(history), origin=origin)
        await self._let_go(engine, result)
        return result

    def run_sync(self, prompt: Prompt, **how: Any) -> RunResult[OutputT]:
        """Call `run` from synchronous code."""
        return _run_in_new_loop(lambda: self.run(prompt, **how))

    async def stream(self, prompt: Prompt, *, watchers: Sequence[Watcher] = (), **how: Any) -> AsyncIterator[Event]:
        """Run a prompt and yield typed events, the last of which carries `.result`. Leaving early cancels the run."""
        async with aclosing(self._seen(lambda watch: self.run(prompt, watchers=(*watchers, watch), **how))) as events:
            async for event in events:
                yield event

    async def stream_resumed(self, run_id: str, *, watchers: Sequence[Watcher] = (), **how: Any) -> AsyncIterator[Event]:
        """Resume a run and yield its events. Leaving early doesn't stop the run: it may be what a person approved."""
        work = self._seen(lambda watch: self.resume(run_id, watchers=(*watchers, watch), **how), lasting=True)
        async with aclosing(work) as events:
            async for event in events:
                yield event

    async def _seen(
        self, begin: Callable[[Watch], Coroutine[Any, Any, RunResult[OutputT]]], *, lasting: bool = False
    ) -> AsyncGenerator[Event]:
        watch, run_id = Watch(), ""
        task = asyncio.ensure_future(begin(watch))
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
        deps: Any = None,
        credentials: Mapping[str, str] | None = None,
        watchers: Sequence[Watcher] = (),
        model: ModelLike | None = None,
        options: Options | None = None,
        limits: Limits | None = None,
        tools: Iterable[FunctionTool | Callable[..., Any] | Toolset] = (),
    ) -> RunResult[OutputT]:
        """Resume a run after a crash, a restart or an approval, also in another process than it started in.

        Arguments that were given for this run alone have to be given again.
        """
        changed = self._with_overrides(model, options, limits, tools)
        if changed is not self:
            how: dict[str, Any] = {"journal": journal, "user": user, "deps": deps, "credentials": credentials}
            return await changed.resume(run_id, watchers=watchers, **how)
        engine = await self._find_engine(run_id, journal)
        result = await engine.resume(run_id, caller=Caller(user, deps, credentials or {}, watchers))
        await self._let_go(engine, result)
        return result

    def resume_sync(self, run_id: str, **how: Any) -> RunResult[OutputT]:
        """Call `resume` from synchronous code."""
        return _run_in_new_loop(lambda: self.resume(run_id, **how))

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
        journal: bool | Journal | Services | None = None,
    ) -> Approval:
        """Approve a waiting call, optionally with other arguments; `resume` then continues the run."""
        return await self.answer(run_id, call_id, Answer(True, by, arguments=arguments), digest=digest, journal=journal)

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
        return await (await self._find_engine(run_id, journal)).answer(run_id, call_id, answer, digest=digest)

    async def fork(
        self, run_id: str, at: int | None = None, *, new_id: str | None = None, journal: bool | Journal | Services | None = None
    ) -> str:
        """Create a run from a copy of another run's first `at` entries and return its id; `run` or `resume` it."""
        return await (await self._find_engine(run_id, journal)).fork(run_id, at, new_id)

    async def cancel(self, run_id: str) -> bool:
        """Cancel a run that is active in this process. Return False where there is none."""
        return any([await engine.cancel(run_id) for engine in self._all_engines()])

    def watch(self, run_id: str) -> Watch:
        """Return the events of a run that is active in this process, from now on."""
        for engine in self._all_engines():
            try:
                return engine.watch(run_id)
            except RunNotFound:
                continue
        raise RunNotFound(f"Run {run_id} isn't under way in this process.")

    def as_tool(self, name: str | None = None, description: str = "") -> Toolset:
        """Return this agent as a tool for another agent."""
        told = description or (self.setup.instructions if isinstance(self.setup.instructions, str) else "")
        return NestedAgent(self.setup, name or self.setup.name, told or f"Ask the agent {self.setup.name}.")

    def _with_overrides(
        self,
        model: ModelLike | None,
        options: Options | None,
        limits: Limits | None,
        tools: Iterable[FunctionTool | Callable[..., Any] | Toolset],
    ) -> "Agent[OutputT]":
        """Return this agent with one run's overrides; both share the same in-memory runs."""
        more = list(tools)
        if model is None and options is None and limits is None and not more:
            return self
        given = dict(self._given)
        if model is not None:
            given["model"] = model
        if options is not None:
            given["options"] = merge_options(given["options"] or Options(), options)
        if limits is not None:
            given["limits"] = limits
        given["tools"] = [*given["tools"], *more]
        changed: Agent[OutputT] = Agent(**given)
        changed._memory = self._memory
        changed._passing = Engine(changed.setup, self._passing.services)
        self._changed.add(changed)
        return changed

    def _all_engines(self) -> "list[Engine]":
        others = [engine for agent in self._changed for engine in agent._all_engines()]
        return [self._passing, *self._engines.values(), *others]

    def _engine_for(self, journal: bool | Journal | Services | None) -> Engine:
        if not journal:
            return self._passing
        if isinstance(journal, Services):
            services = journal
        elif journal is True:
            from treadle.home import open_home  # the stores are slow to import, and not every agent keeps anything

            services = open_home().services()
        else:
            services = Services(journal, cache=MemoryCache(), results=MemoryResults(), blobs=_blobs)
        key = id(services.journal)
        if key not in self._engines or self._engines[key].services.journal is not services.journal:
            self._engines[key] = Engine(self.setup, services)
        return self._engines[key]

    async def _find_engine(self, run_id: str, journal: bool | Journal | Services | None) -> Engine:
        """Return the engine that holds a run: the requested one, else this process's memory, else the data folder."""
        if journal is not None:
            return self._engine_for(journal)
        return self._passing if self._memory.has(run_id) else self._engine_for(True)

    async def _let_go(self, engine: Engine, result: RunResult[Any]) -> None:
        """Forget a finished run without a journal; one that waits for an answer is kept."""
        if engine is self._passing and result.stopped != "waiting":
            await self._memory.forget(result.run_id)


def _end_watch(watch: Watch, done: "asyncio.Task[Any]") -> None:
    """End the watch of a run that failed: it sends no last event, and a streaming caller must not wait for one."""
    if done.cancelled() or done.exception() is not None:
        watch(RunEnded(result=None))


def _combine_toolsets(tools: Iterable[Any], toolsets: Iterable[Toolset]) -> Toolset:
    """Combine functions and toolsets into one toolset."""
    functions: list[Any] = []
    sources = list(toolsets)
    for given in tools:
        if hasattr(given, "tools") and hasattr(given, "call"):
            sources.append(given)
        else:
            functions.append(given)
    if functions or not sources:
        sources.insert(0, FunctionToolset(functions))
    return sources[0] if len(sources) == 1 else CombinedToolset(*sources)


def _run_in_new_loop(work: Callable[[], Any]) -> Any:
    if asyncio._get_running_loop() is not None:  # pyright: ignore[reportPrivateUsage]  # documented, and raises nothing
        raise SettingsError("An event loop is running already: use `await agent.run(…)` here instead of `run_sync`.")
    return asyncio.run(_run_and_close(work))


async def _run_and_close(work: Callable[[], Any]) -> Any:
    """Await the work, then close its connections: they belong to this event loop, which ends here."""
    try:
        return await work()
    finally:
        from treadle.models.http import close_model_connections

        await close_model_connections()

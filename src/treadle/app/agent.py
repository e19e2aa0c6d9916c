"""The public face: a model with tools and instructions. Builds what the engine needs and opens the door to it."""

import asyncio
from collections.abc import AsyncGenerator, AsyncIterator, Callable, Coroutine, Iterable, Mapping, Sequence
from contextlib import aclosing
from typing import Any, Generic, TypeVar
from weakref import WeakSet

from msgspec import Struct

from treadle.app.models import ModelLike, model_of
from treadle.app.nested import NestedAgent
from treadle.app.output import OutputMode, choose_output
from treadle.app.prices import price, require_price
from treadle.app.ways import able, is_native
from treadle.core.calls import Settling
from treadle.core.errors import RunNotFound, SettingsError
from treadle.core.events import Event, RunEnded
from treadle.core.media import Prompt
from treadle.core.messages import Message
from treadle.core.requests import Options, merge_options
from treadle.core.seams import Journal, Model, Policy, Toolset, Watcher
from treadle.dialects import auto
from treadle.engine.engine import Engine
from treadle.engine.result import RunResult
from treadle.engine.setup import Answer, Approval, Approver, Caller, Instructions, Services, Setup
from treadle.engine.watch import Watch
from treadle.guard.policy import Rule, policy_of
from treadle.guard.redaction import Redactor
from treadle.loop.decide import Terms
from treadle.loop.limits import Limits
from treadle.loop.window import window_of
from treadle.stores.blobs import MemoryBlobs
from treadle.stores.cache import MemoryCache
from treadle.stores.journal import MemoryJournal
from treadle.stores.results import MemoryResults
from treadle.tools.tool import FunctionTool
from treadle.toolsets.python import Functions
from treadle.toolsets.wrap import Together

OutputT = TypeVar("OutputT")

_blobs = MemoryBlobs()  # one for the process: a history that an agent made may be continued by another
_lasting: set["asyncio.Task[Any]"] = set()  # what goes on although nobody looks any more


class Results(Struct, frozen=True):
    """How results reach the model.

    limit         characters of one result that are shown; the whole of a longer one is kept for `read_result`
    summarizer    a model, usually a cheaper one, that sums longer results up instead of cutting them
    show_secrets  whether the model sees secrets that a tool prints; journal, audit, events and logs never do
    """

    limit: int = 20_000
    summarizer: Model | str | None = None
    show_secrets: bool = False


class Discovery(Struct, frozen=True):
    """With more than `above` tools, a model sees those named in `always`, and `find_tools` to find the others."""

    above: int = 40
    always: tuple[str, ...] = ()


class Agent(Generic[OutputT]):
    """A model with tools and instructions.

    model          `openai:gpt-5-mini`, `anthropic:…`, `ollama:…`, or a model object; of several, the next one where one is down
    tools          functions, `@tool`s, and other agents' `as_tool()`
    toolsets       sources of tools
    instructions   what it is told; or a function of the `RunContext` that says it
    output_type    the type of the answer; text unless you say otherwise
    output_mode    how it is asked for: `native`, by a schema that the server holds the answer to, or `tool`, by a call whose
                   arguments are the answer; natively where the model's server can unless you say otherwise
    limits         ceilings on a turn, and what happens at one
    options        temperature, max_tokens and the like
    policy         `[allow("stock"), ask("order_*"), deny("delete_*")]`, or anything that judges
    approver       answers approvals on the spot; without one a run stops as "waiting"
    attended       False where no person can be asked: calls that would need one are denied, and of one that was running in a
                   crash the model alone is told that nobody knows what became of it
    notes          a line for the model with the request of each round
    dialect        how it writes calls: `native`, `held`, or a dialect's name; what suits the model unless you say otherwise
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
        results: Results | None = None,
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
            results or Results(),
            discovery or Discovery(),
        )
        found = able(model, dialect)
        if limits.cost is not None:
            require_price(found.name, limits.cost)
        output = choose_output(output_type, found, output_mode)
        window = window_of(found.traits.context, (options.max_tokens or 1024) + 1024)
        self.setup = Setup(
            name=name,
            model=found,
            toolset=_toolset(tools, toolsets),
            policy=policy_of(policy),
            instructions=instructions,
            terms=Terms(limits, tuple(notes), wants_output=output is not None, window=window),
            options=options,
            redactor=redactor or Redactor(),
            net=auto(strict=True) if is_native(found) else None,
            output=output,
            approver=approver,
            attended=attended,
            shows_secrets=results.show_secrets,
            result_limit=results.limit,
            summarizer=None if results.summarizer is None else model_of(results.summarizer),
            discover_above=discovery.above,
            always_offered=discovery.always,
            price=price if priced or limits.cost is not None else None,
        )
        self._memory = MemoryJournal()
        self._passing = Engine(self.setup, Services(self._memory, cache=MemoryCache(), results=MemoryResults(), blobs=_blobs))
        self._engines: dict[int, Engine] = {}
        self._changed: WeakSet[Agent[Any]] = WeakSet()  # with what only some runs have

    @property
    def name(self) -> str:
        """What it is called."""
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
        """Ask something: words, or a list of words, `Image`, `Audio` and `Document`.

        With `journal=True` the run is kept; a `run_id` that is there already is continued.

        `model` and `limits` take the place of the agent's own for this run, `options` that are set go before its own, and `tools`
        come in addition.
        """
        changed = self._with(model, options, limits, tools)
        if changed is not self:
            how: dict[str, Any] = {"run_id": run_id, "journal": journal, "user": user, "deps": deps, "credentials": credentials}
            return await changed.run(prompt, history=history, watchers=watchers, origin=origin, **how)
        engine = self._engine(journal)
        caller = Caller(user, deps, credentials or {}, watchers)
        result = await engine.start(prompt, run_id=run_id, caller=caller, history=tuple(history), origin=origin)
        await self._let_go(engine, result)
        return result

    def run_sync(self, prompt: Prompt, **how: Any) -> RunResult[OutputT]:
        """`run` for programs that aren't asynchronous."""
        return _in_new_loop(lambda: self.run(prompt, **how))

    async def stream(self, prompt: Prompt, *, watchers: Sequence[Watcher] = (), **how: Any) -> AsyncIterator[Event]:
        """Ask something and see it happen: typed events, the last of which carries `.result`. Leaving early cancels the run."""
        async with aclosing(self._seen(lambda watch: self.run(prompt, watchers=(*watchers, watch), **how))) as events:
            async for event in events:
                yield event

    async def stream_resumed(self, run_id: str, *, watchers: Sequence[Watcher] = (), **how: Any) -> AsyncIterator[Event]:
        """`resume`, seen as it happens. Leaving early doesn't stop it: it may be what a person approved."""
        work = self._seen(lambda watch: self.resume(run_id, watchers=(*watchers, watch), **how), lasting=True)
        async with aclosing(work) as events:
            async for event in events:
                yield event

    async def _seen(
        self, begin: Callable[[Watch], Coroutine[Any, Any, RunResult[OutputT]]], *, lasting: bool = False
    ) -> AsyncGenerator[Event]:
        watch, run_id = Watch(), ""
        task = asyncio.ensure_future(begin(watch))
        task.add_done_callback(lambda done: _end(watch, done))
        try:
            async for event in watch:
                run_id = run_id or event.run_id
                if watch.ends_with(event):
                    await task  # raises what `run` raised
                yield event
        finally:
            if lasting and not task.done():
                _lasting.add(task)  # or it might be collected before it is over
                task.add_done_callback(_lasting.discard)
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
        """Take a run up again: after a crash, a restart, an approval; also in another process than it began in.

        What was given for this run alone has to be given again.
        """
        changed = self._with(model, options, limits, tools)
        if changed is not self:
            how: dict[str, Any] = {"journal": journal, "user": user, "deps": deps, "credentials": credentials}
            return await changed.resume(run_id, watchers=watchers, **how)
        engine = await self._engine_of(run_id, journal)
        result = await engine.resume(run_id, caller=Caller(user, deps, credentials or {}, watchers))
        await self._let_go(engine, result)
        return result

    def resume_sync(self, run_id: str, **how: Any) -> RunResult[OutputT]:
        """`resume` for programs that aren't asynchronous."""
        return _in_new_loop(lambda: self.resume(run_id, **how))

    async def approvals(self, run_id: str, *, journal: bool | Journal | Services | None = None) -> list[Approval]:
        """What a person has to answer before a run can go on."""
        return await (await self._engine_of(run_id, journal)).approvals(run_id)

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
        """Say yes to a call that waits, perhaps with other arguments; `resume` then goes on."""
        return await self.answer(run_id, call_id, Answer(True, by, arguments=arguments), digest=digest, journal=journal)

    async def deny(
        self, run_id: str, call_id: str, reason: str = "", *, by: str = "", journal: bool | Journal | Services | None = None
    ) -> Approval:
        """Say no to a call that waits; the model reads why."""
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
        """Say what became of a call that was running when its process died: it "happened", "not_happened", or try it "again".

        `words` are for the model, such as what came of it. `resume` then goes on.
        """
        answer = Answer(by=by, reason=words, settled=said)
        return await self.answer(run_id, call_id, answer, digest=digest, journal=journal)

    async def answer(
        self, run_id: str, call_id: str, answer: Answer, *, digest: str = "", journal: bool | Journal | Services | None = None
    ) -> Approval:
        """`approve`, `deny` or `settle`, by what the answer says; `digest` binds it to what was shown."""
        return await (await self._engine_of(run_id, journal)).answer(run_id, call_id, answer, digest=digest)

    async def fork(
        self, run_id: str, at: int | None = None, *, new_id: str | None = None, journal: bool | Journal | Services | None = None
    ) -> str:
        """A new run that goes on from a copy of another one's first `at` entries; `run` or `resume` it."""
        return await (await self._engine_of(run_id, journal)).fork(run_id, at, new_id)

    async def cancel(self, run_id: str) -> bool:
        """Stop a run that is under way in this process. False where there is none."""
        return any([await engine.cancel(run_id) for engine in self._all_engines()])

    def watch(self, run_id: str) -> Watch:
        """The events of a run that is under way in this process, from now on."""
        for engine in self._all_engines():
            try:
                return engine.watch(run_id)
            except RunNotFound:
                continue
        raise RunNotFound(f"Run {run_id} isn't under way in this process.")

    def as_tool(self, name: str | None = None, description: str = "") -> Toolset:
        """This agent as a tool of another one."""
        told = description or (self.setup.instructions if isinstance(self.setup.instructions, str) else "")
        return NestedAgent(self.setup, name or self.setup.name, told or f"Ask the agent {self.setup.name}.")

    def _with(
        self,
        model: ModelLike | None,
        options: Options | None,
        limits: Limits | None,
        tools: Iterable[FunctionTool | Callable[..., Any] | Toolset],
    ) -> "Agent[OutputT]":
        """This agent with what one run has of its own; the same runs in memory are known to both."""
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

    def _engine(self, journal: bool | Journal | Services | None) -> Engine:
        if not journal:
            return self._passing
        if isinstance(journal, Services):
            services = journal
        elif journal is True:
            from treadle.app.home import open_home  # the stores are slow to import, and not every agent keeps anything

            services = open_home().services()
        else:
            services = Services(journal, cache=MemoryCache(), results=MemoryResults(), blobs=_blobs)
        key = id(services.journal)
        if key not in self._engines or self._engines[key].services.journal is not services.journal:
            self._engines[key] = Engine(self.setup, services)
        return self._engines[key]

    async def _engine_of(self, run_id: str, journal: bool | Journal | Services | None) -> Engine:
        """The engine that knows a run: the one asked for, else this process's memory, else the data folder."""
        if journal is not None:
            return self._engine(journal)
        return self._passing if self._memory.has(run_id) else self._engine(True)

    async def _let_go(self, engine: Engine, result: RunResult[Any]) -> None:
        """A run without a journal is remembered only as long as somebody has to answer for it."""
        if engine is self._passing and result.stopped != "waiting":
            await self._memory.forget(result.run_id)


def _end(watch: Watch, done: "asyncio.Task[Any]") -> None:
    """A run that broke sends no last event; whoever streams must not wait for it."""
    if done.cancelled() or done.exception() is not None:
        watch(RunEnded(result=None))


def _toolset(tools: Iterable[Any], toolsets: Iterable[Toolset]) -> Toolset:
    """Functions and toolsets as one toolset."""
    functions: list[Any] = []
    sources = list(toolsets)
    for given in tools:
        if hasattr(given, "tools") and hasattr(given, "call"):
            sources.append(given)
        else:
            functions.append(given)
    if functions or not sources:
        sources.insert(0, Functions(functions))
    return sources[0] if len(sources) == 1 else Together(*sources)


def _in_new_loop(work: Callable[[], Any]) -> Any:
    if asyncio._get_running_loop() is not None:  # pyright: ignore[reportPrivateUsage]  # documented, and raises nothing
        raise SettingsError("An event loop is running already: use `await agent.run(…)` here instead of `run_sync`.")
    return asyncio.run(_and_close(work))


async def _and_close(work: Callable[[], Any]) -> Any:
    """The work, and then its connections closed: they belong to this event loop, which ends here."""
    try:
        return await work()
    finally:
        from treadle.models.http import close_all

        await close_all()

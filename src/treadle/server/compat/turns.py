"""The turns of one user: an assistant is prepared for a request, and its turn started, continued, or answered again.

Results that a client delivers go to the run that waits for them, once, however often they are sent. Where there is
no such run, the conversation becomes a run of its own.
"""

import asyncio
from collections.abc import Awaitable, Callable, Mapping, Sequence
from typing import Any

from msgspec.structs import replace

from treadle.agent.session import AssistantSession, caller_arguments
from treadle.core.calls import Call
from treadle.core.entries import Entry, Finished, Opened
from treadle.core.errors import ApprovalError, RunNotFound, TreadleError, UnknownModel
from treadle.core.requests import Usage
from treadle.core.seams import Model, Watcher
from treadle.engine.engine import new_run_id
from treadle.loop.state import replay
from treadle.plugins.assistant import Assistant, Host
from treadle.server.compat.agents import TurnAgent, TurnAgentFactory, TurnContext
from treadle.server.compat.answer import (
    CompatAnswer,
    build_answer,
    client_calls_in,
    delivered_results,
    find_stop,
    pending_client_calls,
)
from treadle.server.compat.errors import CompatError, compat_error_from
from treadle.server.compat.live_turn import CompatTurn, RunCoroutine
from treadle.server.compat.turn_request import CompatTurnRequest, ResultBatch, find_results
from treadle.server.metrics import ServerMetrics, tool_effects
from treadle.server.runs.origin import WIRE

HEARTBEAT_SECONDS = 15.0  # seconds

ChooseModel = Callable[[str], Awaitable[Model]]


class TurnManager:
    """One user's turns. `choose` returns an allowed model by name; after `beat` seconds of silence a heartbeat is sent."""

    def __init__(
        self,
        assistants: Sequence[Assistant],
        host: Host,
        choose: ChooseModel,
        figures: ServerMetrics | None = None,
        beat: float = HEARTBEAT_SECONDS,
    ) -> None:
        self.beat = beat
        self._figures = figures or ServerMetrics()
        self.assistants = {assistant.name: assistant for assistant in assistants}
        self._host = host
        self._choose = choose
        self._live: dict[str, CompatTurn] = {}
        self._ending: set[asyncio.Task[None]] = set()
        self._one = asyncio.Lock()
        host.on_close(self.close)

    async def turn(self, asked: CompatTurnRequest, told: TurnContext) -> CompatTurn | CompatAnswer:
        """Return the requested turn: started or continued, or the answer it already has."""
        try:
            assistant, chosen, model = await self.meant(asked.model)
            caller = await AssistantSession(assistant, self._host).caller()
            maker = TurnAgentFactory(
                assistant, self._host, chosen, model or await self._host.model(), asked, replace(told, caller=caller)
            )
            batch = find_results(asked.messages)
            again = None if batch is None else await self._continue_run(maker, batch)
            return await self._begun(maker) if again is None else again
        except TreadleError as error:
            raise compat_error_from(error) from error

    async def meant(self, name: str) -> tuple[Assistant, str, Model | None]:
        """Resolve a name such as `courses@openai:gpt-5-mini` to an assistant, and a model with its name.

        An empty name is the default model.
        """
        assistant, (named, _, chosen) = self.assistant_of(name), name.partition("@")
        if not chosen:
            return assistant, "", None
        try:
            return assistant, chosen, await self._choose(chosen)
        except UnknownModel as error:
            default = await self._host.model()
            if default.name == chosen:
                return assistant, "", default
            words = f"{named} can't be had with the model {chosen[:100]!r}: GET /api/models lists those that are offered."
            raise _unknown_model_error(words) from error

    def assistant_of(self, name: str) -> Assistant:
        """Return the assistant of a model name."""
        assistant = self.assistants.get(name.partition("@")[0])
        if assistant is None:
            there = ", ".join(self.assistants) or "none"
            raise _unknown_model_error(f"There is no model {name[:100]!r} here: each assistant is one. There are: {there}.")
        return assistant

    def leave(self, turn: CompatTurn | CompatAnswer) -> None:
        """Release a client's turn, with or without an answer."""
        ending = turn.leave() if isinstance(turn, CompatTurn) else None
        if ending is not None:
            self._ending.add(ending)
            ending.add_done_callback(self._ending.discard)

    async def close(self) -> None:
        """Wait for turns that are ending."""
        tasks: list[asyncio.Task[Any]] = [*self._ending, *[turn.task for turn in self._live.values()]]
        if tasks:
            await asyncio.wait(tasks)

    # inside

    async def _begun(self, maker: TurnAgentFactory) -> CompatTurn:
        asked, run_id, prompt = maker.asked, new_run_id(), maker.asked.prompt
        if isinstance(prompt, str) and not prompt.strip():
            raise CompatError(400, "The last message is empty; say what you want.", "messages")
        for data in asked.media.values():
            await asyncio.to_thread(self._host.home.blobs.put, data)
        worker = await maker.worker(tainted=any(message.role == "tools" for message in asked.before))
        how: dict[str, Any] = {**self._run_arguments(maker), "history": asked.before, "origin": maker.origin}

        def begin(watch: Watcher) -> RunCoroutine:
            return worker.agent.run(prompt, run_id=run_id, watchers=[watch, counting], **how)

        counting = self._metrics_watcher(worker, run_id)
        return self._track(maker, CompatTurn(worker, run_id, begin))

    async def _continue_run(self, maker: TurnAgentFactory, batch: ResultBatch) -> CompatTurn | CompatAnswer | None:
        """Continue the run that waits for these results. None where there is no such run, or it got different ones."""
        async with self._one:  # what is sent twice comes one after the other
            entries = await self._read_idle_journal(batch.run_id, maker)
            handed = client_calls_in(entries)
            if not all(mark in handed for mark in batch.results):
                return None
            calls = {mark: handed[mark] for mark in batch.results}
            brought = delivered_results(entries)
            if any(call.id in brought and brought[call.id][1] != _deliverer(batch, mark) for mark, call in calls.items()):
                return None
            if any(call.id not in brought for call in calls.values()):
                return await self._deliver_results(maker, batch, calls, entries)
            return await self._repeat(maker, batch, calls, entries)

    async def _read_idle_journal(self, run_id: str, maker: TurnAgentFactory) -> list[Entry]:
        """Return the journal of a run while its turn is idle. One that is being stopped ends first."""
        while True:
            live = self._live.get(run_id)
            if live is not None and live.is_stopping:
                await asyncio.wait([live.task])
                continue
            entries = await self._entries(run_id, maker)
            if self._live.get(run_id) is live and not (live is not None and live.is_stopping):
                return entries

    async def _entries(self, run_id: str, maker: TurnAgentFactory) -> list[Entry]:
        """Return the journal of a run that this client may continue; empty where there is none."""
        try:
            entries = await self._host.home.journal.read(run_id)
        except RunNotFound:
            return []
        opened = next((entry for entry in entries if isinstance(entry, Opened)), Opened())
        is_theirs = opened.user == maker.caller.user and opened.origin.get("face") == WIRE
        return entries if is_theirs and opened.origin.get("assistant") == maker.assistant.name else []

    async def _deliver_results(
        self, maker: TurnAgentFactory, batch: ResultBatch, calls: Mapping[str, Call], entries: list[Entry]
    ) -> CompatTurn | None:
        """Journal delivered results, and continue. None where it is too late for them."""
        missing = pending_client_calls(entries) - {call.id for call in calls.values()}
        if missing:
            words = f"Bring the results of all calls at once: {len(missing)} more of this run wait for theirs."
            raise CompatError(400, words, "messages")
        worker, brought = await maker.worker(batch, calls), delivered_results(entries)
        try:
            for mark, call in calls.items():
                if call.id not in brought:
                    how: dict[str, Any] = {"by": _deliverer(batch, mark), "journal": self._host.home.services()}
                    await worker.agent.approve(batch.run_id, call.id, **how)
            entries = await self._host.home.journal.read(batch.run_id)
        except ApprovalError:
            await worker.close()
            return None
        except BaseException:
            await worker.close()
            raise
        return self._resume(maker, worker, batch.run_id, entries, _start_of_results(entries, calls))

    async def _repeat(
        self, maker: TurnAgentFactory, batch: ResultBatch, calls: Mapping[str, Call], entries: list[Entry]
    ) -> CompatTurn | CompatAnswer:
        """Handle repeated results: join their active turn, return its answer, or resume where it broke off."""
        start = _start_of_results(entries, calls)
        stop = find_stop(entries, start)
        live = self._live.get(batch.run_id)
        if stop is None:
            if live is not None:
                return live.join()
            return self._resume(maker, await maker.worker(batch, calls), batch.run_id, entries, start)
        finished = entries[stop]
        assert isinstance(finished, Finished)  # that is where stretches end
        if finished.stopped != "cancelled":
            return build_answer(batch.run_id, entries[: stop + 1], start, maker.telling)
        worker = await maker.worker(batch, calls)
        try:
            forked = await worker.agent.fork(batch.run_id, stop, journal=self._host.home.services())
        except BaseException:
            await worker.close()
            raise
        return self._resume(maker, worker, forked, entries[: stop + 1], stop + 1)

    def _resume(self, maker: TurnAgentFactory, worker: TurnAgent, run_id: str, entries: Sequence[Entry], start: int) -> CompatTurn:
        used = replay(entries).spent.usage

        def begin(watch: Watcher) -> RunCoroutine:
            return worker.agent.resume(run_id, watchers=[watch, counting], **self._run_arguments(maker))

        counting = self._metrics_watcher(worker, run_id, used)
        return self._track(maker, CompatTurn(worker, run_id, begin, start=start))

    def _metrics_watcher(self, worker: TurnAgent, run_id: str, used: Usage = Usage()) -> Watcher:  # noqa: B008 - it is frozen
        return self._figures.watch(run_id, used, lambda: tool_effects(worker.agent.setup.toolset))

    def _run_arguments(self, maker: TurnAgentFactory) -> dict[str, Any]:
        return {"journal": self._host.home.services(), **caller_arguments(maker.caller)}

    def _track(self, maker: TurnAgentFactory, turn: CompatTurn) -> CompatTurn:
        """Track an active turn."""
        self._live[turn.run_id] = turn
        self._figures.begins(maker.assistant.name)
        turn.start().add_done_callback(lambda task: self._on_done(maker, turn, task))
        return turn

    def _on_done(self, maker: TurnAgentFactory, turn: CompatTurn, task: "asyncio.Task[CompatAnswer]") -> None:
        del self._live[turn.run_id]
        self._figures.ends(maker.assistant.name, turn.stopped)
        if not task.cancelled():
            task.exception()  # the listeners have received it


def _start_of_results(entries: Sequence[Entry], calls: Mapping[str, Call]) -> int:
    """Return where the stretch starts that these results continued."""
    brought = delivered_results(entries)
    return max(brought[call.id][0] for call in calls.values()) + 1


def _deliverer(batch: ResultBatch, mark: str) -> str:
    return f"The caller, with the result {batch.mark(mark)}"


def _unknown_model_error(words: str) -> CompatError:
    return CompatError(404, words, "model", "model_not_found")

"""Where one person's turns are carried out: an assistant made ready for what is asked, begun, gone on with, or answered again.

Results that a caller brings go to the run that waits for them, once, however often they are sent. What can't be found here is a
conversation of its own.
"""

import asyncio
from collections.abc import Awaitable, Callable, Mapping, Sequence
from typing import Any

from msgspec.structs import replace

from treadle.app.assistant import Assistant, Host
from treadle.app.session import AssistantSession, on_behalf_of
from treadle.core.calls import Call
from treadle.core.entries import Entry, Finished, Opened
from treadle.core.errors import ApprovalError, RunNotFound, TreadleError, UnknownModel
from treadle.core.requests import Usage
from treadle.core.seams import Model, Watcher
from treadle.engine.engine import new_run_id
from treadle.loop.state import replay
from treadle.server.metrics import Figures, effects_of
from treadle.server.runs.begun import WIRE
from treadle.server.wires.answer import Answer, answer_of, brought_by, handed_calls, stop_after, waiting_calls
from treadle.server.wires.asked import Asked, Batch, batch_of
from treadle.server.wires.making import Maker, Told, Worker
from treadle.server.wires.refused import Refused, refused_by
from treadle.server.wires.turn import Going, Turn

BEAT = 15.0  # seconds

ChooseModel = Callable[[str], Awaitable[Model]]


class Desk:
    """One person's. `choose` gives a model that they name, if they may; after `beat` seconds of silence a sign of life is sent."""

    def __init__(
        self, assistants: Sequence[Assistant], host: Host, choose: ChooseModel, figures: Figures | None = None, beat: float = BEAT
    ) -> None:
        self.beat = beat
        self._figures = figures or Figures()
        self.assistants = {assistant.name: assistant for assistant in assistants}
        self._host = host
        self._choose = choose
        self._live: dict[str, Turn] = {}
        self._ending: set[asyncio.Task[None]] = set()
        self._one = asyncio.Lock()
        host.at_end(self.close)

    async def turn(self, asked: Asked, told: Told) -> Turn | Answer:
        """The turn that is asked for: begun, gone on with, or the answer there was."""
        try:
            assistant, chosen, model = await self.meant(asked.model)
            caller = await AssistantSession(assistant, self._host).caller()
            maker = Maker(assistant, self._host, chosen, model or await self._host.model(), asked, replace(told, caller=caller))
            batch = batch_of(asked.messages)
            again = None if batch is None else await self._gone_on(maker, batch)
            return await self._begun(maker) if again is None else again
        except TreadleError as error:
            raise refused_by(error) from error

    async def meant(self, name: str) -> tuple[Assistant, str, Model | None]:
        """What a name such as `courses@openai:gpt-5-mini` means: an assistant, and a model by its name; empty is the default."""
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
            raise _unknown(words) from error

    def assistant_of(self, name: str) -> Assistant:
        """The assistant that is meant by a model's name."""
        assistant = self.assistants.get(name.partition("@")[0])
        if assistant is None:
            there = ", ".join(self.assistants) or "none"
            raise _unknown(f"There is no model {name[:100]!r} here: each assistant is one. There are: {there}.")
        return assistant

    def leave(self, turn: Turn | Answer) -> None:
        """A caller goes, with an answer or without one."""
        ending = turn.leave() if isinstance(turn, Turn) else None
        if ending is not None:
            self._ending.add(ending)
            ending.add_done_callback(self._ending.discard)

    async def close(self) -> None:
        """Wait for what is ending."""
        tasks: list[asyncio.Task[Any]] = [*self._ending, *[turn.task for turn in self._live.values()]]
        if tasks:
            await asyncio.wait(tasks)

    # inside

    async def _begun(self, maker: Maker) -> Turn:
        asked, run_id, prompt = maker.asked, new_run_id(), maker.asked.prompt
        if isinstance(prompt, str) and not prompt.strip():
            raise Refused(400, "The last message is empty; say what you want.", "messages")
        for data in asked.media.values():
            await asyncio.to_thread(self._host.home.blobs.put, data)
        worker = await maker.worker(tainted=any(message.role == "tools" for message in asked.before))
        how: dict[str, Any] = {**self._how(maker), "history": asked.before, "origin": maker.origin}

        def begin(watch: Watcher) -> Going:
            return worker.agent.run(prompt, run_id=run_id, watchers=[watch, counting], **how)

        counting = self._counting(worker, run_id)
        return self._entered(maker, Turn(worker, run_id, begin))

    async def _gone_on(self, maker: Maker, batch: Batch) -> Turn | Answer | None:
        """The run that waits for these results, gone on with. None where there is no such run, or it got other ones."""
        async with self._one:  # what is sent twice comes one after the other
            entries = await self._now(batch.run_id, maker)
            handed = handed_calls(entries)
            if not all(mark in handed for mark in batch.results):
                return None
            calls = {mark: handed[mark] for mark in batch.results}
            brought = brought_by(entries)
            if any(call.id in brought and brought[call.id][1] != _by(batch, mark) for mark, call in calls.items()):
                return None
            if any(call.id not in brought for call in calls.values()):
                return await self._brought(maker, batch, calls, entries)
            return await self._again(maker, batch, calls, entries)

    async def _now(self, run_id: str, maker: Maker) -> list[Entry]:
        """The journal of a run, with nothing happening to its turn meanwhile. One that is being stopped is over first."""
        while True:
            live = self._live.get(run_id)
            if live is not None and live.is_stopping:
                await asyncio.wait([live.task])
                continue
            entries = await self._entries(run_id, maker)
            if self._live.get(run_id) is live and not (live is not None and live.is_stopping):
                return entries

    async def _entries(self, run_id: str, maker: Maker) -> list[Entry]:
        """The journal of a run that this caller may go on with; nothing where there is none."""
        try:
            entries = await self._host.home.journal.read(run_id)
        except RunNotFound:
            return []
        opened = next((entry for entry in entries if isinstance(entry, Opened)), Opened())
        is_theirs = opened.user == maker.caller.user and opened.origin.get("face") == WIRE
        return entries if is_theirs and opened.origin.get("assistant") == maker.assistant.name else []

    async def _brought(self, maker: Maker, batch: Batch, calls: Mapping[str, Call], entries: list[Entry]) -> Turn | None:
        """Write down that results have come, and go on. None where it is too late for them."""
        missing = waiting_calls(entries) - {call.id for call in calls.values()}
        if missing:
            words = f"Bring the results of all calls at once: {len(missing)} more of this run wait for theirs."
            raise Refused(400, words, "messages")
        worker, brought = await maker.worker(batch, calls), brought_by(entries)
        try:
            for mark, call in calls.items():
                if call.id not in brought:
                    how: dict[str, Any] = {"by": _by(batch, mark), "journal": self._host.home.services()}
                    await worker.agent.approve(batch.run_id, call.id, **how)
            entries = await self._host.home.journal.read(batch.run_id)
        except ApprovalError:
            await worker.close()
            return None
        except BaseException:
            await worker.close()
            raise
        return self._resumed(maker, worker, batch.run_id, entries, _start(entries, calls))

    async def _again(self, maker: Maker, batch: Batch, calls: Mapping[str, Call], entries: list[Entry]) -> Turn | Answer:
        """The same results once more: the turn that is under way with them, what it came to, or on from where it broke off."""
        start = _start(entries, calls)
        stop = stop_after(entries, start)
        live = self._live.get(batch.run_id)
        if stop is None:
            if live is not None:
                return live.join()
            return self._resumed(maker, await maker.worker(batch, calls), batch.run_id, entries, start)
        finished = entries[stop]
        assert isinstance(finished, Finished)  # that is where stretches end
        if finished.stopped != "cancelled":
            return answer_of(batch.run_id, entries[: stop + 1], start, maker.telling)
        worker = await maker.worker(batch, calls)
        try:
            forked = await worker.agent.fork(batch.run_id, stop, journal=self._host.home.services())
        except BaseException:
            await worker.close()
            raise
        return self._resumed(maker, worker, forked, entries[: stop + 1], stop + 1)

    def _resumed(self, maker: Maker, worker: Worker, run_id: str, entries: Sequence[Entry], start: int) -> Turn:
        used = replay(entries).spent.usage

        def begin(watch: Watcher) -> Going:
            return worker.agent.resume(run_id, watchers=[watch, counting], **self._how(maker))

        counting = self._counting(worker, run_id, used)
        return self._entered(maker, Turn(worker, run_id, begin, start=start))

    def _counting(self, worker: Worker, run_id: str, used: Usage = Usage()) -> Watcher:  # noqa: B008 - it is frozen
        return self._figures.watch(run_id, used, lambda: effects_of(worker.agent.setup.toolset))

    def _how(self, maker: Maker) -> dict[str, Any]:
        return {"journal": self._host.home.services(), **on_behalf_of(maker.caller)}

    def _entered(self, maker: Maker, turn: Turn) -> Turn:
        """A turn under way."""
        self._live[turn.run_id] = turn
        self._figures.begins(maker.assistant.name)
        turn.start().add_done_callback(lambda task: self._over(maker, turn, task))
        return turn

    def _over(self, maker: Maker, turn: Turn, task: "asyncio.Task[Answer]") -> None:
        del self._live[turn.run_id]
        self._figures.ends(maker.assistant.name, turn.stopped)
        if not task.cancelled():
            task.exception()  # whoever listened has heard of it; nobody else has to


def _start(entries: Sequence[Entry], calls: Mapping[str, Call]) -> int:
    """Where the stretch begins that these results started."""
    brought = brought_by(entries)
    return max(brought[call.id][0] for call in calls.values()) + 1


def _by(batch: Batch, mark: str) -> str:
    return f"The caller, with the result {batch.mark(mark)}"


def _unknown(words: str) -> Refused:
    return Refused(404, words, "model", "model_not_found")

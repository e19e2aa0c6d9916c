"""What one person can do with runs: begin, go on, resume, answer, fork, cancel. Each check has its status and its sentence.

Turns are carried out by `live`; HTTP is `routes`.
"""

import asyncio
import time
from collections.abc import AsyncGenerator, Callable, Mapping, Sequence
from contextlib import asynccontextmanager, suppress
from itertools import takewhile
from typing import Any
from weakref import WeakValueDictionary

from msgspec import Struct
from msgspec.structs import replace
from starlette.exceptions import HTTPException

from treadle.app.agent import Agent
from treadle.app.assistant import Assistant, Host
from treadle.app.jobs import Jobs
from treadle.app.runs import Runs
from treadle.app.session import AssistantSession, on_behalf_of
from treadle.app.workers.order import is_workers
from treadle.app.workers.submit import queue_again
from treadle.core.entries import Entry, Finished, Resumed, Said
from treadle.core.errors import RunNotFound, TreadleError
from treadle.core.log import log
from treadle.core.media import Attachment, attachment_from_base64
from treadle.core.messages import Text
from treadle.core.seams import Model
from treadle.engine.engine import new_run_id
from treadle.engine.media import read_prompt
from treadle.engine.setup import Approval
from treadle.guard.redaction import Redactor
from treadle.loop.state import replay
from treadle.models.one_call import one_call
from treadle.server.closing import close_one
from treadle.server.metrics import Figures
from treadle.server.models import Models
from treadle.server.place import Place, placed
from treadle.server.rates import Turnstile
from treadle.server.runs.asked import CallAnswered, ForkAsked, GoneOn, TurnAsked
from treadle.server.runs.begun import Begun, begun_of, is_ours
from treadle.server.runs.events import PersonSaid, plain_data
from treadle.server.runs.forking import forked
from treadle.server.runs.kept import entries_of, journals_of, opened_in
from treadle.server.runs.live import Live, Turn, UnderWay
from treadle.server.runs.replay import told, waiting_in
from treadle.server.runs.taking_up import lock_of, wait_for
from treadle.server.wires.answer import waiting_calls
from treadle.stores.journal import RunInfo, Wanted

MOST_TAKEN_UP = 1_000
NOT_YOURS = "There is no such run of yours."
MOST_TRIES = 5  # times that a run is taken up without anybody asking for it and without coming any further


class Visitor(Struct, frozen=True):
    """Who asks: how much they have under way, and the headers of their request, for assistants that act by a token in them."""

    turnstile: Turnstile | None = None
    headers: Mapping[str, str] = {}

    @property
    def shows_anything(self) -> bool:
        """Whether they show something that an assistant may know them by. What the server knows them by isn't among it."""
        return "authorization" in self.headers or bool(self.headers.get("cookie"))


class Made(Struct, frozen=True):
    """The assistant that a run goes by, its agent, and what has to be closed after it."""

    session: AssistantSession
    agent: Agent[Any]
    close: list[Callable[[], object]]


class HostedRuns:
    """The runs of one person on a server."""

    def __init__(self, assistants: Sequence[Assistant], host: Host, models: Models, figures: Figures) -> None:
        self.home = host.home
        self.live = Live(host.home, figures)
        self._assistants = {assistant.name: assistant for assistant in assistants}
        self._host = host
        self._models = models
        self._jobs = Jobs(host.home.folder)
        self._lock = lock_of(host.home)
        self._settled = asyncio.Event()  # what was left behind is taken up, or it is known why not
        self._alone: WeakValueDictionary[str, asyncio.Lock] = WeakValueDictionary()

    # as long as the application runs

    @asynccontextmanager
    async def open(self) -> AsyncGenerator[None]:
        """Take up what was left behind; at the end, leave what is under way."""
        taking = asyncio.create_task(self._taking_up())
        try:
            async with self.live:
                yield
        finally:
            taking.cancel()
            with suppress(asyncio.CancelledError):
                await taking
            await self._lock.let_go()

    async def settled(self) -> None:
        """Wait until what was left behind is under way again: before that, it looks as if nobody carried it on."""
        await self._settled.wait()

    async def _taking_up(self) -> None:
        try:
            if self.home.database.exists() and await wait_for(self._lock):
                for info in await self.home.journal.listed(Wanted(status="open", limit=MOST_TAKEN_UP)):
                    await self._take_up(info.run_id)
                for info in await self.home.journal.listed(Wanted(status="waiting", limit=MOST_TAKEN_UP)):
                    if not waiting_in(await journals_of(self.home, info.run_id)):
                        await self._take_up(info.run_id)
        except TreadleError as error:
            log.warning("What the server left behind couldn't be looked for: %s", error)
        finally:
            self._settled.set()

    async def _take_up(self, run_id: str) -> None:
        try:
            entries = await entries_of(self.home, run_id)
            if is_ours(opened_in(entries)) and _tries(entries) < MOST_TRIES:
                begun = self._begun(run_id, entries)
                await self._resumed(run_id, begun, await self._made(begun, Visitor()), entries, None)
        except Exception as error:  # noqa: BLE001 - an assistant's, perhaps; the other runs go on
            log.warning("Run %s couldn't be taken up again: %s", run_id, getattr(error, "detail", error))

    # turns

    async def begin(self, asked: TurnAsked, by: Visitor) -> UnderWay:
        """A turn: of a new run, or of one that is there."""
        if asked.run_id and asked.call is not None:
            raise HTTPException(422, "A call is made in a run of its own; leave `run_id` out.")
        if asked.run_id:
            return await self._go_on(asked, by)
        if asked.assistant not in self._assistants:
            raise HTTPException(404, f"There is no assistant {asked.assistant!r}; GET /api/assistants lists those that are.")
        begun = Begun(asked.assistant, asked.model or "", asked.instructions or "", asked.context, asked.call)
        with placed(by.turnstile) as place:
            shown = _shown_with(asked)
            return await self._said(new_run_id(), begun, await self._made(begun, by), (), asked.message, place, shown)

    async def _go_on(self, asked: TurnAsked, by: Visitor) -> UnderWay:
        await self.settled()
        entries = await entries_of(self.home, asked.run_id)
        begun = replace(self._changed(self._begun(asked.run_id, entries), asked), call=None)
        if asked.assistant not in ("", begun.assistant):
            raise HTTPException(409, f"Run {asked.run_id} is with {begun.assistant}; begin another to ask {asked.assistant}.")
        self._check_idle(asked.run_id)
        finished = replay(entries).finished
        if finished is None or finished.stopped == "waiting":
            why = "waits for a person's answer" if finished else "isn't over: resume it first"
            raise HTTPException(409, f"Run {asked.run_id} {why}.")
        with placed(by.turnstile) as place:
            shown = _shown_with(asked)
            return await self._said(asked.run_id, begun, await self._made(begun, by), entries, asked.message, place, shown)

    async def resume(self, run_id: str, asked: GoneOn, by: Visitor) -> UnderWay:
        """Take a run up again that stopped before it was answered."""
        await self.settled()
        entries = await entries_of(self.home, run_id)
        begun = self._changed(self._begun(run_id, entries), asked)
        self._check_idle(run_id)
        finished = replay(entries).finished
        if finished is not None and finished.stopped not in ("failed", "waiting"):
            raise HTTPException(409, f"Run {run_id} is over ({finished.stopped}); to go on, say something: POST /api/runs.")
        with placed(by.turnstile) as place:
            return await self._resumed(run_id, begun, await self._made(begun, by), entries, place)

    def _check_idle(self, run_id: str) -> None:
        if self.live.is_under_way(run_id):
            raise HTTPException(409, f"Run {run_id} is under way; wait until it is over, or cancel it.")

    async def _said(
        self,
        run_id: str,
        begun: Begun,
        made: Made,
        entries: Sequence[Entry],
        message: str,
        place: Place | None,
        shown: Sequence[Attachment] = (),
    ) -> UnderWay:
        agent, origin = made.agent, begun.origin
        try:
            said = await read_prompt([message, *shown], agent.setup.model, self.home.blobs)
            kept = await self._kept(made, entries)
            history = () if entries else await made.session.begin(run_id, said.text)
        except BaseException:
            await _closed(made)
            raise
        prompt = [part.text if isinstance(part, Text) else part for part in said.parts] or said.text
        return await self._begin(
            Turn(
                run_id,
                begun.assistant,
                agent,
                lambda services, watchers: agent.run(
                    prompt, run_id=run_id, journal=services, watchers=watchers, origin=origin, history=history, **kept
                ),
                reply=made.session.reply,
                position=len(entries),
                first=(PersonSaid(run_id=run_id, text=Redactor().text(said.text)),),
                place=place,
                close=made.close,
            )
        )

    async def _resumed(self, run_id: str, begun: Begun, made: Made, entries: Sequence[Entry], place: Place | None) -> UnderWay:
        agent = made.agent
        try:
            kept = await self._kept(made, entries)
        except BaseException:
            await _closed(made)
            raise
        journals = await journals_of(self.home, run_id)
        cut = _after_last_end(entries)
        return await self._begin(
            Turn(
                run_id,
                begun.assistant,
                agent,
                lambda services, watchers: agent.resume(run_id, journal=services, watchers=watchers, **kept),
                reply=made.session.reply,
                position=cut,
                first=tuple(told(run_id, journals)[len(told(run_id, journals, cut)) :]),
                used=replay(entries).spent.usage,
                place=place,
                close=made.close,
            )
        )

    async def _begin(self, turn: Turn) -> UnderWay:
        await self._lock.try_now()
        return await self.live.begin(turn)

    async def _made(self, begun: Begun, by: Visitor) -> Made:
        """The assistant that a run goes by, for whoever asks."""
        if begun.call is None:
            await self._models.check(begun.model)
            model = await self._models.named(begun.model)
        else:
            model = one_call(begun.call.name, begun.call.arguments)
        close = list[Callable[[], object]]()

        async def same() -> Model:
            return model

        host = replace(self._host, model=same, at_end=close.append, headers=by.headers)
        session = AssistantSession(self._assistants[begun.assistant], host, begun.about)
        return Made(session, session.agent(model, **begun.asked), close)

    async def _kept(self, made: Made, entries: Sequence[Entry]) -> dict[str, Any]:
        """On whose behalf a run goes on; one that is there has to be theirs."""
        caller = await made.session.caller()
        if entries and opened_in(entries).user != caller.user:
            raise RunNotFound(NOT_YOURS)
        return on_behalf_of(caller)

    async def check_shown(self, run_id: str, by: Visitor) -> None:
        """A run that somebody isn't shown isn't found either."""
        if by.shows_anything and not await self.shown_to([await self.home.journal.info(await self._root(run_id))], by):
            raise RunNotFound(NOT_YOURS)

    async def shown_to(self, runs: Sequence[RunInfo], by: Visitor) -> list[RunInfo]:
        """Those of these runs that are somebody's; all of them where nothing that they show says that the home isn't theirs."""
        if not by.shows_anything:
            return list(runs)
        known = {name: await self._known_as(name, by) for name in {run.agent for run in runs}}
        return [run for run in runs if known[run.agent] in (None, run.user)]

    async def _known_as(self, assistant: str, by: Visitor) -> str | None:
        """Who somebody is to an assistant; None where that is the same person as for the server."""
        says = self._assistants[assistant].caller if assistant in self._assistants else None
        if says is None:
            return None
        caller, own = await says(replace(self._host, headers=by.headers)), await says(self._host)
        return None if caller.credentials == own.credentials else caller.user

    def _begun(self, run_id: str, entries: Sequence[Entry]) -> Begun:
        """How a run was begun. A call that somebody wanted to have made is that of its first turn."""
        begun = begun_of(run_id, opened_in(entries), self._assistants, is_job=self._jobs.has(run_id))
        return begun if sum([isinstance(entry, Said) for entry in entries]) <= 1 else replace(begun, call=None)

    def _changed(self, begun: Begun, asked: GoneOn | TurnAsked | ForkAsked) -> Begun:
        """How a run goes on, where it is said that something is to be otherwise."""
        model = begun.model if asked.model is None else asked.model
        return replace(begun, model=model, instructions=begun.instructions if asked.instructions is None else asked.instructions)

    async def replies(self, run_id: str, by: Visitor) -> list[Any]:
        """What came with the answers of a run besides their words, turn by turn; nothing where its assistant isn't here."""
        entries = await entries_of(self.home, run_id)
        opened = opened_in(entries)
        assistant = self._assistants.get(opened.agent)
        if assistant is None or assistant.reply is None or opened.parent:
            return []
        close = list[Callable[[], object]]()
        host = replace(self._host, at_end=close.append, headers=by.headers)
        session = AssistantSession(assistant, host, opened.origin.get("about") or {})
        try:
            return [plain_data(each) for each in await session.replies(run_id, entries)]
        except TreadleError as error:
            log.warning("What came with the answers of run %s isn't known: %s", run_id, error)
            return []
        finally:
            for each in reversed(close):
                await close_one(each)

    # stopping and forking

    async def cancel(self, run_id: str, by: Visitor) -> None:
        """Stop a run that is under way here, or end one that waits for a person."""
        await self.settled()
        await entries_of(self.home, run_id)
        await self.check_shown(run_id, by)
        async with self._alone.setdefault(run_id, asyncio.Lock()):  # an answer at the same moment would have it go on
            if not await self.live.cancel(run_id):
                await Runs(self.home).cancel(run_id)

    async def delete(self, run_id: str, by: Visitor) -> None:
        """Delete a run that isn't under way, with all that is kept of it."""
        await self.settled()
        await entries_of(self.home, run_id)
        await self.check_shown(run_id, by)
        async with self._alone.setdefault(run_id, asyncio.Lock()):
            await Runs(self.home).delete(run_id, by=self._host.user)

    async def fork(self, run_id: str, asked: ForkAsked, by: Visitor) -> str:
        """A new run from the first entries of another; with a message it goes on at once."""
        await self.check_shown(run_id, by)
        entries = await entries_of(self.home, run_id)
        at = len(entries) if asked.at is None else asked.at
        if not 1 <= at <= len(entries):
            raise HTTPException(422, f"Run {run_id} has {len(entries)} entries, so it can't be forked after {at}.")
        begun = self._changed(self._begun(run_id, entries), asked)
        fork, kept = new_run_id(), forked(run_id, entries[:at], begun, time.time(), closed=asked.message is not None)
        if asked.message is None:
            await self._models.check(begun.model)
            await self.home.journal.append(fork, 0, kept)
            return fork
        with placed(by.turnstile) as place:
            made = await self._made(begun, by)  # before anything is written: there may be no such model
            await self.home.journal.append(fork, 0, kept)
            await self._said(fork, begun, made, kept, asked.message, place)
        return fork

    # approvals

    async def answer(self, run_id: str, call_id: str, said: CallAnswered, by: Visitor) -> UnderWay | None:
        """Write down what a person says about a call. Where nothing else waits, the run goes on.

        It has its place and its agent before that: what a person said must not be lost because it can't go on just now.
        """
        root = await self._root(run_id)
        alone = self._alone.setdefault(root, asyncio.Lock())  # two answers at once would both find that the other is missing
        async with alone:
            entries = await entries_of(self.home, root)
            if is_workers(opened_in(entries)):
                return await self._answer_for_workers(run_id, call_id, said, root)
            begun = self._begun(root, entries)
            self._check_idle(root)
            if call_id in waiting_calls(entries):
                raise HTTPException(
                    409, f"Call {call_id} waits for the program that brought its tool; only that can say what came of it."
                )
            with placed(by.turnstile) as place:
                made = await self._made(begun, by)
                waits = True
                try:
                    if not self._was_answered(entries, await journals_of(self.home, root)):
                        user = (await self._kept(made, entries))["user"]
                        await self._answer(run_id, call_id, said, user, made.agent if root == run_id else None)
                    waits = bool(waiting_in(await journals_of(self.home, root)))
                finally:
                    if waits:  # for something else, or because this can't be taken
                        await _closed(made)
                return None if waits else await self._resumed(root, begun, made, await entries_of(self.home, root), place)

    async def _answer_for_workers(self, run_id: str, call_id: str, said: CallAnswered, root: str) -> None:
        """The same for a run that workers carry out: where nothing else waits, it is queued, and one of them goes on with it."""
        if not self._was_answered(await entries_of(self.home, root), await journals_of(self.home, root)):
            await self._answer(run_id, call_id, said, self._host.user)
        if not waiting_in(await journals_of(self.home, root)):
            await queue_again(self.home, root)

    def _was_answered(self, entries: Sequence[Entry], journals: dict[str, list[Entry]]) -> bool:
        """Whether everything was answered already, and the run has only to go on: a server ended in between."""
        finished = replay(entries).finished
        return finished is not None and finished.stopped == "waiting" and not waiting_in(journals)

    async def _root(self, run_id: str) -> str:
        """The run that a person began, where this one is inside of it."""
        while parent := opened_in(await entries_of(self.home, run_id)).parent:
            run_id = parent
        return run_id

    async def _answer(self, run_id: str, call_id: str, said: CallAnswered, by: str, agent: Agent[Any] | None = None) -> Approval:
        """Without the run's agent, its tools aren't known: edited arguments are then checked when it goes on."""
        answer, digest = said.answer(by, said.arguments), said.digest if said.runs else ""
        if agent is None:
            return await Runs(self.home).answer(run_id, call_id, answer, digest=digest)
        return await agent.answer(run_id, call_id, answer, digest=digest, journal=self.home.services())


def _shown_with(asked: TurnAsked) -> list[Attachment]:
    return [attachment_from_base64(each.data, each.media_type, each.name) for each in asked.attachments]


async def _closed(made: Made) -> None:
    for each in reversed(made.close):
        await close_one(each)


def _tries(entries: Sequence[Entry]) -> int:
    """How often a run was taken up in vain: it may be what ends the server."""
    return len(list(takewhile(lambda entry: isinstance(entry, Resumed), reversed(entries))))


def _after_last_end(entries: Sequence[Entry]) -> int:
    """How many entries there are up to the end of the last turn, where it has ended; else all of them."""
    if replay(entries).finished is None:
        return len(entries)
    return max([number for number, entry in enumerate(entries, 1) if isinstance(entry, Finished)])

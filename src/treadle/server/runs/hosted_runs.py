"""The operations on one user's runs: start, continue, steer, resume, answer, fork, cancel.

Each check has its status and its message.

`live_turns` executes turns; `routes` is the HTTP API.
"""

import asyncio
import time
from collections.abc import AsyncGenerator, Awaitable, Callable, Mapping, Sequence
from contextlib import asynccontextmanager, suppress
from itertools import takewhile
from typing import Any, Literal
from weakref import WeakValueDictionary

from msgspec import Struct
from msgspec.structs import replace
from starlette.exceptions import HTTPException

from treadle.agent.agent import Agent
from treadle.agent.budget import check_budget
from treadle.agent.session import AssistantSession, caller_arguments
from treadle.core.entries import Entry, Finished, Resumed, Said
from treadle.core.errors import RunNotFound, TreadleError
from treadle.core.grants import Grant
from treadle.core.log import log
from treadle.core.media import Prompt, attachment_from_base64
from treadle.core.messages import Text
from treadle.core.seams import Model
from treadle.engine.engine import new_run_id
from treadle.engine.media import read_prompt
from treadle.engine.setup import Answer
from treadle.engine.tree import load_run_tree
from treadle.guard.redaction import Redactor
from treadle.jobs.store import Jobs
from treadle.loop.forks import find_message, fork_entries, message_parts
from treadle.loop.state import replay
from treadle.models.calling.one_call import one_call
from treadle.plugins.assistant import Assistant, Host
from treadle.runs import Runs
from treadle.server.cleanup import close_resource
from treadle.server.compat.answer import pending_client_calls
from treadle.server.limits import RunLimiter, RunSlot, reserve_slot
from treadle.server.metrics import ServerMetrics
from treadle.server.models import ModelCatalog
from treadle.server.runs.events import PersonSaid, to_plain_data
from treadle.server.runs.idempotency import check_same_request, digest_request, run_id_of_key, submit_turn
from treadle.server.runs.journals import find_opened, read_journals, read_run_entries
from treadle.server.runs.live_turns import LiveTurns, PendingTurn, RunningTurn
from treadle.server.runs.model_warming import ModelWarmer
from treadle.server.runs.origin import RunOrigin, is_server_run, load_run_origin
from treadle.server.runs.recovery import HomeLeaseLock, make_home_lock, wait_for_lock
from treadle.server.runs.replay import events_from_journal, find_pending_approvals
from treadle.server.runs.schemas import (
    CallsDecision,
    EventRequest,
    ForkRequest,
    MessageRequest,
    MessageView,
    ResumeRequest,
    RunCallDecision,
    TurnRequest,
)
from treadle.server.runs.waking import RunWaker
from treadle.stores.journal import JournalQuery, RunInfo
from treadle.stores.queue import RunQueue
from treadle.workers.run_control import check_failed, retry_run
from treadle.workers.run_spec import is_worker_run
from treadle.workers.submission import requeue_run

PendingStatus = Literal["waiting", "queued"]  # of a run after an answer: for other answers, or for a worker
RecordAnswer = Callable[[str, Agent[Any, Any] | None], Awaitable[None]]

MAX_RECOVERED = 1_000
CANCELLING = "cancelling"  # the status of a run that another process has yet to end
NOT_YOURS = "There is no such run of yours."
MAX_ATTEMPTS = 5  # times that a run is taken up without anybody asking for it and without coming any further


class Requester(Struct, frozen=True):
    """The requester: their run limiter, and the headers of their request, for assistants that act by a token in them."""

    run_limiter: RunLimiter | None = None
    headers: Mapping[str, str] = {}

    @property
    def shows_anything(self) -> bool:
        """Whether the request has credentials that an assistant may know. Those of the server aren't among them."""
        return "authorization" in self.headers or bool(self.headers.get("cookie"))


class PreparedAgent(Struct, frozen=True):
    """The session of a run, its agent, and what has to be closed after it."""

    session: AssistantSession
    agent: Agent[Any, Any]
    close: list[Callable[[], object]]
    model: Model


class HostedRuns:
    """The runs of one user on a server."""

    def __init__(self, assistants: Sequence[Assistant], host: Host, models: ModelCatalog, figures: ServerMetrics) -> None:
        self.home = host.home
        self.live = LiveTurns(host.home, figures)
        self._assistants = {assistant.name: assistant for assistant in assistants}
        self._host = host
        self._models = models
        self._jobs = Jobs(host.home.folder)
        self._lock = make_home_lock(host.home)
        self._warmer = ModelWarmer()
        self._waker = RunWaker(host.home, self.live.turn_ended, self._wake_run)
        self._settled = asyncio.Event()  # what was left behind is taken up, or it is known why not
        self._alone: WeakValueDictionary[str, asyncio.Lock] = WeakValueDictionary()

    # as long as the application runs

    @asynccontextmanager
    async def open(self) -> AsyncGenerator[None]:
        """Recover interrupted runs; at the end, leave active ones."""
        taking = asyncio.create_task(self._recover_runs())
        waking = asyncio.create_task(self._waker.run())
        try:
            async with self.live:
                yield
        finally:
            await self._warmer.close()
            for task in (taking, waking):
                task.cancel()
                with suppress(asyncio.CancelledError):
                    await task
            await self._lock.let_go()

    async def wait_recovered(self) -> None:
        """Wait until interrupted runs are active again: before that, they look abandoned."""
        await self._settled.wait()

    async def _recover_runs(self) -> None:
        try:
            if self.home.database.exists() and await wait_for_lock(self._lock):
                for info in await self.home.journal.list_runs(JournalQuery(status="open", limit=MAX_RECOVERED)):
                    await self._recover_run(info.run_id)
                for info in await self.home.journal.list_runs(JournalQuery(status="waiting", limit=MAX_RECOVERED, asks=True)):
                    if not find_pending_approvals(await read_journals(self.home, info.run_id)):
                        await self._recover_run(info.run_id)
        except TreadleError as error:
            log.warning("What the server left behind couldn't be looked for: %s", error)
        finally:
            self._settled.set()

    async def _recover_run(self, run_id: str) -> None:
        try:
            entries = await read_run_entries(self.home, run_id)
            if is_server_run(find_opened(entries)) and await self.home.cancel_requests.pending([run_id]):
                await (await load_run_tree(self.home.services(), run_id)).cancel(leased=True)
            elif is_server_run(find_opened(entries)) and _count_futile_attempts(entries) < MAX_ATTEMPTS:
                begun = self._origin_of(run_id, entries)
                await self._start_resumed_turn(run_id, begun, await self._prepare_agent(begun, Requester()), entries, None)
        except Exception as error:  # noqa: BLE001 - an assistant's, perhaps; the other runs go on
            log.warning("Run %s couldn't be taken up again: %s", run_id, getattr(error, "detail", error))

    async def _wake_run(self, run_id: str) -> bool:
        """Resume a run whose time to wait is over. Return False for one that isn't this server's to go on with."""
        await self.wait_recovered()
        if not await self._lock.try_now() or self._jobs.has(run_id):
            return False
        if self.live.is_under_way(run_id):
            return True
        if not is_server_run(find_opened(await read_run_entries(self.home, run_id))):
            return False
        await self._recover_run(run_id)
        return True

    async def send_event(self, name: str, asked: EventRequest) -> list[str]:
        """Send an event to the calls that wait for it; return their runs."""
        sent = await Runs(self.home).send_event(
            name, asked.value, key=asked.key, sender=asked.sender or self._host.user, from_user=asked.from_user
        )
        self._waker.notify()
        return sent

    def warm(self, assistant: str, by: Requester) -> None:
        """Have the default model read what a conversation with an assistant begins with."""
        self._check_assistant(assistant)

        async def warm() -> None:
            made = await self._prepare_agent(RunOrigin(assistant), by)
            try:
                await made.session.warm(made.agent)
            finally:
                await _close_agent(made)

        self._warmer.begin(assistant, warm)

    def _check_assistant(self, name: str) -> None:
        if name not in self._assistants:
            raise HTTPException(404, f"There is no assistant {name!r}; GET /api/assistants lists those that are.")

    # turns

    async def begin(self, asked: TurnRequest, by: Requester, key: str = "") -> RunningTurn | str:
        """Start a turn: of a new run, or of an existing one.

        Return the id of a run that a worker executes, or that the same request, by its `key`, has begun before.
        """
        if asked.run_id and asked.call is not None:
            raise HTTPException(422, "A call is made in a run of its own; leave `run_id` out.")
        if asked.run_id and (key or asked.where != "server"):
            raise HTTPException(422, "Leave `run_id` out: `where` and an Idempotency-Key are for a new run.")
        if asked.run_id:
            return await self._continue_run(asked, by)
        self._check_assistant(asked.assistant)
        run_id, digest = run_id_of_key(key), digest_request(asked) if key else ""
        if asked.where == "workers":
            await check_budget(await self._models.get_model(asked.model or ""))
            return await submit_turn(self._host, self._models, asked, run_id)
        begun = RunOrigin(asked.assistant, asked.model or "", asked.instructions or "", asked.context, asked.call, digest)
        async with self._alone.setdefault(run_id or new_run_id(), asyncio.Lock()):  # the same request may come twice at once
            if run_id and (entries := await self._find_entries(run_id)):
                await self.check_shown(run_id, by)
                check_same_request(entries, digest)
                return run_id
            with reserve_slot(by.run_limiter) as place:
                self._warmer.stop_except(asked.assistant)
                made, prompt = await self._prepare_agent(begun, by), _prompt_of(asked)
                return await self._start_message_turn(run_id or new_run_id(), begun, made, (), prompt, place)

    async def _find_entries(self, run_id: str) -> list[Entry]:
        try:
            return await read_run_entries(self.home, run_id)
        except RunNotFound:
            return []

    async def _continue_run(self, asked: TurnRequest, by: Requester) -> RunningTurn:
        await self.wait_recovered()
        entries = await read_run_entries(self.home, asked.run_id)
        begun = replace(self._apply_changes(self._origin_of(asked.run_id, entries), asked), call=None)
        if asked.assistant not in ("", begun.assistant):
            raise HTTPException(409, f"Run {asked.run_id} is with {begun.assistant}; begin another to ask {asked.assistant}.")
        self._check_idle(asked.run_id)
        finished = replay(entries).finished
        if finished is None or finished.stopped == "waiting":
            waits = "waits for a time or an event" if finished and finished.asleep else "waits for a person's answer"
            why = waits if finished else "isn't over: resume it first"
            raise HTTPException(409, f"Run {asked.run_id} {why}.")
        with reserve_slot(by.run_limiter) as place:
            prompt = _prompt_of(asked)
            return await self._start_message_turn(asked.run_id, begun, await self._prepare_agent(begun, by), entries, prompt, place)

    async def send(self, run_id: str, asked: MessageRequest, by: Requester) -> MessageView:
        """Send a message to a run: to the turn that is running or waits for a person, else as a new turn.

        One that was sent before, by its id, isn't sent again.
        """
        await self.wait_recovered()
        async with self._alone.setdefault(run_id, asyncio.Lock()):  # an answer at the same moment would have it go on
            entries, prompt = await read_run_entries(self.home, run_id), _prompt_of(asked)
            begun = replace(self._origin_of(run_id, entries), call=None)
            made = await self._prepare_agent(begun, by)
            starts = False
            try:
                await self._caller_arguments(made, entries)
                if await self._steer(run_id, made.agent, prompt, asked.message_id):
                    return MessageView(run_id, await self._status_of(run_id), steering=True)
                entries = await read_run_entries(self.home, run_id)  # with the end of a turn that was running
                if asked.message_id in replay(entries).message_ids:
                    return MessageView(run_id, await self._status_of(run_id), steering=False)
                starts = True
            finally:
                if not starts:
                    await _close_agent(made)
            with reserve_slot(by.run_limiter) as place:
                await self._start_message_turn(run_id, begun, made, entries, prompt, place, asked.message_id)
            return MessageView(run_id, "open", steering=False)

    async def _steer(self, run_id: str, agent: Agent[Any, Any], prompt: Prompt, message_id: str) -> bool:
        """Send a message to a turn that isn't over. Return False where it is, once nothing of it is under way any more."""
        if await self.live.steer(run_id, prompt, message_id):
            return True
        return await agent.steer(run_id, prompt, message_id=message_id, journal=self.home.services())

    async def _status_of(self, run_id: str) -> str:
        return (await self.home.journal.info(run_id)).status

    async def resume(self, run_id: str, asked: ResumeRequest, by: Requester) -> RunningTurn:
        """Resume a run that stopped before it was answered."""
        await self.wait_recovered()
        entries = await read_run_entries(self.home, run_id)
        begun = self._apply_changes(self._origin_of(run_id, entries), asked)
        self._check_idle(run_id)
        finished = replay(entries).finished
        if finished is not None and not finished.resumable:
            raise HTTPException(409, f"Run {run_id} is over ({finished.stopped}); to go on, say something: POST /api/runs.")
        with reserve_slot(by.run_limiter) as place:
            return await self._start_resumed_turn(run_id, begun, await self._prepare_agent(begun, by), entries, place)

    def _check_idle(self, run_id: str) -> None:
        if self.live.is_under_way(run_id):
            raise HTTPException(409, f"Run {run_id} is under way; wait until it is over, or cancel it.")

    async def _start_message_turn(
        self,
        run_id: str,
        begun: RunOrigin,
        made: PreparedAgent,
        entries: Sequence[Entry],
        asked: Prompt,
        place: RunSlot | None,
        message_id: str = "",
    ) -> RunningTurn:
        agent, origin = made.agent, begun.origin
        try:
            await check_budget(made.model)
            said = await read_prompt(asked, agent.setup.model, self.home.blobs)
            kept = await self._caller_arguments(made, entries)
            history = () if entries else await made.session.begin(run_id, said.text)
        except BaseException:
            await _close_agent(made)
            raise
        prompt = [part.text if isinstance(part, Text) else part for part in said.parts] or said.text
        return await self._start_turn(
            PendingTurn(
                run_id,
                begun.assistant,
                agent,
                lambda services, watchers: agent.run(
                    prompt,
                    run_id=run_id,
                    journal=services,
                    watchers=watchers,
                    origin=origin,
                    history=history,
                    message_id=message_id,
                    **kept,
                ),
                reply=made.session.reply,
                position=len(entries),
                first=(PersonSaid(run_id=run_id, text=Redactor().text(said.text)),),
                place=place,
                close=made.close,
            )
        )

    async def _start_resumed_turn(
        self, run_id: str, begun: RunOrigin, made: PreparedAgent, entries: Sequence[Entry], place: RunSlot | None
    ) -> RunningTurn:
        agent = made.agent
        try:
            kept = await self._caller_arguments(made, entries)
        except BaseException:
            await _close_agent(made)
            raise
        journals = await read_journals(self.home, run_id)
        cut = _count_to_last_end(entries)
        return await self._start_turn(
            PendingTurn(
                run_id,
                begun.assistant,
                agent,
                lambda services, watchers: agent.resume(run_id, journal=services, watchers=watchers, **kept),
                reply=made.session.reply,
                position=cut,
                first=tuple(events_from_journal(run_id, journals)[len(events_from_journal(run_id, journals, cut)) :]),
                used=replay(entries).spent.usage,
                place=place,
                close=made.close,
            )
        )

    async def _start_turn(self, turn: PendingTurn) -> RunningTurn:
        await self._lock.try_now()
        return await self.live.begin(turn)

    async def _prepare_agent(self, begun: RunOrigin, by: Requester) -> PreparedAgent:
        """Prepare the assistant of a run, for the requester."""
        if begun.call is None:
            await self._models.check(begun.model)
            model = await self._models.get_model(begun.model)
        else:
            model = one_call(begun.call.name, begun.call.arguments)
        close = list[Callable[[], object]]()

        async def same() -> Model:
            return model

        host = replace(self._host, model=same, on_close=close.append, headers=by.headers)
        session = AssistantSession(self._assistants[begun.assistant], host, begun.about)
        return PreparedAgent(session, session.agent(model, **begun.asked), close, model)

    async def _caller_arguments(self, made: PreparedAgent, entries: Sequence[Entry]) -> dict[str, Any]:
        """Return on whose behalf a run continues; an existing run has to be theirs."""
        caller = await made.session.caller()
        if entries and find_opened(entries).user != caller.user:
            raise RunNotFound(NOT_YOURS)
        return caller_arguments(caller)

    async def check_shown(self, run_id: str, by: Requester) -> None:
        """Raise `RunNotFound` for a run that the requester may not see."""
        if by.shows_anything and not await self.shown_to([await self.home.journal.info(await self.root_run(run_id))], by):
            raise RunNotFound(NOT_YOURS)

    async def shown_to(self, runs: Sequence[RunInfo], by: Requester) -> list[RunInfo]:
        """Return those of these runs that the requester may see.

        These are all of them where no credentials say that the home isn't theirs.
        """
        if not by.shows_anything:
            return list(runs)
        known = {name: await self._user_for_assistant(name, by) for name in {run.agent for run in runs}}
        return [run for run in runs if known[run.agent] in (None, run.user)]

    async def _user_for_assistant(self, assistant: str, by: Requester) -> str | None:
        """Return the requester's user name with an assistant; None where it is the same user as for the server."""
        says = self._assistants[assistant].caller if assistant in self._assistants else None
        if says is None:
            return None
        caller, own = await says(replace(self._host, headers=by.headers)), await says(self._host)
        return None if caller.credentials == own.credentials else caller.user

    def _origin_of(self, run_id: str, entries: Sequence[Entry]) -> RunOrigin:
        """Return a run's origin. A requested call is that of its first turn."""
        begun = load_run_origin(run_id, find_opened(entries), self._assistants, is_job=self._jobs.has(run_id))
        return begun if sum([isinstance(entry, Said) for entry in entries]) <= 1 else replace(begun, call=None)

    def _apply_changes(self, begun: RunOrigin, asked: ResumeRequest | TurnRequest | ForkRequest) -> RunOrigin:
        """Return the origin with the requested changes."""
        model = begun.model if asked.model is None else asked.model
        return replace(begun, model=model, instructions=begun.instructions if asked.instructions is None else asked.instructions)

    async def replies(self, run_id: str, by: Requester) -> list[Any]:
        """Return the data that accompanied a run's answers, turn by turn; empty where its assistant isn't installed."""
        entries = await read_run_entries(self.home, run_id)
        opened = find_opened(entries)
        assistant = self._assistants.get(opened.agent)
        if assistant is None or assistant.reply is None or opened.parent:
            return []
        close = list[Callable[[], object]]()
        host = replace(self._host, on_close=close.append, headers=by.headers)
        session = AssistantSession(assistant, host, opened.origin.get("about") or {})
        try:
            return [to_plain_data(each) for each in await session.replies(run_id, entries)]
        except TreadleError as error:
            log.warning("What came with the answers of run %s isn't known: %s", run_id, error)
            return []
        finally:
            for each in reversed(close):
                await close_resource(each)

    # stopping and forking

    async def cancel(self, run_id: str, by: Requester) -> str:
        """Cancel a run: one that is active here or in another process, is queued, or waits. Return its status."""
        entries = await read_run_entries(self.home, run_id)
        await self.check_shown(run_id, by)
        if not is_worker_run(find_opened(entries)):  # those are recovered by workers; another server may hold the lock for long
            await self.wait_recovered()
        async with self._alone.setdefault(run_id, asyncio.Lock()):  # an answer at the same moment would have it go on
            if await self.live.cancel(run_id):
                return await self._status_of(run_id)
            status = await Runs(self.home).cancel(run_id)
            return CANCELLING if status == "open" else status

    async def retry(self, run_id: str, by: Requester) -> RunningTurn | None:
        """Retry a failed run: here, or for one of workers, by the next free worker."""
        entries = await read_run_entries(self.home, run_id)
        await self.check_shown(run_id, by)
        if is_worker_run(find_opened(entries)):
            await retry_run(self.home, run_id)
            return None
        await self.wait_recovered()
        check_failed(run_id, replay(await read_run_entries(self.home, run_id)).finished)
        return await self.resume(run_id, ResumeRequest(), by)

    async def delete(self, run_id: str, by: Requester) -> None:
        """Delete a run that isn't active, with all stored content of it."""
        await self.wait_recovered()
        await read_run_entries(self.home, run_id)
        await self.check_shown(run_id, by)
        async with self._alone.setdefault(run_id, asyncio.Lock()):
            await Runs(self.home).delete(run_id, by=self._host.user)

    async def fork(self, run_id: str, asked: ForkRequest, by: Requester) -> str:
        """Create a run from the first entries of another; with a message it continues at once."""
        await self.check_shown(run_id, by)
        entries = await read_run_entries(self.home, run_id)
        at, message = _find_fork(run_id, entries, asked)
        begun = self._apply_changes(self._origin_of(run_id, entries), asked)
        closed = message is not None
        fork, kept = new_run_id(), fork_entries(run_id, entries[:at], time.time(), closed=closed, origin=begun.origin)
        if message is None:
            await self._models.check(begun.model)
            await self.home.journal.append(fork, 0, kept)
            return fork
        with reserve_slot(by.run_limiter) as place:
            made = await self._prepare_agent(begun, by)  # before anything is written: there may be no such model
            await self.home.journal.append(fork, 0, kept)
            await self._start_message_turn(fork, begun, made, kept, message, place)
        return fork

    # approvals

    async def answer(self, run_id: str, call_id: str, said: RunCallDecision, by: Requester) -> RunningTurn | PendingStatus:
        """Record an answer to a call. Where no other approval is pending, the run continues, here or in a worker."""
        digest = said.digest if said.runs else ""

        async def record(user: str, agent: Agent[Any, Any] | None) -> None:
            answer = said.answer(user, said.arguments)
            if agent is None:
                await Runs(self.home).answer(run_id, call_id, answer, digest=digest)
            else:
                await agent.answer(run_id, call_id, answer, digest=digest, journal=self.home.services())

        return await self._answer(run_id, (call_id,), by, record)

    async def answer_all(self, run_id: str, said: CallsDecision, by: Requester) -> RunningTurn | PendingStatus:
        """Record one answer to several calls of a run, and continue it as `answer` does."""
        shown = [(call.call_id, call.digest) for call in said.calls]

        async def record(user: str, agent: Agent[Any, Any] | None) -> None:
            answer = Answer(said.approved, user, said.reason, scope=said.scope)
            await Runs(self.home).answer_all(run_id, answer, shown=shown)

        return await self._answer(run_id, [call_id for call_id, _ in shown], by, record)

    async def _answer(
        self, run_id: str, call_ids: Sequence[str], by: Requester, record: RecordAnswer
    ) -> RunningTurn | PendingStatus:
        """Record an answer with `record`, which gets the user, and the agent where it knows the run's tools.

        The run's slot and its agent are prepared before that: an answer must not be lost because the run can't continue just now.
        """
        root = await self.root_run(run_id)
        alone = self._alone.setdefault(root, asyncio.Lock())  # two answers at once would both find that the other is missing
        async with alone:
            entries = await read_run_entries(self.home, root)
            if is_worker_run(find_opened(entries)):
                return await self._answer_for_workers(root, record)
            begun = self._origin_of(root, entries)
            self._check_idle(root)
            if brought := next((call_id for call_id in call_ids if call_id in pending_client_calls(entries)), None):
                raise HTTPException(
                    409, f"Call {brought} waits for the program that brought its tool; only that can report its result."
                )
            with reserve_slot(by.run_limiter) as place:
                made = await self._prepare_agent(begun, by)
                waits = True
                try:
                    if not self._was_answered(entries, await read_journals(self.home, root)):
                        user = (await self._caller_arguments(made, entries))["user"]
                        await record(user, made.agent if root == run_id else None)
                    waits = bool(find_pending_approvals(await read_journals(self.home, root)))
                finally:
                    if waits:  # for something else, or because this can't be taken
                        await _close_agent(made)
                return (
                    "waiting"
                    if waits
                    else await self._start_resumed_turn(root, begun, made, await read_run_entries(self.home, root), place)
                )

    async def _answer_for_workers(self, root: str, record: RecordAnswer) -> PendingStatus:
        """Record an answer in a run of workers: where no other approval is pending, it is queued, and a worker continues it."""
        if not self._was_answered(await read_run_entries(self.home, root), await read_journals(self.home, root)):
            await record(self._host.user, None)
        if find_pending_approvals(await read_journals(self.home, root)):
            return "waiting"
        await requeue_run(self.home, root)
        return "queued"

    def _was_answered(self, entries: Sequence[Entry], journals: dict[str, list[Entry]]) -> bool:
        """Whether everything was answered already, and the run only has to continue: a server stopped in between."""
        finished = replay(entries).finished
        is_waiting = finished is not None and finished.stopped == "waiting" and not finished.asleep
        return is_waiting and not find_pending_approvals(journals)

    async def is_elsewhere(self, run_id: str) -> bool:
        """Whether the turn of a run is executed by another process, or is about to be: by a worker, or by another server."""
        if self.live.is_under_way(run_id):
            return False
        opened = find_opened(await read_run_entries(self.home, run_id))
        info = await self.home.journal.info(run_id)
        if is_worker_run(opened):
            return info.status == "open" or await RunQueue(self.home.database).has(run_id)
        if info.status != "open" or not is_server_run(opened):
            return False
        return isinstance(self._lock, HomeLeaseLock) or not await self._lock.try_now()

    async def root_run(self, run_id: str) -> str:
        """Return the top-level run of a nested one."""
        while parent := find_opened(await read_run_entries(self.home, run_id)).parent:
            run_id = parent
        return run_id

    # what is allowed for always

    async def grants(self, by: Requester) -> list[Grant]:
        """Return the requester's grants."""
        found = await asyncio.to_thread(self.home.permissions.load)
        if not by.shows_anything:
            return list(found)
        known = {name: await self._user_for_assistant(name, by) for name in {grant.agent for grant in found}}
        return [grant for grant in found if known[grant.agent] in (None, grant.user)]

    async def revoke(self, grant_id: str, by: Requester) -> None:
        """Revoke a grant of the requester's."""
        if all(grant.id != grant_id for grant in await self.grants(by)):
            raise HTTPException(404, f"There is no grant {grant_id[:100]!r}.")
        await asyncio.to_thread(self.home.permissions.revoke, grant_id)


def _prompt_of(asked: TurnRequest | MessageRequest) -> Prompt:
    return [asked.message, *[attachment_from_base64(each.data, each.media_type, each.name) for each in asked.attachments]]


def _find_fork(run_id: str, entries: Sequence[Entry], asked: ForkRequest) -> tuple[int, Prompt | None]:
    """Return how many entries a fork copies, and the message that it continues with, if any."""
    if asked.before_message is None:
        at = len(entries) if asked.at is None else asked.at
        if not 1 <= at <= len(entries):
            raise HTTPException(422, f"Run {run_id} has {len(entries)} entries, so it can't be forked after {at}.")
        return at, asked.message
    found = find_message(entries, asked.before_message)
    if found is None or asked.at is not None:
        why = f"there is no message {asked.before_message} of the user" if found is None else "`at` says where as well"
        raise HTTPException(422, f"Run {run_id} can't be forked before that message: {why}.")
    return found, message_parts(entries[found]) if asked.message is None else asked.message


async def _close_agent(made: PreparedAgent) -> None:
    for each in reversed(made.close):
        await close_resource(each)


def _count_futile_attempts(entries: Sequence[Entry]) -> int:
    """Return how often a run was resumed without progress: it may be what crashes the server."""
    return len(list(takewhile(lambda entry: isinstance(entry, Resumed), reversed(entries))))


def _count_to_last_end(entries: Sequence[Entry]) -> int:
    """Return how many entries there are up to the end of the last turn, where it has ended; else all of them."""
    if replay(entries).finished is None:
        return len(entries)
    return max([number for number, entry in enumerate(entries, 1) if isinstance(entry, Finished)])

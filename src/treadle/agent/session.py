"""One user's session with an assistant in one context: the interface that every host uses.

Hosts differ in presentation. Which agent answers, on whose behalf, with which history, and what accompanies the
answer is the same for all of them: the assistant's own command, `ask` and `chat`, pages, HTTP APIs, `/v1`, MCP and
workers.
"""

import time
from collections.abc import AsyncGenerator, AsyncIterator, Mapping, Sequence
from contextlib import aclosing, asynccontextmanager
from typing import Any, cast

from msgspec import Struct
from msgspec.structs import replace

from treadle.agent.agent import Agent
from treadle.core.entries import Entry, Finished
from treadle.core.errors import RunNotFound
from treadle.core.messages import Message
from treadle.core.requests import Usage
from treadle.core.seams import Model, Watcher
from treadle.engine.engine import new_run_id
from treadle.engine.result import RunResult
from treadle.engine.setup import Answer, Approval, Caller
from treadle.loop.state import replay
from treadle.plugins.assistant import Assistant, Host
from treadle.plugins.assistants import assistant_agent
from treadle.runs import Runs
from treadle.stores.journal import JournalQuery, RunInfo

LAST = 50  # runs among which the last of a person is looked for
YES = frozenset(
    (
        "yes",
        "y",
        "yes please",
        "yes do it",
        "yes go ahead",
        "ok",
        "okay",
        "sure",
        "go ahead",
        "do it",
        "proceed",
        "confirm",
        "approve",
    )
)
NO = frozenset(("no", "n", "no thanks", "no thank you", "cancel", "stop", "don't", "do not", "abort", "deny", "reject"))


class SessionReply(Struct, frozen=True):
    """The result of a turn, and the data that accompanies the assistant's text (`Assistant.reply`)."""

    result: RunResult[Any]
    data: Any = None


class Confirmation(Struct, frozen=True):
    """A typed yes or no, and the approvals of the run that it may answer."""

    run_id: str
    waiting: tuple[Approval, ...]
    approved: bool

    @property
    def approval(self) -> Approval | None:
        """The approval that it answers. None where that is ambiguous: several calls wait, or the question is the outcome of one."""
        return self.waiting[0] if len(self.waiting) == 1 and not self.waiting[0].unclear else None


class AssistantSession:
    """An assistant for a host's user. `context` is what the conversation is about; by default the host's."""

    def __init__(self, assistant: Assistant, host: Host, context: Mapping[str, Any] | None = None) -> None:
        self.assistant = assistant
        self.host = host if context is None else replace(host, about=dict(context))
        self._caller: Caller | None = None

    async def caller(self) -> Caller:
        """Return on whose behalf the assistant acts."""
        if self._caller is None:
            says = self.assistant.caller
            self._caller = Caller(self.host.user) if says is None else await says(self.host)
        return self._caller

    def agent(self, model: str | Model, **asked: Any) -> Agent[Any, Any]:
        """Return the agent that answers. `asked` are further arguments of `assistant_agent`."""
        return assistant_agent(self.assistant, self.host, model, **asked)

    @property
    def origin(self) -> dict[str, Any]:
        """What is journaled with a run, so that it is resumed in the same context."""
        return {"about": dict(self.host.about)} if self.host.about else {}

    @property
    def has_own_history(self) -> bool:
        """Whether the assistant stores conversations itself, each message of which is a run of its own."""
        return self.assistant.begin is not None

    async def begin(self, run_id: str, message: str) -> Sequence[Message]:
        """Notify the assistant of a message before its run starts; return the history, if the assistant stores it."""
        return () if self.assistant.begin is None else await self.assistant.begin(self.host, run_id, message)

    async def reply(self, result: RunResult[Any]) -> Any:
        """Return the data that accompanies a turn's answer."""
        return None if self.assistant.reply is None else await self.assistant.reply(self.host, result)

    async def replies(self, run_id: str, entries: Sequence[Entry]) -> list[Any]:
        """Return the data that accompanies a run's answers, one for each finished turn, from its journal."""
        ends = [number for number, entry in enumerate(entries, 1) if isinstance(entry, Finished)]
        return (
            [] if self.assistant.reply is None else [await self.reply(result_from_journal(run_id, entries[:end])) for end in ends]
        )

    async def in_context_of(self, run_id: str) -> "AssistantSession":
        """Return a session in the context that a run of the user started with; raise `RunNotFound` where it isn't theirs."""
        await self.info(run_id)
        opened = replay(await self.host.home.journal.read(run_id)).opened
        return AssistantSession(self.assistant, self.host, opened.origin.get("about") or {} if opened else {})

    # a turn

    async def run(
        self, message: str, *, run_id: str | None = None, history: Sequence[Message] = (), model: Model | None = None
    ) -> SessionReply:
        """Send a message, in an existing run or in a new one."""
        agent, how = await self._prepare_turn(message, run_id, history, model)
        async with self.observe_turn(agent, how["run_id"]) as watchers:
            result = await agent.run(message, watchers=watchers, **how)
        return await self._make_reply(result)

    async def stream(
        self, message: str, *, run_id: str | None = None, history: Sequence[Message] = (), model: Model | None = None
    ) -> AsyncIterator[Any]:
        """Send a message and yield events, with the `SessionReply` in place of the last. Leaving early cancels the run."""
        agent, how = await self._prepare_turn(message, run_id, history, model)
        async with self.observe_turn(agent, how["run_id"]) as counting:
            async for event in self._stream_reply(agent.stream(message, watchers=counting, **how)):
                yield event

    async def warm(self, agent: Agent[Any, Any]) -> None:
        """Have the model read what a conversation with the assistant begins with, where it can in advance."""
        questions = self.assistant.questions
        await agent.warm(*questions[:1], **caller_arguments(await self.caller()))

    @asynccontextmanager
    async def observe_turn(
        self, agent: Agent[Any, Any], run_id: str = "", *, resumes: bool = False
    ) -> AsyncGenerator[tuple[Watcher, ...]]:
        """Yield the watchers of a turn: the host's, and one that counts it where the host has metrics.

        Without an id it is that of a new run.
        """
        own = () if self.host.watcher is None else (self.host.watcher,)
        if self.host.observe is None:
            yield own
            return
        used = replay(await self.host.home.journal.read(run_id)).spent.usage if resumes else Usage()
        with self.host.observe(self.assistant.name, run_id, used, agent) as watcher:
            yield (*own, watcher)

    async def _prepare_turn(
        self, message: str, run_id: str | None, history: Sequence[Message], model: Model | None
    ) -> tuple[Agent[Any, Any], dict[str, Any]]:
        agent = self.agent(model or await self.host.model())
        if run_id is not None and await self._was_interrupted(run_id):
            await agent.resume(run_id, **await self._run_services())
        is_new, run_id = run_id is None, run_id or new_run_id()
        before = (*history, *(await self.begin(run_id, message) if is_new else ()))
        return agent, {"run_id": run_id, "history": before, "origin": self.origin, **await self._run_services()}

    async def _was_interrupted(self, run_id: str) -> bool:
        """Whether a killed process left a run in the middle of a turn, or after all its approvals were answered."""
        info = await self.info(run_id)
        return info.status == "open" or (info.status == "waiting" and not await Runs(self.host.home).approvals(run_id))

    async def _run_services(self) -> dict[str, Any]:
        """Return the run's caller and stores."""
        return {"journal": self.host.home.services(), **caller_arguments(await self.caller())}

    async def _make_reply(self, result: RunResult[Any]) -> SessionReply:
        return SessionReply(result, await self.reply(result))

    async def _stream_reply(self, events: AsyncIterator[Any]) -> AsyncIterator[Any]:
        async with aclosing(cast("AsyncGenerator[Any]", events)):
            async for event in events:
                result: Any = getattr(event, "result", None)
                yield await self._make_reply(cast("RunResult[Any]", result)) if isinstance(result, RunResult) else event

    # approvals

    async def answer(self, run_id: str, call_id: str, answer: Answer, digest: str, model: Model | None = None) -> SessionReply:
        """Answer a waiting call; the run then continues."""
        agent = await self._record_answer(run_id, call_id, answer, digest, model)
        async with self.observe_turn(agent, run_id, resumes=True) as counting:
            result = await agent.resume(run_id, watchers=counting, **await self._run_services())
        return await self._make_reply(result)

    async def stream_answer(
        self, run_id: str, call_id: str, answer: Answer, digest: str, model: Model | None = None
    ) -> AsyncIterator[Any]:
        """Answer a waiting call and yield events. Leaving early doesn't stop the run: it may be what the user approved."""
        agent = await self._record_answer(run_id, call_id, answer, digest, model)
        async with self.observe_turn(agent, run_id, resumes=True) as counting:
            async for event in self._stream_reply(agent.stream_resumed(run_id, watchers=counting, **await self._run_services())):
                yield event

    async def _record_answer(self, run_id: str, call_id: str, answer: Answer, digest: str, model: Model | None) -> Agent[Any, Any]:
        """Journal an answer, and return the agent that can continue the run."""
        info, agent = await self.info(run_id), self.agent(model or await self.host.model())
        if info.status != "open":  # else it was answered already; the process died after that, and the run only has to go on
            by = replace(answer, by=(await self.caller()).user)
            await agent.answer(run_id, call_id, by, digest=digest, journal=self.host.home.services())
        return agent

    async def find_confirmation(self, message: str, run_id: str = "") -> Confirmation | None:
        """Return what a typed yes or no may answer: unexpired approvals of a run of the user. None where there are none.

        Without a run it is the user's last one, if it was started here: a user who has asked something else since doesn't
        mean what waited before.
        """
        said = parse_yes_no(message)
        info = None if said is None else await self._find_run(run_id)
        if said is None or info is None or info.status != "waiting":
            return None
        waiting = [each for each in await Runs(self.host.home).approvals(info.run_id) if each.expires_at > time.time()]
        return Confirmation(info.run_id, tuple(waiting), said) if waiting else None

    async def last_reply(self, run_id: str) -> SessionReply:
        """Return how the last turn of a run of the user ended, and its pending approvals."""
        await self.info(run_id)
        result = result_from_journal(run_id, await self.host.home.journal.read(run_id))
        result.approvals = tuple(await Runs(self.host.home).approvals(run_id))
        return await self._make_reply(result)

    async def _find_run(self, run_id: str) -> RunInfo | None:
        """Return the named run; else the user's last one, if it was started as this session starts runs."""
        if run_id:
            return await self.info(run_id)
        user = (await self.caller()).user
        found = await self.host.home.journal.list_runs(JournalQuery(agent=self.assistant.name, limit=LAST))
        last = next((each for each in found if each.user == user), None)
        opened = None if last is None else replay(await self.host.home.journal.read(last.run_id)).opened
        return last if opened is not None and opened.origin == self.origin else None

    async def info(self, run_id: str) -> RunInfo:
        """Return a run's info, if it belongs to the user and this assistant; raise `RunNotFound` otherwise."""
        if not self.host.home.database.exists():
            raise RunNotFound(f"There is no run {run_id} of yours.")
        info = await self.host.home.journal.info(run_id)
        if info.user != (await self.caller()).user or info.agent != self.assistant.name:
            raise RunNotFound(f"There is no run {run_id} of yours.")
        return info


def caller_arguments(caller: Caller) -> dict[str, Any]:
    """Return a caller as keyword arguments of `Agent.run` and `Agent.resume`."""
    return {"user": caller.user, "deps": caller.deps, "credentials": caller.credentials}


def result_from_journal(run_id: str, entries: Sequence[Entry]) -> RunResult[Any]:
    """Return how a turn ended, from its journal, without its pending approvals. A typed output is as it was journaled."""
    state = replay(entries)
    finished = state.finished
    assert finished is not None, "only turns that ended have a result"
    text = finished.text if finished.stopped == "answered" else finished.text or None
    output = text if finished.output is None else finished.output
    return RunResult(run_id, finished, output, state.spent.usage, state.history, list(entries))


def parse_yes_no(message: str) -> bool | None:
    """Return whether a message is a plain yes or a plain no; None for anything else: "yes, but in staging" is neither."""
    words = " ".join("".join([letter if letter.isalnum() or letter == "'" else " " for letter in message.casefold()]).split())
    return True if words in YES else False if words in NO else None

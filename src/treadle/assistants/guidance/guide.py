"""Guidance for one person: an answer from what the project holds, every look on record, and a recommendation where one fits.

Every face uses this. Where no model can be asked the answer comes from the project's state alone, and says so.
"""

from collections.abc import AsyncIterator, Sequence
from contextlib import aclosing
from typing import TYPE_CHECKING, Any, cast

import msgspec
from msgspec import Struct

from treadle import (
    Agent,
    Approval,
    Host,
    Led,
    Message,
    Model,
    ModelError,
    RunContext,
    RunNotFound,
    RunResult,
    Text,
    UnknownModel,
    settled_agent,
)
from treadle.assistants.guidance import assistant
from treadle.assistants.guidance.audits import audits_of
from treadle.assistants.guidance.kinds import Kind, actions_in, kind_of
from treadle.assistants.guidance.plan import plan
from treadle.assistants.guidance.prompts import NO_QUESTION, told, without_model
from treadle.assistants.guidance.recommend import recommended
from treadle.assistants.guidance.settings import GuidanceSettings
from treadle.assistants.guidance.stages import Progress, Stage, State, progress_of, stage_of
from treadle.assistants.guidance.store.errors import NotThere
from treadle.assistants.guidance.tools import guidance_tools, state_of
from treadle.routes import Decision

if TYPE_CHECKING:
    from collections.abc import AsyncGenerator

    from treadle.assistants.guidance.store.store import Store
    from treadle.assistants.guidance.store.values import ChatMessage

MESSAGES = 5  # of the conversation that a turn knows of


class Guided(Struct, frozen=True):
    """An answer. `run_id` is where everything about it is on record; `approvals` are changes that wait for the person."""

    guidance_message: str
    suggested_actions: tuple[str, ...]
    workflow_progress: Progress
    tool_call_audits: tuple[dict[str, Any], ...]
    workflow_stage: Stage
    guidance_type: Kind
    recommended_run_config: dict[str, Any] | None = None
    run_id: str = ""
    stopped: str = "answered"
    approvals: tuple[Approval, ...] = ()


class Asked(Struct, frozen=True):
    """A question on its way: what is asked, where, and how far the project is."""

    project_id: str
    session_id: str
    query: str
    state: State
    kind: Kind


def user_of(host: Host) -> str:
    """Whose projects these are: whoever the face says, else the one person at this machine."""
    return host.user or "local"


class Guide:
    """One person's."""

    def __init__(self, host: Host, store: "Store", settings: GuidanceSettings, user: str = "") -> None:
        self._host = host
        self._store = store
        self._settings = settings
        self._user = user or user_of(host)

    async def provide_guidance(
        self, project_id: str, user_query: str = "", chat_session_id: str = "", *, message_limit: int = MESSAGES
    ) -> Guided:
        """Answer a question about a project; without one, say where it stands."""
        asked = await self.asked(project_id, user_query, chat_session_id)
        try:
            agent = self.agent(await self._host.model(), asked)
            history = await self._history(asked, message_limit)
            watchers = () if self._host.watcher is None else (self._host.watcher,)
            result = await agent.run(user_query or NO_QUESTION, history=history, watchers=watchers, **self._kept(asked))
        except (UnknownModel, ModelError) as error:
            return self._from_state(asked, str(error))
        return await self.guided(asked, result)

    async def stream(self, project_id: str, user_query: str, chat_session_id: str = "") -> AsyncIterator[Any]:
        """`provide_guidance`, seen as it happens: events, and the answer at the end."""
        asked = await self.asked(project_id, user_query, chat_session_id)
        try:
            agent = self.agent(await self._host.model(), asked)
        except UnknownModel as error:
            yield self._from_state(asked, str(error))
            return
        events = agent.stream(user_query or NO_QUESTION, history=await self._history(asked, MESSAGES), **self._kept(asked))
        async for event in self._seen(asked, events):
            yield event

    async def answer(self, run_id: str, call_id: str, said: Decision) -> AsyncIterator[Any]:
        """What the person says about a change that waits: the run goes on, and is seen as it does."""
        asked, status = await self._of_run(run_id)
        agent, kept = self.agent(await self._host.model(), asked), self._host.home.services()
        if status != "open":  # else decided already; whoever carried it out is gone, and the run only has to be taken up
            digest = said.digest if said.runs else ""
            await agent.answer(run_id, call_id, said.answer(self._user), digest=digest, journal=kept)
        events = agent.stream_resumed(run_id, journal=kept, user=self._user)
        async for event in self._seen(asked, events):
            yield event

    async def _seen(self, asked: Asked, events: AsyncIterator[Any]) -> AsyncIterator[Any]:
        async with aclosing(cast("AsyncGenerator[Any]", events)):
            async for event in events:
                result: Any = getattr(event, "result", None)
                yield await self.guided(asked, cast("RunResult[Any]", result)) if isinstance(result, RunResult) else event

    def agent(self, model: Model, asked: Asked, *, lasts: bool = False) -> Agent[str]:
        """The agent for a project; one that lasts for turns looks anew each time. A model that calls no tools by itself is led."""

        async def instructions(_: RunContext[Any]) -> str:  # anew for each turn: the last one may have changed something
            return told(await state_of(self._store, self._user, asked.project_id), asked.project_id, asked.session_id)

        parts: dict[str, Any] = {
            "name": assistant.name,
            "toolsets": [guidance_tools(self._store, self._user, asked.project_id, asked.session_id, reused=not lasts)],
            "instructions": instructions,
            "policy": self._policy(),
            "limits": assistant.limits,
            "approver": self._host.approver,
        }
        return settled_agent(
            self._host.workspace, model if model.traits.native_calls else Led(model, plan), parts=parts, host=self._host
        )

    def _policy(self) -> dict[str, Any]:
        """Changes are asked about; what isn't allowed isn't even offered."""
        allowed = {"allowed_tools": list(self._settings.allowed_tools)} if self._settings.allowed_tools else {}
        asks = {"tool": "change_*", "reason": "This changes the project."}
        return {"ask": [asks], "denied_tools": list(self._settings.denied_tools), **allowed}

    def _kept(self, asked: Asked) -> dict[str, Any]:
        """Where the run is kept, for whom, and what it was about: for whoever takes it up again."""
        about = {"project_id": asked.project_id, "session_id": asked.session_id, "query": asked.query}
        return {"journal": self._host.home.services(), "user": self._user, "origin": {"about": about}}

    async def asked(self, project_id: str, query: str, session_id: str = "") -> Asked:
        """A question, with how far the project is; `NotThere` where it isn't theirs."""
        if session_id and (await self._store.get_chat_session(self._user, session_id)).project_id != project_id:
            raise NotThere("There is no such conversation about this project.")
        state = await state_of(self._store, self._user, project_id)
        return Asked(project_id, session_id, query, state, kind_of(query, stage_of(state)))

    async def _of_run(self, run_id: str) -> tuple[Asked, str]:
        """The question that a run was about, if the run is theirs, and how the run stands."""
        info = await self._host.home.journal.info(run_id)
        if info.user != self._user or info.agent != assistant.name:
            raise RunNotFound(f"There is no run {run_id} of yours.")
        opened: Any = (await self._host.home.journal.read(run_id))[0]
        about: dict[str, str] = opened.origin.get("about", {})
        asked = await self.asked(about.get("project_id", ""), about.get("query", ""), about.get("session_id", ""))
        return asked, info.status

    async def _history(self, asked: Asked, most: int) -> Sequence[Message]:
        """What was said before, without the question itself."""
        if not asked.session_id:
            return ()
        messages = await self._store.list_messages(self._user, asked.session_id, most + 1)
        if messages and messages[-1].role == "user" and messages[-1].content == asked.query:
            messages = messages[:-1]
        return [_message(each) for each in messages[max(0, len(messages) - most) :] if each.role != "system"] if most else ()

    async def guided(self, asked: Asked, result: RunResult[Any]) -> Guided:
        """What came of a run."""
        state = await state_of(self._store, self._user, asked.project_id)  # a change may just have been made
        stage = stage_of(state)
        config = recommended(asked, state, result) if asked.kind == "run_recommendation" else None
        return Guided(
            guidance_message=_words(state, result),
            suggested_actions=actions_in(result.text, stage),
            workflow_progress=progress_of(state),
            tool_call_audits=tuple(await audits_of(self._host.home, result.run_id)),
            workflow_stage=stage,
            guidance_type=asked.kind,
            recommended_run_config=config,
            run_id=result.run_id,
            stopped=result.stopped,
            approvals=result.approvals,
        )

    def _from_state(self, asked: Asked, why: str, run_id: str = "") -> Guided:
        stage = stage_of(asked.state)
        text = without_model(asked.state, why)
        progress = progress_of(asked.state)
        return Guided(text, actions_in(text, stage), progress, (), stage, asked.kind, run_id=run_id, stopped="failed")


def _message(message: "ChatMessage") -> Message:
    return Message("person" if message.role == "user" else "model", (Text(message.content),))


def as_json(guided: Guided) -> dict[str, Any]:
    """As programs are told of it."""
    return msgspec.to_builtins(guided)


def _words(state: State, result: RunResult[Any]) -> str:
    """The model's words; where it failed, what can be said without it, and that what it had done stands."""
    if result.stopped != "failed":
        return result.text or result.reason
    if not result.calls:
        return without_model(state, result.reason)
    done = ", ".join(dict.fromkeys(record.name for record in result.calls if not record.problem)) or "nothing"
    return f"The model failed ({result.reason.rstrip('.')}). What was done before that stands: {done}."

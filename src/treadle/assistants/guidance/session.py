"""The guidance assistant as every face has it: its agent, on one project, and the chat sessions that its answers are kept in.

The context of a conversation is `{"project_id": ID, "session_id": ID}`. Without a session nothing is remembered; without a project
the tools name one, or mean the one that changed last.
"""

from collections.abc import AsyncGenerator, Callable, Mapping, Sequence
from contextlib import asynccontextmanager
from hashlib import sha256
from typing import TYPE_CHECKING, Any

import msgspec
from msgspec import Struct
from msgspec.structs import replace

from treadle import (
    Approval,
    AssistantSession,
    ContextNotFound,
    Host,
    LateTools,
    Message,
    Request,
    RunContext,
    RunNotFound,
    RunResult,
    Runs,
    Text,
    Toolset,
    only,
)
from treadle.assistants.guidance import assistant
from treadle.assistants.guidance.audits import audits_of
from treadle.assistants.guidance.kinds import Kind, actions_in, kind_of
from treadle.assistants.guidance.plan import Plan as Steps
from treadle.assistants.guidance.plan import plan as led
from treadle.assistants.guidance.projects import open_projects, state_of, user_of
from treadle.assistants.guidance.prompts import INSTRUCTIONS, NO_QUESTION, UNBOUND, WITHDRAWN, question, told, without_model
from treadle.assistants.guidance.recommend import recommended
from treadle.assistants.guidance.run_tools import guidance_tools
from treadle.assistants.guidance.settings import GuidanceSettings
from treadle.assistants.guidance.stages import Progress, Stage, State, progress_of, stage_of
from treadle.assistants.guidance.store.errors import NotThere, StoreError
from treadle.assistants.guidance.tools import ProjectScope
from treadle.routes import redacted

if TYPE_CHECKING:
    from treadle.assistants.guidance.store.store import Store
    from treadle.assistants.guidance.store.values import ChatMessage

ARCHITECT = "Architect"
MESSAGES = 5  # of the conversation that a turn knows of
RECENT = 50  # messages among which those are looked for


class GuidanceContext(Struct, frozen=True):
    """What a conversation is about.

    message_id  the person's message, where it is in the chat session already
    kept        whether messages are kept in the chat session
    withdrawn   whether a change that waited in it was cancelled by this message
    """

    project_id: str = ""
    session_id: str = ""
    message_id: str = ""
    kept: bool = True
    withdrawn: bool = False

    @property
    def keeps(self) -> bool:
        """Whether there is a chat session in which messages are kept."""
        return bool(self.session_id) and self.kept


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


def context_of(host: Host) -> GuidanceContext:
    """The context of a host, as a value."""
    try:
        return msgspec.convert(dict(host.about), GuidanceContext)
    except msgspec.ValidationError as error:
        raise ContextNotFound(f'The context of guidance is {{"project_id": ID, "session_id": ID}}: {error}.') from error


# the agent


def configure(host: Host) -> Mapping[str, Any]:
    """What its model is told, from the present state of the project."""
    context = context_of(host)
    if not context.project_id:
        return {"instructions": f"{INSTRUCTIONS}\n\n{UNBOUND}"}

    async def instructions(_: RunContext[Any]) -> str:
        try:
            async with open_projects(host) as store:
                state = await state_of(store, user_of(host), context.project_id)
        except StoreError:
            return INSTRUCTIONS  # the tools will say what is wrong
        return told(state, context.project_id, context.session_id, withdrawn=context.withdrawn)

    return {"instructions": instructions}


def toolsets(host: Host) -> Sequence[Toolset]:
    """The tools, but for those that the settings don't allow; bound to the project of the conversation, if it has one."""
    context = context_of(host)
    settings: GuidanceSettings = host.settings.assistant("guidance")

    @asynccontextmanager
    async def tools() -> AsyncGenerator[Toolset]:
        async with open_projects(host) as store:
            every = guidance_tools(ProjectScope(host, store, context.project_id, context.session_id))
            allowed = settings.allowed_tools or [each.name for each in every.tools()]
            yield only(every, *[each for each in allowed if each not in settings.denied_tools])

    return (LateTools(tools),)


def plan(_: Host) -> Callable[[Request], Steps]:
    """How a model that calls no tools by itself is led."""
    return led


# its conversations


async def begin(host: Host, run_id: str, message: str) -> Sequence[Message]:
    """Keep a message in its chat session, and give the last ones before it."""
    context, user = context_of(host), user_of(host)
    if not context.project_id and not context.session_id:
        return ()
    async with open_projects(host) as store:
        await _check(store, user, context)
        if not context.keeps:
            return ()
        await recover(host, store, context.session_id)
        before = await store.list_messages(user, context.session_id, RECENT)
        if not context.message_id:
            await _keep_question(store, host, context, run_id, message)
            return history_of(before)
        await store.update_message_metadata(user, context.message_id, {"run_id": run_id, "stopped": ""})
        place = next((number for number, each in enumerate(before) if each.id == context.message_id), len(before))
        return history_of(before[:place])


async def _check(store: "Store", user: str, context: GuidanceContext) -> None:
    """The project and the chat session are the person's own, and belong together."""
    try:
        await store.get_project(user, context.project_id)
        about = (await store.get_chat_session(user, context.session_id)).project_id if context.session_id else context.project_id
        said = (await store.get_message(user, context.message_id)).chat_session_id if context.message_id else context.session_id
    except NotThere as error:
        raise ContextNotFound(str(error)) from error
    if about != context.project_id or said != context.session_id:
        raise ContextNotFound("There is no such conversation about this project.")


def history_of(messages: "Sequence[ChatMessage]", most: int = MESSAGES) -> list[Message]:
    """The last of these messages, as a model is told of them."""
    last = messages[max(0, len(messages) - most) :] if most else ()
    return [Message("person" if each.role == "user" else "model", (Text(each.content),)) for each in last if each.role != "system"]


async def reply(host: Host, result: RunResult[Any]) -> Guided | None:
    """What comes with an answer. It is kept in its chat session, once: whoever asks again has what is kept."""
    context = context_of(host)
    if not context.project_id:
        return None
    try:
        async with open_projects(host) as store:
            context = replace(context, kept=context.keeps and await _began_here(store, host, context, result.run_id))
            kept = await kept_answer(store, host, result) if context.kept else None
            return _read(kept) if kept else await _made(store, host, context, result)
    except NotThere:
        return None  # the project was deleted meanwhile


async def _began_here(store: "Store", host: Host, context: GuidanceContext, run_id: str) -> bool:
    """Whether a run began with a message of its chat session: a fork of it has the same context, and didn't."""
    said = await _found(store, host, context.message_id or _question_id(run_id, 1))
    return said is not None and said.metadata.get("run_id") == run_id


async def kept_answer(store: "Store", host: Host, result: RunResult[Any]) -> "ChatMessage | None":
    """The message that the answer of a turn is kept as."""
    return await _found(store, host, _answer_id(result.run_id, result.ends))


async def _found(store: "Store", host: Host, message_id: str) -> "ChatMessage | None":
    try:
        return await store.get_message(user_of(host), message_id)
    except NotThere:
        return None


async def _made(store: "Store", host: Host, context: GuidanceContext, result: RunResult[Any]) -> Guided:
    waiting = result.approvals or await Runs(host.home).approvals(result.run_id) if result.stopped == "waiting" else ()
    guided = await _guided(store, host, context, result, [_masked(each) for each in waiting])
    if not context.keeps:
        return guided
    if result.turn > 1:  # it was asked something else, which no `begin` has heard of
        await _keep_question(store, host, context, result.run_id, result.prompt, result.turn)
    if result.stopped == "cancelled":
        await _mark_cancelled(store, host, context, result)
    elif result.stopped != "waiting" or waiting:  # else it was decided meanwhile
        return _read(await keep(store, host, context.session_id, guided, result.ends))
    return guided


async def keep(store: "Store", host: Host, session_id: str, guided: Guided, end: int = 0) -> "ChatMessage":
    """Keep an answer as a message; that of a run with which of its ends it is. One that failed is the system's."""
    metadata: dict[str, Any] = {"agent_name": ARCHITECT, "run_end": end, **msgspec.to_builtins(guided)}
    content, role = metadata.pop("guidance_message"), "system" if guided.stopped == "failed" else "agent"
    message_id = _answer_id(guided.run_id, end) if end else ""
    return await store.add_message(user_of(host), session_id, role, content, metadata, message_id=message_id)


async def _keep_question(store: "Store", host: Host, context: GuidanceContext, run_id: str, message: str, turn: int = 1) -> None:
    said = _question_id(run_id, turn)
    await store.add_message(user_of(host), context.session_id, "user", message, {"run_id": run_id}, message_id=said)


def is_answer(message: "ChatMessage") -> bool:
    """Whether a message was kept by `reply`: anybody who shares a project can add messages to it, but not choose their ids."""
    metadata = message.metadata
    return message.id == _answer_id(str(metadata.get("run_id")), metadata.get("run_end", 0))


async def _mark_cancelled(store: "Store", host: Host, context: GuidanceContext, result: RunResult[Any]) -> None:
    """A turn that was cancelled has no answer: the question that waited says so, or else the message that it began with."""
    asked = await _found(store, host, _answer_id(result.run_id, result.ends - 1))
    first = context.message_id if result.turn == 1 else ""
    waited = asked is not None and asked.metadata["stopped"] == "waiting"
    message_id = asked.id if asked is not None and waited else first or _question_id(result.run_id, result.turn)
    await store.update_message_metadata(user_of(host), message_id, {"stopped": "cancelled", "approvals": []})


async def recover(host: Host, store: "Store", session_id: str) -> None:
    """Keep the answers whose process was killed before it kept them: the journal has them."""
    last = {each.metadata.get("run_id"): each for each in await store.list_messages(user_of(host), session_id)}
    for run_id, message in last.items():
        stopped = message.metadata.get("stopped")
        if isinstance(run_id, str) and run_id and (stopped == "waiting" or (message.role == "user" and not stopped)):
            try:
                session = await session_of_run(host, run_id, session_id)
                await session.replies(run_id, await host.home.journal.read(run_id))
            except RunNotFound:
                continue  # it was deleted, or somebody else began it


async def session_of_run(host: Host, run_id: str, session_id: str) -> AssistantSession:
    """The assistant in the context that a run of this chat session began with; `RunNotFound` where they have no such run."""
    session = await AssistantSession(assistant, host).in_context_of(run_id)
    if context_of(session.host).session_id != session_id:
        raise RunNotFound(f"There is no run {run_id} in this conversation.")
    return session


def _question_id(run_id: str, turn: int) -> str:
    """The id of the message that a turn begins with: whoever keeps it a second time finds it there."""
    return sha256(f"{run_id} question {turn}".encode()).hexdigest()[:32]


def _answer_id(run_id: str, end: int) -> str:
    return sha256(f"{run_id} answer {end}".encode()).hexdigest()[:32]


# what an answer is


async def _guided(
    store: "Store", host: Host, context: GuidanceContext, result: RunResult[Any], approvals: Sequence[Approval]
) -> Guided:
    state = await state_of(store, user_of(host), context.project_id)  # a change may just have been made
    stage, query = stage_of(state), result.prompt
    kind = kind_of("" if query == NO_QUESTION else query, stage)
    words = question(result.text, approvals, typed=context.keeps) if approvals else _words(state, result)
    return Guided(
        guidance_message=f"{WITHDRAWN}\n\n{words}" if context.withdrawn and result.ends == 1 else words,
        suggested_actions=actions_in(result.text, stage),
        workflow_progress=progress_of(state),
        tool_call_audits=tuple(await audits_of(host.home, result.run_id)),
        workflow_stage=stage,
        guidance_type=kind,
        recommended_run_config=recommended(context, state, result) if kind == "run_recommendation" else None,
        run_id=result.run_id,
        stopped=result.stopped,
        approvals=tuple(approvals),
    )


def guided_without_model(state: State, query: str, why: str) -> Guided:
    """An answer from the state of a project alone."""
    stage, text = stage_of(state), without_model(state, why)
    return Guided(text, actions_in(text, stage), progress_of(state), (), stage, kind_of(query, stage), stopped="failed")


def _words(state: State, result: RunResult[Any]) -> str:
    """The model's words; where it failed, what can be said without it, and that what it had done stands."""
    if result.stopped != "failed":
        return result.text or result.reason
    if not result.calls:
        return without_model(state, result.reason)
    done = ", ".join(dict.fromkeys(record.name for record in result.calls if not record.problem)) or "nothing"
    return f"The model failed ({result.reason.rstrip('.')}). What was done before that stands: {done}."


def _read(message: "ChatMessage") -> Guided:
    return msgspec.convert({"guidance_message": message.content, **message.metadata}, Guided)


def _masked(approval: Approval) -> Approval:
    """Its preview was masked when it was made; its digest is that of the real arguments."""
    return replace(approval, arguments=redacted(approval.arguments))

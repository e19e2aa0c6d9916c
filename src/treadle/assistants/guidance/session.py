"""The guidance assistant for all frontends: its agent, on one project, and the chat sessions that store its answers.

The context of a conversation is `{"project_id": ID, "session_id": ID}`. Without a session nothing is remembered; without a
project the tools name one, or use the one that changed last.
"""

from collections.abc import AsyncGenerator, Callable, Mapping, Sequence
from contextlib import asynccontextmanager
from hashlib import sha256
from typing import TYPE_CHECKING, Any

import msgspec
from msgspec import Struct
from msgspec.structs import replace

from treadle import Approval, Home, Message, Result, RunContext, RunResult, Runs, Text, Toolset
from treadle.assistant import AssistantSession, ContextNotFound, Host
from treadle.assistants.guidance import assistant
from treadle.assistants.guidance.guidance_types import GuidanceType, classify_question, extract_actions
from treadle.assistants.guidance.plan import GuidancePlan as Steps
from treadle.assistants.guidance.plan import plan_guidance as led
from treadle.assistants.guidance.preflight import recommend_run
from treadle.assistants.guidance.projects import load_project_state, open_projects, project_user_of
from treadle.assistants.guidance.prompts import (
    INSTRUCTIONS,
    NO_PROJECT_INSTRUCTIONS,
    NO_QUESTION,
    WITHDRAWN,
    format_approval_question,
    format_without_model,
    to_instructions,
)
from treadle.assistants.guidance.run_tools import guidance_tools
from treadle.assistants.guidance.settings import GuidanceSettings
from treadle.assistants.guidance.stages import ProjectState, Stage, WorkflowProgress, progress_of, stage_of
from treadle.assistants.guidance.store.errors import ItemNotFound, StoreError
from treadle.assistants.guidance.tools import ProjectScope
from treadle.errors import RunNotFound, SettingsError
from treadle.models import Request
from treadle.routes import redact
from treadle.toolsets import LazyToolset, only

if TYPE_CHECKING:
    from treadle.assistants.guidance.store.store import Store
    from treadle.assistants.guidance.store.values import ChatMessage


MAX_SUMMARY = 200


async def load_call_audits(home: Home, run_id: str) -> list[dict[str, Any]]:
    """Return every call of a run: name, arguments, result, duration; of a failed one, the kind of problem and the reason."""
    came: list[Result | None] = [getattr(entry, "result", None) for entry in await home.journal.read(run_id)]
    failed = {result.call_id: result for result in came if result is not None and result.problem is not None}
    return [
        {
            "tool_name": record.tool_name,
            "arguments": record.arguments,
            "result_summary": _shorten(record.result_summary) if record.success else None,
            "duration_ms": record.duration_ms,
            "success": record.success,
            "error": record.error,
            **_failure_fields(failed.get(record.call_id)),
            "verdict": record.verdict,
            "user": record.user,
        }
        for record in [link.record for link in await home.audit.records(run_id)]
        if record.stage == "ended"
    ]


def _failure_fields(result: Result | None) -> dict[str, Any]:
    return {} if result is None else {"problem": result.problem, "reason": _shorten(result.content)}


def _shorten(text: str) -> str:
    return text if len(text) < MAX_SUMMARY else f"{text[:MAX_SUMMARY]}..."


ARCHITECT_NAME = "Architect"
HISTORY_MESSAGES = 5  # of the conversation that a turn knows of
RECENT_MESSAGES = 50  # messages among which those are looked for


class GuidanceContext(Struct, frozen=True):
    """The context of a conversation.

    message_id  the user's message, if it is in the chat session already
    kept        whether messages are stored in the chat session
    withdrawn   whether a change that waited in it was cancelled by this message
    """

    project_id: str = ""
    session_id: str = ""
    message_id: str = ""
    kept: bool = True
    withdrawn: bool = False

    @property
    def keeps(self) -> bool:
        """Whether there is a chat session in which messages are stored."""
        return bool(self.session_id) and self.kept


class GuidanceReply(Struct, frozen=True):
    """An answer. `run_id` is the run that recorded it; `approvals` are changes that wait for the user."""

    guidance_message: str
    suggested_actions: tuple[str, ...]
    workflow_progress: WorkflowProgress
    tool_call_audits: tuple[dict[str, Any], ...]
    workflow_stage: Stage
    guidance_type: GuidanceType
    recommended_run_config: dict[str, Any] | None = None
    run_id: str = ""
    stopped: str = "answered"
    approvals: tuple[Approval, ...] = ()


def guidance_context_of(host: Host) -> GuidanceContext:
    """Return the context of a host, as a value."""
    try:
        return msgspec.convert(dict(host.about), GuidanceContext)
    except msgspec.ValidationError as error:
        raise ContextNotFound(f'The context of guidance is {{"project_id": ID, "session_id": ID}}: {error}.') from error


# the agent


def configure(host: Host) -> Mapping[str, Any]:
    """Return the agent's instructions, from the present state of the project."""
    context = guidance_context_of(host)
    if not context.project_id:
        return {"instructions": f"{INSTRUCTIONS}\n\n{NO_PROJECT_INSTRUCTIONS}"}

    async def instructions(_: RunContext[Any]) -> str:
        try:
            async with open_projects(host) as store:
                state = await load_project_state(store, project_user_of(host), context.project_id)
        except StoreError:
            return INSTRUCTIONS  # the tools will say what is wrong
        return to_instructions(state, context.project_id, context.session_id, withdrawn=context.withdrawn)

    return {"instructions": instructions}


def toolsets(host: Host) -> Sequence[Toolset]:
    """Return the tools, without those that the settings don't allow; bound to the conversation's project, if it has one."""
    context = guidance_context_of(host)
    settings: GuidanceSettings = host.settings.assistant("guidance")

    @asynccontextmanager
    async def tools() -> AsyncGenerator[Toolset]:
        async with open_projects(host) as store:
            every = guidance_tools(ProjectScope(host, store, context.project_id, context.session_id))
            names = [each.name for each in every.tools()]
            _check_tool_names("allowed_tools", settings.allowed_tools, names)
            _check_tool_names("denied_tools", settings.denied_tools, names)
            allowed = settings.allowed_tools or names
            if not await _can_edit(store, host, context):
                reads = [each.name for each in every.tools() if each.effect == "read"]
                allowed = [each for each in allowed if each in reads]
            yield only(every, *[each for each in allowed if each not in settings.denied_tools])

    return (LazyToolset(tools),)


def _check_tool_names(key: str, named: Sequence[str], names: Sequence[str]) -> None:
    """Raise where a setting names a tool that doesn't exist: a misspelt name would deny nothing."""
    for name in named:
        if name not in names:
            raise SettingsError(f"assistants.guidance.{key} names {name}, which is none of its tools: {', '.join(names)}.")


async def _can_edit(store: "Store", host: Host, context: GuidanceContext) -> bool:
    """Return whether the tools may change the project: not if it is shared with the user to read."""
    try:
        return not context.project_id or (await store.get_project(project_user_of(host), context.project_id)).can_edit
    except StoreError:
        return True  # the tools will say what is wrong


def plan(_: Host) -> Callable[[Request], Steps]:
    """Return the plan for a model that calls no tools by itself."""
    return led


# its conversations


async def begin(host: Host, run_id: str, message: str) -> Sequence[Message]:
    """Store a message in its chat session, and return the last ones before it."""
    context, user = guidance_context_of(host), project_user_of(host)
    if not context.project_id and not context.session_id:
        return ()
    async with open_projects(host) as store:
        await _check_context(store, user, context)
        if not context.keeps:
            return ()
        await recover_answers(host, store, context.session_id)
        before = await store.list_messages(user, context.session_id, RECENT_MESSAGES)
        if not context.message_id:
            await _store_question(store, host, context, run_id, message)
            return to_history(before)
        await store.update_message_metadata(user, context.message_id, {"run_id": run_id, "stopped": ""})
        place = next((number for number, each in enumerate(before) if each.id == context.message_id), len(before))
        return to_history(before[:place])


async def _check_context(store: "Store", user: str, context: GuidanceContext) -> None:
    """Check that the project and the chat session are the user's own, and belong together."""
    try:
        await store.get_project(user, context.project_id)
        about = (await store.get_chat_session(user, context.session_id)).project_id if context.session_id else context.project_id
        said = (await store.get_message(user, context.message_id)).chat_session_id if context.message_id else context.session_id
    except ItemNotFound as error:
        raise ContextNotFound(str(error)) from error
    if about != context.project_id or said != context.session_id:
        raise ContextNotFound("There is no such conversation about this project.")


def to_history(messages: "Sequence[ChatMessage]", most: int = HISTORY_MESSAGES) -> list[Message]:
    """Return the last of these messages, as a model's history."""
    last = messages[max(0, len(messages) - most) :] if most else ()
    return [Message("person" if each.role == "user" else "model", (Text(each.content),)) for each in last if each.role != "system"]


async def reply(host: Host, result: RunResult[Any]) -> GuidanceReply | None:
    """Return what comes with an answer. It is stored in its chat session once; later calls return what is stored."""
    context = guidance_context_of(host)
    if not context.project_id:
        return None
    try:
        async with open_projects(host) as store:
            context = replace(context, kept=context.keeps and await _is_begun_here(store, host, context, result.run_id))
            kept = await find_stored_answer(store, host, result) if context.kept else None
            return _reply_from_message(kept) if kept else await _make_reply(store, host, context, result)
    except ItemNotFound:
        return None  # the project was deleted meanwhile


async def _is_begun_here(store: "Store", host: Host, context: GuidanceContext, run_id: str) -> bool:
    """Return whether a run began with a message of its chat session: a fork of it has the same context, and didn't."""
    said = await _find_message(store, host, context.message_id or _question_id(run_id, 1))
    return said is not None and said.metadata.get("run_id") == run_id


async def find_stored_answer(store: "Store", host: Host, result: RunResult[Any]) -> "ChatMessage | None":
    """Return the message that the answer of a turn is stored as."""
    return await _find_message(store, host, _answer_id(result.run_id, result.ends))


async def _find_message(store: "Store", host: Host, message_id: str) -> "ChatMessage | None":
    try:
        return await store.get_message(project_user_of(host), message_id)
    except ItemNotFound:
        return None


async def _make_reply(store: "Store", host: Host, context: GuidanceContext, result: RunResult[Any]) -> GuidanceReply:
    waiting = result.approvals or await Runs(host.home).approvals(result.run_id) if result.stopped == "waiting" else ()
    guided = await _compose_reply(store, host, context, result, [_mask_approval(each) for each in waiting])
    if not context.keeps:
        return guided
    if result.turn > 1:  # it was asked something else, which no `begin` has heard of
        await _store_question(store, host, context, result.run_id, result.prompt, result.turn)
    if result.stopped == "cancelled":
        await _mark_cancelled(store, host, context, result)
    elif result.stopped != "waiting" or waiting:  # else it was decided meanwhile
        return _reply_from_message(await store_answer(store, host, context.session_id, guided, result.ends))
    return guided


async def store_answer(store: "Store", host: Host, session_id: str, guided: GuidanceReply, end: int = 0) -> "ChatMessage":
    """Store an answer as a message, with the number of the run's end that it belongs to. A failed one has the role `system`."""
    metadata: dict[str, Any] = {"agent_name": ARCHITECT_NAME, "run_end": end, **msgspec.to_builtins(guided)}
    content, role = metadata.pop("guidance_message"), "system" if guided.stopped == "failed" else "agent"
    message_id = _answer_id(guided.run_id, end) if end else ""
    return await store.add_message(project_user_of(host), session_id, role, content, metadata, message_id=message_id)


async def _store_question(store: "Store", host: Host, context: GuidanceContext, run_id: str, message: str, turn: int = 1) -> None:
    said = _question_id(run_id, turn)
    await store.add_message(project_user_of(host), context.session_id, "user", message, {"run_id": run_id}, message_id=said)


def is_answer(message: "ChatMessage") -> bool:
    """Return whether a message was stored by `reply`: members of a project can add messages to it, but not choose their ids."""
    metadata = message.metadata
    return message.id == _answer_id(str(metadata.get("run_id")), metadata.get("run_end", 0))


async def _mark_cancelled(store: "Store", host: Host, context: GuidanceContext, result: RunResult[Any]) -> None:
    """Mark a cancelled turn, which has no answer: on the question that waited, or else on the message that it began with."""
    asked = await _find_message(store, host, _answer_id(result.run_id, result.ends - 1))
    first = context.message_id if result.turn == 1 else ""
    waited = asked is not None and asked.metadata["stopped"] == "waiting"
    message_id = asked.id if asked is not None and waited else first or _question_id(result.run_id, result.turn)
    await store.update_message_metadata(project_user_of(host), message_id, {"stopped": "cancelled", "approvals": []})


async def recover_answers(host: Host, store: "Store", session_id: str) -> None:
    """Store the answers whose process was killed before it stored them: the journal has them."""
    last = {each.metadata.get("run_id"): each for each in await store.list_messages(project_user_of(host), session_id)}
    for run_id, message in last.items():
        stopped = message.metadata.get("stopped")
        if isinstance(run_id, str) and run_id and (stopped == "waiting" or (message.role == "user" and not stopped)):
            try:
                session = await open_run_session(host, run_id, session_id)
                await session.replies(run_id, await host.home.journal.read(run_id))
            except RunNotFound:
                continue  # it was deleted, or another user started it


async def open_run_session(host: Host, run_id: str, session_id: str) -> AssistantSession:
    """Return the assistant in the context of a run of this chat session; raises `RunNotFound` if the user has no such run."""
    session = await AssistantSession(assistant, host).in_context_of(run_id)
    if guidance_context_of(session.host).session_id != session_id:
        raise RunNotFound(f"There is no run {run_id} in this conversation.")
    return session


def _question_id(run_id: str, turn: int) -> str:
    """Return the id of the message that a turn begins with: storing it a second time finds it there."""
    return sha256(f"{run_id} question {turn}".encode()).hexdigest()[:32]


def _answer_id(run_id: str, end: int) -> str:
    return sha256(f"{run_id} answer {end}".encode()).hexdigest()[:32]


# what an answer is


async def _compose_reply(
    store: "Store", host: Host, context: GuidanceContext, result: RunResult[Any], approvals: Sequence[Approval]
) -> GuidanceReply:
    state = await load_project_state(store, project_user_of(host), context.project_id)  # a change may just have been made
    stage, query = stage_of(state), result.prompt
    kind = classify_question("" if query == NO_QUESTION else query, stage)
    words = format_approval_question(result.text, approvals, typed=context.keeps) if approvals else _format_answer(state, result)
    return GuidanceReply(
        guidance_message=f"{WITHDRAWN}\n\n{words}" if context.withdrawn and result.ends == 1 else words,
        suggested_actions=extract_actions(result.text, stage),
        workflow_progress=progress_of(state),
        tool_call_audits=tuple(await load_call_audits(host.home, result.run_id)),
        workflow_stage=stage,
        guidance_type=kind,
        recommended_run_config=recommend_run(context, state, result) if kind == "run_recommendation" else None,
        run_id=result.run_id,
        stopped=result.stopped,
        approvals=tuple(approvals),
    )


def reply_without_model(state: ProjectState, query: str, why: str) -> GuidanceReply:
    """Return an answer from the state of a project alone."""
    stage, text = stage_of(state), format_without_model(state, why)
    return GuidanceReply(
        text, extract_actions(text, stage), progress_of(state), (), stage, classify_question(query, stage), stopped="failed"
    )


def _format_answer(state: ProjectState, result: RunResult[Any]) -> str:
    """Return the model's text; if it failed, what can be said without it, and that what was done before stands."""
    if result.stopped != "failed":
        return result.message
    if not result.calls:
        return format_without_model(state, result.reason)
    done = ", ".join(dict.fromkeys(record.name for record in result.calls if not record.problem)) or "nothing"
    return f"The model failed ({result.reason.rstrip('.')}). What was done before that stands: {done}."


def _reply_from_message(message: "ChatMessage") -> GuidanceReply:
    return msgspec.convert({"guidance_message": message.content, **message.metadata}, GuidanceReply)


def _mask_approval(approval: Approval) -> Approval:
    """Mask an approval's arguments. Its preview was masked when it was made; its digest is that of the real arguments."""
    return replace(approval, arguments=redact(approval.arguments))

"""The architect's reply over the original API: what was said last in a chat session is answered, and the answer kept in it.

A change that waits is decided in the conversation: a plain yes or no right after the architect's question settles just that call.
Anything else goes on with the conversation, and the call that waited is cancelled.
"""

from collections.abc import AsyncIterator
from typing import TYPE_CHECKING, Any

from treadle import (
    Answer,
    Approval,
    AssistantSession,
    Host,
    ModelError,
    RunNotFound,
    Runs,
    SessionReply,
    TreadleError,
    UnknownModel,
)
from treadle.assistants.guidance import assistant
from treadle.assistants.guidance.projects import state_of, user_of
from treadle.assistants.guidance.session import RECENT, guided_without_model, is_answer, keep, kept_answer, recover, session_of_run

if TYPE_CHECKING:
    from treadle.assistants.guidance.store.store import Store
    from treadle.assistants.guidance.store.values import ChatMessage

AUTHOR = "author"  # in a message's metadata: who added it over HTTP


class NothingSaid(TreadleError):
    """A conversation in which there is nothing to answer yet."""


class AnswerCancelled(TreadleError):
    """A run that was cancelled before it was answered."""


async def reply(host: Host, store: "Store", session_id: str) -> "ChatMessage":
    """Answer what was said last; the message that the answer is kept as."""
    events = [event async for event in stream_reply(host, store, session_id)]
    return events[-1]


async def stream_reply(host: Host, store: "Store", session_id: str) -> AsyncIterator[Any]:
    """`reply`, seen as it happens: events, and the message at the end."""
    session = await store.get_chat_session(user_of(host), session_id)
    await recover(host, store, session_id)
    messages = await store.list_messages(user_of(host), session_id, RECENT)
    said = next((each for each in reversed(messages) if each.role == "user"), None)
    if said is None:
        raise NothingSaid("Nothing has been said in this conversation yet; add a message first.")
    waiting = await _waiting(host, messages)
    if waiting is not None and messages[-1].id == waiting.id:
        yield waiting  # nothing was said since: the question is still the same
        return
    try:
        model = await host.model()
    except (UnknownModel, ModelError) as error:
        state = await state_of(store, user_of(host), session.project_id)
        yield await keep(store, host, session_id, guided_without_model(state, said.content, str(error)))
        return
    confirmed = await _confirmed(host, waiting, said) if waiting is not None and messages[-2].id == waiting.id else None
    if confirmed is not None:
        approval, answer = confirmed
        mine = await session_of_run(host, approval.run_id, session_id)
        await store.update_message_metadata(user_of(host), said.id, {"run_id": approval.run_id})
        events = mine.stream_answer(approval.run_id, approval.call_id, answer, approval.digest, model)
    else:
        if waiting is not None:
            await _withdraw(host, waiting)
        about = {"project_id": session.project_id, "session_id": session_id, "message_id": said.id}
        context = {**about, "withdrawn": True} if waiting is not None else about
        events = AssistantSession(assistant, host, context).stream(said.content, model=model)
    async for event in events:
        yield await _kept(store, host, event) if isinstance(event, SessionReply) else event


async def _waiting(host: Host, messages: "list[ChatMessage]") -> "ChatMessage | None":
    """The architect's last message, where it asks about something that still waits in a run of this person and chat session."""
    last = next((each for each in reversed(messages) if each.role != "user"), None)
    if last is None or last.metadata.get("stopped") != "waiting" or not is_answer(last):
        return None
    try:
        session = await session_of_run(host, last.metadata["run_id"], last.chat_session_id)
        info = await session.info(last.metadata["run_id"])
    except RunNotFound:
        return None  # somebody else's, who shares this project
    return last if info.status == "waiting" else None


async def _confirmed(host: Host, asked: "ChatMessage", said: "ChatMessage") -> tuple[Approval, Answer] | None:
    """The one call that the architect asked about, and the answer to it, where a message is a plain yes or no."""
    run_id = asked.metadata["run_id"]
    if said.metadata.get(AUTHOR) != user_of(host):
        return None  # others who share the project may speak in its conversations, but not for this person
    found = await (await session_of_run(host, run_id, said.chat_session_id)).confirmed(said.content, run_id)
    shown = [(each["call_id"], each["digest"]) for each in asked.metadata["approvals"]]
    approval = None if found is None else found.approval
    if found is None or approval is None or shown != [(approval.call_id, approval.digest)]:
        return None
    return approval, Answer(found.approved, reason="" if found.approved else said.content)


async def _withdraw(host: Host, asked: "ChatMessage") -> None:
    """Cancel what waits."""
    run_id = asked.metadata["run_id"]
    await Runs(host.home).cancel(run_id)
    session = await session_of_run(host, run_id, asked.chat_session_id)
    await session.replies(run_id, await host.home.journal.read(run_id))


async def _kept(store: "Store", host: Host, reply: SessionReply) -> "ChatMessage":
    message = await kept_answer(store, host, reply.result)
    if message is None:
        raise AnswerCancelled("The answer was stopped, or its project deleted, before it was complete.")
    return message

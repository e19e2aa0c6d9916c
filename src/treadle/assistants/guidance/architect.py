"""The architect's reply in the original API: answers the last message of a chat session, and stores the answer in it.

A waiting change is decided in the conversation: a plain yes or no right after the architect's question settles just
that call. Any other message continues the conversation, and the waiting call is cancelled.
"""

from collections.abc import AsyncIterator
from typing import TYPE_CHECKING, Any

from treadle import Answer, Approval, Runs, TreadleError
from treadle.assistant import AssistantSession, Host, SessionReply
from treadle.assistants.guidance import assistant
from treadle.assistants.guidance.projects import load_project_state, project_user_of
from treadle.assistants.guidance.session import (
    RECENT_MESSAGES,
    find_stored_answer,
    is_answer,
    open_run_session,
    recover_answers,
    reply_without_model,
    store_answer,
)
from treadle.errors import ModelError, RunNotFound, UnknownModel

if TYPE_CHECKING:
    from treadle.assistants.guidance.store.store import Store
    from treadle.assistants.guidance.store.values import ChatMessage

AUTHOR = "author"  # in a message's metadata: who added it over HTTP


class NoMessageToAnswer(TreadleError):
    """A conversation without a message to answer."""


class AnswerCancelled(TreadleError):
    """A run that was cancelled before it was answered."""


async def answer_last_message(host: Host, store: "Store", session_id: str) -> "ChatMessage":
    """Answer the last message; return the message that the answer is stored as."""
    events = [event async for event in stream_answer(host, store, session_id)]
    return events[-1]


async def stream_answer(host: Host, store: "Store", session_id: str) -> AsyncIterator[Any]:
    """Stream `answer_last_message`: events, and the message at the end."""
    session = await store.get_chat_session(project_user_of(host), session_id)
    await recover_answers(host, store, session_id)
    messages = await store.list_messages(project_user_of(host), session_id, RECENT_MESSAGES)
    said = next((each for each in reversed(messages) if each.role == "user"), None)
    if said is None:
        raise NoMessageToAnswer("Nothing has been said in this conversation yet; add a message first.")
    waiting = await _find_waiting_message(host, messages)
    if waiting is not None and messages[-1].id == waiting.id:
        yield waiting  # nothing was said since: the question is still the same
        return
    try:
        model = await host.model()
    except (UnknownModel, ModelError) as error:
        state = await load_project_state(store, project_user_of(host), session.project_id)
        yield await store_answer(store, host, session_id, reply_without_model(state, said.content, str(error)))
        return
    confirmed = await _match_confirmation(host, waiting, said) if waiting is not None and messages[-2].id == waiting.id else None
    if confirmed is not None:
        approval, answer = confirmed
        mine = await open_run_session(host, approval.run_id, session_id)
        await store.update_message_metadata(project_user_of(host), said.id, {"run_id": approval.run_id})
        events = mine.stream_answer(approval.run_id, approval.call_id, answer, approval.digest, model)
    else:
        if waiting is not None:
            await _cancel_waiting(host, waiting)
        about = {"project_id": session.project_id, "session_id": session_id, "message_id": said.id}
        context = {**about, "withdrawn": True} if waiting is not None else about
        events = AssistantSession(assistant, host, context).stream(said.content, model=model)
    async for event in events:
        yield await _load_stored_answer(store, host, event) if isinstance(event, SessionReply) else event


async def _find_waiting_message(host: Host, messages: "list[ChatMessage]") -> "ChatMessage | None":
    """Return the architect's last message, if it asks about a call that still waits in a run of this user and chat session."""
    last = next((each for each in reversed(messages) if each.role != "user"), None)
    if last is None or last.metadata.get("stopped") != "waiting" or not is_answer(last):
        return None
    try:
        session = await open_run_session(host, last.metadata["run_id"], last.chat_session_id)
        info = await session.info(last.metadata["run_id"])
    except RunNotFound:
        return None  # another user's, who shares this project
    return last if info.status == "waiting" else None


async def _match_confirmation(host: Host, asked: "ChatMessage", said: "ChatMessage") -> tuple[Approval, Answer] | None:
    """Return the one call that the architect asked about, and the answer to it, if a message is a plain yes or no."""
    run_id = asked.metadata["run_id"]
    if said.metadata.get(AUTHOR) != project_user_of(host):
        return None  # others who share the project may speak in its conversations, but not for this person
    found = await (await open_run_session(host, run_id, said.chat_session_id)).find_confirmation(said.content, run_id)
    shown = [(each["call_id"], each["digest"]) for each in asked.metadata["approvals"]]
    approval = None if found is None else found.approval
    if found is None or approval is None or shown != [(approval.call_id, approval.digest)]:
        return None
    return approval, Answer(found.approved, reason="" if found.approved else said.content)


async def _cancel_waiting(host: Host, asked: "ChatMessage") -> None:
    """Cancel the waiting calls."""
    run_id = asked.metadata["run_id"]
    await Runs(host.home).cancel(run_id)
    session = await open_run_session(host, run_id, asked.chat_session_id)
    await session.replies(run_id, await host.home.journal.read(run_id))


async def _load_stored_answer(store: "Store", host: Host, reply: SessionReply) -> "ChatMessage":
    message = await find_stored_answer(store, host, reply.result)
    if message is None:
        raise AnswerCancelled("The answer was stopped, or its project deleted, before it was complete.")
    return message

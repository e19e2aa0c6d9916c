"""Chat sessions and what is said in them. Messages keep the order in which they came."""

from collections.abc import Collection
from typing import Any

from msgspec.structs import replace
from sqlalchemy import delete

from treadle.assistants.guidance.store.change import Change, changing, changing_one
from treadle.assistants.guidance.store.checks import checked
from treadle.assistants.guidance.store.part import Part
from treadle.assistants.guidance.store.rows import project_row, row_by_id, rows_in_order, value_of
from treadle.assistants.guidance.store.tables import candidates, chat_sessions, messages, runs
from treadle.assistants.guidance.store.values import ChatMessage, ChatSession, Role, SessionMode, new_id
from treadle.assistants.guidance.store.whole import whole

SESSION, MESSAGE = "chat session", "message"


class Talks(Part):
    """Create, list, get and update chat sessions; append and read messages."""

    @whole
    async def create_chat_session(
        self,
        user: str,
        project_id: str,
        title: str = "",
        mode: SessionMode = "setup",
        *,
        run_id: str | None = None,
        candidate_id: str | None = None,
    ) -> ChatSession:
        """A new chat session about a project, or about one run or candidate of it."""
        session = checked(ChatSession(project_id, title, mode, run_id, candidate_id))
        async with changing(self._database, user, project_id) as change:
            await _refers(change, session)
            await change.add(chat_sessions, session)
        return session

    @whole
    async def list_chat_sessions(self, user: str, project_id: str) -> list[ChatSession]:
        """The chat sessions of a project, in order."""
        async with self._database.reading() as connection:
            await project_row(connection, user, project_id)
            rows = await rows_in_order(connection, chat_sessions, chat_sessions.c.project_id == project_id)
            return [value_of(row, ChatSession) for row in rows]

    @whole
    async def get_chat_session(self, user: str, session_id: str) -> ChatSession:
        """A chat session, or `NotThere`."""
        async with self._database.reading() as connection:
            return value_of(await row_by_id(connection, user, chat_sessions, session_id, SESSION), ChatSession)

    @whole
    async def update_chat_session(
        self, user: str, session_id: str, *, title: str | None = None, mode: SessionMode | None = None
    ) -> ChatSession:
        """Change what a chat session is called, or is for."""
        async with changing_one(self._database, user, chat_sessions, session_id, SESSION) as (change, row):
            given = {key: value for key, value in (("title", title), ("mode", mode)) if value is not None}
            session = checked(replace(value_of(row, ChatSession), **given))
            await change.set(chat_sessions, session_id, title=session.title, mode=session.mode)
            return session

    @whole
    async def add_message(
        self,
        user: str,
        session_id: str,
        role: Role,
        content: str,
        metadata: dict[str, Any] | None = None,
        *,
        message_id: str = "",
    ) -> ChatMessage:
        """Append a message to a chat session; with an id of the caller's, once: the one that is there already comes back."""
        message = checked(ChatMessage(session_id, role, content, metadata or {}, id=message_id or new_id()))
        async with changing_one(self._database, user, chat_sessions, session_id, SESSION) as (change, _):
            if (row := await change.there(messages, message_id, MESSAGE)) is not None:
                return value_of(row, ChatMessage)
            await change.add(messages, message)
            return replace(message, project_id=change.project_id)

    @whole
    async def list_messages(
        self, user: str, session_id: str, last: int | None = None, *, role: Role | None = None
    ) -> list[ChatMessage]:
        """What was said in a chat session, in order: the last few messages, or all; of one role, or of all."""
        async with self._database.reading() as connection:
            await row_by_id(connection, user, chat_sessions, session_id, SESSION)
            conditions = [messages.c.chat_session_id == session_id, *([] if role is None else [messages.c.role == role])]
            rows = await rows_in_order(connection, messages, *conditions, last=last)
            return [value_of(row, ChatMessage) for row in rows]

    @whole
    async def get_message(self, user: str, message_id: str) -> ChatMessage:
        """A message, or `NotThere`."""
        async with self._database.reading() as connection:
            return value_of(await row_by_id(connection, user, messages, message_id, MESSAGE), ChatMessage)

    @whole
    async def update_message_metadata(self, user: str, message_id: str, changes: dict[str, Any]) -> ChatMessage:
        """Set some keys of a message's metadata; the others stay, also those that somebody else sets at the same time."""
        async with changing_one(self._database, user, messages, message_id, MESSAGE) as (change, row):
            message = checked(value_of(row, ChatMessage, metadata={**row["metadata"], **changes}))
            await change.set(messages, message_id, metadata=message.metadata)
            return message

    @whole
    async def erase_messages(self, run_ids: Collection[str]) -> None:
        """Delete the messages of runs of the engine, of every author, in all projects."""
        async with self._database.writing() as connection:
            of_run = messages.c.metadata["run_id"].as_string()
            await connection.execute(delete(messages).where(of_run.in_(sorted(run_ids))))
        await self._database.purge()


async def _refers(change: Change, session: ChatSession) -> None:
    await change.expect(runs, session.run_id, "run")
    await change.expect(candidates, session.candidate_id, "candidate")

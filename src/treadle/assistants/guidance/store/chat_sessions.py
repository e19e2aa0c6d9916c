"""Chat sessions and their messages. Messages keep the order in which they were added."""

from collections.abc import Collection
from typing import Any

from msgspec.structs import replace
from sqlalchemy import delete

from treadle.assistants.guidance.store.database import StoreMixin, in_any_store, run_to_completion
from treadle.assistants.guidance.store.rows import load_project_row, load_row, load_rows, row_to_value
from treadle.assistants.guidance.store.tables import candidates, chat_sessions, messages, runs
from treadle.assistants.guidance.store.transaction import ProjectTransaction, project_transaction, row_transaction
from treadle.assistants.guidance.store.validation import validate_value
from treadle.assistants.guidance.store.values import ChatMessage, ChatSession, Role, SessionMode, new_id

SESSION, MESSAGE = "chat session", "message"


class ChatSessionsMixin(StoreMixin):
    """Create, list, get and update chat sessions; append and read messages."""

    @in_any_store
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
        """Create a chat session about a project, or about one run or candidate of it."""
        session = validate_value(ChatSession(project_id, title, mode, run_id, candidate_id))
        async with project_transaction(self._database, user, project_id) as change:
            await _check_references(change, session)
            await change.add(chat_sessions, session)
        return session

    @in_any_store
    async def list_chat_sessions(self, user: str, project_id: str) -> list[ChatSession]:
        """Return the chat sessions of a project, in order."""
        async with self._database.reading() as connection:
            await load_project_row(connection, user, project_id)
            rows = await load_rows(connection, chat_sessions, chat_sessions.c.project_id == project_id)
            return [row_to_value(row, ChatSession) for row in rows]

    @in_any_store
    async def get_chat_session(self, user: str, session_id: str) -> ChatSession:
        """Return a chat session; raises `ItemNotFound`."""
        async with self._database.reading() as connection:
            return row_to_value(await load_row(connection, user, chat_sessions, session_id, SESSION), ChatSession)

    @in_any_store
    async def update_chat_session(
        self, user: str, session_id: str, *, title: str | None = None, mode: SessionMode | None = None
    ) -> ChatSession:
        """Change the title or the mode of a chat session."""
        async with row_transaction(self._database, user, chat_sessions, session_id, SESSION) as (change, row):
            given = {key: value for key, value in (("title", title), ("mode", mode)) if value is not None}
            session = validate_value(replace(row_to_value(row, ChatSession), **given))
            await change.set(chat_sessions, session_id, title=session.title, mode=session.mode)
            return session

    @in_any_store
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
        """Append a message to a chat session; with an id given by the caller, once: an existing one is returned."""
        message = validate_value(ChatMessage(session_id, role, content, metadata or {}, id=message_id or new_id()))
        async with row_transaction(self._database, user, chat_sessions, session_id, SESSION) as (change, _):
            if (row := await change.there(messages, message_id, MESSAGE)) is not None:
                return row_to_value(row, ChatMessage)
            await change.add(messages, message)
            return replace(message, project_id=change.project_id)

    @in_any_store
    async def list_messages(
        self, user: str, session_id: str, last: int | None = None, *, role: Role | None = None
    ) -> list[ChatMessage]:
        """Return the messages of a chat session, in order: the last few, or all; of one role, or of all."""
        async with self._database.reading() as connection:
            await load_row(connection, user, chat_sessions, session_id, SESSION)
            conditions = [messages.c.chat_session_id == session_id, *([] if role is None else [messages.c.role == role])]
            rows = await load_rows(connection, messages, *conditions, last=last)
            return [row_to_value(row, ChatMessage) for row in rows]

    @in_any_store
    async def get_message(self, user: str, message_id: str) -> ChatMessage:
        """Return a message; raises `ItemNotFound`."""
        async with self._database.reading() as connection:
            return row_to_value(await load_row(connection, user, messages, message_id, MESSAGE), ChatMessage)

    @in_any_store
    async def update_message_metadata(self, user: str, message_id: str, changes: dict[str, Any]) -> ChatMessage:
        """Set some keys of a message's metadata; the others stay, including those set concurrently."""
        async with row_transaction(self._database, user, messages, message_id, MESSAGE) as (change, row):
            message = validate_value(row_to_value(row, ChatMessage, metadata={**row["metadata"], **changes}))
            await change.set(messages, message_id, metadata=message.metadata)
            return message

    @run_to_completion
    async def erase_messages(self, run_ids: Collection[str]) -> None:
        """Delete the messages of runs of the engine, of every author, in all projects."""
        async with self._database.writing() as connection:
            of_run = messages.c.metadata["run_id"].as_string()
            await connection.execute(delete(messages).where(of_run.in_(sorted(run_ids))))
        await self._database.purge()


async def _check_references(change: ProjectTransaction, session: ChatSession) -> None:
    await change.expect(runs, session.run_id, "run")
    await change.expect(candidates, session.candidate_id, "candidate")

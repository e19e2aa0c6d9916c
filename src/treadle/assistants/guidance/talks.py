"""A conversation that is kept: what a person says becomes a message, the answer another, with every look in its metadata."""

from collections.abc import AsyncIterator
from typing import TYPE_CHECKING, Any

import msgspec

from treadle import TreadleError
from treadle.assistants.guidance.guide import Guide, Guided

if TYPE_CHECKING:
    from treadle.assistants.guidance.store.store import Store
    from treadle.assistants.guidance.store.values import ChatMessage, ChatSession

AGENT = "Architect"


class NothingSaid(TreadleError):
    """A conversation in which there is nothing to answer yet."""


class Talks:
    """One person's conversations."""

    def __init__(self, store: "Store", guide: Guide, user: str) -> None:
        self._store = store
        self._guide = guide
        self._user = user

    async def reply(self, session_id: str) -> "ChatMessage":
        """Answer what was said last, and keep the answer."""
        session, query = await self._last(session_id)
        guided = await self._guide.provide_guidance(session.project_id, query, session_id)
        return await self.keep(session_id, guided)

    async def stream(self, session_id: str, query: str) -> AsyncIterator[Any]:
        """Say something, and see the answer come: events, and at the end the message that is kept."""
        session = await self._store.get_chat_session(self._user, session_id)
        await self._store.add_message(self._user, session_id, "user", query)
        async for event in self._guide.stream(session.project_id, query, session_id):
            yield await self.keep(session_id, event) if isinstance(event, Guided) else event

    async def stream_reply(self, session_id: str) -> AsyncIterator[Any]:
        """`reply`, seen as it happens."""
        session, query = await self._last(session_id)
        async for event in self._guide.stream(session.project_id, query, session_id):
            yield await self.keep(session_id, event) if isinstance(event, Guided) else event

    async def keep(self, session_id: str, guided: Guided) -> "ChatMessage":
        """The answer as a message. One that failed is the system's."""
        told = {key: value for key, value in msgspec.to_builtins(guided).items() if key != "guidance_message"}
        told["approvals"] = [{**each, "arguments": {}} for each in told["approvals"]]  # the preview is masked
        role = "system" if guided.stopped == "failed" else "agent"
        metadata = {"agent_name": AGENT, **told}
        return await self._store.add_message(self._user, session_id, role, guided.guidance_message, metadata)

    async def _last(self, session_id: str) -> "tuple[ChatSession, str]":
        session = await self._store.get_chat_session(self._user, session_id)
        said = await self._store.list_messages(self._user, session_id, 1, role="user")
        if not said:
            raise NothingSaid("Nothing has been said in this conversation yet; add a message first.")
        return session, said[-1].content

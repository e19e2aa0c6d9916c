"""The course assistant at work for one person: questions answered from the material, in sessions, with sources.

Every face uses this; what is shown where is theirs to say.
"""

import time
from collections.abc import AsyncGenerator, AsyncIterator, Sequence
from contextlib import aclosing
from typing import Any, cast

from msgspec import Struct
from msgspec.structs import replace

from treadle import Agent, Approval, Host, Led, Message, Model, Options, RunContext, RunResult, Text, TreadleError, settled_agent
from treadle.assistants.courses import assistant
from treadle.assistants.courses.library import Library
from treadle.assistants.courses.plan import plan_of
from treadle.assistants.courses.prompts import INSTRUCTIONS, notes, told
from treadle.assistants.courses.sessions import Exchange, Sessions
from treadle.assistants.courses.sources import Source, sources_of
from treadle.assistants.courses.tools import course_tools


class Reply(Struct, frozen=True):
    """An answer, with where it is from."""

    message: str
    sources: tuple[Source, ...]
    session_id: str
    run_id: str
    stopped: str
    tokens_used: int
    approvals: tuple[Approval, ...] = ()  # none: nothing here has an effect


class Tutor:
    """One person's."""

    def __init__(self, host: Host, library: Library, sessions: Sessions, user: str) -> None:
        self._host = host
        self._library = library
        self._sessions = sessions
        self._user = user

    async def agent(self, model: Model) -> Agent[str]:
        """The agent that answers. A model that doesn't call tools by itself is led."""
        settings = self._library.settings
        able = model if model.traits.native_calls else Led(model, plan_of(await self._library.catalogue()))
        parts: dict[str, Any] = {
            "name": assistant.name,
            "toolsets": [course_tools(self._library)],
            "instructions": self._instructions,
            "policy": assistant.policy,
            "limits": replace(assistant.limits, rounds=settings.rounds),
            "options": Options(temperature=0, max_tokens=800).suited(model.traits),
            "notes": notes(settings.rounds),
        }
        return settled_agent(self._host.workspace, able, parts=parts, host=self._host)

    async def _instructions(self, _: RunContext[Any]) -> str:
        try:
            return told([course.name for course in (await self._library.catalogue()).courses])
        except TreadleError:
            return INSTRUCTIONS  # the tools will say what is wrong; an answer without them is better than none

    async def ask(self, question: str, session_id: str = "") -> Reply:
        """Answer a question, in a session that goes on or in a new one."""
        agent = await self.agent(await self._host.model())
        session = await self._sessions.begin(self._user, session_id)
        return await self.reply(await agent.run(question, **await self._how(session)), question, session)

    async def stream(self, question: str, session_id: str = "") -> AsyncIterator[Any]:
        """Answer a question and see it happen: events, and the reply at the end."""
        agent = await self.agent(await self._host.model())
        session = await self._sessions.begin(self._user, session_id)
        events = agent.stream(question, **await self._how(session))
        async with aclosing(cast("AsyncGenerator[Any]", events)):
            async for event in events:
                result: Any = getattr(event, "result", None)
                is_over = isinstance(result, RunResult)
                yield await self.reply(cast("RunResult[Any]", result), question, session) if is_over else event

    async def _how(self, session: str) -> dict[str, Any]:
        """Whose run it is, where it is kept, and what was said before."""
        return {"journal": self._host.home.services(), "user": self._user, "history": await self.before(session)}

    async def before(self, session: str) -> list[Message]:
        """The last exchanges of a session, as a model reads them. What was looked at for them isn't among it."""
        most = self._library.settings.exchanges
        exchanges = await self._sessions.exchanges(self._user, session, most) if most else []
        return [message for each in exchanges for message in _messages(each)]

    async def reply(self, result: RunResult[Any], question: str, session: str) -> Reply:
        """What is told of a run that stopped. An answer is kept in its session."""
        sources = sources_of(result.calls)
        is_answer = result.stopped in ("answered", "limit")
        if is_answer:
            await self._sessions.keep(session, Exchange(question, result.text, sources, result.run_id, time.time()))
        words = result.text if is_answer else result.reason or result.text
        return Reply(words, sources, session, result.run_id, result.stopped, result.usage.total_tokens)


def _messages(exchange: Exchange) -> Sequence[Message]:
    return (Message("person", (Text(exchange.question),)), Message("model", (Text(exchange.answer),)))

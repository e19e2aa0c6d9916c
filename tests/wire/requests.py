"""Asking a model from a test, without ceremony."""

import asyncio
from typing import Any

from treadle.core.messages import History, Message, Text, person_message
from treadle.core.requests import CallDone, Delta, Request, TextDelta, ThinkingDelta, ToolSpec

ADD = ToolSpec(
    "add",
    "Add two numbers.",
    {"type": "object", "properties": {"a": {"type": "integer"}, "b": {"type": "integer"}}, "required": ["a", "b"]},
)


def request(*messages: Message | str, instructions: str = "Be brief.", **fields: Any) -> Request:
    """A request with these messages; words are a person's."""
    history = History(person_message(message) if isinstance(message, str) else message for message in messages or ("hello",))
    return Request(instructions, history, **fields)


def ask(model: Any, asked: Request | None = None) -> list[Delta]:
    """All deltas of one reply."""
    return asyncio.run(collect(model, asked or request()))


def hear(model: Any, asked: Request | None = None) -> tuple[list[Delta], Exception | None]:
    """The deltas that came, and the error that ended them."""

    async def listen() -> tuple[list[Delta], Exception | None]:
        deltas: list[Delta] = []
        try:
            async for delta in model.reply(asked or request()):
                deltas.append(delta)
        except Exception as error:  # noqa: BLE001 - the test says which one it should be
            return deltas, error
        return deltas, None

    return asyncio.run(listen())


async def collect(model: Any, asked: Request) -> list[Delta]:
    return [delta async for delta in model.reply(asked)]


def text_in(deltas: list[Delta]) -> str:
    return "".join(delta.text for delta in deltas if isinstance(delta, TextDelta))


def thinking_in(deltas: list[Delta]) -> str:
    return "".join(delta.text for delta in deltas if isinstance(delta, ThinkingDelta))


def calls_in(deltas: list[Delta]) -> list[Any]:
    return [delta.call for delta in deltas if isinstance(delta, CallDone)]


def said(*words: str) -> Message:
    """A model's message of words."""
    return Message("model", tuple(Text(word) for word in words))

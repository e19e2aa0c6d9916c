"""A request as one plain text, for programs that know no messages: who said it, a colon, and the words. Pure."""

import re
from typing import assert_never

import msgspec

from treadle.core.calls import Call, Media, Opaque, Result
from treadle.core.messages import Message, Part, Text, Thinking, text_of
from treadle.core.requests import Request

_SPEAKERS = re.compile(r"^(?=(?:System|User|Assistant|Tool results):)", re.MULTILINE)


def prompt_of(request: Request) -> str:
    """All of a request, ending where the model is to go on."""
    said = [_said("System", request.instructions), *map(_message, request.history)]
    if request.note:
        said = _with_note(said, request)
    return "\n\n".join([*filter(None, said), "Assistant:"])


def _with_note(said: list[str], request: Request) -> list[str]:
    """The note after all that was said; with a person's words where those are the last."""
    note = f"[{request.note}]"
    if request.history and request.history[-1].role == "person" and said[-1]:
        return [*said[:-1], f"{said[-1]}\n\n{note}"]
    return [*said, _said("User", note)]


def _message(message: Message) -> str:
    match message.role:
        case "person":
            return _said("User", _words(message))
        case "model":
            return _said("Assistant", "\n".join(filter(None, map(_part, message.parts))))
        case "tools":
            return _said("Tool results", "\n\n".join(filter(None, map(_part, message.parts))), "\n")
        case _:
            assert_never(message.role)


def _words(message: Message) -> str:
    """What a person says, with labels in place of what is no text."""
    if not any(isinstance(part, Media) for part in message.parts):
        return text_of(message.parts)
    return "\n".join(filter(None, map(_part, message.parts)))


def _part(part: Part) -> str:
    match part:
        case Text():
            return part.text
        case Thinking() | Opaque():
            return ""
        case Media():
            return part.label
        case Call():
            return f"[called {part.name} with {msgspec.json.encode(part.arguments).decode()}]"
        case Result():
            return f"{part.name} ({part.call_id}){' failed' if part.problem else ''}:\n{part.content}"
        case _:
            assert_never(part)


def _said(speaker: str, words: str, gap: str = " ") -> str:
    """What somebody said. A line of it that looks like somebody else's turn is moved in, so that it isn't taken for one."""
    return f"{speaker}:{gap}{_SPEAKERS.sub(' ', words)}" if words else ""

"""A request as one plain text, for programs without messages: the speaker, a colon, and the text. Pure."""

import re
from typing import assert_never

import msgspec

from treadle.core.calls import Call, Media, Opaque, Result
from treadle.core.messages import Message, Part, Summary, Text, Thinking, text_of
from treadle.core.requests import Request

_SPEAKERS = re.compile(r"^(?=(?:System|User|Assistant|Tool results):)", re.MULTILINE)


def to_plain_prompt(request: Request) -> str:
    """Return a request as text, ending where the model is to continue."""
    said = [_format_turn("System", request.instructions), *map(_format_message, request.history)]
    if request.note:
        said = _append_note(said, request)
    return "\n\n".join([*filter(None, said), "Assistant:"])


def _append_note(said: list[str], request: Request) -> list[str]:
    """Append the note at the end; to the user's message if that is the last one."""
    note = f"[{request.note}]"
    if request.history and request.history[-1].role == "person" and said[-1]:
        return [*said[:-1], f"{said[-1]}\n\n{note}"]
    return [*said, _format_turn("User", note)]


def _format_message(message: Message) -> str:
    match message.role:
        case "person":
            return _format_turn("User", _format_user_text(message))
        case "model":
            return _format_turn("Assistant", "\n".join(filter(None, map(_format_part, message.parts))))
        case "tools":
            return _format_turn("Tool results", "\n\n".join(filter(None, map(_format_part, message.parts))), "\n")
        case _:
            assert_never(message.role)


def _format_user_text(message: Message) -> str:
    """Return a user message with labels in place of media."""
    if not any(isinstance(part, Media) for part in message.parts):
        return text_of(message.parts)
    return "\n".join(filter(None, map(_format_part, message.parts)))


def _format_part(part: Part) -> str:
    match part:
        case Text() | Summary():
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


def _format_turn(speaker: str, words: str, gap: str = " ") -> str:
    """Return one speaker's turn. A line that looks like another speaker's turn is indented, so that it isn't mistaken."""
    return f"{speaker}:{gap}{_SPEAKERS.sub(' ', words)}" if words else ""

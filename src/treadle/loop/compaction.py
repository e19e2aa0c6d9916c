"""The text of compaction: the user's messages in their own words, notes without a model, and what a model is given for them. Pure.

Which messages are compacted, and how the history looks afterwards, is `loop.window`; the notes are written by
`engine.compaction`.
"""

from collections.abc import Iterable, Sequence

from treadle.core.calls import Call, Result
from treadle.core.entries import Compacted
from treadle.core.messages import Message, Quote, Summary, Text

LONGEST_MESSAGE = 2_000  # characters of one of the user's messages
LINE = 160  # characters of a line in an outline


def collect_said(messages: Sequence[Message], size: int) -> tuple[tuple[str, ...], int]:
    """Return the user's messages within `size` characters, and how many were left out.

    Kept are the first one, which says what it is about, and the newest.
    """
    said = [text for message in messages if message.role == "person" for text in _texts_of(message)]
    said = [_shorten_middle(text, LONGEST_MESSAGE) for text in said]
    omitted = sum(part.omitted for message in messages for part in message.parts if isinstance(part, Summary))
    if sum(map(len, said)) <= size:
        return tuple(said), omitted
    first = _shorten_middle(said[0], size // 3)
    left, newest = size - len(first), list[str]()
    for text in reversed(said[1:]):
        left -= len(text)
        if left < 0:
            break
        newest.append(text)
    return (first, *reversed(newest)), omitted + len(said) - 1 - len(newest)


def _texts_of(message: Message) -> list[str]:
    earlier = [text for part in message.parts if isinstance(part, Summary) for text in part.said]
    return [*earlier, message.text] if message.text else earlier


def _shorten_middle(text: str, most: int) -> str:
    if len(text) <= most:
        return text
    head, tail = most * 2 // 3, most // 3
    return f"{text[:head]} […] {text[-tail:]}"


def outline(messages: Sequence[Message], size: int) -> str:
    """Return notes on messages without a model: earlier notes, then a line for each call and answer, the newest within `size`."""
    earlier = "\n".join([part.notes for message in messages for part in message.parts if isinstance(part, Summary)])
    earlier = _shorten_middle(earlier, size // 2) if earlier else ""
    lines, left = list[str](), size - len(earlier)
    for line in reversed([line for message in messages for line in _outline_message(message)]):
        left -= len(line) + 1
        if left < 0:
            lines.append("[…]")
            break
        lines.append(line)
    return "\n".join([*([earlier] if earlier else []), *reversed(lines)])


def _outline_message(message: Message) -> list[str]:
    lines: list[str] = []
    for part in message.parts:
        match part:
            case Call():
                lines.append(_one_line(f"- called {part.name} {part.arguments}"))
            case Result():
                lines.append(_one_line(f"{part.problem or 'result'}: {part.content}"))
            case Text() if message.role == "model":
                lines.append(_one_line(f"- answered: {part.text}"))
            case _:
                pass
    return lines


def _one_line(text: str) -> str:
    return _shorten_middle(" ".join(text.split()), LINE)


def compaction_notice(entry: Compacted) -> str:
    """Return what people are told about a compaction."""
    count = f"{entry.messages} message{'' if entry.messages == 1 else 's'}"
    how = f"notes by {entry.model}" if entry.model else "an outline"
    return f"The conversation was compacted to fit the model's context window: {how} in place of the first {count}."


def excerpts(messages: Iterable[Message], size: int) -> list[str]:
    """Return what messages say in pieces of at most `size` characters, each with who said it. Summaries are left out."""
    return [
        f"{who}: {text[start : start + size]}"
        for message in messages
        for who, text in _spoken(message)
        for start in range(0, len(text), size)
    ]


def transcript_text(messages: Iterable[Message], size: int) -> str:
    """Return messages as text for a model that writes notes on them, long messages shortened so that it fits `size` characters.

    Earlier notes stay whole: they are all that is left of what was before.
    """
    messages = list(messages)
    notes = [part.notes for message in messages for part in message.parts if isinstance(part, Summary)]
    earlier = [f"Notes on what was before:\n{text}" for text in notes]
    room, most = size - sum(map(len, earlier)), LONGEST_MESSAGE
    said = [_speak(message, most) for message in messages]
    while sum(map(len, said)) > room and most > LINE:
        most //= 2
        said = [_shorten_middle(text, most) for text in said]
    return "\n\n".join([*earlier, *[text for text in said if text]])


def _speak(message: Message, most: int) -> str:
    return "\n".join([f"{who}: {_shorten_middle(text, most)}" for who, text in _spoken(message)])


def _spoken(message: Message) -> Iterable[tuple[str, str]]:
    """Yield what a message says, and who says it."""
    for part in message.parts:
        match part:
            case Text():
                yield ("User" if message.role == "person" else "Assistant"), part.text
            case Quote():
                yield f"Added by the user, from {part.source}", part.text
            case Call():
                yield f"Call of {part.name}", str(part.arguments)
            case Result():
                yield f"Result of {part.name}", part.content
            case _:
                pass

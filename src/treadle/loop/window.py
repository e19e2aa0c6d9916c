"""What fits into a model's view, and what to shorten first. Pure.

Old results go first, then older ones' remains; a person's words and the newest rounds are never touched. The whole of
what was shortened stays in the journal.
"""

from msgspec.structs import replace

from treadle.core.calls import Result
from treadle.core.messages import History, Message, Part

KEEP = 200  # characters left of a shortened result
RECENT = 4  # messages at the end that stay whole
CHARACTERS_PER_TOKEN = 3.5  # a cautious average; code and other languages need more tokens than English prose
ROOM = 0.7  # how full the view may be after shortening, so that it isn't needed again at once


def to_shorten(history: History, window: int) -> tuple[str, ...]:
    """The calls whose results should be shortened so that the history fits `window` characters again, oldest first."""
    surplus = history.size - int(window * ROOM)
    if history.size <= window:
        return ()
    chosen: list[str] = []
    for result in _old_results(history):
        if surplus <= 0:
            break
        if len(result.content) > 2 * KEEP:
            chosen.append(result.call_id)
            surplus -= len(result.content) - KEEP
    return tuple(chosen)


def _old_results(history: History) -> list[Result]:
    old = history[: max(len(history) - RECENT, 0)]
    return [part for message in old for part in message.parts if isinstance(part, Result)]


def shorten(history: History, call_ids: tuple[str, ...]) -> History:
    """The history with the results of these calls shortened."""
    chosen = set(call_ids)
    return History([_shortened(message, chosen) if message.role == "tools" else message for message in history])


def _shortened(message: Message, chosen: set[str]) -> Message:
    parts: list[Part] = []
    for part in message.parts:
        if isinstance(part, Result) and part.call_id in chosen and len(part.content) > 2 * KEEP:
            missing = len(part.content) - KEEP
            content = f"{part.content[:KEEP]}\n[… {missing} characters of this earlier result left out to save room]"
            parts.append(replace(part, content=content))
        else:
            parts.append(part)
    return Message(message.role, tuple(parts))


def window_of(context: int | None, reserved_tokens: int) -> int | None:
    """How many characters of history fit a model that reads `context` tokens, with some kept for the reply and the tools."""
    if context is None:
        return None
    return max(int((context - reserved_tokens) * CHARACTERS_PER_TOKEN), 2_000)

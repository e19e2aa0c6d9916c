"""What fits into a model's context, and what to shorten first. Pure.

Old results go first, then what is left of older ones; a person's messages and the newest rounds are never touched. The whole
of what was shortened stays in the journal.
"""

from msgspec.structs import replace

from treadle.core.calls import Result
from treadle.core.messages import MEDIA_SIZE, History, Message, Part

KEEP = 200  # characters left of a shortened result
RECENT = 4  # messages at the end that stay whole
CHARACTERS_PER_TOKEN = 3.5  # a cautious average; code and other languages need more tokens than English prose
ROOM = 0.7  # how full the view may be after shortening, so that it isn't needed again at once


def select_to_shorten(history: History, window: int) -> tuple[str, ...]:
    """Return the calls whose results should be shortened so that the history fits `window` characters again, oldest first."""
    surplus = history.size - int(window * ROOM)
    if history.size <= window:
        return ()
    chosen: list[str] = []
    for result in _find_old_results(history):
        if surplus <= 0:
            break
        if _can_be_shortened(result):
            chosen.append(result.call_id)
            surplus -= _size_left_out(result)
    return tuple(chosen)


def _can_be_shortened(result: Result) -> bool:
    return len(result.content) > 2 * KEEP or bool(result.media)


def _size_left_out(result: Result) -> int:
    words = len(result.content) - KEEP if len(result.content) > 2 * KEEP else 0
    return words + MEDIA_SIZE * len(result.media)


def _find_old_results(history: History) -> list[Result]:
    old = history[: max(len(history) - RECENT, 0)]
    return [part for message in old for part in message.parts if isinstance(part, Result)]


def shorten_results(history: History, call_ids: tuple[str, ...]) -> History:
    """Return the history with the results of these calls shortened."""
    chosen = set(call_ids)
    return History([_shorten_message(message, chosen) if message.role == "tools" else message for message in history])


def _shorten_message(message: Message, chosen: set[str]) -> Message:
    parts: list[Part] = []
    for part in message.parts:
        if isinstance(part, Result) and part.call_id in chosen and _can_be_shortened(part):
            parts.append(_shorten_result(part))
        else:
            parts.append(part)
    return Message(message.role, tuple(parts))


def _shorten_result(result: Result) -> Result:
    """Return the beginning of a result, without its media: their labels are in its text."""
    content, missing = result.content, len(result.content) - KEEP
    if len(content) > 2 * KEEP:
        content = f"{content[:KEEP]}\n[… {missing} characters of this earlier result left out to save room]"
    if result.media:
        content = f"{content}\n[… {len(result.media)} images or files of this earlier result left out to save room]"
    return replace(result, content=content, media=())


def history_window(context: int | None, reserved_tokens: int) -> int | None:
    """Return how many characters of history fit a model with `context` tokens, with some reserved for the reply and the tools."""
    if context is None:
        return None
    return max(int((context - reserved_tokens) * CHARACTERS_PER_TOKEN), 2_000)

"""What fits into a model's context window, and what to shorten or compact where a conversation doesn't. Pure.

Old results are shortened first; then a summary takes the place of the oldest messages. Nothing is lost: the journal has every
message, a fork from before has them in view, and the run's transcript can be searched.
"""

from msgspec import Struct
from msgspec.structs import replace

from treadle.core.calls import Call, Result
from treadle.core.messages import MEDIA_SIZE, History, Message, Part, Summary, message_size
from treadle.core.requests import Usage

KEEP = 200  # characters left of a shortened result
RECENT = 4  # messages at the end that stay whole
CHARACTERS_PER_TOKEN = 3.5  # a cautious average; code and other languages need more tokens than English prose
DENSEST = 1.0  # characters per token that are still believed: some scripts need a token for each
MEASURABLE = 1_000  # input tokens from which on a count is worth something
TAIL = 0.3  # of the window: how much of the newest messages is never compacted
SAID = 0.15  # of the window: the user's messages in a summary
NOTES = 0.15  # of the window: its notes
SMALLEST = 500  # characters that a compaction must at least take away to be worth it
ROOM = 0.7  # how full the view may be after shortening, so that it isn't needed again at once


def measure_density(history: History, usage: Usage) -> float | None:
    """Return how many characters of history a token stands for, by the server's count; None where one request doesn't tell.

    What else is in a request (instructions, tools) counts with it, so that a full context is noticed in time.
    """
    if usage.input_tokens < MEASURABLE or usage.requests != 1 or not history:
        return None
    return min(max(history.size / usage.input_tokens, DENSEST), CHARACTERS_PER_TOKEN)


def scale_window(window: int | None, density: float, capacity: int | None) -> int | None:
    """Return how many characters of history fit: `window` at the measured density, and no more than what was refused before."""
    if window is None:
        return capacity
    fits = int(window * density / CHARACTERS_PER_TOKEN)
    return fits if capacity is None else min(fits, capacity)


def select_to_shorten(history: History, window: int) -> tuple[str, ...]:
    """Return the calls whose results should be shortened so that the history fits `window` characters again.

    Those first that a later call of the same tool with the same arguments has superseded, then the oldest.
    """
    surplus = history.size - int(window * ROOM)
    if history.size <= window:
        return ()
    chosen: list[str] = []
    superseded = _find_superseded(history)
    for result in sorted(_find_old_results(history), key=lambda result: result.call_id not in superseded):
        if surplus <= 0:
            break
        if _can_be_shortened(result):
            chosen.append(result.call_id)
            surplus -= _size_left_out(result)
    return tuple(chosen)


def _find_superseded(history: History) -> set[str]:
    """Return the calls that were made again later, successfully: a file read again, the same lookup."""
    worked = {part.call_id for message in history for part in message.parts if isinstance(part, Result) and part.problem is None}
    newest: dict[str, str] = {}
    superseded: set[str] = set()
    for message in history:
        for part in message.parts:
            if isinstance(part, Call) and part.id in worked:
                key = f"{part.name} {part.arguments}"
                if key in newest:
                    superseded.add(newest[key])
                newest[key] = part.id
    return superseded


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


class Prefix(Struct, frozen=True):
    """The oldest messages of a conversation, which a summary is to stand for. Sizes are in characters."""

    messages: int
    said_size: int
    notes_size: int


def select_prefix(history: History, window: int) -> Prefix | None:
    """Return which messages to compact so that the history fits `window` characters with room to go on; None if none can be.

    The cut is never between a call and its result, and the last message is never compacted.
    """
    sizes = [message_size(message) for message in history]
    left, cut = sum(sizes), 0
    for index in range(1, len(history)):
        left -= sizes[index - 1]
        if history[index].role == "tools":
            continue
        cut = index
        if left <= window * TAIL:
            break
    said_size, notes_size = int(window * SAID), int(window * NOTES)
    if sum(sizes[:cut]) < said_size + notes_size + SMALLEST:
        return None
    return Prefix(cut, said_size, notes_size)


def find_summary(history: History) -> Summary | None:
    """Return the summary that stands for the beginning of a history, if there is one."""
    if (first := history.first) is not None:
        for part in first.parts:
            if type(part) is Summary:
                return part
    return None


def compact_history(history: History, messages: int, summary: Summary) -> History:
    """Return the history with a summary in place of its first messages. It joins the user's next message, if one follows."""
    rest = history[messages:]
    if rest and rest[0].role == "person":
        return History([Message("person", (summary, *rest[0].parts)), *rest[1:]])
    return History([Message("person", (summary,)), *rest])


def history_window(context: int | None, reserved_tokens: int, share: float = 1.0) -> int | None:
    """Return how many characters of history fit a model with `context` tokens, with some reserved for the reply and the tools.

    `share` is how much of that the history may fill.
    """
    if context is None:
        return None
    return max(int((context - reserved_tokens) * CHARACTERS_PER_TOKEN * share), 2_000)

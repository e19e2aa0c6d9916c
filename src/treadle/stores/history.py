"""Conversations as JSON, for applications that store them themselves: `dump_history` and `load_history`.

The format is in `core.history_json`; here is where the bytes of media are found.
"""

from collections.abc import Iterable

from treadle.core.errors import MediaMissing
from treadle.core.history_json import decode_history, encode_history, list_media
from treadle.core.messages import History, Message
from treadle.core.seams import Blobs
from treadle.stores.memory import PROCESS_BLOBS


def dump_history(history: Iterable[Message], blobs: Blobs | None = None) -> str:
    """Serialize messages, such as `result.history`, to JSON for `load_history` or `Agent.run(history=…)`.

    `blobs` has the bytes of media; by default those of runs without a store of their own. `RunResult.history_json` uses the run's.
    """
    return encode_history(history, PROCESS_BLOBS if blobs is None else blobs)


def load_history(data: str | bytes, blobs: Blobs | None = None) -> History:
    """Read the messages that `dump_history` wrote. Raises `SettingsError` where it didn't, or where a newer Treadle did.

    Media are put into `blobs`, by default those of runs without a store of their own.
    """
    return decode_history(data, PROCESS_BLOBS if blobs is None else blobs)


def take_history(history: Iterable[Message] | str | bytes, blobs: Blobs | None) -> tuple[Message, ...]:
    """Return the messages of a history for a run whose media are in `blobs`, and put theirs there if they are in this process."""
    if isinstance(history, str | bytes):
        return tuple(load_history(history, blobs))
    messages = tuple(history)
    if blobs is not None and blobs is not PROCESS_BLOBS:
        for media in list_media(messages):
            try:
                blobs.put(PROCESS_BLOBS.get(media.sha256))
            except MediaMissing:  # then it is there already, or the request that needs it says so
                continue
    return messages

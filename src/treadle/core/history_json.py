"""A conversation as JSON: messages encoded as in the journal, with its version, so that an older Treadle's can still be read.

The bytes of images, recordings and documents are included, as base64. `stores.history` has the public functions.
"""

from collections.abc import Iterable

import msgspec
from msgspec import Struct

from treadle.core.calls import Media, Result
from treadle.core.entries import VERSION, upgrade_messages
from treadle.core.errors import MediaMissing, SettingsError
from treadle.core.messages import History, Message
from treadle.core.seams import Blobs


class _Conversation(Struct, frozen=True, tag_field="kind", tag="history", omit_defaults=True):
    """The JSON document: the journal's version, the messages, and the bytes of their media by hash."""

    v: int
    messages: tuple[Message, ...]
    media: dict[str, bytes] = {}


_decoder = msgspec.json.Decoder(_Conversation)


def encode_history(history: Iterable[Message], blobs: Blobs | None) -> str:
    """Serialize messages, with the bytes of their media from `blobs`. Raises `MediaMissing` where those aren't there."""
    messages = tuple(history)
    media: dict[str, bytes] = {}
    for each in list_media(messages):
        if blobs is None:
            raise MediaMissing(f"The bytes of {each.label} aren't known here: this result was read without them.")
        media[each.sha256] = blobs.get(each.sha256)
    return msgspec.json.encode(_Conversation(VERSION, messages, media)).decode()


def decode_history(data: str | bytes, blobs: Blobs) -> History:
    """Return the messages that `encode_history` wrote, and put their media into `blobs`. Raises `SettingsError` for other data."""
    try:
        found = _decoder.decode(data)
    except (msgspec.DecodeError, UnicodeDecodeError) as error:
        raise SettingsError(
            f"This is no history ({error}); pass what `dump_history` or `result.history_json()` returned."
        ) from error
    if found.v > VERSION:
        known = f"format {found.v}, this one knows {VERSION}"
        raise SettingsError(f"This history was written by a newer Treadle ({known}); update Treadle to read it.")
    for name, content in found.media.items():
        if blobs.put(content) != name:
            raise SettingsError(f"The media {name[:12]} of this history isn't what was written.")
    return History(upgrade_messages(found.messages) if found.v < VERSION else found.messages)


def list_media(messages: Iterable[Message]) -> list[Media]:
    """Return the media of messages: what people showed, and what tools returned."""
    parts = [part for message in messages for part in message.parts]
    return [
        *[part for part in parts if isinstance(part, Media)],
        *[media for part in parts if isinstance(part, Result) for media in part.media],
    ]

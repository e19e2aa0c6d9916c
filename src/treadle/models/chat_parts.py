"""Media on the chat completions wire: the parts of a user's message, also of the one that brings the images of results.

On this wire, results are text alone: what they have besides comes in a user's message right after all results of the round.
"""

from typing import assert_never

from treadle.core.calls import Media
from treadle.core.messages import Message, Part, Text
from treadle.models.encoding import encode
from treadle.models.media import Load, base64_of, data_url, introduce, load, results_with_media, text_of_media

MODALITIES = frozenset(("image", "audio/wav", "audio/mpeg", "document"))
_FORMATS = {"audio/wav": "wav", "audio/mpeg": "mp3"}


def encode_content(parts: tuple[Part, ...], blobs: Load | None) -> bytes:
    """The content of a person's message that is more than text: a list of parts."""
    encoded = [_encode_part(part, blobs) for part in parts if isinstance(part, Text | Media)]
    return b"[%b]" % b",".join([part for part in encoded if part])


def encode_media_of_results(message: Message, blobs: Load | None) -> bytes:
    """The user's message with the media of a round's results; nothing where they have none."""
    parts: list[bytes] = []
    for result in results_with_media(message):
        parts += [_encode_text(introduce(result)), *[_encode_media(media, blobs) for media in result.media]]
    return b'{"role":"user","content":[%b]}' % b",".join(parts) if parts else b""


def _encode_part(part: Text | Media, blobs: Load | None) -> bytes:
    if isinstance(part, Text):
        return _encode_text(part.text) if part.text else b""
    return _encode_media(part, blobs)


def _encode_text(text: str) -> bytes:
    return b'{"type":"text","text":%b}' % encode(text)


def _encode_media(media: Media, blobs: Load | None) -> bytes:
    if blobs is None or media.is_text:
        return _encode_text(text_of_media(blobs, media))
    match media.kind:
        case "image":
            return b'{"type":"image_url","image_url":{"url":%b}}' % encode(data_url(media, load(blobs, media)))
        case "audio":
            return _encode_audio(media, blobs)
        case "document":
            named = encode(media.name or "document.pdf"), encode(data_url(media, load(blobs, media)))
            return b'{"type":"file","file":{"filename":%b,"file_data":%b}}' % named
        case _:
            assert_never(media.kind)


def _encode_audio(media: Media, blobs: Load) -> bytes:
    if media.media_type not in _FORMATS:
        return _encode_text(media.label)
    recording = encode(base64_of(media, load(blobs, media))), encode(_FORMATS[media.media_type])
    return b'{"type":"input_audio","input_audio":{"data":%b,"format":%b}}' % recording

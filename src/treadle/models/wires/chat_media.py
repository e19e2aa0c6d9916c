"""Media on the chat completions wire: the parts of a user message, also of the one that carries the images of results.

On this wire, results are text only: their media come in a user message right after all results of the round.
"""

from typing import assert_never

from treadle.core.calls import Media, Result
from treadle.core.messages import Message, Part, Text
from treadle.models.encoding import encode
from treadle.models.media import (
    MediaLoader,
    encode_base64,
    introduce_media,
    load_media,
    media_as_text,
    to_data_url,
)

MODALITIES = frozenset(("image", "audio/wav", "audio/mpeg", "document"))
_FORMATS = {"audio/wav": "wav", "audio/mpeg": "mp3"}


def encode_chat_content(parts: tuple[Part, ...], blobs: MediaLoader | None, *, plain: bool = False) -> bytes:
    """Encode the content of a user message that is more than text: a list of parts. `plain` is Mistral's form of media."""
    encoded = [_encode_part(part, blobs, plain) for part in parts if isinstance(part, Text | Media)]
    return b"[%b]" % b",".join([part for part in encoded if part])


def encode_result_media(message: Message, blobs: MediaLoader | None, *, plain: bool = False) -> bytes:
    """Encode the user message with the media of a round's results; empty if they have none."""
    parts: list[bytes] = []
    for part in message.parts:
        if isinstance(part, Result) and part.media:
            parts += [_encode_text(introduce_media(part)), *[_encode_media(media, blobs, plain) for media in part.media]]
    return b'{"role":"user","content":[%b]}' % b",".join(parts) if parts else b""


def _encode_part(part: Text | Media, blobs: MediaLoader | None, plain: bool) -> bytes:
    if isinstance(part, Text):
        return _encode_text(part.text) if part.text else b""
    return _encode_media(part, blobs, plain)


def _encode_text(text: str) -> bytes:
    return b'{"type":"text","text":%b}' % encode(text)


def _encode_media(media: Media, blobs: MediaLoader | None, plain: bool) -> bytes:
    if blobs is None or media.is_text:
        return _encode_text(media_as_text(blobs, media))
    match media.kind:
        case "image":
            return b'{"type":"image_url","image_url":{"url":%b}}' % encode(to_data_url(media, load_media(blobs, media)))
        case "audio":
            return _encode_audio(media, blobs, plain)
        case "document" if plain:
            named = encode(media.name or "document.pdf"), encode(to_data_url(media, load_media(blobs, media)))
            return b'{"type":"document_url","document_name":%b,"document_url":%b}' % named
        case "document":
            named = encode(media.name or "document.pdf"), encode(to_data_url(media, load_media(blobs, media)))
            return b'{"type":"file","file":{"filename":%b,"file_data":%b}}' % named
        case _:
            assert_never(media.kind)


def _encode_audio(media: Media, blobs: MediaLoader, plain: bool) -> bytes:
    if media.media_type not in _FORMATS:
        return _encode_text(media.label)
    if plain:
        return b'{"type":"input_audio","input_audio":%b}' % encode(encode_base64(media, load_media(blobs, media)))
    recording = encode(encode_base64(media, load_media(blobs, media))), encode(_FORMATS[media.media_type])
    return b'{"type":"input_audio","input_audio":{"data":%b,"format":%b}}' % recording

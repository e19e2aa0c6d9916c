"""Images, recordings and documents in what a caller sends, on either wire: as Base64 or `data:` URLs, never fetched from elsewhere.

They are checked and scaled down here; the `desk` keeps their bytes once it is known that there will be a run.
"""

from msgspec import Struct

from treadle.core.calls import Media
from treadle.core.errors import BadMedia
from treadle.core.media import Attachment, Audio, Document, Image, attachment_from_base64
from treadle.engine.media import prepare
from treadle.server.wires.refused import Refused

MOST = 50  # in one request


class Url(Struct, frozen=True):
    """Where an image is; here, the image itself."""

    url: str = ""


class Recording(Struct, frozen=True):
    """A recording in Base64."""

    data: str = ""


class File(Struct, frozen=True):
    """A file in Base64, or as a `data:` URL."""

    file_data: str | None = None
    filename: str | None = None


class Source(Struct, frozen=True):
    """Where an image or a document comes from, as Anthropic's wire has it."""

    type: str = ""
    media_type: str = ""
    data: str = ""


class Block(Struct, frozen=True):
    """A piece of a message."""

    type: str
    text: str | None = None
    refusal: str | None = None
    image_url: Url | None = None
    input_audio: Recording | None = None
    file: File | None = None
    source: Source | None = None
    title: str | None = None


class Brought:
    """What a caller brings besides words: the bytes, by their hashes."""

    def __init__(self) -> None:
        self.bytes: dict[str, bytes] = {}

    def read(self, block: Block, param: str) -> Media | None:
        """The media in a block; None where it is no block of media. `Refused` where they can't be taken."""
        try:
            given = _attachment(block, param)
            if given is None:
                return None
            if len(self.bytes) >= MOST:
                raise Refused(400, f"There may be {MOST} images, recordings and files in a request at most.", param)
            media, data = prepare(given)
        except BadMedia as error:
            raise Refused(400, str(error), param) from error
        self.bytes[media.sha256] = data
        return media


def _attachment(block: Block, param: str) -> Attachment | None:
    match block.type:
        case "image_url":
            return _image(block.image_url or Url(), param)
        case "input_audio":
            return Audio.from_base64(block.input_audio.data if block.input_audio else "")
        case "file":
            return _file(block.file or File(), param)
        case "image":
            return Image.from_base64(_data(block.source or Source(), param))
        case "document":
            return _document(block.source or Source(), block.title or "", param)
        case _:
            return None


def _image(given: Url, param: str) -> Attachment:
    if given.url[:5].lower() != "data:":
        raise Refused(400, "Images aren't fetched from an address; send them as a data: URL with Base64.", param)
    return Image.from_base64(given.url)


def _file(given: File, param: str) -> Attachment:
    if not given.file_data:
        raise Refused(400, "Files by an id aren't kept here; send them in `file_data`, as Base64.", param)
    return attachment_from_base64(given.file_data, name=given.filename or "")


def _document(given: Source, title: str, param: str) -> Attachment:
    if given.type == "text":
        return Document(given.data.encode(errors="replace"), "text/plain", title)
    return Document.from_base64(_data(given, param), given.media_type, title)


def _data(given: Source, param: str) -> str:
    if given.type != "base64":
        raise Refused(400, f"Sources of the type {given.type[:40]!r} aren't fetched; send the bytes in Base64.", param)
    return given.data

"""Images, recordings and documents in a client's request, in either API: as Base64 or `data:` URLs, never fetched.

They are validated and scaled down here; `turns` stores their bytes once it is known that there will be a run.
"""

from msgspec import Struct

from treadle.core.calls import Media
from treadle.core.errors import BadMedia
from treadle.core.media import Attachment, Audio, Document, Image, attachment_from_base64
from treadle.engine.media import prepare_attachment
from treadle.server.compat.errors import CompatError

MAX_MEDIA = 50  # in one request


class ImageUrl(Struct, frozen=True):
    """The URL of an image; here, a `data:` URL."""

    url: str = ""


class InputAudio(Struct, frozen=True):
    """A recording in Base64."""

    data: str = ""


class InputFile(Struct, frozen=True):
    """A file in Base64, or as a `data:` URL."""

    file_data: str | None = None
    filename: str | None = None


class MediaSource(Struct, frozen=True):
    """The source of an image or a document, in Anthropic's format."""

    type: str = ""
    media_type: str = ""
    data: str = ""


class ContentBlock(Struct, frozen=True):
    """A content block of a message."""

    type: str
    text: str | None = None
    refusal: str | None = None
    image_url: ImageUrl | None = None
    input_audio: InputAudio | None = None
    file: InputFile | None = None
    source: MediaSource | None = None
    title: str | None = None


class MediaCollector:
    """Collects the media of a request: their bytes, by their hashes."""

    def __init__(self) -> None:
        self.bytes: dict[str, bytes] = {}

    def read(self, block: ContentBlock, param: str) -> Media | None:
        """Return the media in a block; None where it isn't a media block. Raises `CompatError` where they aren't accepted."""
        try:
            given = _read_attachment(block, param)
            if given is None:
                return None
            if len(self.bytes) >= MAX_MEDIA:
                raise CompatError(400, f"There may be {MAX_MEDIA} images, recordings and files in a request at most.", param)
            media, data = prepare_attachment(given)
        except BadMedia as error:
            raise CompatError(400, str(error), param) from error
        self.bytes[media.sha256] = data
        return media


def _read_attachment(block: ContentBlock, param: str) -> Attachment | None:
    match block.type:
        case "image_url":
            return _read_image(block.image_url or ImageUrl(), param)
        case "input_audio":
            return Audio.from_base64(block.input_audio.data if block.input_audio else "")
        case "file":
            return _read_file(block.file or InputFile(), param)
        case "image":
            return Image.from_base64(_read_data(block.source or MediaSource(), param))
        case "document":
            return _read_document(block.source or MediaSource(), block.title or "", param)
        case _:
            return None


def _read_image(given: ImageUrl, param: str) -> Attachment:
    if given.url[:5].lower() != "data:":
        raise CompatError(400, "Images aren't fetched from an address; send them as a data: URL with Base64.", param)
    return Image.from_base64(given.url)


def _read_file(given: InputFile, param: str) -> Attachment:
    if not given.file_data:
        raise CompatError(400, "Files by an id aren't kept here; send them in `file_data`, as Base64.", param)
    return attachment_from_base64(given.file_data, name=given.filename or "")


def _read_document(given: MediaSource, title: str, param: str) -> Attachment:
    if given.type == "text":
        return Document(given.data.encode(errors="replace"), "text/plain", title)
    return Document.from_base64(_read_data(given, param), given.media_type, title)


def _read_data(given: MediaSource, param: str) -> str:
    if given.type != "base64":
        raise CompatError(400, f"Sources of the type {given.type[:40]!r} aren't fetched; send the bytes in Base64.", param)
    return given.data

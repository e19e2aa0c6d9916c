"""Images, recordings and documents as a program passes them: bytes with a detected type and a limited size.

What a journal stores of one is `core.calls.Media`; its bytes are stored by their hash (`Blobs`). Scaling is in
`engine.scaling`.
"""

import binascii
import os
from base64 import b64decode
from codecs import getincrementaldecoder
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, ClassVar, NoReturn, Self, cast

from treadle.core.calls import Media, MediaKind, media_kind, media_label
from treadle.core.errors import BadMedia
from treadle.core.messages import Quote
from treadle.core.regular_files import NotRegular, open_regular

if TYPE_CHECKING:
    from pathlib import Path

MEGABYTE = 1024 * 1024
LONGEST_NAME = 100  # characters
_HEAD = 1024  # bytes in which the type is looked for
_MAGIC: tuple[tuple[bytes, str], ...] = (
    (b"\x89PNG\r\n\x1a\n", "image/png"),
    (b"\xff\xd8\xff", "image/jpeg"),
    (b"GIF87a", "image/gif"),
    (b"GIF89a", "image/gif"),
    (b"OggS", "audio/ogg"),
    (b"fLaC", "audio/flac"),
    (b"ID3", "audio/mpeg"),
    (b"%PDF-", "application/pdf"),
)
_RIFF = {b"WEBP": "image/webp", b"WAVE": "audio/wav"}
_MARKDOWN = (".md", ".markdown")


class Attachment:
    """The base of `Image`, `Audio` and `Document`: bytes, their type, and a name for display.

    It is no struct, and its text form is its label, so that nothing that serializes values writes the bytes.
    """

    __slots__ = ("data", "media_type", "name")

    kind: ClassVar[MediaKind]
    largest: ClassVar[int]
    takes: ClassVar[str]

    data: bytes
    media_type: str
    name: str

    def __init__(self, data: bytes, media_type: str | None = None, name: str = "") -> None:
        name = " ".join(name.split())[:LONGEST_NAME]
        _check_bytes(type(self), data, name)
        found = _type_of(bytes(data), media_type or "", name)
        if not found or not self._fits(found):
            raise _unfit_error(type(self), found, media_type or "", name)
        for field, value in (("data", bytes(data)), ("media_type", found), ("name", name)):
            object.__setattr__(self, field, value)

    @classmethod
    def from_bytes(cls, data: bytes, media_type: str | None = None, name: str = "") -> Self:
        """Create from bytes. The type is detected from the first bytes; `media_type` says what kind of text a text is."""
        return cls(data, media_type, name)

    @classmethod
    def from_path(cls, path: str | os.PathLike[str]) -> Self:
        """Create from a file, named after it."""
        found = _path(path)
        return cls(_read(found, cls), name=found.name)

    @classmethod
    def from_base64(cls, text: str, media_type: str | None = None, name: str = "") -> Self:
        """Create from Base64, or from a `data:` URL."""
        return cls(*_decode(text, media_type or "", name, cls), name)

    @classmethod
    def _fits(cls, media_type: str) -> bool:
        return media_type.startswith(f"{cls.kind}/")

    @property
    def label(self) -> str:
        """The label in place of media that can't be shown: `[image diagram.png]`."""
        return media_label(self.media_type, self.name)

    def __setattr__(self, name: str, value: object) -> NoReturn:
        raise AttributeError(f"{type(self).__name__} can't be changed; make another.")

    def __delattr__(self, name: str) -> NoReturn:
        self.__setattr__(name, None)

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Attachment) and type(other) is type(self) and self._fields() == other._fields()

    def __hash__(self) -> int:
        return hash(self._fields())

    def __reduce__(self) -> tuple[Any, ...]:
        return type(self), self._fields()

    def _fields(self) -> tuple[bytes, str, str]:
        return self.data, self.media_type, self.name

    def __str__(self) -> str:
        return self.label

    def __repr__(self) -> str:
        named = f"{self.name!r}, " if self.name else ""
        return f"{type(self).__name__}({named}{self.media_type}, {len(self.data):,} bytes)"


class Image(Attachment):
    """A picture: PNG, JPEG, GIF or WebP, of 20 MB at most. A large one is scaled down before a model sees it."""

    __slots__ = ()

    kind: ClassVar[MediaKind] = "image"
    largest: ClassVar[int] = 20 * MEGABYTE
    takes: ClassVar[str] = "a PNG, JPEG, GIF or WebP image"


class Audio(Attachment):
    """A recording: WAV, MP3, Ogg or FLAC, of 25 MB at most."""

    __slots__ = ()

    kind: ClassVar[MediaKind] = "audio"
    largest: ClassVar[int] = 25 * MEGABYTE
    takes: ClassVar[str] = "a WAV, MP3, Ogg or FLAC recording"


class Document(Attachment):
    """A document: PDF, or text such as Markdown, of 32 MB at most."""

    __slots__ = ()

    kind: ClassVar[MediaKind] = "document"
    largest: ClassVar[int] = 32 * MEGABYTE
    takes: ClassVar[str] = "a PDF or a text"

    @classmethod
    def _fits(cls, media_type: str) -> bool:
        return media_type == "application/pdf" or media_type.startswith("text/")


_SUFFIXES: dict[type[Attachment], str] = {
    Image: ".png .jpg .jpeg .jpe .gif .webp .bmp .tif .tiff .heic .heif .avif .ico",
    Audio: ".wav .mp3 .ogg .oga .flac .m4a .aac .wma .opus",
}
_CLAIMED = {suffix: kind for kind, suffixes in _SUFFIXES.items() for suffix in suffixes.split()}

Prompt = str | Sequence[str | Quote | Attachment | Media]

_NOUNS: dict[MediaKind, str] = {"image": "image", "audio": "recording", "document": "document"}


def attachment_from_path(path: str | os.PathLike[str]) -> Attachment:
    """Return the image, recording or document in a file."""
    found = _path(path)
    head = _read(found, None)
    media_type, claimed = _type_of(head, "", found.name, whole=False), _CLAIMED.get(found.suffix.lower())
    if claimed is not None and head and (not media_type or media_type.startswith("text/")):
        text = ", or rename it if it is a text" if media_type else ""
        raise BadMedia(f"{found.name} isn't {claimed.takes}, whatever its name says; convert it to one{text}.")
    return _class_of(media_type).from_path(found)


def attachment_from_bytes(data: bytes, media_type: str = "", name: str = "") -> Attachment:
    """Return the image, recording or document in `data`."""
    return _class_for(data, media_type, name)(data, media_type, name)


def attachment_from_base64(text: str, media_type: str = "", name: str = "") -> Attachment:
    """Return the image, recording or document in Base64 or a `data:` URL."""
    data, media_type = _decode(text, media_type, name, Document)
    return attachment_from_bytes(data, media_type, name)


def attachment_of(media: Media, data: bytes) -> Attachment:
    """Return the attachment that `media` describes, given its bytes."""
    return attachment_from_bytes(data, media.media_type, media.name)


# What it is


def _class_for(head: bytes, media_type: str, name: str) -> type[Attachment]:
    """Return the class for these bytes; by the claimed type where they don't determine it."""
    return _class_of(_type_of(head[:_HEAD], media_type, name, whole=False) or media_type)


def _class_of(media_type: str) -> type[Attachment]:
    return {"image": Image, "audio": Audio, "document": Document}[media_kind(media_type)]


def _type_of(data: bytes, claimed: str, name: str, *, whole: bool = True) -> str:
    """Return the type of the bytes, whatever is claimed; of text, by the claim or the name. Empty if it can't be determined."""
    known = next((media_type for magic, media_type in _MAGIC if data.startswith(magic)), "")
    if known:
        return known
    if data.startswith(b"RIFF"):
        return _RIFF.get(data[8:12], "")
    if len(data) > 1 and data[0] == 0xFF and data[1] & 0xE6 == 0xE2:  # the header of a frame of MPEG audio, layer III
        return "audio/mpeg"
    return _text_type(claimed, name) if _is_text(data, whole=whole) else ""


def _is_text(data: bytes, *, whole: bool) -> bool:
    try:
        return "\0" not in getincrementaldecoder("utf-8")().decode(data, whole)
    except UnicodeDecodeError:
        return False


def _text_type(claimed: str, name: str) -> str:
    kind = claimed.partition(";")[0].strip().lower()
    return kind if kind.startswith("text/") else "text/markdown" if name.lower().endswith(_MARKDOWN) else "text/plain"


# What it may be


def _check_bytes(kind: type[Attachment], data: bytes, name: str) -> None:
    if not isinstance(cast("object", data), bytes | bytearray | memoryview):  # for callers without a type checker
        given = type(data).__name__
        raise BadMedia(
            f"{kind.__name__} takes bytes, not {given}: {kind.__name__}.from_path reads a file, from_base64 reads Base64."
        )
    if not data:
        raise BadMedia(f"{_display_name(kind, name)} is empty; give one with something in it.")
    if len(data) > kind.largest:
        raise _too_large_error(kind, name, len(data))


def _too_large_error(kind: type[Attachment], name: str, size: int) -> BadMedia:
    most = f"{_NOUNS[kind.kind]}s may have at most {kind.largest:,}"
    return BadMedia(f"{_display_name(kind, name)} has {size:,} bytes; {most}. Make it smaller.")


def _unfit_error(kind: type[Attachment], found: str, claimed: str, name: str) -> BadMedia:
    what = _display_name(kind, name)
    if found:
        return BadMedia(f"{what} is {found}, which isn't {kind.takes}; pass it as {_class_of(found).__name__}.")
    said = f" ({claimed})" if claimed else ""
    return BadMedia(f"{what}{said} isn't {kind.takes}; convert it to one first.")


def _display_name(kind: type[Attachment], name: str) -> str:
    return name or f"This {_NOUNS[kind.kind]}"


# Where it comes from


def _path(given: str | os.PathLike[str]) -> "Path":
    from pathlib import Path  # most runs have no files

    return Path(given)


def _read(path: "Path", kind: type[Attachment] | None) -> bytes:
    """Return the bytes of a regular file; without a `kind`, only the first ones."""
    try:
        with os.fdopen(open_regular(str(path)), "rb") as file:
            size = os.fstat(file.fileno()).st_size
            if kind is not None and size > kind.largest:
                raise _too_large_error(kind, path.name, size)
            return file.read(_HEAD if kind is None else kind.largest + 1)
    except NotRegular as error:
        if error.is_folder:
            raise BadMedia(f"{path} is a folder; name a file in it.") from error
        raise BadMedia(f"{path} is no regular file, so it isn't read; name one that is.") from error
    except FileNotFoundError as error:
        raise BadMedia(f"There is no file {path}.") from error
    except OSError as error:
        raise BadMedia(f"{path} can't be read: {error.strerror}.") from error
    except ValueError as error:  # a character that no path has
        raise BadMedia(f"{str(path)!r} is no path of a file.") from error


def _decode(text: str, media_type: str, name: str, kind: type[Attachment]) -> tuple[bytes, str]:
    """Decode Base64 and return the bytes and their type; a `data:` URL includes that."""
    if not isinstance(cast("object", text), str):
        raise BadMedia(f"Base64 is text, not {type(text).__name__}; {kind.__name__}.from_bytes takes the bytes themselves.")
    if text[:5].lower() == "data:":
        about, _, text = text[5:].partition(",")
        claimed, *parameters = about.split(";")
        if "base64" not in [each.strip().lower() for each in parameters]:
            raise BadMedia(f"{_display_name(kind, name)} is a data: URL without Base64; write data:TYPE;base64,DATA.")
        media_type = media_type or claimed
    if len(text) // 4 * 3 > kind.largest + 2:
        raise _too_large_error(kind, name, len(text) // 4 * 3)
    try:
        return b64decode("".join(text.split()), validate=True), media_type
    except (binascii.Error, ValueError) as error:
        raise BadMedia(f"{_display_name(kind, name)} isn't Base64 ({error}); encode its bytes again.") from error

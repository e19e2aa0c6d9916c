"""Uploaded course material: files in a folder of the user's own home, archives that are unpacked there, and files from a URL.

Every name is checked before anything is written, and what is written goes beneath that folder without following a link. An archive
is judged by its directory first; its files are then unpacked within bounds.
"""

import stat
import struct
import zlib
from contextlib import suppress
from io import BytesIO
from pathlib import Path, PurePosixPath
from urllib.parse import unquote, urlsplit
from zipfile import BadZipFile, ZipFile, ZipInfo

from msgspec import Struct

from treadle import TreadleError
from treadle.assistants.courses.material.opened import FORMATS, LARGEST
from treadle.files import Missing, Workspace, WorkspaceProblem
from treadle.passages import Skipped
from treadle.web import Client, OutboundProblem

FOLDER = "course-uploads"
ARCHIVE = ".zip"
MOST_FILES = 5_000
MOST_BYTES = 1_000_000_000  # of all files together
DEEPEST = 8  # folders
LONGEST_NAME = 120  # characters of a file's or folder's name
LONGEST_DIRECTORY = 2_000_000  # bytes of an archive's directory, which is read as one piece
_END = struct.Struct("<4s4H2LH")  # of an archive's directory
_TYPES = {
    "text/html": ".html",
    "text/plain": ".txt",
    "text/markdown": ".md",
    "text/vtt": ".vtt",
    "application/pdf": ".pdf",
    "application/zip": ARCHIVE,
    "application/vnd.openxmlformats-officedocument.wordprocessingml.document": ".docx",
    "application/x-ipynb+json": ".ipynb",
}


class UploadRefused(TreadleError):
    """A file that isn't taken; says why."""


class Upload(Struct, frozen=True):
    """A file that was uploaded, by its path in the folder of uploads, and its bytes."""

    name: str
    size: int


class Stored(Struct, frozen=True):
    """What came of an upload: the files that were written, and those that were left out."""

    files: tuple[str, ...] = ()
    skipped: tuple[Skipped, ...] = ()


class Uploads:
    """The uploads of one user. All methods block."""

    def __init__(self, home: Path) -> None:
        self.folder = home / FOLDER

    def files(self) -> list[Upload]:
        """What was uploaded, by name."""
        if not self.folder.is_dir():
            return []
        workspace = self._workspace()
        return [Upload(name, workspace.stat(name).size) for name in sorted(workspace.files())]

    def add(self, name: str, data: bytes) -> Stored:
        """Write a file, in place of the one of that name; or unpack an archive. `UploadRefused` where it isn't taken."""
        path = checked_name(name)
        if path.suffix.lower() == ARCHIVE:
            return self._unpack(path, data)
        self._require_room(1, len(data))
        self._write(path, data)
        return Stored((str(path),))

    def remove(self, name: str) -> bool:
        """Delete a file, and the folders that it leaves empty; False where there is none."""
        if not self.folder.is_dir():
            return False
        workspace, path = self._workspace(), checked_name(name)
        try:
            workspace.remove(str(path))
        except Missing:
            return False
        for above in list(path.parents)[:-1]:
            with suppress(WorkspaceProblem):  # it holds something else
                workspace.remove(str(above))
        return True

    def _workspace(self) -> Workspace:
        self.folder.mkdir(parents=True, exist_ok=True, mode=0o700)
        return Workspace(self.folder, links=False, secrets=True)

    def _write(self, path: PurePosixPath, data: bytes) -> None:
        check_format(path, len(data))
        workspace = self._workspace()
        try:
            workspace.write_bytes(str(path), data)
        except (WorkspaceProblem, OSError) as error:
            raise UploadRefused(f"{path} can't be written: {error}") from error

    def _require_room(self, count: int, size: int) -> None:
        there = self.files()
        if len(there) + count > MOST_FILES:
            raise UploadRefused(f"There would be more than {MOST_FILES:,} uploaded files; delete some first.")
        if sum(each.size for each in there) + size > MOST_BYTES:
            raise UploadRefused(f"The uploaded files would be larger than {MOST_BYTES // 1_000_000:,} MB; delete some first.")

    def _unpack(self, path: PurePosixPath, data: bytes) -> Stored:
        """Write the files of an archive that can be read; those in no folder of it get one with the archive's name."""
        written: list[str] = []
        skipped: list[Skipped] = []
        try:
            _check_directory(data)
            with ZipFile(BytesIO(data)) as archive:
                members = [each for each in archive.infolist() if not each.is_dir()]
                self._require_room(len(members), sum(each.file_size for each in members))
                targets = [(member, _target(path, member)) for member in members]
                for member, target in targets:
                    reason = _unfit(member, target)
                    if reason:
                        skipped.append(Skipped(member.filename, reason))
                    else:
                        self._write(target, archive.read(member))  # no more than the directory says that it has
                        written.append(str(target))
        except (BadZipFile, zlib.error, EOFError, NotImplementedError, RuntimeError, struct.error) as error:
            raise UploadRefused(f"{path} is no zip archive that can be unpacked: {error}") from error
        if not written:
            raise UploadRefused(f"There is no file in {path} that can be read; these can: {', '.join(FORMATS)}.")
        return Stored(tuple(written), tuple(skipped))


def checked_name(name: str) -> PurePosixPath:
    """Return a file's name as a path below a folder; `UploadRefused` where it could lead anywhere else, or is hidden."""
    path = PurePosixPath(name.replace("\\", "/"))
    parts = path.parts
    is_plain = parts and all(_is_plain(part) for part in parts) and not path.is_absolute()
    if not is_plain or len(parts) > DEEPEST:
        raise UploadRefused(f"{name[:200]!r} can't be the name of an uploaded file; use plain names of files and folders.")
    return path


def check_format(path: PurePosixPath, size: int) -> None:
    """Raise `UploadRefused` for a file that no reader takes."""
    if path.suffix.lower() not in FORMATS:
        raise UploadRefused(f"{path} can't be read here; these can: {', '.join((*FORMATS, ARCHIVE))}.")
    if size > LARGEST:
        raise UploadRefused(f"{path} is larger than {LARGEST // 1_000_000} MB.")


async def fetch(url: str, *, private: bool) -> tuple[str, bytes]:
    """Return the name and the content of a file at a URL, by a client that goes nowhere else. Raises `UploadRefused`."""
    address = urlsplit(url.strip())
    if address.scheme not in ("http", "https") or not address.hostname:
        raise UploadRefused(f"{url[:200]!r} is no address of a file; it begins with https://.")
    client = Client([f"{address.scheme}://{address.netloc}"], private=private, limit=LARGEST)
    try:
        answer = await client.send(
            "GET", url.strip(), headers={"accept": "text/html, text/plain, text/markdown, application/pdf, */*"}
        )
    except OutboundProblem as problem:
        raise UploadRefused(str(problem)) from problem
    if answer.status != 200:
        raise UploadRefused(f"{url[:200]} answered with {answer.status}.")
    return _name_at(address.hostname, unquote(address.path), answer.headers.get("content-type", "")), answer.body


def _name_at(host: str, path: str, content_type: str) -> str:
    """Name a file after its address; what its name doesn't say of its format, its content type does."""
    last = PurePosixPath(path).name or host
    if PurePosixPath(last).suffix.lower() in (*FORMATS, ARCHIVE):
        return last
    ending = _TYPES.get(content_type.partition(";")[0].strip().lower())
    if ending is None:
        raise UploadRefused(
            f"{host} sent {content_type or 'a file without a type'}, which can't be read; these can: {', '.join(FORMATS)}."
        )
    return f"{last}{ending}"


def _is_plain(part: str) -> bool:
    return not part.startswith(".") and len(part) <= LONGEST_NAME and part.isprintable() and part.strip() == part


def _check_directory(data: bytes) -> None:
    """Judge an archive's directory by its end, before `ZipFile` makes an object of each entry."""
    start = data.rfind(b"PK\5\6", -(_END.size + 0xFFFF))
    if start < 0:
        raise BadZipFile("its directory is missing")
    end = _END.unpack_from(data, start)
    if end[5] > LONGEST_DIRECTORY or data[max(0, start - 20) : start].startswith(b"PK\6\7"):
        raise BadZipFile("it has too many files")


def _target(archive: PurePosixPath, member: ZipInfo) -> PurePosixPath:
    within = checked_name(member.filename)
    return within if within.parent.parts else checked_name(str(archive.parent / archive.stem / within))


def _unfit(member: ZipInfo, target: PurePosixPath) -> str:
    """Why a file of an archive is left out; empty where it is taken."""
    mode = member.external_attr >> 16
    if mode and not stat.S_ISREG(mode) and stat.S_IFMT(mode):
        return "no plain file"
    if member.flag_bits & 1:
        return "it is encrypted"
    try:
        check_format(target, member.file_size)
    except UploadRefused as refused:
        return str(refused)
    return ""

"""Uploaded course material: files in a folder of the user's home, unpacked archives, and files from a URL.

Every name is validated before anything is written, and writes stay below that folder without following links. An
archive is checked by its directory first; its files are then unpacked within limits.
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
from treadle.assistants.courses.material.format_registry import FORMATS, MAX_MATERIAL_BYTES
from treadle.files import MissingPath, Workspace, WorkspaceProblem
from treadle.passages import SkippedFile
from treadle.web import Client, HttpProblem

FOLDER = "course-uploads"
ARCHIVE = ".zip"
MAX_UPLOAD_FILES = 5_000
MAX_UPLOAD_BYTES = 1_000_000_000  # of all files together
MAX_UPLOAD_DEPTH = 8  # folders
MAX_NAME_CHARS = 120  # characters of a file's or folder's name
MAX_ARCHIVE_DIRECTORY = 2_000_000  # bytes of an archive's directory, which is read as one piece
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
    """A rejected upload; the message says why."""


class UploadedFile(Struct, frozen=True):
    """An uploaded file: its path in the upload folder, and its size."""

    name: str
    size: int


class StoredUpload(Struct, frozen=True):
    """Result of an upload: the files that were written, and those that were skipped."""

    files: tuple[str, ...] = ()
    skipped: tuple[SkippedFile, ...] = ()


class UploadFolder:
    """The uploads of one user. All methods block."""

    def __init__(self, home: Path) -> None:
        self.folder = home / FOLDER

    def files(self) -> list[UploadedFile]:
        """Return the uploaded files by name."""
        if not self.folder.is_dir():
            return []
        workspace = self._workspace()
        return [UploadedFile(name, workspace.stat(name).size) for name in sorted(workspace.files())]

    def add(self, name: str, data: bytes) -> StoredUpload:
        """Write a file, replacing the one of that name; or unpack an archive. Raises `UploadRefused` if it is rejected."""
        path = validate_upload_name(name)
        if path.suffix.lower() == ARCHIVE:
            return self._unpack(path, data)
        self._require_room(1, len(data))
        self._write(path, data)
        return StoredUpload((str(path),))

    def remove(self, name: str) -> bool:
        """Delete a file, and folders that become empty; False if there is none."""
        if not self.folder.is_dir():
            return False
        workspace, path = self._workspace(), validate_upload_name(name)
        try:
            workspace.remove(str(path))
        except MissingPath:
            return False
        for above in list(path.parents)[:-1]:
            with suppress(WorkspaceProblem):  # it holds something else
                workspace.remove(str(above))
        return True

    def _workspace(self) -> Workspace:
        self.folder.mkdir(parents=True, exist_ok=True, mode=0o700)
        return Workspace(self.folder, links=False, secrets=True)

    def _write(self, path: PurePosixPath, data: bytes) -> None:
        validate_upload_format(path, len(data))
        workspace = self._workspace()
        try:
            workspace.write_bytes(str(path), data)
        except (WorkspaceProblem, OSError) as error:
            raise UploadRefused(f"{path} can't be written: {error}") from error

    def _require_room(self, count: int, size: int) -> None:
        there = self.files()
        if len(there) + count > MAX_UPLOAD_FILES:
            raise UploadRefused(f"There would be more than {MAX_UPLOAD_FILES:,} uploaded files; delete some first.")
        if sum(each.size for each in there) + size > MAX_UPLOAD_BYTES:
            raise UploadRefused(f"The uploaded files would be larger than {MAX_UPLOAD_BYTES // 1_000_000:,} MB; delete some first.")

    def _unpack(self, path: PurePosixPath, data: bytes) -> StoredUpload:
        """Write the readable files of an archive; those in no folder get one with the archive's name."""
        written: list[str] = []
        skipped: list[SkippedFile] = []
        try:
            _check_directory(data)
            with ZipFile(BytesIO(data)) as archive:
                members = [each for each in archive.infolist() if not each.is_dir()]
                self._require_room(len(members), sum(each.file_size for each in members))
                targets = [(member, _member_target(path, member)) for member in members]
                for member, target in targets:
                    reason = _rejection_reason(member, target)
                    if reason:
                        skipped.append(SkippedFile(member.filename, reason))
                    else:
                        self._write(target, archive.read(member))  # no more than the directory says that it has
                        written.append(str(target))
        except (BadZipFile, zlib.error, EOFError, NotImplementedError, RuntimeError, struct.error) as error:
            raise UploadRefused(f"{path} is no zip archive that can be unpacked: {error}") from error
        if not written:
            raise UploadRefused(f"There is no file in {path} that can be read; these can: {', '.join(FORMATS)}.")
        return StoredUpload(tuple(written), tuple(skipped))


def validate_upload_name(name: str) -> PurePosixPath:
    """Return a file's name as a relative path; raises `UploadRefused` if it could lead anywhere else, or is hidden."""
    path = PurePosixPath(name.replace("\\", "/"))
    parts = path.parts
    is_plain = parts and all(_is_safe_part(part) for part in parts) and not path.is_absolute()
    if not is_plain or len(parts) > MAX_UPLOAD_DEPTH:
        raise UploadRefused(f"{name[:200]!r} can't be the name of an uploaded file; use plain names of files and folders.")
    return path


def validate_upload_format(path: PurePosixPath, size: int) -> None:
    """Raise `UploadRefused` for an unsupported file format or size."""
    if path.suffix.lower() not in FORMATS:
        raise UploadRefused(f"{path} can't be read here; these can: {', '.join((*FORMATS, ARCHIVE))}.")
    if size > MAX_MATERIAL_BYTES:
        raise UploadRefused(f"{path} is larger than {MAX_MATERIAL_BYTES // 1_000_000} MB.")


async def fetch_upload(url: str, *, private: bool) -> tuple[str, bytes]:
    """Return the name and content of the file at a URL, with a client that follows no other address. Raises `UploadRefused`."""
    address = urlsplit(url.strip())
    if address.scheme not in ("http", "https") or not address.hostname:
        raise UploadRefused(f"{url[:200]!r} is no address of a file; it begins with https://.")
    client = Client([f"{address.scheme}://{address.netloc}"], private=private, limit=MAX_MATERIAL_BYTES)
    try:
        answer = await client.send(
            "GET", url.strip(), headers={"accept": "text/html, text/plain, text/markdown, application/pdf, */*"}
        )
    except HttpProblem as problem:
        raise UploadRefused(str(problem)) from problem
    if answer.status != 200:
        raise UploadRefused(f"{url[:200]} answered with {answer.status}.")
    return _name_from_url(address.hostname, unquote(address.path), answer.headers.get("content-type", "")), answer.body


def _name_from_url(host: str, path: str, content_type: str) -> str:
    """Name a file after its URL; the content type determines an extension that the name doesn't have."""
    last = PurePosixPath(path).name or host
    if PurePosixPath(last).suffix.lower() in (*FORMATS, ARCHIVE):
        return last
    ending = _TYPES.get(content_type.partition(";")[0].strip().lower())
    if ending is None:
        raise UploadRefused(
            f"{host} sent {content_type or 'a file without a type'}, which can't be read; these can: {', '.join(FORMATS)}."
        )
    return f"{last}{ending}"


def _is_safe_part(part: str) -> bool:
    return not part.startswith(".") and len(part) <= MAX_NAME_CHARS and part.isprintable() and part.strip() == part


def _check_directory(data: bytes) -> None:
    """Check an archive's directory by its end record, before `ZipFile` makes an object of each entry."""
    start = data.rfind(b"PK\5\6", -(_END.size + 0xFFFF))
    if start < 0:
        raise BadZipFile("its directory is missing")
    end = _END.unpack_from(data, start)
    if end[5] > MAX_ARCHIVE_DIRECTORY or data[max(0, start - 20) : start].startswith(b"PK\6\7"):
        raise BadZipFile("it has too many files")


def _member_target(archive: PurePosixPath, member: ZipInfo) -> PurePosixPath:
    within = validate_upload_name(member.filename)
    return within if within.parent.parts else validate_upload_name(str(archive.parent / archive.stem / within))


def _rejection_reason(member: ZipInfo, target: PurePosixPath) -> str:
    """Return why a file of an archive is skipped; empty if it is accepted."""
    mode = member.external_attr >> 16
    if mode and not stat.S_ISREG(mode) and stat.S_IFMT(mode):
        return "no plain file"
    if member.flag_bits & 1:
        return "it is encrypted"
    try:
        validate_upload_format(target, member.file_size)
    except UploadRefused as refused:
        return str(refused)
    return ""

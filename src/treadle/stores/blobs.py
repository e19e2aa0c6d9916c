"""Content-addressed bytes of images, recordings and documents, stored once by their hash in files.

Journals have the hashes. Nothing here knows what the bytes mean.
"""

import os
import re
from hashlib import sha256
from pathlib import Path

from treadle.core.errors import JournalDamaged, JournalError, MediaMissing

FOLDER = "blobs"  # in a home
_HASH = re.compile(r"[0-9a-f]{64}")


class FileBlobs:
    """Blobs in a folder: one file per hash, readable by its owner only, which appears with all its bytes or not at all."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder

    def put(self, data: bytes) -> str:
        """Store `data` and return its hash. It is safe on disk when this returns."""
        name = sha256(data).hexdigest()
        path = self._path(name)
        try:
            if not path.is_file() or path.stat().st_size != len(data):
                self._write(path, data)
            else:
                os.utime(path)  # `delete` sees that it was used since
            for folder in (path.parent, path.parent.parent, self.folder):  # any of them may be new, here or in another process
                _sync_folder(folder)
        except OSError as error:
            raise JournalError(
                f"{path} can't be written ({error.strerror}), so nothing was kept. Make room, or check the rights."
            ) from error
        return name

    def get(self, sha256: str) -> bytes:
        """Return the bytes with this hash."""
        if _HASH.fullmatch(sha256) is None:
            raise MediaMissing(f"{sha256[:80]!r} is no hash of an image, a recording or a document.")
        path = self._path(sha256)
        try:
            data = path.read_bytes()
        except FileNotFoundError as error:
            raise MediaMissing(
                f"There is no {path}; put it back from a backup, or from the machine that the run began on."
            ) from error
        except OSError as error:
            raise JournalError(f"{path} can't be read ({error.strerror}); give yourself the right to.") from error
        if _hash_of(data) != sha256:
            raise JournalDamaged(f"{path} isn't what was written; put it back from a backup.")
        return data

    def delete(self, sha256: str, used_at: float) -> bool:
        """Delete the bytes with this hash, unless they were put again after `used_at`; return whether they are gone."""
        path = self._path(sha256)
        try:
            if path.stat().st_mtime > used_at:
                return False
            path.unlink()
        except FileNotFoundError:
            return True
        except OSError as error:
            raise JournalError(f"{path} can't be deleted ({error.strerror}); delete it yourself.") from error
        return True

    def _path(self, name: str) -> Path:
        return self.folder / name[:2] / name[2:4] / name

    def _write(self, path: Path, data: bytes) -> None:
        for folder in (self.folder, path.parent.parent, path.parent):
            folder.mkdir(parents=True, exist_ok=True, mode=0o700)
        fresh = path.with_name(f"{path.name}.{os.urandom(4).hex()}.part")
        try:
            with os.fdopen(os.open(fresh, os.O_CREAT | os.O_EXCL | os.O_WRONLY, 0o600), "wb") as file:
                file.write(data)
                file.flush()
                os.fsync(file.fileno())
            fresh.replace(path)
        finally:
            fresh.unlink(missing_ok=True)


def _hash_of(data: bytes) -> str:
    return sha256(data).hexdigest()


def _sync_folder(folder: Path) -> None:
    opened = os.open(folder, os.O_RDONLY)
    try:
        os.fsync(opened)
    finally:
        os.close(opened)

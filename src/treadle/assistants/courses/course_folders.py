"""The folders and files of courses that were added: a small JSON file, written atomically."""

import fcntl
import os
from collections.abc import Generator
from contextlib import contextmanager
from pathlib import Path

import msgspec
from msgspec import Struct

from treadle.errors import SettingsError

FILE = "courses.json"


class CourseFolder(Struct, frozen=True):
    """A folder or file that was added. With a `title`, everything in the folder is one course."""

    path: str
    title: str = ""


class CourseFolderList:
    """The added folders and files, in order."""

    def __init__(self, folder: Path) -> None:
        self._path = folder / FILE

    def places(self) -> list[CourseFolder]:
        """Return the added folders and files."""
        try:
            return msgspec.json.decode(self._path.read_bytes(), type=list[CourseFolder])
        except FileNotFoundError:
            return []
        except (OSError, msgspec.DecodeError) as error:
            raise SettingsError(
                f"{self._path} can't be read ({error}); correct it, or remove it and add the courses again."
            ) from error

    def add(self, path: Path, title: str = "") -> None:
        """Add a folder or file, replacing an earlier entry."""
        if not path_exists(path):
            raise SettingsError(f"There is no {path}; name a folder of courses, or a file.")
        place = CourseFolder(str(path.resolve()), title)
        with self._lock():
            self._write([*[each for each in self.places() if each.path != place.path], place])

    def remove(self, path: Path) -> bool:
        """Remove an entry; False if there is none."""
        with self._lock():
            before = self.places()
            after = [each for each in before if each.path != str(path.resolve())]
            if len(after) < len(before):
                self._write(after)
        return len(after) < len(before)

    @contextmanager
    def _lock(self) -> Generator[None]:
        """Hold the lock for a change: others wait, in any process."""
        self._path.parent.mkdir(parents=True, exist_ok=True, mode=0o700)
        with self._path.with_suffix(".lock").open("ab") as lock:
            fcntl.flock(lock, fcntl.LOCK_EX)
            yield

    def _write(self, places: list[CourseFolder]) -> None:
        partial = self._path.with_suffix(f".{os.getpid()}.part")
        partial.write_bytes(msgspec.json.format(msgspec.json.encode(places)))
        partial.replace(self._path)


def path_exists(path: Path) -> bool:
    """Return whether a folder or file exists."""
    try:
        return path.exists()
    except OSError:  # a name that no file can have, or a folder that one may not look into
        return False

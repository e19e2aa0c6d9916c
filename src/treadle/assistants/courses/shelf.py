"""Which folders and files of courses were added: a small JSON file, written whole or not at all."""

import fcntl
import os
from collections.abc import Generator
from contextlib import contextmanager
from pathlib import Path

import msgspec
from msgspec import Struct

from treadle import SettingsError

FILE = "courses.json"


class Place(Struct, frozen=True):
    """A folder or file that was added. With a `title`, all that is in the folder is one course."""

    path: str
    title: str = ""


class Shelf:
    """What was added, in the order it was."""

    def __init__(self, folder: Path) -> None:
        self._path = folder / FILE

    def places(self) -> list[Place]:
        """What there is."""
        try:
            return msgspec.json.decode(self._path.read_bytes(), type=list[Place])
        except FileNotFoundError:
            return []
        except (OSError, msgspec.DecodeError) as error:
            raise SettingsError(
                f"{self._path} can't be read ({error}); mend it, or remove it and add the courses again."
            ) from error

    def add(self, path: Path, title: str = "") -> None:
        """Add a place, in place of what was said of it before."""
        if not is_there(path):
            raise SettingsError(f"There is no {path}; name a folder of courses, or a file.")
        place = Place(str(path.resolve()), title)
        with self._locked():
            self._write([*[each for each in self.places() if each.path != place.path], place])

    def remove(self, path: Path) -> bool:
        """Take a place off; False where it isn't there."""
        with self._locked():
            before = self.places()
            after = [each for each in before if each.path != str(path.resolve())]
            if len(after) < len(before):
                self._write(after)
        return len(after) < len(before)

    @contextmanager
    def _locked(self) -> Generator[None]:
        """For as long as something is changed: who else wants to waits, in whichever process."""
        self._path.parent.mkdir(parents=True, exist_ok=True, mode=0o700)
        with self._path.with_suffix(".lock").open("ab") as lock:
            fcntl.flock(lock, fcntl.LOCK_EX)
            yield

    def _write(self, places: list[Place]) -> None:
        partial = self._path.with_suffix(f".{os.getpid()}.part")
        partial.write_bytes(msgspec.json.format(msgspec.json.encode(places)))
        partial.replace(self._path)


def is_there(path: Path) -> bool:
    """Whether there is a folder or a file."""
    try:
        return path.exists()
    except OSError:  # a name that no file can have, or a folder that one may not look into
        return False

"""What is stored of a coding session besides its run: its mode, and what each call changed, with the checkpoints around it.

Changes are shown as a diff, and undone exactly. All of it is stored by the run's id, under the home: a session that is continued
in another process is in the mode that it was in, and undoes what it did before.
"""

import os
import re
import shutil
from asyncio import to_thread
from collections.abc import Collection, Sequence
from hashlib import sha256
from pathlib import Path
from typing import Any

import msgspec
from msgspec import Struct
from msgspec.structs import replace

from treadle import Home
from treadle.assistants.coding.modes import MODES, PROPOSE_PLAN, Mode
from treadle.errors import TreadleError
from treadle.journal import Entry, Opened, Returned
from treadle.workspace import ChangedSince, CheckpointChange, Checkpoints, ToolChange

FOLDER = "sessions"  # in the home
_CHANGES_FILE, _MODE_FILE = "changes.json", "mode"
_FILE_NAME = re.compile(r"[A-Za-z0-9_][A-Za-z0-9_.-]{0,99}")


def session_folder(home: Path, run_id: str) -> Path:
    """Return where a run's changes are stored. An id that can't be a file's name, which only programs give, stands for its hash."""
    return home / FOLDER / (run_id if _FILE_NAME.fullmatch(run_id) else sha256(run_id.encode()).hexdigest())


def load_mode(home: Path, run_id: str) -> Mode | None:
    """Return the mode that a session is in; None where none is stored, or none that is known."""
    try:
        name = (session_folder(home, run_id) / _MODE_FILE).read_text("ascii")
    except (OSError, UnicodeDecodeError):
        return None
    return next((mode for mode in MODES if mode == name), None)


def find_mode(home: Path, run_id: str, entries: Sequence[Entry]) -> Mode | None:
    """Return the mode that a run is in: the one that is stored, that of its last approved plan, or the one that it started in.

    None for a run that is no session.
    """
    opened = next((entry for entry in entries if isinstance(entry, Opened)), Opened())
    about: dict[str, Any] = opened.origin.get("about") or {}
    began: Mode | None = next((mode for mode in MODES if mode == about.get("mode")), None)
    if began is None:
        return None
    plans: list[Any] = [entry.result.data for entry in entries if isinstance(entry, Returned) and entry.result.name == PROPOSE_PLAN]
    approved: list[Mode] = [plan["mode"] for plan in plans if plan is not None]  # one that was refused has no data
    return load_mode(home, run_id) or (approved[-1] if approved else began)


def save_mode(home: Path, run_id: str, mode: Mode) -> None:
    """Store the mode that a session is in, for whatever process goes on with it, or judges its next call."""
    _write_file(session_folder(home, run_id) / _MODE_FILE, mode.encode())


def _write_file(path: Path, content: bytes) -> None:
    """Replace a file of the user's alone, at once."""
    path.parent.mkdir(parents=True, exist_ok=True, mode=0o700)
    part = path.with_name(f"{path.name}.part")
    with os.fdopen(os.open(part, os.O_CREAT | os.O_WRONLY | os.O_TRUNC | os.O_CLOEXEC, 0o600), "wb") as file:
        file.write(content)
    part.replace(path)


class UndoneChange(Struct, frozen=True):
    """A change that was undone: the tool that had made it, and what was restored."""

    tool: str
    restored: tuple[CheckpointChange, ...]


class SessionChanges:
    """The changes that one run made in a folder, the oldest first."""

    def __init__(self, folder: Path, home: Path, run_id: str) -> None:
        self._store = session_folder(home, run_id)
        self.checkpoints = Checkpoints(folder, self._store / "checkpoints")

    def load(self) -> list[ToolChange]:
        """Return the changes that are recorded; those that were undone no longer are."""
        try:
            return msgspec.json.decode((self._store / _CHANGES_FILE).read_bytes(), type=list[ToolChange])
        except FileNotFoundError:
            return []
        except (OSError, msgspec.DecodeError) as error:
            raise TreadleError(f"The session's changes can't be read, so nothing can be undone: {error}") from error

    def record(self, change: ToolChange) -> None:
        """Record a change before its call runs and, completed, after it. One that changed no file is dropped.

        A change that was never completed, because its process ended, ends where the next one begins.
        """
        before = [each for each in self.load() if each.call_id != change.call_id]
        if not change.after:
            before = [each if each.after else replace(each, after=change.before) for each in before]
        self._save([*before, change] if change.paths or not change.after else before)

    async def undo(self, steps: int = 1, *, force: bool = False) -> list[UndoneChange]:
        """Undo the last changes, the latest first. Raises `ChangedSince` for a file that was changed since by something else.

        What was undone before that stays undone.
        """
        undone: list[UndoneChange] = []
        while len(undone) < steps and (changes := self.load()):
            change = await self._complete(changes[-1])
            if change.paths:
                restored = await self.checkpoints.restore(change.before, expected=change.after, paths=change.paths, force=force)
                undone.append(UndoneChange(change.tool, restored))
            self._save(changes[:-1])
        return undone

    async def _complete(self, change: ToolChange) -> ToolChange:
        """Return a change with its end and its files, which are missing where a process ended in the middle of it."""
        if change.paths:
            return change
        after = change.after or await self.checkpoints.take("after an interrupted call")
        changed = await self.checkpoints.changes(change.before, after) if after != change.before else ()
        return replace(change, after=after, paths=tuple(path for each in changed for path in (each.was, each.path) if path))

    async def diff(self) -> str:
        """Return the difference between the files before the session's first change and now, of the files that it changed."""
        changes = [await self._complete(change) for change in self.load()]
        paths = dict.fromkeys(path for change in changes for path in change.paths)
        return await self.checkpoints.diff(changes[0].before, None, tuple(paths)) if paths else ""

    def _save(self, changes: list[ToolChange]) -> None:
        _write_file(self._store / _CHANGES_FILE, msgspec.json.encode(changes))


async def erase_sessions(home: Home, run_ids: Collection[str]) -> None:
    """Delete what is stored of these runs' changes. The files that they changed stay as they are."""
    for run_id in run_ids:
        folder = session_folder(home.folder, run_id)
        if folder.is_dir():
            await to_thread(shutil.rmtree, folder)


__all__ = ["ChangedSince", "SessionChanges", "UndoneChange", "erase_sessions", "find_mode", "load_mode", "save_mode"]

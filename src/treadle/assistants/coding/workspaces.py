"""Workspaces in which jobs started over HTTP may work. Access is decided on real paths, after every link is followed.

On a server with users, a user has the workspaces that the server's owner configured; the owner of a local server may
name others. A user's own folders are always allowed: the one that their frontend gave them, and samples, which are in
their data folder.
"""

import os
from logging import getLogger
from pathlib import Path

from msgspec import Struct

from treadle import TreadleError
from treadle.assistant import Host
from treadle.assistants.coding.settings import CodingSettings
from treadle.files import SAMPLES_FOLDER, NotAWorkspace, check_workspace

log = getLogger("treadle.coding")


class WorkspaceNotAllowed(TreadleError):
    """A folder that the user may not work in."""


class WorkspaceNotFound(TreadleError):
    """There is no such folder."""


class CodingWorkspace(Struct, frozen=True):
    """A folder that jobs may work in."""

    path: str
    name: str
    is_repository: bool
    is_sample: bool = False


class WorkspaceAccess:
    """The workspaces of one user. `is_local` says for each request whether it is from the owner of a local server."""

    def __init__(self, host: Host) -> None:
        self._host = host
        self._home = host.home.folder
        self._own = host.folder  # that a face gave them, for themselves alone

    @property
    def samples(self) -> Path:
        """The folder of the samples."""
        return self._home / SAMPLES_FOLDER

    def list_workspaces(self) -> list[CodingWorkspace]:
        """Return the configured workspaces that exist, then the samples. Raises if the settings can't be read."""
        named = dict.fromkeys([*self._configured_folders(), *self._own_folders()])
        return [
            *[_to_workspace(folder) for folder in named],
            *[_to_workspace(folder, is_sample=True) for folder in self._sample_folders()],
        ]

    def missing(self) -> list[str]:
        """Return the configured workspaces that don't exist, or that jobs never work in."""
        return [
            named
            for named in self._load_settings().workspaces
            if _resolve_folder(named) is None or not self._is_allowed_name(named)
        ]

    def require_folder(self, named: str, *, is_local: bool) -> Path:
        """Return the named folder, if jobs may work in it. Raises `WorkspaceNotAllowed` or `WorkspaceNotFound`."""
        folder = _resolve_folder(named)
        if folder is not None and folder in self._allowed_folders():
            return folder
        if not is_local:  # whether there is such a folder is no business of theirs
            raise WorkspaceNotAllowed(f"{named[:200] or 'Nothing'} isn't one of the folders that may be worked in here.")
        if folder is None:
            raise WorkspaceNotFound(f"There is no folder {named[:200]!r}. Write its whole path, such as ~/projects/shop.")
        try:
            return check_workspace(folder, self._home)
        except NotAWorkspace as error:
            raise WorkspaceNotAllowed(str(error)) from error

    def _allowed_folders(self) -> list[Path]:
        return [*self._configured_folders(), *self._own_folders(), *self._sample_folders()]

    def _configured_folders(self) -> list[Path]:
        return [
            folder
            for folder in map(_resolve_folder, filter(self._is_allowed_name, self._load_settings().workspaces))
            if folder is not None
        ]

    def _load_settings(self) -> CodingSettings:
        return self._host.settings.assistant("coding")

    def _is_allowed_name(self, named: str) -> bool:
        """Return whether a configured folder can be a workspace at all."""
        try:
            check_workspace(named, self._home)
        except NotAWorkspace as error:
            log.warning("A folder in `workspaces` under [assistants.coding] in treadle.toml is left out: %s", error)
            return False
        return True

    def _own_folders(self) -> list[Path]:
        folder = None if self._own is None else _resolve_folder(str(self._own))
        return [] if folder is None else [folder]

    def _sample_folders(self) -> list[Path]:
        folder = self.samples.resolve()
        try:
            found = sorted(entry for entry in folder.iterdir() if entry.is_dir() and not entry.is_symlink())
        except OSError:
            return []
        return [entry.resolve() for entry in found]


def _resolve_folder(named: str) -> Path | None:
    """Resolve a path to a folder; None if there is none, or if the path isn't absolute."""
    try:
        path = Path(named).expanduser()
        if not path.is_absolute():
            return None
        folder = path.resolve(strict=True)
    except (OSError, RuntimeError, ValueError):  # it isn't there; a circle of links; no such user; a NUL
        return None
    return folder if folder.is_dir() and os.access(folder, os.R_OK | os.X_OK) else None


def _to_workspace(folder: Path, *, is_sample: bool = False) -> CodingWorkspace:
    return CodingWorkspace(str(folder), folder.name, (folder / ".git").exists(), is_sample)


def require_sandboxed(folder: Path, *, is_sandboxed: bool, is_local: bool) -> None:
    """Raise if commands aren't sandboxed and the user isn't the server's owner, whatever the owner allows for themselves."""
    if not is_sandboxed and not is_local:
        raise WorkspaceNotAllowed(
            f"Commands in {folder} aren't contained here (commands.sandbox = false), so only the owner may begin jobs."
        )

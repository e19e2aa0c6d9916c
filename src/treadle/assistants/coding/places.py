"""In which folders jobs may work that are begun over HTTP. What is allowed is decided on real paths, after every link is followed.

A person of a server with users has those that the server's owner named; whoever runs a server for themselves may name others.
What is the person's own is always allowed: a folder that their face gave them, and samples, which are in their home.
"""

import os
from logging import getLogger
from pathlib import Path

from msgspec import Struct

from treadle import Host, TreadleError
from treadle.assistants.coding.settings import CodingSettings
from treadle.files.places import SAMPLES, NotAWorkspace, check_workspace

log = getLogger("treadle.coding")


class NotAllowed(TreadleError):
    """A folder that isn't the person's to work in."""


class NoFolder(TreadleError):
    """There is no such folder."""


class Place(Struct, frozen=True):
    """A folder that may be worked in."""

    path: str
    name: str
    is_repository: bool
    is_sample: bool = False


class Places:
    """The folders of one person. `is_local` says of each question whether it is from whoever runs the server for themselves."""

    def __init__(self, host: Host) -> None:
        self._host = host
        self._home = host.home.folder
        self._own = host.folder  # that a face gave them, for themselves alone

    @property
    def samples(self) -> Path:
        """Where samples are."""
        return self._home / SAMPLES

    def listed(self) -> list[Place]:
        """Those that were named and are there, then the samples. Raises a sentence where the settings can't be read."""
        named = dict.fromkeys([*self._named(), *self._given()])
        return [*[_place(folder) for folder in named], *[_place(folder, is_sample=True) for folder in self._samples()]]

    def missing(self) -> list[str]:
        """Those that were named and aren't there, or are never worked in."""
        return [named for named in self._settings().workspaces if _real(named) is None or not self._may_be(named)]

    def opened(self, named: str, *, is_local: bool) -> Path:
        """The folder by this name, if it may be worked in. Raises `NotAllowed` or `NoFolder`."""
        folder = _real(named)
        if folder is not None and folder in self._allowed():
            return folder
        if not is_local:  # whether there is such a folder is no business of theirs
            raise NotAllowed(f"{named[:200] or 'Nothing'} isn't one of the folders that may be worked in here.")
        if folder is None:
            raise NoFolder(f"There is no folder {named[:200]!r}. Write its whole path, such as ~/projects/shop.")
        try:
            return check_workspace(folder, self._home)
        except NotAWorkspace as error:
            raise NotAllowed(str(error)) from error

    def _allowed(self) -> list[Path]:
        return [*self._named(), *self._given(), *self._samples()]

    def _named(self) -> list[Path]:
        return [folder for folder in map(_real, filter(self._may_be, self._settings().workspaces)) if folder is not None]

    def _settings(self) -> CodingSettings:
        return self._host.settings.assistant("coding")

    def _may_be(self, named: str) -> bool:
        """Whether what the settings name can be a workspace at all."""
        try:
            check_workspace(named, self._home)
        except NotAWorkspace as error:
            log.warning("A folder in `workspaces` under [assistants.coding] in treadle.toml is left out: %s", error)
            return False
        return True

    def _given(self) -> list[Path]:
        folder = None if self._own is None else _real(str(self._own))
        return [] if folder is None else [folder]

    def _samples(self) -> list[Path]:
        folder = self.samples.resolve()
        try:
            found = sorted(entry for entry in folder.iterdir() if entry.is_dir() and not entry.is_symlink())
        except OSError:
            return []
        return [entry.resolve() for entry in found]


def _real(named: str) -> Path | None:
    """The folder that a name leads to in the end; None where there is none, or where it isn't said from the root on."""
    try:
        path = Path(named).expanduser()
        if not path.is_absolute():
            return None
        folder = path.resolve(strict=True)
    except (OSError, RuntimeError, ValueError):  # it isn't there; a circle of links; no such user; a NUL
        return None
    return folder if folder.is_dir() and os.access(folder, os.R_OK | os.X_OK) else None


def _place(folder: Path, *, is_sample: bool = False) -> Place:
    return Place(str(folder), folder.name, (folder / ".git").exists(), is_sample)


def must_be_contained(folder: Path, *, is_sandboxed: bool, is_local: bool) -> None:
    """Somebody who isn't the server's owner gets no commands that aren't contained, whatever the owner allows themselves."""
    if not is_sandboxed and not is_local:
        raise NotAllowed(
            f"Commands in {folder} aren't contained here (commands.sandbox = false), so only the owner may begin jobs."
        )

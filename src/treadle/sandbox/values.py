"""Values of the sandbox: resource limits, what a command sees, and its result."""

from pathlib import Path

import msgspec

from treadle.core.errors import TreadleError

GIB = 1 << 30


class SandboxMissing(TreadleError):
    """Raised where no sandbox is available or it can't be set up; the message says why and what to do."""


class Bounds(msgspec.Struct, frozen=True):
    """Resource limits of a command. `output` is in characters; `memory`, `file_size` and the growth of the `disk` are in bytes."""

    seconds: float = 120
    memory: int = 2 * GIB
    processes: int = 256
    output: int = 200_000
    file_size: int = GIB
    disk: int = 8 * GIB


class CommandResult(msgspec.Struct, frozen=True):
    """Result of a command. `code` is None where it was killed, and `killed_for` says why: time, memory, processes or disk.

    `set_aside` lists repositories that it left and that were renamed, `stripped` set-user-ID programs that lost that bit.
    """

    code: int | None
    output: str
    truncated: bool
    seconds: float
    timed_out: bool
    killed_for: str
    set_aside: tuple[str, ...] = ()
    stripped: tuple[str, ...] = ()


class SandboxSpec(msgspec.Struct, frozen=True):
    """What a command sees. The user's keys are hidden in any case; `hide` names more paths, relative to the workspace or with `~/`.

    `extra_write` are folders outside the workspace that it may write to: caches that no other workspace uses. `sockets` lets it
    open Unix sockets. `repository` lets it write to the workspace's `.git`, which is for our own git tools alone. `project` is
    the folder that the workspace is a private copy of: the command sees the copy at that path, so that paths in environments
    are valid.
    """

    workspace: Path
    writable: bool = True
    extra_read: tuple[Path, ...] = ()
    network: bool = False
    hide: tuple[str, ...] = ()
    extra_write: tuple[Path, ...] = ()
    sockets: bool = True
    repository: bool = False
    project: Path | None = None


class Bwrap(msgspec.Struct, frozen=True):
    """A bubblewrap executable and the options it supports."""

    path: Path
    options: frozenset[str] = frozenset()


class MaskedPath(msgspec.Struct, frozen=True):
    """A path that a command would see but must not."""

    path: Path
    folder: bool


class HostSystem(msgspec.Struct, frozen=True):
    """The facts about this system that the bubblewrap arguments depend on."""

    uid: int
    gid: int
    links: tuple[tuple[str, str], ...] = ()  # /bin is usr/bin on most systems
    settings: tuple[str, ...] = ()  # files and folders of /etc that programs need
    masks: tuple[MaskedPath, ...] = ()
    repository: Path | None = None  # the `.git` of the workspace, where it may be written to
    fixed: tuple[Path, ...] = ()  # what in it runs code outside the sandbox later, so is read-only
    environment: tuple[Path, ...] = ()  # what of the workspace Treadle itself runs from: read-only too
    repositories: tuple[Path, ...] = ()  # what git keeps in the workspace: likewise
    machine: str = ""  # the architecture of the programs here
    shared: tuple[Path, ...] = ()  # environments of the project that the workspace is a copy of: read-only, where they are


class InheritedFds(msgspec.Struct, frozen=True):
    """File descriptors that bubblewrap inherits: a status pipe, a pipe it blocks on, and pipes that hold files."""

    status: int
    go: int
    data: tuple[tuple[int, str], ...] = ()
    filter: int | None = None  # of system calls

    @property
    def all(self) -> tuple[int, ...]:
        """All descriptors."""
        return (self.status, self.go, *(number for number, _ in self.data), *(() if self.filter is None else (self.filter,)))


class SandboxStatus(msgspec.Struct, frozen=True):
    """Whether commands are sandboxed here. Where they aren't, `why` is a sentence that says what to do."""

    bwrap: Bwrap | None = None
    why: str = ""

    @property
    def sandboxed(self) -> bool:
        """Whether the sandbox was tried and held."""
        return self.bwrap is not None

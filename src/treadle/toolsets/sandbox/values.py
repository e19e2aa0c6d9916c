"""What a command may use, where it runs, and what came of it. Values only."""

from pathlib import Path

import msgspec

from treadle.core.errors import TreadleError

GIB = 1 << 30


class SandboxMissing(TreadleError):
    """There is no sandbox here, or it can't be set up; the message says why and what to do."""


class Bounds(msgspec.Struct, frozen=True):
    """How much a command may use. `output` is in characters; `memory`, `file_size` and what it may add to the `disk` in bytes."""

    seconds: float = 120
    memory: int = 2 * GIB
    processes: int = 256
    output: int = 200_000
    file_size: int = GIB
    disk: int = 8 * GIB


class Ran(msgspec.Struct, frozen=True):
    """What came of a command. `code` is None where it was ended, and `killed_for` says for what: time, memory, processes or disk.

    `set_aside` are repositories that it left and that were renamed, `stripped` programs that would have run as their owner.
    """

    code: int | None
    output: str
    truncated: bool
    seconds: float
    timed_out: bool
    killed_for: str
    set_aside: tuple[str, ...] = ()
    stripped: tuple[str, ...] = ()


class Place(msgspec.Struct, frozen=True):
    """What a command sees. Keys of the person stay hidden in any case; `hide` names more, from the workspace or with `~/`.

    `extra_write` are folders beside the workspace that it may write to: caches that no other workspace uses. `sockets` lets it open
    Unix sockets. `repository` lets it write to the workspace's `.git`, which is for our own git tools alone. `project` is the
    folder that the workspace is a private copy of: the command sees the copy at that path, so that paths in environments hold.
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
    """A bubblewrap, and the options it knows."""

    path: Path
    options: frozenset[str] = frozenset()


class Mask(msgspec.Struct, frozen=True):
    """Something a command would see but must not."""

    path: Path
    folder: bool


class Host(msgspec.Struct, frozen=True):
    """What this system looks like, as far as the arguments depend on it."""

    uid: int
    gid: int
    links: tuple[tuple[str, str], ...] = ()  # /bin is usr/bin on most systems
    settings: tuple[str, ...] = ()  # files and folders of /etc that programs need
    masks: tuple[Mask, ...] = ()
    repository: Path | None = None  # the `.git` of the workspace, where it may be written to
    fixed: tuple[Path, ...] = ()  # what in it runs code outside the sandbox later, so is read-only
    environment: tuple[Path, ...] = ()  # what of the workspace Treadle itself runs from: read-only too
    repositories: tuple[Path, ...] = ()  # what git keeps in the workspace: likewise
    machine: str = ""  # the architecture of the programs here
    shared: tuple[Path, ...] = ()  # environments of the project that the workspace is a copy of: read-only, where they are


class Files(msgspec.Struct, frozen=True):
    """Descriptors that bubblewrap inherits: one tells how it goes, one is waited for, the others hold files."""

    status: int
    go: int
    data: tuple[tuple[int, str], ...] = ()
    filter: int | None = None  # of system calls

    @property
    def all(self) -> tuple[int, ...]:
        """All of them."""
        return (self.status, self.go, *(number for number, _ in self.data), *(() if self.filter is None else (self.filter,)))


class Level(msgspec.Struct, frozen=True):
    """Whether commands are contained here. Where they aren't, `why` is a sentence with what to do."""

    bwrap: Bwrap | None = None
    why: str = ""

    @property
    def sandboxed(self) -> bool:
        """Whether the sandbox was tried and held."""
        return self.bwrap is not None

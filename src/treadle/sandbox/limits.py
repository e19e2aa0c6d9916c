"""Limits on a sandbox from outside: per process, on the number of processes, and on what all of them use together.

Where the system has no hard limit on the number of processes (root, without cgroups) or on total memory, polling takes its
place.

Disk: the file system is polled; the workspace is walked only when it grew much. A file system is shared, so growth isn't
necessarily the command's doing. Where it grew by twice what is allowed, no walk is needed: a file that has no name can't be
found, and takes space all the same.
"""

import os
import resource
import time
from asyncio import sleep, to_thread
from collections.abc import Generator, Iterator
from contextlib import contextmanager, suppress
from math import ceil
from pathlib import Path
from secrets import token_hex

from treadle.sandbox.disarm import CLOCK_SLACK
from treadle.sandbox.values import Bounds
from treadle.sandbox.walk import walk_folders

RESERVE = 512 << 20  # bytes that others are left
MIN_ALLOWED = 64 << 20  # bytes that are nothing to speak of
MAX_FILES = 500_000


class DiskWatch:
    """Disk usage of a workspace since a command began, which may add a limited number of bytes."""

    def __init__(self, workspace: Path, most: int) -> None:
        self._workspace = workspace
        self._most = most
        self._since = time.time_ns() - CLOCK_SLACK
        self._free, self._files = _free(workspace)

    def is_suspect(self) -> bool:
        """Return whether a walk is worthwhile. Quick."""
        free, files = _free(self._workspace)
        return self._free - free > self._allowed(free) or self._files - files > MAX_FILES

    def is_exceeded(self) -> bool:
        """Return whether the command has added too much. Walks the workspace, which takes time."""
        free, files = _free(self._workspace)
        allowed = self._allowed(free)
        if self._free - free > 2 * allowed or self._files - files > 2 * MAX_FILES:
            return True
        size, count = measure_written(self._workspace, self._since)
        return size > allowed or count > MAX_FILES

    def _allowed(self, free: int) -> int:
        return self._most if free > RESERVE else min(self._most, MIN_ALLOWED)


def measure_written(workspace: Path, since: int) -> tuple[int, int]:
    """Return the bytes of files changed since a time in nanoseconds, and how many files those are."""
    size = count = 0
    for folder in walk_folders(workspace):
        for name in folder.files:
            try:
                known = os.stat(name, dir_fd=folder.descriptor, follow_symlinks=False)
            except OSError:
                continue
            if known.st_ctime_ns >= since:
                size += known.st_blocks * 512
                count += 1
    return size, count


def _free(workspace: Path) -> tuple[int, int]:
    """Return the free bytes and files; zero of either where the workspace is gone."""
    try:
        found = os.statvfs(workspace)
    except OSError:
        return 0, 0
    return found.f_bavail * found.f_frsize, found.f_ffree


POLL_SECONDS = 0.1  # seconds between looks
OWN_PROCESSES = 4  # processes of the sandbox itself
PAGE = os.sysconf("SC_PAGE_SIZE")


def limit_process(pid: int, bounds: Bounds, *, alone: bool = True) -> None:
    """Limit a process and all it will start. Memory is what it can write to: runtimes reserve far more than they use.

    Outside a sandbox, where it isn't `alone`, the number of processes would count all those of the user.
    """
    most = {
        resource.RLIMIT_DATA: bounds.memory,
        resource.RLIMIT_FSIZE: bounds.file_size,
        resource.RLIMIT_CPU: ceil(bounds.seconds) * (os.cpu_count() or 1) + 1,
        resource.RLIMIT_CORE: 0,
        **({resource.RLIMIT_NPROC: bounds.processes + OWN_PROCESSES} if alone else {}),
    }
    with suppress(ProcessLookupError):  # it is over already
        for kind, value in most.items():
            _, hard = resource.prlimit(pid, kind)
            lowest = value if hard == resource.RLIM_INFINITY else min(value, hard)
            resource.prlimit(pid, kind, (lowest, lowest))


@contextmanager
def use_cgroups(pid: int, bounds: Bounds) -> Generator[None]:
    """Keep a process and all it starts in their own cgroups, where this process may create such."""
    made = [group for folder, files in _find_cgroups(bounds) if (group := _make_cgroup(folder, files, pid)) is not None]
    try:
        yield
    finally:
        for group in made:
            with suppress(OSError):  # it goes with the last process in it
                group.rmdir()


def _find_cgroups(bounds: Bounds) -> Iterator[tuple[Path, dict[str, str]]]:
    """Yield the cgroups of this process, with the files that a child group would get."""
    pids, memory = {"pids.max": str(bounds.processes + OWN_PROCESSES)}, {"memory.max": str(bounds.memory), "memory.swap.max": "0"}
    for line in _read("/proc/self/cgroup").splitlines():
        number, _, rest = line.partition(":")
        kinds, _, path = rest.partition(":")
        if number == "0":
            yield Path("/sys/fs/cgroup", path.lstrip("/")), pids | memory
        elif kinds == "pids":
            yield Path("/sys/fs/cgroup/pids", path.lstrip("/")), pids


def _make_cgroup(folder: Path, files: dict[str, str], pid: int) -> Path | None:
    group = folder / f"treadle-{os.getpid()}-{token_hex(4)}"
    if not any((folder / name).exists() for name in ("cgroup.procs", "tasks")):
        return None  # not a group: the system keeps them elsewhere
    try:
        group.mkdir()
    except OSError:
        return None
    held = False
    for name, value in files.items():
        if (group / name).exists():  # a controller that isn't handed down has no file
            with suppress(OSError):
                (group / name).write_text(value)
                held = True
    with suppress(OSError):
        if held:
            (group / "cgroup.procs").write_text(str(pid))
            return group
    with suppress(OSError):
        group.rmdir()
    return None


async def wait_for_excess(pid: int, bounds: Bounds, disk: DiskWatch) -> str:
    """Wait until a sandbox's processes together exceed `memory`, `processes` or `disk`; return an empty string at its end."""
    await sleep(POLL_SECONDS)  # most commands are over by then, and a look at every process of the machine is expensive
    while members := _list_members(pid):
        if len(members) > bounds.processes + OWN_PROCESSES:
            return "processes"
        if sum(map(_resident_bytes, members)) > bounds.memory and sum(map(_proportional_bytes, members)) > bounds.memory:
            return "memory"
        if disk.is_suspect() and await to_thread(disk.is_exceeded):
            return "disk"
        await sleep(POLL_SECONDS)
    return ""


def _list_members(pid: int) -> list[str]:
    """Return the processes in the same PID namespace."""
    space = _pid_namespace(str(pid))
    with os.scandir("/proc") as entries:
        return [entry.name for entry in entries if entry.name.isdigit() and _pid_namespace(entry.name) == space] if space else []


def _pid_namespace(pid: str) -> int:
    try:
        return os.stat(f"/proc/{pid}/ns/pid").st_ino  # noqa: PTH116 - for every process of the machine, many times a second
    except OSError:
        return 0


def _resident_bytes(pid: str) -> int:
    """Return resident bytes, shared ones counted with each process: quick to read, and never too low."""
    fields = _read(f"/proc/{pid}/statm").split()
    return int(fields[1]) * PAGE if fields else 0


def _proportional_bytes(pid: str) -> int:
    """Return resident bytes, shared ones divided among the processes."""
    for line in _read(f"/proc/{pid}/smaps_rollup").splitlines():
        if line.startswith("Pss:"):
            return int(line.split()[1]) * 1024
    return 0


def _read(path: str) -> str:
    try:
        return Path(path).read_text()
    except OSError:
        return ""

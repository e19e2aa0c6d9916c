"""Limits on a sandbox from outside: what each process may take, how many there may be, and what all take together.

Where the system has no hard limit on the number of processes (root, without control groups) or on memory in all, a look every
moment takes its place.
"""

import os
import resource
from asyncio import sleep, to_thread
from collections.abc import Generator, Iterator
from contextlib import contextmanager, suppress
from math import ceil
from pathlib import Path
from secrets import token_hex

from treadle.toolsets.sandbox.disk import Disk
from treadle.toolsets.sandbox.values import Bounds

MOMENT = 0.1  # seconds between looks
OURS = 4  # processes of the sandbox itself
PAGE = os.sysconf("SC_PAGE_SIZE")


def limit(pid: int, bounds: Bounds, *, alone: bool = True) -> None:
    """Limit a process and all it will start. Memory is what it can write to: runtimes reserve far more than they use.

    Outside a sandbox, where it isn't `alone`, the number of processes would count all those of the person.
    """
    most = {
        resource.RLIMIT_DATA: bounds.memory,
        resource.RLIMIT_FSIZE: bounds.file_size,
        resource.RLIMIT_CPU: ceil(bounds.seconds) * (os.cpu_count() or 1) + 1,
        resource.RLIMIT_CORE: 0,
        **({resource.RLIMIT_NPROC: bounds.processes + OURS} if alone else {}),
    }
    with suppress(ProcessLookupError):  # it is over already
        for kind, value in most.items():
            _, hard = resource.prlimit(pid, kind)
            lowest = value if hard == resource.RLIM_INFINITY else min(value, hard)
            resource.prlimit(pid, kind, (lowest, lowest))


@contextmanager
def grouped(pid: int, bounds: Bounds) -> Generator[None]:
    """Keep a process and all it starts in control groups of their own, where this process may make such."""
    made = [group for folder, files in _homes(bounds) if (group := _made(folder, files, pid)) is not None]
    try:
        yield
    finally:
        for group in made:
            with suppress(OSError):  # it goes with the last process in it
                group.rmdir()


def _homes(bounds: Bounds) -> Iterator[tuple[Path, dict[str, str]]]:
    """Where this process is among the groups, and what a group below would say."""
    pids, memory = {"pids.max": str(bounds.processes + OURS)}, {"memory.max": str(bounds.memory), "memory.swap.max": "0"}
    for line in _read("/proc/self/cgroup").splitlines():
        number, _, rest = line.partition(":")
        kinds, _, path = rest.partition(":")
        if number == "0":
            yield Path("/sys/fs/cgroup", path.lstrip("/")), pids | memory
        elif kinds == "pids":
            yield Path("/sys/fs/cgroup/pids", path.lstrip("/")), pids


def _made(folder: Path, files: dict[str, str], pid: int) -> Path | None:
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


async def exceeded(pid: int, bounds: Bounds, disk: Disk) -> str:
    """Wait until all processes of a sandbox together take too much: `memory`, `processes` or `disk`. Nothing when it is over."""
    while members := _members(pid):
        if len(members) > bounds.processes + OURS:
            return "processes"
        if sum(map(_resident, members)) > bounds.memory and sum(map(_share, members)) > bounds.memory:
            return "memory"
        if disk.is_suspect() and await to_thread(disk.is_exceeded):
            return "disk"
        await sleep(MOMENT)
    return ""


def _members(pid: int) -> list[str]:
    """The processes in the same process namespace."""
    space = _space(str(pid))
    with os.scandir("/proc") as entries:
        return [entry.name for entry in entries if entry.name.isdigit() and _space(entry.name) == space] if space else []


def _space(pid: str) -> int:
    try:
        return os.stat(f"/proc/{pid}/ns/pid").st_ino  # noqa: PTH116 - for every process of the machine, many times a second
    except OSError:
        return 0


def _resident(pid: str) -> int:
    """Bytes in memory, shared ones counted with each process: quick to know, and never too low."""
    fields = _read(f"/proc/{pid}/statm").split()
    return int(fields[1]) * PAGE if fields else 0


def _share(pid: str) -> int:
    """Bytes in memory, shared ones divided among the processes."""
    for line in _read(f"/proc/{pid}/smaps_rollup").splitlines():
        if line.startswith("Pss:"):
            return int(line.split()[1]) * 1024
    return 0


def _read(path: str) -> str:
    try:
        return Path(path).read_text()
    except OSError:
        return ""

"""Tries a sandbox before it is relied on: writes outside, connects to this machine, makes the system writable. Once per process.

A sandbox that looks right can leak: bubblewrap as root, with all its namespaces and a read-only root, does so without one option.
"""

import asyncio
import sys
from pathlib import Path
from socket import create_server
from tempfile import TemporaryDirectory

from treadle.toolsets.sandbox.find import WITHOUT, find, look, settled
from treadle.toolsets.sandbox.process import contained
from treadle.toolsets.sandbox.seccomp import program
from treadle.toolsets.sandbox.values import Bounds, Bwrap, Level, Place, SandboxMissing

TRIED = "tried everything"
ATTEMPTS = """
import ctypes, os, socket, sys
outside, port, filtered = sys.argv[1], int(sys.argv[2]), sys.argv[3] == "filtered"
NOSUID, NODEV, REMOUNT, BIND = 2, 4, 32, 4096

def attempt(name, action):
    try:
        action()
    except OSError:
        return
    print("could", name)

def write():
    os.makedirs(outside, exist_ok=True)
    open(os.path.join(outside, "escaped"), "w").close()

def remount():
    libc = ctypes.CDLL(None, use_errno=True)
    if libc.mount(b"none", b"/usr", None, BIND | REMOUNT | NOSUID | NODEV, None):
        raise OSError(ctypes.get_errno(), "mount")

def capable():
    with open("/proc/self/status") as status:
        if not any(line.startswith("CapBnd:") and int(line.split()[1], 16) for line in status):
            raise OSError("none are left")

def leave():
    descriptor = os.open("left", os.O_CREAT | os.O_WRONLY, 0o4755)
    os.fchmod(descriptor, 0o4755)

attempt("write to the system", lambda: open("/usr/treadle-was-here", "x").close())
attempt("make the system writable", remount)
attempt("have capabilities", capable)
attempt("change the kernel's settings", lambda: open("/proc/sys/kernel/core_pattern", "r+").close())
attempt("reach this machine's network", lambda: socket.create_connection(("127.0.0.1", port), 2).close())
if filtered:
    attempt("leave a program that runs as its owner", leave)
try:
    write()
except OSError:
    pass  # whether it went anywhere is seen from outside
print("tried everything")
"""

_known: dict[Path, Level] = {}


async def level(workspace: Path) -> Level:
    """Whether commands are contained here, or why not."""
    try:
        bwrap = await asyncio.to_thread(find, workspace)
    except SandboxMissing as missing:
        return Level(why=str(missing))
    if bwrap.path not in _known:
        _known[bwrap.path] = await tried(bwrap)
    return _known[bwrap.path]


async def require_sandbox(workspace: Path) -> None:
    """Raise `SandboxMissing`, whose sentence says what to do, where commands aren't contained."""
    here = await level(workspace)
    if not here.sandboxed:
        raise SandboxMissing(here.why)


async def tried(bwrap: Bwrap) -> Level:
    """Whether a bubblewrap holds."""
    with TemporaryDirectory(prefix="treadle-") as folder, create_server(("127.0.0.1", 0)) as listener:
        inside, outside = await asyncio.to_thread(_folders, Path(folder))
        place = settled(Place(inside, extra_read=(Path(sys.base_prefix),)))
        host = look(place)
        filtered = "open" if program(host.machine) is None else "filtered"
        command = [*_python(), "-c", ATTEMPTS, str(outside), str(listener.getsockname()[1]), filtered]
        try:
            ran = await contained(bwrap, host, place, command, Bounds(seconds=30), env={})
        except SandboxMissing as missing:
            return Level(why=_unable(bwrap, str(missing)))
        return _judged(bwrap, ran.output, escaped=_touched(outside))


def _python() -> list[str]:
    return [str(Path(sys.executable).resolve()), "-I", "-S"]


def _folders(folder: Path) -> tuple[Path, Path]:
    inside, outside = folder / "inside", folder / "outside"
    inside.mkdir()
    outside.mkdir()
    return inside, outside


def _touched(outside: Path) -> bool:
    return any(outside.iterdir())


def _judged(bwrap: Bwrap, output: str, *, escaped: bool) -> Level:
    could = [line.removeprefix("could ") for line in output.splitlines() if line.startswith("could ")]
    if escaped:
        could.append("leave a file outside")
    if could:
        return Level(why=f"The sandbox of {bwrap.path} doesn't hold: a command in it could {could[0]}. Use another one. {WITHOUT}")
    if TRIED not in output.splitlines():
        return Level(why=_unable(bwrap, f"a trial ended with: {output.strip()[-300:] or 'nothing'}."))
    return Level(bwrap)


def _unable(bwrap: Bwrap, words: str) -> str:
    return (
        f"Commands can't be contained here by {bwrap.path}: {words} Most often user namespaces are forbidden: allow them "
        "(sysctl kernel.unprivileged_userns_clone=1; on Ubuntu kernel.apparmor_restrict_unprivileged_userns=0 or a profile "
        f"for bwrap; in Docker a seccomp profile that permits them). {WITHOUT}"
    )

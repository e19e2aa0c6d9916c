"""Probe of a sandbox before it is relied on: write outside, connect to this machine, make the system writable. Once per process.

A sandbox that looks right can leak: bubblewrap as root, with all its namespaces and a read-only root, does so without one
option.
"""

import asyncio
import sys
from pathlib import Path
from socket import create_server
from tempfile import TemporaryDirectory

from treadle.sandbox.discovery import WITHOUT, find_bwrap, inspect_host, resolve_spec
from treadle.sandbox.process import run_contained
from treadle.sandbox.seccomp import build_seccomp_filter
from treadle.sandbox.values import Bounds, Bwrap, SandboxMissing, SandboxSpec, SandboxStatus

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

_cache: dict[Path, SandboxStatus] = {}


async def check_sandbox(workspace: Path) -> SandboxStatus:
    """Return whether commands are sandboxed here, or why not."""
    try:
        bwrap = await asyncio.to_thread(find_bwrap, workspace)
    except SandboxMissing as missing:
        return SandboxStatus(why=str(missing))
    if bwrap.path not in _cache:
        _cache[bwrap.path] = await try_bwrap(bwrap)
    return _cache[bwrap.path]


async def require_sandbox(workspace: Path) -> None:
    """Raise `SandboxMissing`, whose message says what to do, where commands aren't sandboxed."""
    here = await check_sandbox(workspace)
    if not here.sandboxed:
        raise SandboxMissing(here.why)


async def try_bwrap(bwrap: Bwrap) -> SandboxStatus:
    """Return whether a bubblewrap holds."""
    with TemporaryDirectory(prefix="treadle-") as folder, create_server(("127.0.0.1", 0)) as listener:
        inside, outside = await asyncio.to_thread(_make_folders, Path(folder))
        place = resolve_spec(SandboxSpec(inside, extra_read=(Path(sys.base_prefix),)))
        host = inspect_host(place)
        filtered = "open" if build_seccomp_filter(host.machine) is None else "filtered"
        command = [*_python_command(), "-c", ATTEMPTS, str(outside), str(listener.getsockname()[1]), filtered]
        try:
            ran = await run_contained(bwrap, host, place, command, Bounds(seconds=30), env={})
        except SandboxMissing as missing:
            return SandboxStatus(why=_explain_failure(bwrap, str(missing)))
        return _judge(bwrap, ran.output, escaped=_is_touched(outside))


def _python_command() -> list[str]:
    return [str(Path(sys.executable).resolve()), "-I", "-S"]


def _make_folders(folder: Path) -> tuple[Path, Path]:
    inside, outside = folder / "inside", folder / "outside"
    inside.mkdir()
    outside.mkdir()
    return inside, outside


def _is_touched(outside: Path) -> bool:
    return any(outside.iterdir())


def _judge(bwrap: Bwrap, output: str, *, escaped: bool) -> SandboxStatus:
    could = [line.removeprefix("could ") for line in output.splitlines() if line.startswith("could ")]
    if escaped:
        could.append("leave a file outside")
    if could:
        return SandboxStatus(
            why=f"The sandbox of {bwrap.path} doesn't hold: a command in it could {could[0]}. Use another one. {WITHOUT}"
        )
    if TRIED not in output.splitlines():
        return SandboxStatus(why=_explain_failure(bwrap, f"a trial ended with: {output.strip()[-300:] or 'nothing'}."))
    return SandboxStatus(bwrap)


def _explain_failure(bwrap: Bwrap, words: str) -> str:
    return (
        f"Commands can't be contained here by {bwrap.path}: {words} Most often user namespaces are forbidden: allow them "
        "(sysctl kernel.unprivileged_userns_clone=1; on Ubuntu kernel.apparmor_restrict_unprivileged_userns=0 or a profile "
        f"for bwrap; in Docker a seccomp profile that permits them). {WITHOUT}"
    )

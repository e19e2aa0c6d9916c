"""Starts a child process: with one pipe for its output, and where it becomes a sandbox, without what a sandbox must not inherit.

The session keyring, and by Landlock what lies beyond the sandbox, are given up by a thread that does nothing but start sandboxes:
these restrictions belong to a thread and pass to its children. So no code runs between fork and exec, and the child is made by
vfork, which doesn't copy the page tables of a large process. Where a kernel refuses a restriction, there is nothing to give up,
or no process gets it; the seccomp filter applies in any case.
"""

import asyncio
import ctypes
import fcntl
import os
import stat
from collections.abc import Callable, Generator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from functools import cache
from pathlib import Path
from subprocess import DEVNULL, PIPE, STDOUT, Popen

from treadle.sandbox.seccomp import ARCHITECTURES
from treadle.sandbox.syscalls import NUMBERS
from treadle.sandbox.values import SandboxMissing

CHUNK = 1 << 16
_IMMUTABLE = fcntl.F_SEAL_WRITE | fcntl.F_SEAL_GROW | fcntl.F_SEAL_SHRINK | fcntl.F_SEAL_SEAL
_JOIN_SESSION_KEYRING = 1
_NO_NEW_PRIVILEGES = 38
_LANDLOCK_CREATE, _LANDLOCK_RESTRICT = 444, 446
_ABSTRACT_SOCKETS, _SIGNALS = 1, 2


class CommandProcess:
    """A process in its own session, with stdout and stderr in one pipe."""

    def __init__(self, process: "Popen[bytes]", pidfd: int) -> None:
        self.pid = process.pid
        self._process = process
        self._pidfd = pidfd
        self._loop = asyncio.get_running_loop()
        self._ended: asyncio.Future[None] = self._loop.create_future()
        self._loop.add_reader(pidfd, self._reap)

    @property
    def returncode(self) -> int | None:
        """Exit code, negative for a signal; None before the end."""
        return self._process.returncode

    async def wait(self) -> None:
        """Wait for the end of the process."""
        await asyncio.shield(self._ended)

    async def read(self) -> bytes:
        """Read the next piece of output; empty at its end."""
        assert self._process.stdout is not None  # it is a pipe
        descriptor = self._process.stdout.fileno()
        await wait_readable(descriptor)
        return os.read(descriptor, CHUNK)

    def close(self) -> None:
        """Close the pipe."""
        assert self._process.stdout is not None  # it is a pipe
        self._process.stdout.close()

    def _reap(self) -> None:
        self._loop.remove_reader(self._pidfd)
        os.close(self._pidfd)
        self._process.wait()
        self._ended.set_result(None)


async def wait_readable(descriptor: int) -> None:
    """Wait until a descriptor can be read, for which nothing else may wait meanwhile."""
    ready = asyncio.Event()
    loop = asyncio.get_running_loop()
    loop.add_reader(descriptor, ready.set)
    try:
        await ready.wait()
    finally:
        loop.remove_reader(descriptor)


def start_process(
    line: Sequence[str],
    *,
    env: Mapping[str, str],
    cwd: Path = Path("/"),
    stdin: int = DEVNULL,
    inherited: Sequence[int] = (),
    sandbox: Path | None = None,
) -> CommandProcess:
    """Start a process with this environment alone; `sandbox` is the program that sets up a sandbox, if it is one."""

    def start() -> "Popen[bytes]":
        return Popen(  # noqa: S603 - the command is what it is for
            line,
            stdin=stdin,
            stdout=PIPE,
            stderr=STDOUT,
            bufsize=0,
            pass_fds=inherited,
            start_new_session=True,
            env=env,
            cwd=cwd,
        )

    try:
        process = start() if sandbox is None else _launcher(os.getpid(), _is_set_uid(sandbox)).submit(_start_apart, start).result()
    except (OSError, ValueError) as error:
        raise SandboxMissing(f"The command can't be started: {error}.") from error
    return CommandProcess(process, os.pidfd_open(process.pid))


@contextmanager
def open_stdin(text: str | int) -> Generator[int]:
    """Yield a descriptor from which a text is read, and which is read-only; a descriptor is yielded as it is."""
    if isinstance(text, int):
        yield text
        return
    if not text:
        yield DEVNULL
        return
    descriptor = os.memfd_create("stdin", os.MFD_CLOEXEC | os.MFD_ALLOW_SEALING)
    with os.fdopen(descriptor, "r+b") as file:
        file.write(text.encode(errors="replace"))
        file.seek(0)
        fcntl.fcntl(file, fcntl.F_ADD_SEALS, _IMMUTABLE)
        yield descriptor


@cache
def _launcher(process: int, privileged: bool) -> ThreadPoolExecutor:
    """Return the thread that starts sandboxes; it lives as long as the process, since sandboxes end with their parent thread."""
    return ThreadPoolExecutor(1, "sandboxes", _restrict_thread, (privileged,))


def _is_set_uid(program: Path) -> bool:
    """Return whether a program needs the privileges that Landlock asks to renounce."""
    return bool(program.stat().st_mode & stat.S_ISUID)


def _start_apart(start: Callable[[], "Popen[bytes]"]) -> "Popen[bytes]":
    """Start a process with a new session keyring."""
    machine = os.uname().machine
    if machine in ARCHITECTURES:
        keyctl = NUMBERS["keyctl"][ARCHITECTURES[machine][0]]
        ctypes.CDLL(None).syscall(keyctl, _JOIN_SESSION_KEYRING, ctypes.c_void_p(None))
    return start()


def _restrict_thread(privileged: bool) -> None:
    """Give up what Landlock can take away."""
    if privileged:
        return
    libc = ctypes.CDLL(None)
    ruleset = (ctypes.c_uint64 * 3)(0, 0, _ABSTRACT_SOCKETS | _SIGNALS)  # file systems and ports are left out: see decision 0035
    rules = libc.syscall(_LANDLOCK_CREATE, ruleset, ctypes.c_size_t(ctypes.sizeof(ruleset)), ctypes.c_uint32(0))
    if rules >= 0:
        libc.prctl(_NO_NEW_PRIVILEGES, *map(ctypes.c_ulong, (1, 0, 0, 0)))
        libc.syscall(_LANDLOCK_RESTRICT, rules, ctypes.c_uint32(0))
        os.close(rules)

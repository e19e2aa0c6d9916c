"""One sandbox process from start to end: limits before the command begins, output as it comes, and nothing left when it is over.

The first process inside is held by a descriptor. When it is gone the kernel has ended all others, whatever they did to stay.
"""

import asyncio
import os
import signal
from collections.abc import AsyncGenerator, Callable, Generator, Mapping, Sequence
from contextlib import asynccontextmanager, contextmanager, nullcontext, suppress
from time import monotonic

import msgspec

from treadle.sandbox.bubblewrap import build_arguments, synthesize_etc
from treadle.sandbox.launch import CHUNK, CommandProcess, open_stdin, start_process, wait_readable
from treadle.sandbox.limits import DiskWatch, limit_process, use_cgroups, wait_for_excess
from treadle.sandbox.output import CommandOutput
from treadle.sandbox.proxy import proxy_network
from treadle.sandbox.seccomp import build_seccomp_filter
from treadle.sandbox.values import Bounds, Bwrap, CommandResult, HostSystem, InheritedFds, SandboxMissing, SandboxSpec

NOT_FOUND = 127
KILL_TIMEOUT = 10.0  # seconds for the kernel to clear up

OnOutput = Callable[[str], None]
OnData = Callable[[bytes], None]


async def run_contained(
    bwrap: Bwrap,
    host: HostSystem,
    place: SandboxSpec,
    command: Sequence[str],
    bounds: Bounds,
    *,
    stdin: str | int = "",
    env: Mapping[str, str],
    on_output: OnOutput | None = None,
    on_data: OnData | None = None,
) -> CommandResult:
    """Run a command in a sandbox. Raises `SandboxMissing` where that can't be set up."""
    kept = CommandOutput(bounds.output)
    begun = monotonic()
    with _open_channels(host, place) as (files, status, go):
        line = build_arguments(bwrap, host, place, command, files=files, env=env, scratch=max(bounds.memory // 4, 1 << 20))
        try:
            with open_stdin(stdin) as text:
                process = start_process(line, env={}, stdin=text, inherited=files.all, sandbox=bwrap.path)
        finally:
            _close(*files.all)  # a reader must see end of file when the other side is gone
        reading = asyncio.create_task(read_output(process, kept, on_output, on_data))
        try:
            killed_for = await _supervise(process, status, go, bounds, place)
        finally:
            await end_process(process, reading)
        tells = _read_status(status)
    code = None if killed_for else tells["exit-code"] if "exit-code" in tells else _exit_code_unstarted(kept.text)
    return CommandResult(code, kept.text, kept.truncated, monotonic() - begun, killed_for == "time", killed_for)


def _exit_code_unstarted(words: str) -> int:
    """Return the exit code for a missing program, as shells do. Raises `SandboxMissing` where the sandbox failed before that."""
    if words.startswith("bwrap: execvp "):
        return NOT_FOUND
    raise SandboxMissing(f"Bubblewrap could not set up the sandbox: {words.strip() or 'it did not say why'}.")


async def read_output(
    process: CommandProcess, kept: CommandOutput, on_output: OnOutput | None, on_data: OnData | None = None
) -> None:
    """Read all of a process's output. With `on_data` it is for that alone, as bytes."""
    while piece := await process.read():
        if on_data is not None:
            on_data(piece)
            continue
        _emit(on_output, kept.feed(piece))
    _emit(on_output, kept.close())


def _emit(on_output: OnOutput | None, text: str) -> None:
    if on_output is not None and text:
        on_output(text)


async def end_process(process: CommandProcess, reading: "asyncio.Task[None]") -> None:
    """Make sure that a process is gone and that all it wrote is read."""
    with suppress(ProcessLookupError):
        os.killpg(process.pid, signal.SIGKILL)
    try:
        async with asyncio.timeout(KILL_TIMEOUT):
            await process.wait()
            await reading
    except TimeoutError:  # a process outside holds the pipe open; what was read counts
        reading.cancel()
    finally:
        process.close()


async def _supervise(process: CommandProcess, status: int, go: int, bounds: Bounds, place: SandboxSpec) -> str:
    """Limit the sandbox, let it begin, and wait for its end; return what it was killed for, if it was."""
    async with _open_first_process(status, bounds.seconds) as first:
        if first is None:
            return ""
        pid, descriptor = first
        limit_process(pid, bounds)
        with use_cgroups(pid, bounds):
            try:
                async with proxy_network(pid) if place.network else nullcontext():
                    disk = DiskWatch(place.workspace, bounds.disk)
                    with suppress(BrokenPipeError):
                        os.write(go, b"\n")
                    return await _wait_or_exceed(process, pid, bounds, disk)
            finally:
                await _kill_all(descriptor)


async def _wait_or_exceed(process: CommandProcess, pid: int, bounds: Bounds, disk: DiskWatch) -> str:
    waiting, watching = asyncio.create_task(process.wait()), asyncio.create_task(wait_for_excess(pid, bounds, disk))
    try:
        async with asyncio.timeout(bounds.seconds):
            await asyncio.wait({waiting, watching}, return_when=asyncio.FIRST_COMPLETED)
            if watching.done() and not waiting.done() and (reason := watching.result()):
                return reason
            await waiting
    except TimeoutError:
        return "time"
    finally:
        waiting.cancel()
        watching.cancel()
    return ""


@asynccontextmanager
async def _open_first_process(status: int, seconds: float) -> AsyncGenerator[tuple[int, int] | None]:
    """Yield the first process inside and its pidfd; it is blocked until released, so that its number is still its own."""
    pid = await _read_first_pid(status, seconds)
    descriptor = None if pid is None else _open_pidfd(pid)
    if pid is None or descriptor is None:
        yield None
        return
    try:
        yield pid, descriptor
    finally:
        os.close(descriptor)


def _open_pidfd(pid: int) -> int | None:
    """Return a pidfd; None where the process is gone already."""
    try:
        return os.pidfd_open(pid)
    except ProcessLookupError:
        return None


async def _read_first_pid(status: int, seconds: float) -> int | None:
    """Read the first status line of bubblewrap, which may come in pieces; None where it gave up."""
    said = b""
    try:
        async with asyncio.timeout(seconds):
            while not said.endswith(b"\n"):
                await wait_readable(status)
                piece = os.read(status, CHUNK)
                if not piece:
                    return None
                said += piece
    except TimeoutError:
        return None
    return msgspec.json.decode(said)["child-pid"]


async def _kill_all(descriptor: int) -> None:
    """Kill everything inside, and wait until the kernel has."""
    with suppress(ProcessLookupError):
        signal.pidfd_send_signal(descriptor, signal.SIGKILL)
    with suppress(TimeoutError):  # stuck in the kernel; it ends when that lets go
        async with asyncio.timeout(KILL_TIMEOUT):
            await wait_readable(descriptor)


@contextmanager
def _open_channels(host: HostSystem, place: SandboxSpec) -> Generator[tuple[InheritedFds, int, int]]:
    """Open pipes to bubblewrap: files for it to place, its status, and the signal to begin."""
    told, tells = os.pipe()
    waits, go = os.pipe()
    data = tuple((_open_pipe_with(text.encode()), path) for path, text in synthesize_etc(host).items())
    calls = build_seccomp_filter(host.machine, sockets=place.sockets)
    files = InheritedFds(tells, waits, data, None if calls is None else _open_pipe_with(calls))
    try:
        yield files, told, go
    finally:
        _close(told, go)


def _open_pipe_with(content: bytes) -> int:
    """Return the readable end of a pipe with something short in it."""
    there, here = os.pipe()
    os.write(here, content)
    os.close(here)
    return there


def _close(*numbers: int) -> None:
    for number in numbers:
        os.close(number)


def _read_status(status: int) -> dict[str, int]:
    """Return the last status of bubblewrap; every process that could write more is gone."""
    os.set_blocking(status, False)
    with suppress(BlockingIOError):
        lines = os.read(status, CHUNK).splitlines()
        return msgspec.json.decode(lines[-1]) if lines else {}
    return {}

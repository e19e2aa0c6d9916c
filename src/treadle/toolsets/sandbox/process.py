"""One sandbox from its start to its end: limits before the command begins, output as it comes, and nothing left when it is over.

The first process inside is held by a descriptor. When that one is gone the kernel has ended all others, whatever they did to stay.
"""

import asyncio
import os
import signal
from collections.abc import AsyncGenerator, Callable, Generator, Mapping, Sequence
from contextlib import asynccontextmanager, contextmanager, nullcontext, suppress
from pathlib import Path
from time import monotonic

import msgspec

from treadle.toolsets.sandbox.bubblewrap import arguments, synthesized
from treadle.toolsets.sandbox.disk import Disk
from treadle.toolsets.sandbox.launch import before_exec
from treadle.toolsets.sandbox.limits import exceeded, grouped, limit
from treadle.toolsets.sandbox.output import Kept
from treadle.toolsets.sandbox.proxy import proxied
from treadle.toolsets.sandbox.seccomp import program
from treadle.toolsets.sandbox.values import Bounds, Bwrap, Files, Host, Place, Ran, SandboxMissing

CHUNK = 1 << 16
NOT_FOUND = 127
PATIENCE = 10.0  # seconds for the kernel to clear up

OnOutput = Callable[[str], None]


async def contained(
    bwrap: Bwrap,
    host: Host,
    place: Place,
    command: Sequence[str],
    bounds: Bounds,
    *,
    stdin: str = "",
    env: Mapping[str, str],
    on_output: OnOutput | None = None,
) -> Ran:
    """Run a command in a sandbox. Raises `SandboxMissing` where that can't be set up."""
    kept = Kept(bounds.output)
    begun = monotonic()
    with _channels(host, place) as (files, status, go):
        line = arguments(bwrap, host, place, command, files=files, env=env, scratch=max(bounds.memory // 4, 1 << 20))
        try:
            process = await started(line, stdin, inherited=files.all, prepare=before_exec(bwrap.path))
        finally:
            _close(*files.all)  # whoever reads must see the end when the other side is gone
        reading = asyncio.create_task(read(process, kept, stdin, on_output))
        try:
            killed_for = await _through(process, status, go, bounds, place)
        finally:
            await ended(process, reading)
        tells = _tells(status)
    code = None if killed_for else tells["exit-code"] if "exit-code" in tells else _unstarted(kept.text)
    return Ran(code, kept.text, kept.truncated, monotonic() - begun, killed_for == "time", killed_for)


def _unstarted(words: str) -> int:
    """The code for a program that isn't there, as shells have it. Raises `SandboxMissing` where the sandbox failed before that."""
    if words.startswith("bwrap: execvp "):
        return NOT_FOUND
    raise SandboxMissing(f"Bubblewrap could not set up the sandbox: {words.strip() or 'it did not say why'}.")


async def started(
    line: Sequence[str],
    stdin: str,
    *,
    inherited: Sequence[int] = (),
    env: Mapping[str, str] | None = None,
    cwd: Path = Path("/"),
    prepare: Callable[[], None] | None = None,
) -> asyncio.subprocess.Process:
    """A process with both kinds of output in one pipe, and with no environment but the one given; `prepare` runs in it first."""
    pipe, nothing = asyncio.subprocess.PIPE, asyncio.subprocess.DEVNULL
    try:
        return await asyncio.create_subprocess_exec(
            *line,
            stdin=pipe if stdin else nothing,
            stdout=pipe,
            stderr=asyncio.subprocess.STDOUT,
            pass_fds=inherited,
            start_new_session=True,
            preexec_fn=prepare,
            env=env or {},
            cwd=cwd,
        )
    except (OSError, ValueError) as error:
        raise SandboxMissing(f"The command can't be started: {error}.") from error


async def read(process: asyncio.subprocess.Process, kept: Kept, stdin: str, on_output: OnOutput | None) -> None:
    """All of a process's output, while it gets its input."""
    writing = asyncio.create_task(_write(process, stdin))
    try:
        assert process.stdout is not None  # it was asked for
        while piece := await process.stdout.read(CHUNK):
            _tell(on_output, kept.feed(piece))
        _tell(on_output, kept.close())
    finally:
        writing.cancel()


def _tell(on_output: OnOutput | None, text: str) -> None:
    if on_output is not None and text:
        on_output(text)


async def _write(process: asyncio.subprocess.Process, text: str) -> None:
    if process.stdin is None:
        return
    with suppress(BrokenPipeError, ConnectionResetError):  # a command that doesn't read is no error
        process.stdin.write(text.encode(errors="replace"))
        await process.stdin.drain()
    process.stdin.close()


async def ended(process: asyncio.subprocess.Process, reading: "asyncio.Task[None]") -> None:
    """Make sure that a process is gone, and that all it wrote is read."""
    with suppress(ProcessLookupError):
        os.killpg(process.pid, signal.SIGKILL)
    try:
        async with asyncio.timeout(PATIENCE):
            await process.wait()
            await reading
    except TimeoutError:  # somebody outside holds the pipe; what was read counts
        reading.cancel()


async def _through(process: asyncio.subprocess.Process, status: int, go: int, bounds: Bounds, place: Place) -> str:
    """Limit what is inside, let it begin, and wait for its end; what it was ended for, if it was."""
    async with _first(status, bounds.seconds) as first:
        if first is None:
            return ""
        pid, descriptor = first
        limit(pid, bounds)
        with grouped(pid, bounds):
            try:
                async with proxied(pid) if place.network else nullcontext():
                    disk = Disk(place.workspace, bounds.disk)
                    with suppress(BrokenPipeError):
                        os.write(go, b"\n")
                    return await _over(process, pid, bounds, disk)
            finally:
                await _cleared(descriptor)


async def _over(process: asyncio.subprocess.Process, pid: int, bounds: Bounds, disk: Disk) -> str:
    waiting, watching = asyncio.create_task(process.wait()), asyncio.create_task(exceeded(pid, bounds, disk))
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
async def _first(status: int, seconds: float) -> AsyncGenerator[tuple[int, int] | None]:
    """The first process inside and a descriptor of it; it waits to be let go, so that its number is still its own."""
    pid = await _first_pid(status, seconds)
    descriptor = None if pid is None else _held(pid)
    if pid is None or descriptor is None:
        yield None
        return
    try:
        yield pid, descriptor
    finally:
        os.close(descriptor)


def _held(pid: int) -> int | None:
    """A descriptor of a process; None where it is gone already."""
    try:
        return os.pidfd_open(pid)
    except ProcessLookupError:
        return None


async def _first_pid(status: int, seconds: float) -> int | None:
    """What bubblewrap says first, which may come in pieces; None where it gave up."""
    said = b""
    try:
        async with asyncio.timeout(seconds):
            while not said.endswith(b"\n"):
                await _readable(status)
                piece = os.read(status, CHUNK)
                if not piece:
                    return None
                said += piece
    except TimeoutError:
        return None
    return msgspec.json.decode(said)["child-pid"]


async def _readable(descriptor: int) -> None:
    ready = asyncio.Event()
    loop = asyncio.get_running_loop()
    loop.add_reader(descriptor, ready.set)
    try:
        await ready.wait()
    finally:
        loop.remove_reader(descriptor)


async def _cleared(descriptor: int) -> None:
    """End everything inside, and wait until the kernel has."""
    with suppress(ProcessLookupError):
        signal.pidfd_send_signal(descriptor, signal.SIGKILL)
    with suppress(TimeoutError):  # stuck in the kernel; it ends when that lets go
        async with asyncio.timeout(PATIENCE):
            await _readable(descriptor)


@contextmanager
def _channels(host: Host, place: Place) -> Generator[tuple[Files, int, int]]:
    """Pipes between bubblewrap and us: files for it to place, how it goes, and the word to go."""
    told, tells = os.pipe()
    waits, go = os.pipe()
    data = tuple((_holding(text.encode()), path) for path, text in synthesized(host).items())
    calls = program(host.machine, sockets=place.sockets)
    files = Files(tells, waits, data, None if calls is None else _holding(calls))
    try:
        yield files, told, go
    finally:
        _close(told, go)


def _holding(content: bytes) -> int:
    """The readable end of a pipe with something short in it."""
    there, here = os.pipe()
    os.write(here, content)
    os.close(here)
    return there


def _close(*numbers: int) -> None:
    for number in numbers:
        os.close(number)


def _tells(status: int) -> dict[str, int]:
    """What bubblewrap said last; everybody who could say more is gone."""
    os.set_blocking(status, False)
    with suppress(BlockingIOError):
        lines = os.read(status, CHUNK).splitlines()
        return msgspec.json.decode(lines[-1]) if lines else {}
    return {}

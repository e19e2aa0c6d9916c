"""Runs a command where it can do no harm: in bubblewrap, within bounds, and not at all where there is no sandbox.

`unsafe=True` is the one way to run commands where no sandbox is to be had. They can then do everything the person can; only
time, output and what each process takes stay limited.
"""

import asyncio
import os
from collections.abc import Mapping, Sequence
from time import monotonic, time_ns

from msgspec import Struct
from msgspec.structs import replace

from treadle.toolsets.sandbox.bubblewrap import ENVIRONMENT
from treadle.toolsets.sandbox.find import look, settled
from treadle.toolsets.sandbox.limits import limit
from treadle.toolsets.sandbox.output import Kept
from treadle.toolsets.sandbox.process import OnOutput, contained, ended, read, started
from treadle.toolsets.sandbox.residue import Residue, Stamp, Survey, disarm, marks, restore, survey
from treadle.toolsets.sandbox.seccomp import program
from treadle.toolsets.sandbox.trial import level
from treadle.toolsets.sandbox.values import Bounds, Host, Place, Ran, SandboxMissing


async def run(
    command: str | Sequence[str],
    place: Place,
    bounds: Bounds = Bounds(),  # noqa: B008 - frozen
    *,
    stdin: str = "",
    env: Mapping[str, str] | None = None,
    on_output: OnOutput | None = None,
    unsafe: bool = False,
) -> Ran:
    """What came of a command. A string is a line for the shell, inside the sandbox. Raises `SandboxMissing`."""
    place = settled(place)
    words = ["/bin/sh", "-c", command] if isinstance(command, str) else list(command)
    here = await level(place.workspace)
    if here.bwrap is not None:
        before = await asyncio.to_thread(_before, place)
        try:
            ran = await contained(here.bwrap, before.host, place, words, bounds, stdin=stdin, env=env or {}, on_output=on_output)
        finally:
            left = await asyncio.to_thread(_after, place, before)
        return replace(ran, set_aside=left.set_aside, stripped=left.stripped)
    if not unsafe:
        raise SandboxMissing(here.why)
    return await _bare(words, place, bounds, stdin, env or {}, on_output)


class _Before(Struct, frozen=True):
    """How things were when a command began."""

    host: Host
    survey: Survey
    marks: dict[str, Stamp]
    time: int


def _before(place: Place) -> _Before:
    found = survey(place.workspace) if place.writable or place.sockets else Survey()
    host = look(place, found)
    return _Before(host, found, marks(host.repository), time_ns())


def _after(place: Place, before: _Before) -> Residue:
    """Disarm what a command left."""
    if not place.writable:
        return Residue()
    led = restore(before.host.repository, before.marks)
    left = disarm(place.workspace, before.survey, before.time, everywhere=program(before.host.machine) is None)
    return Residue((*led, *left.set_aside), left.stripped)


async def _bare(
    words: Sequence[str], place: Place, bounds: Bounds, stdin: str, env: Mapping[str, str], on_output: OnOutput | None
) -> Ran:
    """Without a sandbox; the process group at least ends with the call."""
    kept = Kept(bounds.output)
    begun, timed_out = monotonic(), False
    environment = ENVIRONMENT | {"HOME": os.environ.get("HOME", "/")} | dict(env)
    process = await started(words, stdin, env=environment, cwd=place.workspace)
    limit(process.pid, bounds, alone=False)
    reading = asyncio.create_task(read(process, kept, stdin, on_output))
    try:
        async with asyncio.timeout(bounds.seconds):
            await process.wait()
    except TimeoutError:
        timed_out = True
    finally:
        await ended(process, reading)
    code = None if timed_out else process.returncode
    return Ran(code, kept.text, kept.truncated, monotonic() - begun, timed_out, "time" if timed_out else "")

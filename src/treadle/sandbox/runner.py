"""Runs a command where it can do no harm: in bubblewrap, within limits, and not at all where there is no sandbox.

`unsafe=True` is the only way to run commands where no sandbox is available. They can then do everything the user can; only
time, output and what each process uses stay limited.
"""

import asyncio
import os
from collections.abc import Mapping, Sequence
from time import monotonic, time_ns

from msgspec import Struct
from msgspec.structs import replace

from treadle.sandbox.bubblewrap import ENVIRONMENT
from treadle.sandbox.disarm import (
    DisarmReport,
    Stamp,
    WorkspaceSurvey,
    disarm_workspace,
    record_fixed_parts,
    set_aside_changed_parts,
    survey_workspace,
)
from treadle.sandbox.discovery import inspect_host, resolve_spec
from treadle.sandbox.launch import open_stdin, start_process
from treadle.sandbox.limits import limit_process
from treadle.sandbox.output import CommandOutput
from treadle.sandbox.probe import check_sandbox
from treadle.sandbox.process import OnData, OnOutput, end_process, read_output, run_contained
from treadle.sandbox.seccomp import build_seccomp_filter
from treadle.sandbox.values import Bounds, CommandResult, HostSystem, SandboxMissing, SandboxSpec


async def run_command(
    command: str | Sequence[str],
    place: SandboxSpec,
    bounds: Bounds = Bounds(),  # noqa: B008 - frozen
    *,
    stdin: str | int = "",
    env: Mapping[str, str] | None = None,
    on_output: OnOutput | None = None,
    on_data: OnData | None = None,
    unsafe: bool = False,
) -> CommandResult:
    """Run a command and return its result. A string is a shell line, run inside the sandbox. Raises `SandboxMissing`.

    `stdin` is a text, or a descriptor to read from. With `on_data` the output is passed on as bytes, and isn't in the result.
    """
    place = resolve_spec(place)
    words = ["/bin/sh", "-c", command] if isinstance(command, str) else list(command)
    here = await check_sandbox(place.workspace)
    if here.bwrap is not None:
        before = await asyncio.to_thread(_prepare, place)
        try:
            ran = await run_contained(
                here.bwrap, before.host, place, words, bounds, stdin=stdin, env=env or {}, on_output=on_output, on_data=on_data
            )
        finally:
            left = await asyncio.to_thread(_disarm_after, place, before)
        return replace(ran, set_aside=left.set_aside, stripped=left.stripped)
    if not unsafe:
        raise SandboxMissing(here.why)
    return await _run_unsandboxed(words, place, bounds, stdin, env or {}, on_output, on_data)


class _StateBefore(Struct, frozen=True):
    """State when a command began."""

    host: HostSystem
    survey: WorkspaceSurvey
    marks: dict[str, Stamp]
    time: int


def _prepare(place: SandboxSpec) -> _StateBefore:
    found = survey_workspace(place.workspace) if place.writable or place.sockets else WorkspaceSurvey()
    host = inspect_host(place, found)
    return _StateBefore(host, found, record_fixed_parts(host.repository), time_ns())


def _disarm_after(place: SandboxSpec, before: _StateBefore) -> DisarmReport:
    """Disarm what a command left."""
    if not place.writable:
        return DisarmReport()
    led = set_aside_changed_parts(before.host.repository, before.marks)
    left = disarm_workspace(
        place.workspace, before.survey, before.time, everywhere=build_seccomp_filter(before.host.machine) is None
    )
    return DisarmReport((*led, *left.set_aside), left.stripped)


async def _run_unsandboxed(
    words: Sequence[str],
    place: SandboxSpec,
    bounds: Bounds,
    stdin: str | int,
    env: Mapping[str, str],
    on_output: OnOutput | None,
    on_data: OnData | None,
) -> CommandResult:
    """Run without a sandbox; the process group at least ends with the call."""
    kept = CommandOutput(bounds.output)
    begun, timed_out = monotonic(), False
    environment = ENVIRONMENT | {"HOME": os.environ.get("HOME", "/")} | dict(env)
    with open_stdin(stdin) as text:
        process = start_process(words, env=environment, cwd=place.workspace, stdin=text)
    limit_process(process.pid, bounds, alone=False)
    reading = asyncio.create_task(read_output(process, kept, on_output, on_data))
    try:
        async with asyncio.timeout(bounds.seconds):
            await process.wait()
    except TimeoutError:
        timed_out = True
    finally:
        await end_process(process, reading)
    code = None if timed_out else process.returncode
    return CommandResult(code, kept.text, kept.truncated, monotonic() - begun, timed_out, "time" if timed_out else "")

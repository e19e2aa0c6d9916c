"""`treadle jobs`: list, show, watch, cancel, delete or resume jobs. What a job does is defined by its assistant."""

import argparse
import asyncio
from collections.abc import Iterator
from pathlib import Path
from time import time
from typing import Any, cast

from msgspec.structs import replace

from treadle.admin.deletion import delete_jobs
from treadle.cli.exit_codes import FAILED, INTERRUPTED, OK, WAITING
from treadle.cli.host import run_with_host
from treadle.cli.run_store import account_name
from treadle.cli.runner import run_async as carry_out_command
from treadle.cli.runner import run_sync_or_async
from treadle.cli.ui.event_printer import EventPrinter, JsonEventPrinter
from treadle.cli.ui.render import format_seconds, format_table, format_time, to_terminal_json
from treadle.cli.ui.run_status import RunStatus
from treadle.cli.ui.screen import Screen
from treadle.core.entries import Entry, Judged, Replied, Returned
from treadle.core.errors import RunNotFound, SettingsError
from treadle.core.events import CallJudged, CallReturned, Event, RunStarted, TextArrived
from treadle.core.messages import Text
from treadle.core.states import state_name
from treadle.guard.redaction import Redactor
from treadle.home import Home, open_home
from treadle.jobs.execution import JobKind, execute_job
from treadle.jobs.store import Job, Jobs, mask_job
from treadle.plugins.assistant import Host
from treadle.plugins.assistants import get_assistant

EXIT_CODES = {"completed": OK, "failed": FAILED, "waiting": WAITING, "cancelled": INTERRUPTED}
START_TIMEOUT = 30.0  # seconds in which a worker should have started a job
POLL_SECONDS = 0.3  # seconds between two looks at a job that is under way elsewhere


def run(args: argparse.Namespace) -> int:
    """Run the requested action."""
    jobs = Jobs(open_home().folder)
    match args.action:
        case "show":
            return _print_job(jobs.find(args.job), args)
        case "cancel":
            return _print_cancelled(jobs.cancel(jobs.find(args.job).id), args)
        case "delete":
            return carry_out_command(_delete_job(jobs.find(args.job), args))
        case "watch":
            return carry_out_command(_watch_job(jobs, args))
        case "resume":
            return _resume_job(jobs, args)
        case _:
            return _list_jobs(jobs, args)


def _list_jobs(jobs: Jobs, args: argparse.Namespace) -> int:
    screen = Screen()
    found = [job for job in jobs.all() if not args.state or job.state == args.state][: args.most]
    if args.json:
        screen.line(to_terminal_json([mask_job(job) for job in found]))
    elif found:
        for line in format_table(
            [("JOB", "WHEN", "STATE", "VERIFIED", "KIND", "FOLDER", "TITLE"), *map(_to_row, found)], screen.width
        ):
            screen.line(line)
    else:
        screen.note("There are no jobs.")
    return OK


def _to_row(job: Job) -> tuple[str, ...]:
    verified = {True: "yes", False: "no"}.get(job.output.get("verified", ""), "-")
    folder = Path(job.workspace).name if job.workspace else "-"
    return job.id, format_time(job.created_at), state_name(job.state), verified, job.kind, folder, job.title or "-"


def _print_job(job: Job, args: argparse.Namespace) -> int:
    screen, job = Screen(), mask_job(job)
    if args.json:
        screen.line(to_terminal_json(job))
        return OK
    for line in format_table(list(_describe(job)), screen.width):
        screen.line(line)
    for name in ("summary", "review_text", "triage_report"):
        if job.output.get(name):
            screen.line()
            screen.line(str(job.output[name]))
    return OK


def _describe(job: Job) -> Iterator[tuple[str, str]]:
    yield "job", job.id
    yield "kind", f"{job.kind} ({job.assistant})"
    yield "title", job.title
    yield "state", f"{state_name(job.state)}: {job.why}" if job.why else state_name(job.state)
    yield "workspace", job.workspace
    yield "model", str(job.origin.get("model", ""))
    yield "began", format_time(job.created_at)
    if job.started_at:
        yield "took", format_seconds((job.finished_at or time()) - job.started_at)
    for name in ("base", "branch"):
        if job.facts.get(name):
            yield name, str(job.facts[name])
    for name in ("files", "commit", "verified", "tests", "pushed", "pull_request", "verdict", "severity", "category"):
        if name in job.output:
            value: Any = job.output[name]
            yield name, ", ".join([str(one) for one in cast("list[Any]", value)]) if isinstance(value, list) else str(value)


def _print_cancelled(job: Job, args: argparse.Namespace) -> int:
    screen = Screen()
    if args.json:
        screen.line(to_terminal_json(mask_job(job)))
    elif job.state == "cancelled":
        screen.tell(f"Job {job.id} is cancelled. What it has changed is still there.")
    elif job.is_over:
        screen.tell(f"Job {job.id} is over already: {state_name(job.state)}.")
    else:
        screen.tell(f"Job {job.id} is being stopped by the process that executes it.")
    return OK


async def _delete_job(job: Job, args: argparse.Namespace) -> int:
    await delete_jobs(open_home(), [job.id], by=account_name())
    Screen().line(to_terminal_json({"deleted": job.id}) if args.json else f"Deleted: {job.id}")
    return OK


async def _watch_job(jobs: Jobs, args: argparse.Namespace) -> int:
    """Print what happens in a job, and how it ends; watching changes nothing."""
    screen = Screen()
    with screen.status.showing(RunStatus(idle="Waiting for the job").describe):
        return await _follow_job(jobs, jobs.find(args.job), screen, as_json=args.json)


async def _follow_job(jobs: Jobs, job: Job, screen: Screen, *, as_json: bool) -> int:
    home = open_home()
    teller, told = JsonEventPrinter(screen) if as_json else EventPrinter(screen), 0
    teller(RunStarted(run_id=job.id))
    while True:
        job = jobs.get(job.id)
        entries = await _read_entries(home, job.id)
        for entry in entries[told:]:
            for event in _to_events(job.id, entry):
                teller(event)
        told = len(entries)
        if job.state not in ("pending", "running"):
            screen.end_line()
            screen.tell(f"Job {job.id} is {job.state}: {job.why}" if job.why else f"Job {job.id} is {job.state}.")
            return job_exit_code(job)
        if job.state == "pending" and time() - job.created_at > START_TIMEOUT:
            screen.tell(f"No process executes job {job.id}. To start it: treadle jobs resume {job.id}")
            return WAITING
        await asyncio.sleep(POLL_SECONDS)


async def _read_entries(home: Home, run_id: str) -> list[Entry]:
    try:
        return await home.journal.read(run_id)
    except RunNotFound:
        return []


def _to_events(run_id: str, entry: Entry) -> Iterator[Event]:
    """Convert a journal entry to the events that reported it when it happened."""
    if isinstance(entry, Replied):
        for part in entry.parts:
            if isinstance(part, Text):
                yield TextArrived(run_id=run_id, text=f"{part.text}\n")
    elif isinstance(entry, Judged):
        redactor = Redactor()
        call = replace(entry.call, arguments=redactor.value(entry.call.arguments))
        verdict = replace(entry.verdict, reason=redactor.text(entry.verdict.reason))
        yield CallJudged(run_id=run_id, call=call, verdict=verdict, mended=redactor.text(entry.mended))
    elif isinstance(entry, Returned):
        yield CallReturned(run_id=run_id, result=entry.result, seconds=entry.seconds, cached=entry.cached)


def _resume_job(jobs: Jobs, args: argparse.Namespace) -> int:
    """Resume a job with the model it was started with, unless another one is named."""
    job = jobs.find(args.job)
    if job.state in ("completed", "cancelled"):
        if args.json:
            Screen().line(to_terminal_json(mask_job(job)))
        Screen().tell(f"Job {job.id} is {job.state}: there is nothing to resume.")
        return job_exit_code(job)
    args.model = args.model or job.origin.get("model", "")
    args.base_url = args.base_url or job.origin.get("base_url")
    args.dialect = args.dialect or job.origin.get("dialect")
    args.user = args.user or job.user
    return run_sync_or_async(lambda: run_with_host(args, lambda host: _execute_job(job, args, host)))


async def _execute_job(job: Job, args: argparse.Namespace, host: Host) -> int:
    host.command_terminal.note(f"Job {job.id} goes on: {job.kind} in {job.workspace}")
    done = await execute_job(job.id, find_job_kind(job), host)
    screen = Screen(quiet=args.quiet)
    if args.json:
        screen.line(to_terminal_json(mask_job(done)))
    else:
        _print_job(done, args)
    return job_exit_code(done)


def job_exit_code(job: Job) -> int:
    """Return the exit code for a job's state. A job whose tests contradict its result has failed."""
    return FAILED if job.output.get("denied") else EXIT_CODES[job.state]


def find_job_kind(job: Job) -> JobKind:
    """Return the job kind of a job."""
    made = get_assistant(job.assistant)
    for work in made.work() if made.work is not None else ():
        if work.name == job.kind:
            return work
    raise SettingsError(f"The assistant {job.assistant} has no job kind {job.kind!r} any more; job {job.id} can't be resumed.")

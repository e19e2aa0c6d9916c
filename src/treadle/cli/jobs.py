"""`treadle jobs`: the jobs that are kept; one shown, watched, cancelled or taken up again. What it does is its assistant's."""

import argparse
import asyncio
from collections.abc import Iterator
from time import time
from typing import Any, cast

from msgspec.structs import replace

from treadle.app.assistants import assistant
from treadle.app.deletion import delete_jobs
from treadle.app.home import Home, open_home
from treadle.app.jobs import Job, Jobs, masked
from treadle.app.work import Work, carry_out
from treadle.cli.carrying import carry_out as carry_out_command
from treadle.cli.codes import FAILED, FINE, INTERRUPTED, WAITING
from treadle.cli.host import host_for_command
from treadle.cli.kept import account
from treadle.cli.render import seconds, table, to_json, when
from treadle.cli.screen import Screen
from treadle.cli.telling import Teller
from treadle.core.entries import Entry, Judged, Replied, Returned
from treadle.core.errors import RunNotFound, SettingsError
from treadle.core.events import CallJudged, CallReturned, Event, RunStarted, TextArrived
from treadle.core.messages import Text
from treadle.guard.redaction import Redactor

CODES = {"completed": FINE, "failed": FAILED, "waiting": WAITING, "cancelled": INTERRUPTED}
PATIENCE = 30.0  # seconds in which somebody should have begun a job
LOOKS = 0.3  # seconds between two looks at a job that is under way elsewhere


def run(args: argparse.Namespace) -> int:
    """Do what was asked."""
    jobs = Jobs(open_home().folder)
    match args.action:
        case "show":
            return _shown(jobs.get(args.job), args)
        case "cancel":
            return _cancelled(jobs.cancel(args.job), args)
        case "delete":
            return carry_out_command(_delete(jobs.get(args.job), args))
        case "watch":
            return carry_out_command(_watch(jobs, args))
        case "resume":
            return carry_out_command(_resume(jobs, args))
        case _:
            return _list(jobs, args)


def _list(jobs: Jobs, args: argparse.Namespace) -> int:
    screen = Screen()
    found = [job for job in jobs.all() if not args.state or job.state == args.state][: args.most]
    if args.json:
        screen.line(to_json([masked(job) for job in found]))
    elif found:
        for line in table([("JOB", "WHEN", "STATE", "KIND", "TITLE"), *map(_row, found)], screen.width):
            screen.line(line)
    else:
        screen.note("There are no jobs.")
    return FINE


def _row(job: Job) -> tuple[str, ...]:
    return job.id, when(job.created_at), job.state, job.kind, job.title or "-"


def _shown(job: Job, args: argparse.Namespace) -> int:
    screen, job = Screen(), masked(job)
    if args.json:
        screen.line(to_json(job))
        return FINE
    for line in table(list(_about(job)), screen.width):
        screen.line(line)
    for name in ("summary", "review_text", "triage_report"):
        if job.output.get(name):
            screen.line()
            screen.line(str(job.output[name]))
    return FINE


def _about(job: Job) -> Iterator[tuple[str, str]]:
    yield "job", job.id
    yield "kind", f"{job.kind} ({job.assistant})"
    yield "title", job.title
    yield "state", f"{job.state}: {job.why}" if job.why else job.state
    yield "workspace", job.workspace
    yield "model", str(job.origin.get("model", ""))
    yield "began", when(job.created_at)
    if job.started_at:
        yield "took", seconds((job.finished_at or time()) - job.started_at)
    for name in ("base", "branch"):
        if job.facts.get(name):
            yield name, str(job.facts[name])
    for name in ("files", "commit", "verified", "tests", "pushed", "pull_request", "verdict", "severity", "category"):
        if name in job.output:
            value: Any = job.output[name]
            yield name, ", ".join([str(one) for one in cast("list[Any]", value)]) if isinstance(value, list) else str(value)


def _cancelled(job: Job, args: argparse.Namespace) -> int:
    screen = Screen()
    if args.json:
        screen.line(to_json(masked(job)))
    elif job.state == "cancelled":
        screen.tell(f"Job {job.id} is cancelled. What it has changed is still there.")
    elif job.is_over:
        screen.tell(f"Job {job.id} is over already: {job.state}.")
    else:
        screen.tell(f"Job {job.id} is being stopped by the process that carries it out.")
    return FINE


async def _delete(job: Job, args: argparse.Namespace) -> int:
    await delete_jobs(open_home(), [job.id], by=account())
    Screen().line(to_json({"deleted": job.id}) if args.json else f"Deleted: {job.id}")
    return FINE


async def _watch(jobs: Jobs, args: argparse.Namespace) -> int:
    """What happens in a job, and how it ends; nothing is changed by looking."""
    screen, home, job = Screen(), open_home(), jobs.get(args.job)
    teller, told = Teller(screen), 0
    teller(RunStarted(run_id=job.id))
    while True:
        job = jobs.get(job.id)
        entries = await _entries(home, job.id)
        for entry in entries[told:]:
            for event in _events(job.id, entry):
                teller(event)
        told = len(entries)
        if job.state not in ("pending", "running"):
            screen.end_line()
            screen.tell(f"Job {job.id} is {job.state}: {job.why}" if job.why else f"Job {job.id} is {job.state}.")
            return code_of(job)
        if job.state == "pending" and time() - job.created_at > PATIENCE:
            screen.tell(f"Nobody carries job {job.id} out. To begin: treadle jobs resume {job.id}")
            return WAITING
        await asyncio.sleep(LOOKS)


async def _entries(home: Home, run_id: str) -> list[Entry]:
    try:
        return await home.journal.read(run_id)
    except RunNotFound:
        return []


def _events(run_id: str, entry: Entry) -> Iterator[Event]:
    """An entry as the events that told of it when it happened."""
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


async def _resume(jobs: Jobs, args: argparse.Namespace) -> int:
    """Go on with a job, with the model it was begun with unless another one is named."""
    job = jobs.get(args.job)
    if job.state in ("completed", "cancelled"):
        Screen().tell(f"Job {job.id} is {job.state}: there is nothing to go on with.")
        return code_of(job)
    args.model = args.model or job.origin.get("model", "")
    args.base_url = args.base_url or job.origin.get("base_url")
    args.dialect = args.dialect or job.origin.get("dialect")
    args.user = args.user or job.user
    host = host_for_command(args)
    done = await carry_out(job.id, work_of(job), host)
    screen = Screen(quiet=args.quiet)
    if args.json:
        screen.line(to_json(masked(done)))
    else:
        _shown(done, args)
    return code_of(done)


def code_of(job: Job) -> int:
    """The exit code that says how a job stands. What its tests deny is no success."""
    return FAILED if job.output.get("denied") else CODES[job.state]


def work_of(job: Job) -> Work:
    """The work that a job is one of."""
    made = assistant(job.assistant)
    for work in made.work() if made.work is not None else ():
        if work.name == job.kind:
            return work
    raise SettingsError(f"The assistant {job.assistant} does no {job.kind!r} any more; job {job.id} can't go on.")

"""A user's own data over HTTP: export everything as a ZIP file, delete everything. Secrets are redacted in what is exported."""

import asyncio
import os
import tempfile
import zipfile
from collections.abc import AsyncIterator
from contextlib import suppress
from typing import Annotated, Literal

import msgspec
from msgspec import Meta, Struct
from starlette.background import BackgroundTask
from starlette.requests import Request
from starlette.responses import FileResponse, Response
from starlette.routing import BaseRoute

from treadle.admin.deletion import delete_jobs
from treadle.core.entries import Entry
from treadle.core.errors import TreadleError
from treadle.guard.journal_secrets import mask_entry
from treadle.guard.redaction import Redactor
from treadle.jobs.store import Jobs
from treadle.plugins.item_sharing import ItemSharing
from treadle.routes import Returns, get, post, routes_of
from treadle.runs import Runs
from treadle.server.demo.recordings import PREFIX
from treadle.server.runs.hosted_runs import HostedRuns, Requester
from treadle.server.runs.journals import read_journals
from treadle.server.runs.routes import requester_of
from treadle.stores.feedback import Feedback
from treadle.stores.journal import JournalQuery, RunInfo, cursor_of
from treadle.toolsets.notes import Note, NoteFolder, note_folders

PAGE = 200  # runs that are listed at once
ACTIVE = ("open", "waiting")
Zip = Annotated[Response, Returns(200, "a ZIP file: runs, jobs, permissions, notes and shares as JSON", "application/zip")]


class DataSummary(Struct, frozen=True):
    """How much of a user's data there is."""

    runs: int
    jobs: int
    grants: int
    notes: int


class DataDeletion(Struct, frozen=True, forbid_unknown_fields=True):
    """A confirmation, so that nothing is deleted by accident."""

    confirm: Annotated[Literal["delete everything"], Meta(description="These very words.")]


class DeletedData(Struct, frozen=True):
    """What was deleted. `left` are runs and jobs that are still active; cancel them, and delete again."""

    runs: int
    jobs: int
    grants: int
    notes: int
    left: int


class DataApi:
    """The handlers for one user's data."""

    def __init__(self, runs: HostedRuns, user: str, sharing: ItemSharing | None = None) -> None:
        self._runs = runs
        self._sharing = sharing
        self._home = runs.home
        self._user = user
        self._jobs = Jobs(runs.home.folder)

    @get("/api/settings/data")
    async def summarize_data(self, request: Request) -> DataSummary:
        """Count what is stored of yours."""
        by = requester_of(request)
        runs = len([info async for info in self._all_runs(by)])
        jobs, notes = await asyncio.to_thread(lambda: (len(self._jobs.all()), len(self._notes())))
        return DataSummary(runs, jobs, len(await self._runs.grants(by)), notes)

    @get("/api/settings/data/export")
    async def export_data(self, request: Request) -> Zip:
        """Get everything that is stored of yours, without secrets."""
        by = requester_of(request)
        descriptor, path = tempfile.mkstemp(suffix=".zip")
        try:
            with os.fdopen(descriptor, "wb") as file, zipfile.ZipFile(file, "w", zipfile.ZIP_DEFLATED) as archive:
                async for info in self._all_runs(by):
                    journals = await read_journals(self._home, info.run_id)
                    rated = (await Runs(self._home).feedback(info.run_id)).get(info.run_id, [])
                    await asyncio.to_thread(archive.writestr, f"runs/{info.run_id}.json", _run_to_json(info, journals, rated))
                jobs = Redactor().value(msgspec.to_builtins(await asyncio.to_thread(self._jobs.all)))
                archive.writestr("jobs.json", msgspec.json.encode(jobs))
                archive.writestr("permissions.json", msgspec.json.encode(await self._runs.grants(by)))
                notes = Redactor().value(msgspec.to_builtins([note for _, note in await asyncio.to_thread(self._notes)]))
                archive.writestr("notes.json", msgspec.json.encode(notes))
                shares = await self._sharing.all_shares() if self._sharing is not None else []
                archive.writestr("shares.json", msgspec.json.encode(shares))
        except BaseException:
            os.unlink(path)  # noqa: PTH108 - a name, no path
            raise
        gone = BackgroundTask(os.unlink, path)
        return FileResponse(path, media_type="application/zip", filename="treadle-data.zip", background=gone)

    @post("/api/settings/data/delete")
    async def delete_data(self, request: Request, body: DataDeletion) -> DeletedData:
        """Cancel and delete your runs and jobs, with all their content, and your notes; revoke what you have allowed for always."""
        by = requester_of(request)
        jobs = await asyncio.to_thread(self._jobs.all)
        over = [job.id for job in jobs if job.is_over]
        await delete_jobs(self._home, over, by=self._user)
        of_jobs = {job.id for job in jobs}
        runs = [info async for info in self._all_runs(by) if info.run_id not in of_jobs]
        ended = [info.run_id for info in runs if info.status not in ACTIVE or await self._cancel(info.run_id, by)]
        for start in range(0, len(ended), PAGE):
            await Runs(self._home).delete(*ended[start : start + PAGE], by=self._user)
        grants = await self._runs.grants(by)
        for grant in grants:
            await self._runs.revoke(grant.id, by)
        notes = await asyncio.to_thread(self._delete_notes)
        return DeletedData(len(ended), len(over), len(grants), notes, len(jobs) - len(over) + len(runs) - len(ended))

    def _notes(self) -> list[tuple[NoteFolder, Note]]:
        return [(folder, note) for folder in note_folders(self._home.folder) for note in folder.list()]

    def _delete_notes(self) -> int:
        """Delete all notes, and return how many there were."""
        notes = self._notes()
        for folder, note in notes:
            folder.delete(note.name)
        return len(notes)

    async def _cancel(self, run_id: str, by: Requester) -> bool:
        """Cancel a run, and return whether it is over."""
        with suppress(TreadleError):
            return await self._runs.cancel(run_id, by) not in (*ACTIVE, "cancelling")
        return False

    async def _all_runs(self, by: Requester) -> AsyncIterator[RunInfo]:
        """Yield the runs of the requester, without the recordings of the demonstration."""
        before = None
        while self._home.database.exists():
            found = await self._home.journal.list_runs(JournalQuery(before=before, limit=PAGE))
            for info in await self._runs.shown_to(found, by):
                if not info.run_id.startswith(PREFIX):
                    yield info
            if len(found) < PAGE:
                return
            before = cursor_of(found[-1])


def _run_to_json(info: RunInfo, journals: dict[str, list[Entry]], feedback: list[Feedback]) -> bytes:
    """Return a run with all entries, nested runs included, and the feedback on it, with secrets masked."""
    redactor = Redactor()
    shown = {
        run_id: [mask_entry(msgspec.to_builtins(entry), redactor) for entry in entries] for run_id, entries in journals.items()
    }
    return msgspec.json.encode({"run": info, "journals": shown, "feedback": feedback})


def data_routes(runs: HostedRuns, user: str, sharing: ItemSharing | None = None) -> list[BaseRoute]:
    """Return the routes."""
    return routes_of(DataApi(runs, user, sharing))

"""A user's notes over HTTP: what models remember of them and of their projects. Listed, edited and deleted by the user alone.

A note that counts as trusted is read by models from the start of a conversation. So a server without authentication changes none:
a command in the sandbox, or whatever else reaches it, could otherwise put words into later conversations.
"""

import asyncio
import time
from pathlib import Path
from typing import Annotated

from msgspec import Meta, Struct
from msgspec.structs import asdict, replace
from starlette.exceptions import HTTPException
from starlette.routing import BaseRoute

from treadle.files.problems import MissingPath, WorkspaceProblem
from treadle.guard.redaction import Redactor
from treadle.routes import delete, get, put, routes_of
from treadle.server.settings.access import SettingsAccess
from treadle.settings.loader import user_settings
from treadle.toolsets.notes import MAX_CHARACTERS, MAX_DESCRIPTION, REFUSED_CONTENT, Note, NoteFolder, note_folders, note_time

UNAUTHENTICATED = (
    "This server has no token, so notes can't be changed here. Edit their files (`treadle memory path`), or start it with a token."
)
NO_NOTE = "There is no note {!r} in {!r}; GET /api/notes lists them."
ERRORS = {403: "the server has no token", 404: "there is no such note"}


class NoteView(Note, frozen=True, kw_only=True):
    """A note. `folder` is `user`, or the name of the project's folder of notes."""

    folder: str


class NoteList(Struct, frozen=True):
    """All notes of a user. `enabled` says whether models read and write notes; `locked` why none can be changed here."""

    enabled: bool
    locked: str
    notes: list[NoteView]


class NoteChange(Struct, frozen=True, forbid_unknown_fields=True):
    """The new content of a note. `untrusted` is false once the user has checked what it says."""

    text: Annotated[str, Meta(min_length=1, max_length=MAX_CHARACTERS)]
    description: Annotated[str, Meta(min_length=1, max_length=MAX_DESCRIPTION)]
    untrusted: bool = False


class NotesApi:
    """The handlers for one user; `home` is the user's data folder."""

    def __init__(self, access: SettingsAccess, home: Path) -> None:
        self._home = home
        self._locked = "" if access.is_authenticated else UNAUTHENTICATED

    @get("/api/notes", returns="the notes")
    async def list_notes(self) -> NoteList:
        """List your notes: those about you, and those about your projects."""
        return NoteList(user_settings().memory.enabled, self._locked, await asyncio.to_thread(self._read_all))

    @put("/api/notes/{folder}/{name}", errors={**ERRORS, 422: "it is empty, too long, or contains a secret"})
    async def update_note(self, folder: str, name: str, body: NoteChange) -> NoteView:
        """Change what a note says. Where it is from stays in it."""
        self._check_unlocked()
        if Redactor().finds([body.text, body.description]):
            raise HTTPException(422, REFUSED_CONTENT)
        return await asyncio.to_thread(self._change, folder, name, body)

    @delete("/api/notes/{folder}/{name}", errors=ERRORS, returns="it is deleted")
    async def delete_note(self, folder: str, name: str) -> None:
        """Delete a note."""
        self._check_unlocked()
        await asyncio.to_thread(self._remove, folder, name)

    def _check_unlocked(self) -> None:
        if self._locked:
            raise HTTPException(403, self._locked)

    def _read_all(self) -> list[NoteView]:
        return [_to_view(folder, note) for folder in note_folders(self._home) for note in folder.list()]

    def _change(self, folder: str, name: str, body: NoteChange) -> NoteView:
        place, before = self._find(folder, name)
        text, description = body.text.strip(), " ".join(body.description.split())
        after = replace(before, text=text, description=description, untrusted=body.untrusted, at=note_time(time.time()))
        try:
            place.write(after)
        except WorkspaceProblem as problem:
            raise HTTPException(422, str(problem)) from problem
        return _to_view(place, after)

    def _remove(self, folder: str, name: str) -> None:
        self._find(folder, name)[0].delete(name)

    def _find(self, folder: str, name: str) -> tuple[NoteFolder, Note]:
        try:
            place = next((each for each in note_folders(self._home) if each.path.name == folder), None)
            if place is not None:
                return place, place.read(name)
        except MissingPath:
            pass
        except WorkspaceProblem as problem:
            raise HTTPException(404, str(problem)) from problem
        raise HTTPException(404, NO_NOTE.format(name, folder))


def _to_view(folder: NoteFolder, note: Note) -> NoteView:
    return NoteView(**asdict(note), folder=folder.path.name)


def note_routes(access: SettingsAccess, home: Path) -> list[BaseRoute]:
    """Return the routes."""
    return routes_of(NotesApi(access, home))

"""Notes that outlast a conversation: Markdown files in a folder of the user's, which people can read, edit and delete.

The front matter of a note says where it is from: who had it written, when and in which run, and whether untrusted content had been
read before. A file without front matter is the user's own.
"""

import hashlib
import re
from collections.abc import Sequence
from datetime import UTC, datetime
from pathlib import Path
from typing import Literal

from msgspec import Struct

from treadle.files.problems import MissingPath, WorkspaceProblem, printable_name
from treadle.files.workspace import Workspace
from treadle.files.workspace_folders import repository_root
from treadle.toolsets.front_matter import format_front_matter, parse_front_matter

NoteScope = Literal["user", "project"]

MEMORY_FOLDER = "memory"
MAX_NOTES = 500  # of one folder
MAX_CHARACTERS = 8_000  # of one note
MAX_DESCRIPTION = 200
REFUSED_CONTENT = "A note is a plain file and must not contain a password or key. Leave it out."
_NAME = re.compile(r"[a-z0-9][a-z0-9-]{0,63}")
_MAX_BYTES = 100_000
_YES = "true"


class Note(Struct, frozen=True):
    """A note. `untrusted` says that what it says may come from untrusted content.

    by      the user on whose behalf it was written; empty where it isn't known
    run_id  the run that wrote it; empty for a file that a person made
    at      when, in ISO 8601
    """

    name: str
    description: str
    text: str
    scope: NoteScope = "user"
    by: str = ""
    run_id: str = ""
    at: str = ""
    untrusted: bool = False


class NoteFolder(Struct, frozen=True):
    """The notes of a user, or of a user about a project. The folder is created with the first note."""

    path: Path
    scope: NoteScope = "user"

    def list(self) -> "Sequence[Note]":
        """Return all notes by name. What can't be read as one, such as a link out of the folder, is left out."""
        if not self.path.is_dir():
            return ()
        workspace = Workspace(self.path)
        names = [entry.name.removesuffix(".md") for entry in workspace.listing(most=MAX_NOTES) if entry.name.endswith(".md")]
        found = [self._read(workspace, name) for name in names if _NAME.fullmatch(name)]
        return [note for note in found if note is not None]

    def _read(self, workspace: Workspace, name: str) -> Note | None:
        try:
            return _parse_note(name, workspace.read_bytes(f"{name}.md", _MAX_BYTES).decode(errors="replace"), self.scope)
        except WorkspaceProblem:
            return None

    def read(self, name: str) -> Note:
        """Return a note. Raises `WorkspaceProblem`."""
        check_note_name(name)
        if not self.path.is_dir():
            raise MissingPath(f"There is no note {name}.")
        return _parse_note(name, Workspace(self.path).read_bytes(f"{name}.md", _MAX_BYTES).decode(errors="replace"), self.scope)

    def write(self, note: Note) -> None:
        """Write a note in place of the one of its name. Either the old content is there or the new, never a part."""
        check_note_name(note.name)
        if not note.text.strip() or len(note.text) > MAX_CHARACTERS:
            raise WorkspaceProblem(f"A note has 1 to {MAX_CHARACTERS:,} characters; this one has {len(note.text):,}.")
        self.path.mkdir(parents=True, exist_ok=True, mode=0o700)
        workspace = Workspace(self.path)
        names = {entry.name for entry in workspace.listing(most=MAX_NOTES)}
        if len(names) >= MAX_NOTES and f"{note.name}.md" not in names:
            raise WorkspaceProblem(f"There are {MAX_NOTES} notes already. Delete one that is out of date first.")
        workspace.write_bytes(f"{note.name}.md", _format_note(note).encode())

    def delete(self, name: str) -> Note:
        """Delete a note and return it. Raises `WorkspaceProblem`."""
        note = self.read(name)
        Workspace(self.path).remove(f"{name}.md")
        return note


def user_notes(home: Path) -> NoteFolder:
    """Return the notes of the user with this data folder."""
    return NoteFolder(home / MEMORY_FOLDER / "user", "user")


def project_notes(home: Path, project: Path) -> NoteFolder:
    """Return the user's notes about the project that a folder is in. They are in the user's data folder, not in the project."""
    root = repository_root(project.absolute())
    label = re.sub(r"[^a-z0-9]+", "-", root.name.casefold()).strip("-")[:40] or "project"
    digest = hashlib.sha256(str(root).encode(errors="surrogateescape")).hexdigest()[:8]
    return NoteFolder(home / MEMORY_FOLDER / "projects" / f"{label}-{digest}", "project")


def note_folders(home: Path) -> list[NoteFolder]:
    """Return the folders of a user's notes: those that hold everywhere, then those about each project."""
    projects = home / MEMORY_FOLDER / "projects"
    found = Workspace(projects).listing() if projects.is_dir() else []
    names = [entry.name for entry in found if entry.kind == "folder"]
    return [user_notes(home), *[NoteFolder(projects / name, "project") for name in names]]


def check_note_name(name: str) -> None:
    """Raise `WorkspaceProblem` for a name that a note can't have."""
    if _NAME.fullmatch(name) is None:
        raise WorkspaceProblem(
            f"{printable_name(name[:80])} can't be a note's name; use up to 64 small letters, digits and hyphens."
        )


def note_time(at: float) -> str:
    """Return a time as a note has it."""
    return f"{datetime.fromtimestamp(at, UTC):%Y-%m-%dT%H:%M:%SZ}"


def _parse_note(name: str, content: str, scope: NoteScope) -> Note:
    front = parse_front_matter(content)
    values = front.values
    first = next((line.strip("# ") for line in front.body.splitlines() if line.strip("# ")), "")
    return Note(
        name,
        (values.get("description") or first)[:MAX_DESCRIPTION],
        front.body.strip(),
        scope,
        values.get("by", ""),
        values.get("run", ""),
        values.get("at", ""),
        values.get("untrusted", "").casefold() in (_YES, "yes", "1"),
    )


def _format_note(note: Note) -> str:
    values = {
        "description": note.description[:MAX_DESCRIPTION],
        "by": note.by,
        "run": note.run_id,
        "at": note.at,
        "untrusted": _YES if note.untrusted else "",
    }
    return format_front_matter(values, note.text)

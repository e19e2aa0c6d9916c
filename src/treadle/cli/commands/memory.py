"""`treadle memory`: list notes of earlier conversations; `show`, `forget` and `path` about them."""

import argparse
from pathlib import Path

from treadle.cli.exit_codes import OK
from treadle.cli.ui.render import clean_for_terminal, format_table, to_terminal_json
from treadle.cli.ui.screen import Screen
from treadle.core.errors import SettingsError
from treadle.guard.visible_text import make_visible
from treadle.home import open_home
from treadle.settings.loader import settings_for
from treadle.toolsets.notes import Note, NoteFolder, project_notes, user_notes


def run(args: argparse.Namespace) -> int:
    """List, show or delete notes."""
    actions = {"show": _show, "forget": _forget, "path": _show_paths}
    return actions.get(args.action, _list)(args)


def _folders() -> tuple[NoteFolder, NoteFolder]:
    """Return the user's notes, and those about the project in the current folder."""
    home = open_home().folder
    return user_notes(home), project_notes(home, Path.cwd())


def _list(args: argparse.Namespace) -> int:
    screen = Screen()
    notes = [note for folder in _folders() for note in folder.list()]
    if args.json:
        screen.line(to_terminal_json(notes))
        return OK
    rows = [(note.name, note.scope, _format_origin(note), note.description) for note in notes]
    shown = [tuple([make_visible(cell) for cell in row]) for row in rows]
    for line in format_table([("NAME", "SCOPE", "WRITTEN", "DESCRIPTION"), *shown], screen.width) if rows else ():
        screen.line(line)
    if not rows:
        screen.note("There are no notes.")
    if not settings_for(Path.cwd()).memory.enabled:
        screen.note("Models don't read or write notes: memory.enabled is false.")
    return OK


def _show(args: argparse.Namespace) -> int:
    screen = Screen()
    _, note = _find(args)
    if args.json:
        screen.line(to_terminal_json(note))
        return OK
    screen.note(f"{note.name} ({note.scope}), {_format_origin(note)}")
    screen.line(clean_for_terminal(note.text))
    return OK


def _forget(args: argparse.Namespace) -> int:
    screen = Screen()
    folder, note = _find(args)
    folder.delete(note.name)
    screen.line(to_terminal_json(note) if args.json else f"Deleted: {note.name} ({note.scope})")
    return OK


def _show_paths(args: argparse.Namespace) -> int:
    screen = Screen()
    paths = {folder.scope: str(folder.path) for folder in _folders()}
    if args.json:
        screen.line(to_terminal_json(paths))
        return OK
    for path in paths.values():
        screen.line(path)
    return OK


def _find(args: argparse.Namespace) -> tuple[NoteFolder, Note]:
    found = [
        (folder, note)
        for folder in _folders()
        if args.scope in (None, folder.scope)
        for note in folder.list()
        if note.name == args.note
    ]
    if len(found) > 1:
        raise SettingsError(f"There are two notes {args.note}; say which one: --scope user or --scope project.")
    if not found:
        raise SettingsError(f"There is no note {args.note}; `treadle memory` lists them.")
    return found[0]


def _format_origin(note: Note) -> str:
    """Return who wrote a note, when and in which run."""
    if not note.run_id:
        return "by hand"
    words = [note.at[:10], f"in run {note.run_id}", f"for {note.by}" if note.by else "", "untrusted" if note.untrusted else ""]
    return ", ".join(filter(None, words))

"""What lives leave behind for whoever counts: a line each, in a file beside the world. It outlives a kill, not a power cut."""

from pathlib import Path
from typing import Literal

import msgspec
from msgspec import Struct

Kind = Literal["born", "told", "works", "took", "let go", "fenced"]


class Note(Struct, frozen=True, omit_defaults=True):
    """What happened to a run at a time by the machine's steady clock.

    born    a process begins with it; `open` are the calls that it found begun and not over, `known` says whether it found any
    told    somebody was told that the run is there
    works   its first tool is called; `seconds` after the process began, which was a new interpreter if it was `cold`
    took    a worker has a lease on it
    let go  and gives it back
    fenced  a worker was refused, since another one has it
    """

    kind: Kind
    run_id: str
    at: float
    open: tuple[str, ...] = ()
    known: bool = False
    seconds: float = 0.0
    cold: bool = False
    holder: str = ""


class Log:
    """One file."""

    def __init__(self, path: Path) -> None:
        self._path = path

    def add(self, note: Note) -> None:
        """One line, whole or not at all."""
        with self._path.open("ab", buffering=0) as file:
            file.write(msgspec.json.encode(note) + b"\n")

    def notes(self, run_id: str = "") -> list[Note]:
        """All of them, or those of one run."""
        lines = self._path.read_bytes().splitlines() if self._path.exists() else []
        found = [msgspec.json.decode(line, type=Note) for line in lines]
        return [note for note in found if not run_id or note.run_id == run_id]

"""Where the audit ended, noted outside of it: a line at the end of each run that added to it.

Whoever can write to a database can cut a chain short, or write all of it anew, so that it holds by itself. With these it doesn't.
The file may lie where only appending is possible: TREADLE_ANCHORS names another.
"""

import os
from pathlib import Path
from time import time

import msgspec
from msgspec import Struct

from treadle.core.errors import JournalError

NAME = "audit.anchors"
VARIABLE = "TREADLE_ANCHORS"


class Anchor(Struct, frozen=True):
    """The last record there was when a run ended, and its hash."""

    seq: int
    hash: str
    run_id: str
    at: float


class Anchors:
    """The file. It is made when the first line is written, readable by its owner only."""

    def __init__(self, path: Path) -> None:
        self.path = path

    def add(self, seq: int, seal: str, run_id: str) -> None:
        """Note where the audit ends now."""
        line = msgspec.json.encode(Anchor(seq, seal, run_id, round(time(), 3))) + b"\n"
        descriptor = os.open(self.path, os.O_APPEND | os.O_CREAT | os.O_WRONLY, 0o600)
        try:
            os.write(descriptor, line)  # so short a line is written at once, whoever else writes
        finally:
            os.close(descriptor)

    def all(self) -> list[Anchor]:
        """Every line. The last may be cut short, where its process was killed; any other that can't be read is an alarm."""
        try:
            lines = self.path.read_bytes().split(b"\n")
        except FileNotFoundError:
            return []
        try:
            found = [msgspec.json.decode(line, type=Anchor) for line in lines[:-1]]
        except msgspec.DecodeError as error:
            raise JournalError(f"{self.path} was changed: it has a line that is no anchor ({error}).") from error
        return found


def anchors_of(folder: Path) -> Anchors:
    """Those of a home; elsewhere, where that is settled: then under a name of their own for each home."""
    elsewhere = os.environ.get(VARIABLE)
    if not elsewhere:
        return Anchors(folder / NAME)
    return Anchors(Path(elsewhere).expanduser() / f"{'-'.join(folder.absolute().parts[1:]) or 'root'}.anchors")

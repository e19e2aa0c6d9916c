"""Where the audit ended, noted outside of it: a line at the end of each run that added to it.

Whoever can write to a database can cut a chain short, or write all of it anew, so that it holds by itself. With these it doesn't.
The file may lie where only appending is possible: TREADLE_ANCHORS names another.
"""

import os
from pathlib import Path
from time import time

import msgspec
from msgspec import Struct

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
        line = b"\n" + msgspec.json.encode(Anchor(seq, seal, run_id, round(time(), 3)))  # what was cut short before it ends there
        self.path.parent.mkdir(parents=True, exist_ok=True, mode=0o700)  # a home in PostgreSQL has no folder yet
        descriptor = os.open(self.path, os.O_APPEND | os.O_CREAT | os.O_WRONLY, 0o600)
        try:
            os.write(descriptor, line)  # so short a line is written at once, whoever else writes
        finally:
            os.close(descriptor)

    def all(self) -> list[Anchor]:
        """Every line that is whole. One that was cut short, by a kill or a full disk, counts for nothing."""
        try:
            lines = self.path.read_bytes().split(b"\n")
        except FileNotFoundError:
            return []
        return [anchor for line in lines if (anchor := _anchor(line)) is not None]


def _anchor(line: bytes) -> Anchor | None:
    try:
        return msgspec.json.decode(line, type=Anchor)
    except msgspec.DecodeError:
        return None


def anchors_of(folder: Path) -> Anchors:
    """Those of a home; elsewhere, where that is settled: then under a name of their own for each home."""
    elsewhere = os.environ.get(VARIABLE)
    if not elsewhere:
        return Anchors(folder / NAME)
    return Anchors(Path(elsewhere).expanduser() / f"{'-'.join(folder.absolute().parts[1:]) or 'root'}.anchors")

"""Anchors of the audit chain, kept outside the database: one line at the end of each run that added records.

A process that can write to the database can truncate the chain or rewrite all of it so that it is consistent in itself. With
anchors that is detected. The file may lie on append-only storage: TREADLE_ANCHORS names another path.
"""

import os
from pathlib import Path
from time import time

import msgspec
from msgspec import Struct

NAME = "audit.anchors"
VARIABLE = "TREADLE_ANCHORS"


class Anchor(Struct, frozen=True):
    """The number and hash of the last record when a run ended."""

    seq: int
    hash: str
    run_id: str
    at: float


class Anchors:
    """The anchor file. Created when the first line is written, readable by its owner only."""

    def __init__(self, path: Path) -> None:
        self.path = path

    def add(self, seq: int, seal: str, run_id: str) -> None:
        """Append the current end of the audit chain."""
        line = b"\n" + msgspec.json.encode(Anchor(seq, seal, run_id, round(time(), 3)))  # what was cut short before it ends there
        descriptor = self._open()
        try:
            os.write(descriptor, line)  # so short a line is written atomically beside other writers
        finally:
            os.close(descriptor)

    def _open(self) -> int:
        how = os.O_APPEND | os.O_CREAT | os.O_WRONLY
        try:
            return os.open(self.path, how, 0o600)
        except FileNotFoundError:  # a home in PostgreSQL has no folder yet
            self.path.parent.mkdir(parents=True, exist_ok=True, mode=0o700)
            return os.open(self.path, how, 0o600)

    def all(self) -> list[Anchor]:
        """Return every complete line. A line cut short by a kill or a full disk is ignored."""
        try:
            lines = self.path.read_bytes().split(b"\n")
        except FileNotFoundError:
            return []
        return [anchor for line in lines if (anchor := _parse_anchor(line)) is not None]


def _parse_anchor(line: bytes) -> Anchor | None:
    try:
        return msgspec.json.decode(line, type=Anchor)
    except msgspec.DecodeError:
        return None


def open_anchors(folder: Path) -> Anchors:
    """Return the anchors of a home; where TREADLE_ANCHORS is set, in that place and under a name of their own for each home."""
    elsewhere = os.environ.get(VARIABLE)
    if not elsewhere:
        return Anchors(folder / NAME)
    return Anchors(Path(elsewhere).expanduser() / f"{'-'.join(folder.absolute().parts[1:]) or 'root'}.anchors")

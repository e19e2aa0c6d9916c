"""What a run has read."""

import pytest

from treadle.files.problems import FileChanged, FileNotRead
from treadle.toolsets.workspace.file_contents import ReadRecord, ReadTracker


def test_what_was_not_read_is_said_to_be_read_first():
    with pytest.raises(FileNotRead, match="Read it first"):
        ReadRecord().check("a", b"x")


def test_what_changed_is_said_to_be_read_again():
    reads = ReadRecord()
    reads.saw("a", b"x")
    reads.check("a", b"x")
    with pytest.raises(FileChanged, match="Read it again"):
        reads.check("a", b"y")


def test_what_is_gone_was_not_read():
    reads = ReadRecord()
    reads.saw("a", b"x")
    reads.forget("a")
    reads.forget("a")
    with pytest.raises(FileNotRead):
        reads.check("a", b"x")


def test_runs_do_not_know_what_others_read_and_idle_ones_are_dropped():
    runs = ReadTracker(most=2)
    runs.of("one").saw("a", b"x")
    runs.of("two")
    runs.of("one").check("a", b"x")
    with pytest.raises(FileNotRead):
        runs.of("two").check("a", b"x")
    runs.of("one")
    runs.of("three")
    runs.of("one").check("a", b"x")
    runs.of("two")
    runs.of("three")
    with pytest.raises(FileNotRead):
        runs.of("one").check("a", b"x")

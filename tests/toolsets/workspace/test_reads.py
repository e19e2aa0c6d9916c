"""What a run has read."""

import pytest

from treadle.files.problems import Changed, NotRead
from treadle.toolsets.workspace.reads import Reads, ReadsOfRuns


def test_what_was_not_read_is_said_to_be_read_first():
    with pytest.raises(NotRead, match="Read it first"):
        Reads().check("a", b"x")


def test_what_changed_is_said_to_be_read_again():
    reads = Reads()
    reads.saw("a", b"x")
    reads.check("a", b"x")
    with pytest.raises(Changed, match="Read it again"):
        reads.check("a", b"y")


def test_what_is_gone_was_not_read():
    reads = Reads()
    reads.saw("a", b"x")
    reads.forget("a")
    reads.forget("a")
    with pytest.raises(NotRead):
        reads.check("a", b"x")


def test_runs_do_not_know_what_others_read_and_idle_ones_are_dropped():
    runs = ReadsOfRuns(most=2)
    runs.of("one").saw("a", b"x")
    runs.of("two")
    runs.of("one").check("a", b"x")
    with pytest.raises(NotRead):
        runs.of("two").check("a", b"x")
    runs.of("one")
    runs.of("three")
    runs.of("one").check("a", b"x")
    runs.of("two")
    runs.of("three")
    with pytest.raises(NotRead):
        runs.of("one").check("a", b"x")

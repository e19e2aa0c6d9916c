"""A full disk, a locked file, a write-ahead log that was cut: stopped before the next effect, said in a sentence, resumed."""

import random

import pytest
from bench.faults import troubles
from bench.faults.nurseries import Nursery


@pytest.fixture(scope="module")
def nursery():
    with Nursery() as nursery:
        yield nursery


def test_a_full_disk(nursery, tmp_path):
    found = troubles.disk_full(tmp_path, nursery)
    if found.verdict is None:
        pytest.skip(found.said)
    assert "Make room" in found.said
    assert found.right


def test_a_file_that_is_locked_for_a_moment_is_waited_for(nursery, tmp_path):
    found = troubles.locked(tmp_path, nursery, held=1.0)
    assert found.said == ""
    assert found.right


def test_a_file_that_is_locked_for_too_long(nursery, tmp_path):
    found = troubles.locked(tmp_path, nursery, held=2.5, wait=0.5)
    assert "Another program keeps" in found.said
    assert found.right


@pytest.mark.parametrize("share", [0.7, 0.0])
def test_a_write_ahead_log_that_was_cut(nursery, tmp_path, share):
    found = troubles.wal_cut(tmp_path, nursery, share=share)
    assert "has lost its last" in found.said
    assert found.right


def test_a_write_ahead_log_that_was_scribbled_on(nursery, tmp_path):
    found = troubles.wal_scribbled(tmp_path, nursery, random.Random(1))
    assert "has lost its last" in found.said
    assert found.right
    assert troubles.whole(tmp_path / "home")

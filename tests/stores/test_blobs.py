"""The bytes of images and the like: kept once, by their hash."""

import os
import stat
import threading
from hashlib import sha256

import pytest

from treadle.core.errors import JournalDamaged, JournalError, MediaMissing
from treadle.stores.blobs import FileBlobs
from treadle.stores.memory import MemoryBlobs


@pytest.fixture(params=["memory", "files"])
def blobs(request, tmp_path):
    return MemoryBlobs() if request.param == "memory" else FileBlobs(tmp_path / "blobs")


def test_bytes_come_back_by_their_hash(blobs):
    name = blobs.put(b"abc")
    assert name == sha256(b"abc").hexdigest() == blobs.put(b"abc")
    assert blobs.get(name) == b"abc"


def test_what_is_not_kept_is_missing(blobs):
    with pytest.raises(MediaMissing):
        blobs.get("ab" * 32)


def test_nothing_outside_of_the_folder_is_read(tmp_path):
    (tmp_path / "secret").write_text("x")
    for name in ("../../secret", "", "/etc/passwd", "AB" * 32):
        with pytest.raises(MediaMissing, match="is no hash"):
            FileBlobs(tmp_path / "blobs").get(name)


def test_a_file_is_written_once_and_only_its_owner_can_read_it(tmp_path):
    blobs = FileBlobs(tmp_path / "blobs")
    name = blobs.put(b"abc")
    path = tmp_path / "blobs" / name[:2] / name[2:4] / name
    before = path.stat()
    blobs.put(b"abc")
    assert path.stat().st_ino == before.st_ino
    assert stat.S_IMODE(before.st_mode) == 0o600
    for folder in (tmp_path / "blobs", path.parent, path.parent.parent):
        assert stat.S_IMODE(folder.stat().st_mode) == 0o700
    assert [each for each in tmp_path.rglob("*") if each.is_file()] == [path]


def test_a_file_that_was_cut_short_is_written_again(tmp_path):
    blobs = FileBlobs(tmp_path)
    name = blobs.put(b"abcdef")
    path = tmp_path / name[:2] / name[2:4] / name
    path.write_bytes(b"abc")
    with pytest.raises(JournalDamaged, match="isn't what was written"):
        blobs.get(name)
    assert blobs.get(blobs.put(b"abcdef")) == b"abcdef"


def test_many_at_once_write_the_same(tmp_path):
    blobs, names = FileBlobs(tmp_path), []
    threads = [threading.Thread(target=lambda: names.append(blobs.put(b"x" * 100_000))) for _ in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert len(names) == 8
    assert len(set(names)) == 1
    assert blobs.get(names[0]) == b"x" * 100_000
    assert len([each for each in tmp_path.rglob("*") if each.is_file()]) == 1


def test_a_place_that_cannot_be_written_is_named(tmp_path):
    (tmp_path / "blobs").write_text("a file, not a folder")
    with pytest.raises(JournalError, match=r"can't be written"):
        FileBlobs(tmp_path / "blobs").put(b"abc")
    with pytest.raises(JournalError, match=r"can't be read"):
        FileBlobs(tmp_path / "blobs").get("ab" * 32)


def test_memory_drops_what_was_used_longest_ago():
    blobs = MemoryBlobs(most=250)
    first, second = blobs.put(b"a" * 100), blobs.put(b"b" * 100)
    blobs.get(first)
    third = blobs.put(b"c" * 100)
    assert (blobs.get(first), blobs.get(third)) == (b"a" * 100, b"c" * 100)
    with pytest.raises(MediaMissing, match="run with journal=True"):
        blobs.get(second)
    large = blobs.put(os.urandom(1000))
    assert len(blobs.get(large)) == 1000  # the newest is always there

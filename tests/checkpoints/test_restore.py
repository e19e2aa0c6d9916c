"""Files put back one by one: only over what was looked at, and whole or not at all."""

import pytest

from treadle.checkpoints.restore import FolderWriter
from treadle.checkpoints.scan import FILE, LINK, PROGRAM, stamp_of
from treadle.checkpoints.values import StoredFile


@pytest.fixture
def file(tmp_path):
    path = tmp_path / "a.txt"
    path.write_text("looked at")
    return path


def test_what_changed_since_it_was_looked_at_stays(tmp_path, file):
    place = FolderWriter(tmp_path, {"a.txt": stamp_of(file.stat())})
    file.write_text("saved by the person just now")
    for attempt in (lambda: place.put("a.txt", StoredFile(FILE, ""), b"old"), lambda: place.remove("a.txt")):
        with pytest.raises(OSError, match="Changed meanwhile"):
            attempt()
    assert file.read_text() == "saved by the person just now"


def test_what_came_since_stays_too(tmp_path, file):
    with pytest.raises(FileExistsError):
        FolderWriter(tmp_path, {}).put("a.txt", StoredFile(FILE, ""), b"old")
    assert file.read_text() == "looked at"


def test_what_is_gone_since_is_not_made_again(tmp_path, file):
    place = FolderWriter(tmp_path, {"a.txt": stamp_of(file.stat())})
    file.unlink()
    with pytest.raises(OSError, match="Changed meanwhile"):
        place.put("a.txt", StoredFile(FILE, ""), b"old")
    assert list(tmp_path.iterdir()) == []


def test_a_write_that_fails_leaves_the_old_file_and_nothing_beside(tmp_path, file):
    with pytest.raises(ValueError, match="null"):
        FolderWriter(tmp_path, {"a.txt": stamp_of(file.stat())}).put("a.txt", StoredFile(LINK, ""), b"no\0name")
    with pytest.raises(TypeError):
        FolderWriter(tmp_path, {"a.txt": stamp_of(file.stat())}).put("a.txt", StoredFile(PROGRAM, ""), "no bytes")
    assert [(path.name, path.read_text()) for path in tmp_path.iterdir()] == [("a.txt", "looked at")]


def test_folders_are_made_and_empty_ones_taken_away(tmp_path):
    place = FolderWriter(tmp_path, {})
    place.put("x/y/z", StoredFile(PROGRAM, ""), b"#!")
    assert (tmp_path / "x" / "y" / "z").stat().st_mode & 0o111
    place.prune(["x", "x/y", "nowhere"])
    assert (tmp_path / "x" / "y" / "z").exists()
    (tmp_path / "x" / "y" / "z").unlink()
    place.prune(["x", "x/y"])
    assert list(tmp_path.iterdir()) == []

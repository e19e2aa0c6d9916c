"""`treadle backup` and `treadle restore`."""

import io
import json
import sqlite3
import tarfile
import threading

import pytest

from attachments import png
from cli.running import script
from cli.running import treadle_here as treadle

USAGE = 2


@pytest.fixture
def kept(home):
    """A home with a run, a user and a file of an assistant's."""
    assert treadle(home, "ask", "Hello?", "-m", script(home, "Hi."), "-q").code == 0
    assert treadle(home, "users", "add", "anna").code == 0
    (home / "data" / "jobs").mkdir()
    (home / "data" / "jobs" / "one.json").write_text("{}")
    (home / "data" / "serving.lock").touch()
    return home


def runs(home):
    return [run["title"] for run in treadle(home, "runs", "--json").json]


def test_what_is_backed_up_comes_back(kept, tmp_path):
    archive = tmp_path / "all.tar.gz"
    backed = treadle(kept, "backup", str(archive), "--json").json
    assert (backed["files"], backed["size"], archive.stat().st_mode & 0o777) == (3, archive.stat().st_size, 0o600)
    assert treadle(kept, "ask", "Later.", "-m", script(kept, "Hi."), "-q").code == 0
    assert runs(kept) == ["Later.", "Hello?"]
    refused = treadle(kept, "restore", str(archive))
    assert (refused.code, "--replace" in refused.err) == (USAGE, True)
    restored = treadle(kept, "restore", str(archive), "--replace")
    assert restored.code == 0, restored.err
    assert runs(kept) == ["Hello?"]
    assert [user["name"] for user in treadle(kept, "users", "list", "--json").json] == ["anna"]
    (aside,) = kept.glob("data.before-restore-*")
    assert (aside / "treadle.db").exists()
    assert (kept / "data").stat().st_mode & 0o777 == 0o700
    assert not list(kept.glob(".treadle-restore-*"))


def test_it_is_restored_where_there_is_nothing_yet(kept, tmp_path):
    archive = tmp_path / "all.tar.gz"
    treadle(kept, "backup", str(archive))
    other = tmp_path / "elsewhere"
    other.mkdir()
    assert treadle(other, "restore", str(archive)).code == 0
    assert runs(other) == ["Hello?"]


def test_what_people_showed_is_in_it_and_comes_back(kept, tmp_path):
    (kept / "a.png").write_bytes(png())
    assert treadle(kept, "ask", "What?", "-m", script(kept, "Grey."), "-q", "--attach", str(kept / "a.png")).code == 0
    (blob,) = [path for path in (kept / "data" / "blobs").rglob("*") if path.is_file()]
    (blob.parent / "left.part").touch()
    archive, other = tmp_path / "all.tar.gz", tmp_path / "elsewhere"
    assert treadle(kept, "backup", str(archive), "--json").json["files"] == 4
    with tarfile.open(archive) as opened:
        names = opened.getnames()
    assert names[-2:] == [f"home/{blob.relative_to(kept / 'data').as_posix()}", "backup.json"]  # after every journal
    other.mkdir()
    assert treadle(other, "restore", str(archive)).code == 0
    restored = other / "data" / blob.relative_to(kept / "data")
    assert (restored.read_bytes(), restored.stat().st_mode & 0o777) == (png(), 0o600)


def test_a_database_is_copied_as_of_one_moment_while_it_is_written(kept, tmp_path):
    path, begun, over = kept / "data" / "busy.db", threading.Event(), threading.Event()
    with sqlite3.connect(path) as connection:
        connection.execute("PRAGMA journal_mode=WAL")
        connection.execute("CREATE TABLE pairs (a INTEGER, b INTEGER)")

    def write():
        other, number = sqlite3.connect(path), 0
        while not over.is_set():
            number += 1
            with other:  # both or none
                other.execute("INSERT INTO pairs VALUES (?, ?)", (number, number))
                other.execute("INSERT INTO pairs VALUES (?, ?)", (-number, -number))
            begun.set()
        other.close()

    writer = threading.Thread(target=write)
    writer.start()
    try:
        assert begun.wait(60)
        assert treadle(kept, "backup", str(tmp_path / "all.tar.gz")).code == 0
    finally:
        over.set()
        writer.join()
    with tarfile.open(tmp_path / "all.tar.gz") as archive:
        (tmp_path / "copy.db").write_bytes(archive.extractfile("home/busy.db").read())
    copy = sqlite3.connect(tmp_path / "copy.db")
    assert copy.execute("SELECT sum(a), count(*) > 0 FROM pairs").fetchone() == (0, 1)
    assert copy.execute("PRAGMA integrity_check").fetchone() == ("ok",)
    copy.close()


@pytest.mark.parametrize("change", ["cut", "flip", "more", "less", "newer", "no list", "no archive", "outside"])
def test_an_archive_that_is_not_as_it_was_written_changes_nothing(kept, tmp_path, change):
    archive = tmp_path / "all.tar.gz"
    treadle(kept, "backup", str(archive))
    spoil(archive, change, tmp_path)
    ran = treadle(kept, "restore", str(archive), "--replace")
    assert (ran.code, "Traceback" in ran.err) == (USAGE, False)
    assert ran.err.startswith("treadle: ")
    assert runs(kept) == ["Hello?"]
    assert not list(kept.glob("data.before-restore-*"))
    assert not (tmp_path / "escaped").exists()


def spoil(archive, change, folder):
    if change == "no archive":
        archive.write_bytes(b"words")
        return
    if change == "cut":
        archive.write_bytes(archive.read_bytes()[:-200])
        return
    with tarfile.open(archive) as old:
        files = {member.name: old.extractfile(member).read() for member in old.getmembers()}
    listed = json.loads(files["backup.json"])
    match change:
        case "flip":
            files["home/treadle.db"] = files["home/treadle.db"][:-1] + b"?"
        case "more":
            files["home/more.txt"] = b"more"
        case "less":
            del files["home/jobs/one.json"]
        case "newer":
            files["backup.json"] = json.dumps({**listed, "format": 99}).encode()
        case "no list":
            del files["backup.json"]
        case "outside":
            files["../escaped"] = b"out"
    with tarfile.open(archive, "w:gz") as new:
        for name, data in files.items():
            about = tarfile.TarInfo(name)
            about.size = len(data)
            new.addfile(about, io.BytesIO(data))


def test_a_file_that_is_there_is_not_written_over(kept, tmp_path):
    (tmp_path / "mine").write_text("mine")
    ran = treadle(kept, "backup", str(tmp_path / "mine"))
    assert (ran.code, (tmp_path / "mine").read_text()) == (USAGE, "mine")


def test_nothing_is_backed_up_into_itself_and_nothing_at_all_is_said_to_be(kept, tmp_path):
    ran = treadle(kept, "backup", str(kept / "data" / "all.tar.gz"))
    assert (ran.code, "name a file elsewhere" in ran.err) == (USAGE, True)
    (tmp_path / "empty").mkdir()
    ran = treadle(tmp_path / "empty", "backup", str(tmp_path / "none.tar.gz"))
    assert (ran.code, "nothing is stored" in ran.err, (tmp_path / "none.tar.gz").exists()) == (USAGE, True, False)


def test_links_are_left_where_they_are(kept, tmp_path):
    (tmp_path / "secret").write_text("not part of the home")
    (kept / "data" / "link").symlink_to(tmp_path / "secret")
    treadle(kept, "backup", str(tmp_path / "all.tar.gz"))
    with tarfile.open(tmp_path / "all.tar.gz") as archive:
        assert "home/link" not in archive.getnames()


SECRET = "AK" + "IA" + "IOSFODNN7QXAMPLE"


def test_the_key_of_secrets_comes_back_with_them(kept, tmp_path):
    assert treadle(kept, "ask", f"It is {SECRET}", "-m", script(kept, "Hi."), "-q").code == 0
    run_id = treadle(kept, "runs", "--json").json[0]["run_id"]
    backed = treadle(kept, "backup", str(tmp_path / "all.tar.gz"), "--json")
    assert (backed.json["without_key"], backed.err) == (False, "")
    (kept / "data" / "journal.key").unlink()
    lost = treadle(kept, "show", run_id)
    assert (lost.code, "was encrypted with another key" in lost.err) == (1, True)
    assert treadle(kept, "restore", str(tmp_path / "all.tar.gz"), "--replace").code == 0
    assert (kept / "data" / "journal.key").stat().st_mode & 0o777 == 0o600
    assert "It is [redacted:aws_key]" in treadle(kept, "show", run_id).out


def test_that_a_key_in_the_environment_is_not_in_it_is_said(kept, tmp_path):
    backed = treadle(kept, "backup", str(tmp_path / "all.tar.gz"), TREADLE_KEY="A" * 43 + "=")
    assert "keep a copy of that elsewhere" in backed.err

"""Attempts to have `treadle restore` write, read or fill what it mustn't, and `treadle backup` take what isn't the home's."""

import gzip
import hashlib
import io
import json
import os
import shutil
import stat
import tarfile
import threading
from pathlib import Path

import pytest

from treadle.admin.backup import create_backup, restore_backup
from treadle.core.errors import SettingsError
from treadle.home import close_home, open_home

CONTENT = b"changed"


def member(name, kind=tarfile.REGTYPE, link="", content=CONTENT, **more):
    """A member, and what is in it."""
    about = tarfile.TarInfo(name)
    about.type, about.linkname = kind, link
    about.size = len(content) if kind == tarfile.REGTYPE else 0
    for key, value in more.items():
        setattr(about, key, value)
    return about, content


def listed(files, **more):
    content = json.dumps({"format": 1, "treadle": "1", "made_at": 0, "files": files, **more}).encode()
    return member("backup.json", content=content)


def hash_of(content):
    return hashlib.sha256(content).hexdigest()


def link(name, to):
    return member(name, tarfile.SYMTYPE, to)


def hard(name, to):
    return member(name, tarfile.LNKTYPE, to)


def raw(name, kind, size, content=b""):
    """A header that says something else than what follows."""
    about = tarfile.TarInfo(name)
    about.type, about.size = kind, size
    block = about.tobuf(tarfile.GNU_FORMAT)
    return block + content + bytes(-len(content) % 512)


def pax(**headers):
    return member("home/file", pax_headers=headers)


LONG = "d" * 247
CHAIN = [  # CVE-2025-4517: links so long that a path through them can't be resolved, and so isn't seen to leave
    *[part for at in range(16) for part in (member("home/" + "/".join([LONG] * (at + 1)), tarfile.DIRTYPE),)],
    link("home/escape", "/".join([LONG] * 16) + "/" + "../" * 30),
    link("home/flaglink", "escape/../../canary"),
    hard("home/flag", "home/flaglink"),
    member("home/flag"),
]
ARCHIVES = {
    "a link to a file outside": [link("home/x", "../../canary"), member("home/x")],
    "a link to a folder outside, and a file in it": [link("home/d", "../.."), member("home/d/canary")],
    "an absolute link": [link("home/x", "/etc/passwd")],
    "a link inside": [member("home/a"), link("home/b", "a")],
    "a link as the home": [link("home", "..")],
    "a link as the list": [link("backup.json", "/etc/passwd")],
    "a hard link outside": [hard("home/x", "../../canary"), member("home/x")],
    "a hard link to a system's file": [hard("home/x", "/etc/passwd")],
    "a hard link inside": [member("home/a"), hard("home/b", "home/a")],
    "CVE-2025-4517": CHAIN,
    "CVE-2025-4330": [link("home/a", "b/../.."), member("home/b", tarfile.DIRTYPE), link("home/c", "a/canary"), member("home/c")],
    "CVE-2007-4559": [member("../canary")],
    "a pipe": [member("home/x", tarfile.FIFOTYPE)],
    "a character device": [member("home/x", tarfile.CHRTYPE, devmajor=1, devminor=3)],
    "a block device": [member("home/x", tarfile.BLKTYPE, devmajor=7, devminor=0)],
    "an absolute path": [member("/tmp/treadle-never")],
    "a path that leaves": [member("home/../../canary")],
    "a path that leaves and comes back": [member("home/../home/x")],
    "a folder that leaves": [member("home/../../other", tarfile.DIRTYPE)],
    "a file beside the home": [member("elsewhere")],
    "a folder beside the home": [member("other/x")],
    "an empty name": [member("")],
    "a dot": [member(".", tarfile.DIRTYPE), member("./canary")],
    "a name in a header that leaves": [pax(path="../canary")],
    "a name in a header that is absolute": [pax(path="/tmp/treadle-never")],
    "a link in a header": [member("home/x", tarfile.SYMTYPE, "y", pax_headers={"linkpath": "../../canary"})],
    "a size in a header": [pax(size="99999999999999999")],
    "a negative size in a header": [pax(size="-512")],
    "a sparse file of GNU 0.0": [pax(**{"GNU.sparse.size": "99999999999", "GNU.sparse.numblocks": "1"})],
    "a sparse file of GNU 0.1": [pax(**{"GNU.sparse.map": "0,1", "GNU.sparse.size": "99999999999"})],
    "a sparse file of GNU 1.0": [pax(**{"GNU.sparse.major": "1", "GNU.sparse.minor": "0", "GNU.sparse.realsize": "99999999999"})],
    "an old sparse file": raw("home/x", tarfile.GNUTYPE_SPARSE, 512, b"x"),
    "a header of a gigabyte": raw("x", tarfile.XHDTYPE, 2**30),
    "a global header of a gigabyte": raw("x", tarfile.XGLTYPE, 2**30),
    "a name of a gigabyte": raw("x", tarfile.GNUTYPE_LONGNAME, 2**30),
    "a link's name of a gigabyte": raw("x", tarfile.GNUTYPE_LONGLINK, 2**30),
    "a file of a petabyte": raw("home/x", tarfile.REGTYPE, 2**50),
    "a contiguous file of a petabyte": raw("home/x", tarfile.CONTTYPE, 2**50),
    "the same file twice": [member("home/x"), member("home/x")],
    "a file below a file": [member("home/x"), member("home/x/y")],
    "a file in the place of a folder": [member("home/x/y"), member("home/x")],
    "two lists": [listed({}), listed({})],
    "a list that is a folder": [member("backup.json", tarfile.DIRTYPE)],
    "no list": [member("home/x")],
    "a file that isn't listed": [member("home/x"), listed({})],
    "a listed file that isn't there": [listed({"x": hash_of(CONTENT)})],
    "a file with another hash": [member("home/x"), listed({"x": hash_of(b"other")})],
    "a listed path that leaves": [listed({"../../canary": hash_of(CONTENT)})],
    "a list of tomorrow": [listed({}, format=99)],
    "a list that is none": [member("backup.json", content=b"[1]")],
    "a list without end": [member("backup.json", content=b"[" * 100_000)],
    "no archive": b"nothing",
    "half of one": gzip.compress(b"x" * 10_000)[:40],
    "bytes after the end": gzip.compress(b"")[:-4],
}


def write(path, what):
    """An archive at a path: members, the bytes of a tar, or bytes."""
    if isinstance(what, bytes) and len(what) % 512 == 0 and what:
        path.write_bytes(gzip.compress(what))
    elif isinstance(what, bytes):
        path.write_bytes(what)
    else:
        with tarfile.open(path, "w:gz", format=tarfile.PAX_FORMAT) as archive:
            for about, content in what:
                archive.addfile(about, io.BytesIO(content))


def tree(folder):
    """Everything below a folder, with what is in it."""
    return {
        str(path): path.read_bytes() if path.is_file() and not path.is_symlink() else os.lstat(path).st_mode
        for path in sorted(folder.rglob("*"))
    }


@pytest.fixture
def home(tmp_path):
    """A home beside a file that nobody may touch."""
    (tmp_path / "canary").write_text("mine")
    (tmp_path / "inner").mkdir()
    home = open_home(tmp_path / "inner" / "home")
    yield home
    close_home(home)


@pytest.mark.parametrize("what", ARCHIVES)
def test_what_is_no_backup_changes_nothing(what, home, tmp_path):
    home.folder.mkdir()
    (home.folder / "kept").write_text("kept")
    before = tree(tmp_path)
    path = tmp_path.parent / f"{tmp_path.name}.tar.gz"
    write(path, ARCHIVES[what])
    with pytest.raises(SettingsError, match=r"othing was changed|newer Treadle"):
        restore_backup(home, path, replace=True)
    assert tree(tmp_path) == before
    assert not Path("/tmp/treadle-never").exists()


@pytest.mark.parametrize("mode", [0o4755, 0o2755, 0o6777, 0o1777, 0o000, 0o777])
def test_a_file_has_no_rights_but_its_owners(mode, home, tmp_path):
    write(tmp_path / "a.tar.gz", [member("home/x", mode=mode, uid=0, gid=0), listed({"x": hash_of(CONTENT)})])
    restore_backup(home, tmp_path / "a.tar.gz")
    assert (home.folder / "x").stat().st_mode & 0o7777 in (0o600, 0o700)
    assert (home.folder / "x").stat().st_uid == os.geteuid()


def test_more_than_the_disk_holds_is_refused_before_anything_is_written(home, tmp_path, monkeypatch):
    usage = shutil.disk_usage(tmp_path)
    monkeypatch.setattr("treadle.admin.backup.shutil.disk_usage", lambda path: usage._replace(free=256 * 1024 * 1024 + 1000))
    written = []
    monkeypatch.setattr("treadle.admin.backup._write_member", lambda *given: written.append(given))
    bomb = bytes(2_000)
    write(tmp_path / "a.tar.gz", [member("home/x", content=bomb), listed({"x": hash_of(bomb)})])
    with pytest.raises(SettingsError, match="it holds more than the 1,000 bytes that are free for it"):
        restore_backup(home, tmp_path / "a.tar.gz")
    assert written == []


def test_a_bomb_of_many_files_is_refused(home, tmp_path, monkeypatch):
    monkeypatch.setattr("treadle.admin.backup.MAX_FILES", 10)
    write(tmp_path / "a.tar.gz", [member(f"home/{at}", content=b"") for at in range(20)])
    with pytest.raises(SettingsError, match="more than 10 files"):
        restore_backup(home, tmp_path / "a.tar.gz")


# what a backup takes


def test_links_pipes_and_sockets_in_the_home_are_left_out(home, tmp_path):
    home.folder.mkdir()
    (home.folder / "kept").write_text("kept")
    (home.folder / "server.token").write_text("treadle_owner_secret")
    (home.folder / "link").symlink_to(tmp_path / "canary")
    (home.folder / "folder").symlink_to(tmp_path)
    os.mkfifo(home.folder / "pipe")
    os.mknod(home.folder / "socket", stat.S_IFSOCK | 0o600)
    create_backup(home, tmp_path / "a.tar.gz")
    with tarfile.open(tmp_path / "a.tar.gz") as archive:
        assert archive.getnames() == ["home/kept", "backup.json"]


def test_a_folder_that_becomes_a_link_meanwhile_leads_nowhere(home, tmp_path, monkeypatch):
    """A job of a user's may change their workspace while a backup is made."""
    work = home.folder / "users" / "eve" / "workspace"
    (work / "d").mkdir(parents=True)
    (work / "d" / "canary").write_text("theirs")
    opened = os.open

    def swapping(name, flags, *rest, **more):
        if name == "canary":
            shutil.rmtree(work / "d")
            (work / "d").symlink_to(tmp_path)
        return opened(name, flags, *rest, **more)

    monkeypatch.setattr("treadle.admin.backup.os.open", swapping)
    create_backup(home, tmp_path / "a.tar.gz")
    with tarfile.open(tmp_path / "a.tar.gz") as archive:
        for name in archive.getnames():
            file = archive.extractfile(name)
            assert file is not None
            assert file.read() != b"mine"


def test_a_database_in_a_users_workspace_is_bytes(home, tmp_path):
    work = home.folder / "users" / "eve" / "workspace"
    work.mkdir(parents=True)
    hostile = b"SQLite format 3\0" + os.urandom(5000)
    (work / "x.db").write_bytes(hostile)
    create_backup(home, tmp_path / "a.tar.gz")
    with tarfile.open(tmp_path / "a.tar.gz") as archive:
        file = archive.extractfile("home/users/eve/workspace/x.db")
        assert file is not None
        assert file.read() == hostile


def test_a_pipe_that_nobody_writes_to_does_not_hold_a_backup_up(home, tmp_path):
    home.folder.mkdir()
    os.mkfifo(home.folder / "treadle.db")
    done = threading.Thread(target=create_backup, args=(home, tmp_path / "a.tar.gz"), daemon=True)
    done.start()
    done.join(20)
    assert not done.is_alive()

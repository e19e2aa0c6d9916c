"""A full or read-only disk: reading works, writing says what to do, and nobody is told that the database is damaged.

The disks are real: a tmpfs in a mount namespace of its own. Where none can be made, these tests are skipped.
"""

import json
import shutil
import sqlite3
import subprocess
from contextlib import closing

import pytest

from cli.forkserver import ran
from cli.running import TOOLBOX, Ran, environment, script, treadle

READING = (
    *(["runs"], ["show"], ["show", "r", "--entries"], ["stats"], ["stats", "--anew"], ["audit"], ["audit", "verify"], ["jobs"]),
    *(["settings"], ["users"], ["schedules"], ["retention"]),
)

# A process that has everything imported, in a mount namespace of its own, which forks for each command.
EACH = """
import ctypes, json, os, subprocess, sys
from pathlib import Path
from treadle.cli.main import main

NEW_MOUNTS, NEW_USER = 0x20000, 0x10000000
user, group, out = os.getuid(), os.getgid(), Path(os.environ["OUT"])
assert ctypes.CDLL(None).unshare(NEW_MOUNTS | NEW_USER) == 0
for name, text in (("setgroups", "deny"), ("uid_map", f"0 {user} 1"), ("gid_map", f"0 {group} 1")):
    Path("/proc/self", name).write_text(text)
subprocess.run(["sh", "-c", sys.argv[1]], check=True)
for number, words in enumerate(json.loads(sys.argv[2])):
    if not (child := os.fork()):
        for stream, kind in ((1, "out"), (2, "err")):
            os.dup2(os.open(out / f"{number}.{kind}", os.O_WRONLY | os.O_CREAT | os.O_TRUNC), stream)
        sys.exit(main(words))
    (out / f"{number}.rc").write_text(str(os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])))
"""


class Disk:
    """Runs commands in a mount namespace, with a copy of a home on a disk of its own."""

    def __init__(self, home, size, prepare):
        self.home, self.size, self.prepare = home, size, prepare

    def __call__(self, *lines):
        """Run `treadle` once for each line; what each left behind."""
        out = self.home / "out"
        out.mkdir(exist_ok=True)
        data = self.home / "data"
        steps = f"""set -e
mount --make-rprivate /
cp -a {data} {self.home}/copy
mount -t tmpfs -o size={self.size} none {data}
cp -a {self.home}/copy/. {data}/
chmod 700 {data}
{self.prepare.format(data=data)}
"""
        done = ran("-c", EACH, steps, json.dumps(lines), env=environment(self.home, OUT=str(out)))
        assert done.returncode == 0, done.stderr
        read = [[(out / f"{number}.{kind}").read_text() for kind in ("rc", "out", "err")] for number in range(len(lines))]
        return [Ran(int(code), printed, said) for code, printed, said in read]


NAMESPACE = ("unshare", "--mount", "--map-root-user")


def can_mount():
    if shutil.which("unshare") is None:
        return False
    tried = subprocess.run([*NAMESPACE, "mount", "-t", "tmpfs", "none", "/mnt"], capture_output=True)
    return tried.returncode == 0


@pytest.fixture
def kept(home):
    """A home with a run."""
    model = script(home, {"calls": [{"name": "stock", "arguments": {"item": "A"}}]}, "There are 40.")
    assert treadle(home, "ask", "How many?", "--run-id", "r", "-m", model, "--tools", TOOLBOX).code == 0
    assert treadle(home, "users", "add", "ann").code == 0
    return home


def leave_log(data):
    """Leave the write-ahead log that a killed process leaves, with a new title of the run."""
    with closing(sqlite3.connect(data / "treadle.db", isolation_level=None)) as connection:
        connection.execute("UPDATE runs SET title = 'From the log'")
        shutil.copytree(data, data.with_name("left"))
    shutil.rmtree(data)
    data.with_name("left").rename(data)
    assert (data / "treadle.db-wal").stat().st_size


@pytest.fixture(params=["read-only", "full"])
def disk(request, kept):
    if not can_mount():
        pytest.skip("a small disk can't be mounted here")
    if request.param == "read-only":
        return Disk(kept, "20m", "mount -o remount,bind,ro {data}")
    return Disk(kept, "20m", "dd if=/dev/zero of={data}/filler bs=4k 2>/dev/null || true")


def test_reading_works(disk):
    for words, done in zip(READING, disk(*READING), strict=True):
        assert done.code == 0, (words, done.err)
    shown = disk.home / "out" / "1.out"
    assert "There are 40." in shown.read_text()


def test_what_a_killed_process_left_in_the_log_is_read(disk):
    leave_log(disk.home / "data")
    for done in disk(["runs"], ["stats"], ["audit", "verify"]):
        assert done.code == 0, done.err
    assert "From the log" in (disk.home / "out" / "0.out").read_text()


def test_a_backup_can_be_made_and_restored(disk):
    (done,) = disk(["backup", str(disk.home / "b.tar.gz")])
    assert done.code == 0, done.err
    assert treadle(disk.home, "restore", str(disk.home / "b.tar.gz"), TREADLE_HOME=str(disk.home / "new")).code == 0
    assert "There are 40." in treadle(disk.home, "show", TREADLE_HOME=str(disk.home / "new")).out


def test_doctor_names_the_disk_and_not_the_database(disk):
    (done,) = disk(["doctor", "--json"])
    findings = json.loads(done.out)
    (folder,) = [finding for finding in findings if finding["about"] == "folder" and finding["state"] == "wrong"]
    assert folder["says"] == f"{disk.home / 'data'} can't be written."
    assert folder["do"].startswith(("Make room on its disk", "Its disk is read-only"))
    assert "treadle.db is intact." in [finding["says"] for finding in findings]
    assert [finding for finding in findings if "aside" in finding["do"]] == []


def test_writing_says_what_is_wrong_with_the_disk(disk):
    (done,) = disk(["ask", "x", "-m", script(disk.home, "hello"), "-q"])
    assert (done.code, done.out) == (1, "")
    assert "can't be written" in done.err
    assert "Make room on its disk" in done.err or "Its disk is read-only" in done.err
    assert "aside" not in done.err

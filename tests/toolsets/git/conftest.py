"""A repository with a bare remote beside it, and a person with settings of their own. Without a sandbox tests are skipped."""

import asyncio
import os
import shutil
import subprocess

import pytest

from treadle import RunContext
from treadle.core.calls import Call
from treadle.sandbox.probe import check_sandbox
from treadle.toolsets.git.tools import git_tools


@pytest.fixture(autouse=True)
def person(tmp_path, monkeypatch):
    """A user who stands elsewhere, with a home of their own."""
    home = tmp_path / "home"
    home.mkdir()
    (home / ".gitconfig").write_text("[user]\n\tname = Ada Person\n\temail = ada@example.org\n")
    for name in [name for name in os.environ if name.startswith("GIT_")]:
        monkeypatch.delenv(name)
    monkeypatch.delenv("TREADLE_BWRAP", raising=False)
    monkeypatch.delenv("XDG_CONFIG_HOME", raising=False)
    monkeypatch.setenv("GIT_CONFIG_NOSYSTEM", "1")
    monkeypatch.setenv("HOME", str(home))
    monkeypatch.chdir(home)
    return home


@pytest.fixture
def folder(tmp_path):
    """A folder for a repository."""
    if shutil.which("git") is None:
        pytest.skip("there is no git here")
    folder = tmp_path / "work"
    folder.mkdir()
    here = asyncio.run(check_sandbox(folder))
    if not here.sandboxed:
        pytest.skip(here.why)
    return folder


class Room:
    """A repository and a run that calls its tools."""

    def __init__(self, folder, **options):
        self.folder = folder
        self.options = options
        self.count = 0

    def with_(self, **options):
        return Room(self.folder, **{**self.options, **options})

    @property
    def toolset(self):
        return git_tools(self.folder, **self.options)

    def call(self, action, /, key=None, **arguments):
        """One action, with a key of its own unless it is a repeat."""
        self.count += 1
        context = RunContext(key=f"run:{self.count}" if key is None else key)
        return asyncio.run(self.toolset.call(Call("1", "git", {"action": action, **arguments}), context))

    def reconcile(self, action, /, key, **arguments):
        return asyncio.run(self.toolset.reconcile(Call("1", "git", {"action": action, **arguments}), RunContext(key=key)))

    def git(self, *words, check=True):
        """Git as the person runs it, outside."""
        ran = subprocess.run(["git", *words], cwd=self.folder, capture_output=True, text=True, check=False)
        if check and ran.returncode:
            raise AssertionError(ran.stderr)
        return ran.stdout.strip()

    def put(self, name, content="x\n"):
        (self.folder / name).parent.mkdir(parents=True, exist_ok=True)
        (self.folder / name).write_text(content)

    def subjects(self):
        return self.git("log", "--format=%s").splitlines()


@pytest.fixture
def at():
    """Makes a room of a folder."""
    return Room


@pytest.fixture
def empty(folder):
    """A repository without a commit, on the branch main."""
    room = Room(folder)
    room.git("init", "-q", "-b", "main")
    return room


@pytest.fixture
def remote(tmp_path):
    path = tmp_path / "remote.git"
    if not path.exists():
        subprocess.run(["git", "init", "-q", "--bare", str(path)], check=True)
    return path


@pytest.fixture(scope="session")
def kept(tmp_path_factory):
    """A folder for what is made once and copied for each test."""
    return tmp_path_factory.mktemp("kept")


@pytest.fixture
def room(folder, tmp_path, kept):
    """A repository with a commit on main, a remote that has it, and a branch of ours."""
    if not (kept / "work").exists():
        _make(kept)
    shutil.copytree(kept / "work", folder, symlinks=True, dirs_exist_ok=True)
    shutil.copytree(kept / "remote.git", tmp_path / "remote.git", symlinks=True, dirs_exist_ok=True)
    config = folder / ".git" / "config"
    config.write_text(config.read_text().replace(str(kept), str(tmp_path)))
    return Room(folder)


def _make(kept):
    (kept / "work").mkdir()
    room = Room(kept / "work")
    room.git("init", "-q", "-b", "main")
    room.git("init", "-q", "--bare", str(kept / "remote.git"))
    room.put("a.txt", "one\n")
    room.git("add", "a.txt")
    room.git("commit", "-qm", "first")
    room.git("remote", "add", "origin", str(kept / "remote.git"))
    room.git("push", "-q", "origin", "main")
    room.git("switch", "-q", "-c", "treadle/work")

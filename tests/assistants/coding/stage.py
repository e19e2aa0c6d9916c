"""A small project with a bug in a real repository, and jobs in it: the model is written in advance, all else is real."""

import asyncio
import atexit
import shutil
import subprocess
import tempfile
from collections.abc import Callable
from functools import cache
from pathlib import Path
from typing import Any

import pytest

from treadle.assistants.coding.checkout import checkpoints_of, patch_of
from treadle.assistants.coding.job_kinds import find_coding_job_kind
from treadle.core.seams import Model
from treadle.home import close_home, open_home
from treadle.jobs.execution import execute_job
from treadle.jobs.store import Job, Jobs
from treadle.models.scripted import ScriptedCall, ScriptedReply
from treadle.plugins.assistant import Host

SHOP = "def price(count):\n    return count * 3 + 1\n"
MENDED = "def price(count):\n    return count * 3\n"
TESTS = """\
from shop import price


def test_price():
    assert price(2) == 6


def test_nothing_costs_nothing():
    assert price(0) == 0
"""

needs_git = pytest.mark.skipif(shutil.which("git") is None, reason="there is no git here")


def git(folder: Path, *words: str) -> str:
    """What git says."""
    line = ["git", "-c", "user.name=Ann", "-c", "user.email=ann@example.org", *words]
    return subprocess.run(line, cwd=folder, check=True, capture_output=True, text=True).stdout.strip()


def project(place: Path, *, repository: bool = True) -> Path:
    """The project, on its branch `main`, with a bare remote beside it."""
    folder = place / "shop"
    if not repository:
        _write_files(folder)
        return folder
    original = _repositories()
    shutil.copytree(original, place, symlinks=True, dirs_exist_ok=True)
    config = folder / ".git" / "config"
    config.write_text(config.read_text().replace(str(original), str(place)))
    git(folder, "update-index", "--refresh")  # the index knows files by their inodes too
    return folder


@cache
def _repositories() -> Path:
    """The repository and its remote, which each test gets a copy of: six processes of git for a session, not for a test."""
    place = Path(tempfile.mkdtemp(prefix="treadle-shop-")).resolve()
    atexit.register(shutil.rmtree, place, ignore_errors=True)
    folder = place / "shop"
    _write_files(folder)
    git(place, "init", "--quiet", "--bare", "remote.git")
    git(folder, "init", "--quiet", "--initial-branch=main")
    git(folder, "add", ".")
    git(folder, "commit", "--quiet", "-m", "A shop")
    git(folder, "remote", "add", "origin", str(place / "remote.git"))
    git(folder, "push", "--quiet", "origin", "main")
    return place


def _write_files(folder: Path) -> None:
    folder.mkdir()
    (folder / "shop.py").write_text(SHOP)
    (folder / "test_shop.py").write_text(TESTS)
    (folder / ".gitignore").write_text("__pycache__/\n.pytest_cache/\n")


def checkout_of(folder: Path) -> dict[str, bytes]:
    """Everything of the person's checkout, byte for byte: files, HEAD, index, stash, settings and hooks."""
    kept = [folder / ".git" / name for name in ("HEAD", "index", "config", "refs/stash", "logs/HEAD", "refs/heads/main")]
    files = [path for path in folder.rglob("*") if path.is_file() and ".git" not in path.relative_to(folder).parts]
    hooks = [path for path in (folder / ".git" / "hooks").rglob("*") if path.is_file()]
    return {str(path.relative_to(folder)): path.read_bytes() for path in (*files, *kept, *hooks) if path.exists()}


def workspace_of(place: Path, job: Job) -> Path:
    """Where a job has its private copy, for as long as it isn't over."""
    return place / "home" / "jobs" / job.id / "workspace"


def on_branch(folder: Path) -> str:
    """The file as it is on the branch of the only job."""
    branch = git(folder, "branch", "--format=%(refname:short)", "--list", "treadle/*")
    return git(folder, "show", f"{branch}:shop.py") + "\n"


def patch_in(place: Path, job: Job) -> str:
    """What a job changed."""
    jobs = Jobs(place / "home")
    return asyncio.run(patch_of(job, checkpoints_of(job, jobs)))


def asks(*calls: tuple[str, dict[str, Any]], text: str = "") -> ScriptedReply:
    """A reply with calls."""
    return ScriptedReply(text=text, calls=tuple(ScriptedCall(name, arguments) for name, arguments in calls))


def reports(summary: str = "Mend the price", *, done: bool = True) -> ScriptedReply:
    """The answer of build and debug."""
    return asks(("give_answer", {"summary": summary, "done": done}))


def mends(content: str = MENDED) -> ScriptedReply:
    """Reads the file and writes it anew, as a model with native calls would."""
    return asks(
        ("file", {"action": "read", "path": "shop.py"}), ("file", {"action": "write", "path": "shop.py", "content": content})
    )


def carried_out(
    place: Path,
    folder: Path,
    name: str,
    given: dict[str, Any],
    model: Model,
    *,
    watch: Callable[[Job], None] | None = None,
    **host: Any,
) -> Job:
    """A job, done."""

    async def same() -> Model:
        return model

    home = open_home(place / "home")
    try:
        job = Jobs(home.folder).create("coding", name, given.get("description", "") or name, given=given, workspace=str(folder))
        if watch is not None:
            watch(job)
        return asyncio.run(execute_job(job.id, find_coding_job_kind(name).work, Host(home, same, **host)))
    finally:
        close_home(home)

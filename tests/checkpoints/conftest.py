"""A folder with some files, once as a repository and once not, and a store beside it. Where there is no git, tests are skipped."""

import shutil
import subprocess

import pytest

from treadle.checkpoints import Checkpoints


@pytest.fixture(autouse=True)
def git():
    """The person's own git, as they would run it."""
    if shutil.which("git") is None:
        pytest.skip("there is no git here")

    def run(folder, *words):
        who = ("-c", "user.name=Ann", "-c", "user.email=ann@example.org", "-c", "init.defaultBranch=main")
        return subprocess.run(["git", *who, *words], cwd=folder, capture_output=True, text=True, check=False)

    return run


@pytest.fixture(params=["plain", "repository"])
def folder(request, tmp_path, git):
    folder = tmp_path / "work"
    (folder / "src").mkdir(parents=True)
    (folder / "src" / "a.py").write_text("one\ntwo\nthree\n")
    (folder / "read me.txt").write_text("hello\n")
    if request.param == "repository":
        git(folder, "init")
        git(folder, "add", ".")
        git(folder, "commit", "-m", "first")
    return folder


@pytest.fixture
def checkpoints(folder, tmp_path):
    return Checkpoints(folder, tmp_path / "store", most=100_000)

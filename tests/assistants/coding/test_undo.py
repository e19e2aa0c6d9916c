"""What a job changed can be shown and taken back, step by step or whole; what the person changed since is theirs."""

import asyncio
from argparse import Namespace
from pathlib import Path
from typing import Any

import pytest
from msgspec.structs import replace

from assistants.coding.stage import (
    MENDED,
    SHOP,
    asks,
    carried_out,
    checkout_of,
    git,
    mends,
    needs_git,
    on_branch,
    project,
    reports,
    workspace_of,
)
from treadle.assistants.coding import undo
from treadle.core.errors import SettingsError
from treadle.home import close_home, open_home
from treadle.jobs.store import Jobs
from treadle.models.scripted import Scripted
from treadle.plugins.assistant import Host

pytestmark = needs_git
WORSE = "def price(count):\n    return 0\n"


class Screen:
    """Remembers what it was told."""

    width = None

    def __init__(self) -> None:
        self.lines: list[str] = []

    def line(self, text: str = "", style: str = "") -> None:
        self.lines.append(text)

    note = tell = line


def typed(place: Path, command: Any, **words: Any) -> tuple[int, list[str]]:
    """What a command showed, and its exit code."""
    home, screen = open_home(place / "home"), Screen()
    args = Namespace(**{"job": "", "all": False, "steps": 1, "force": False, "stat": False, "json": False, **words})

    async def nothing() -> Any:
        raise AssertionError("no model is needed")

    try:
        return asyncio.run(command(args, Host(home, nothing, terminal=screen))), screen.lines
    finally:
        close_home(home)


def changed(place: Path, monkeypatch: pytest.MonkeyPatch) -> tuple[Path, str]:
    """A folder in which a job has made two changes, and the job's id."""
    folder = project(place)
    again = asks(("file", {"action": "write", "path": "shop.py", "content": MENDED}))
    job = carried_out(place, folder, "debug", {}, Scripted(mends(WORSE), again, reports()))
    monkeypatch.chdir(folder)
    return folder, job.id


def test_only_what_the_job_changed_is_shown(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    folder, job = changed(tmp_path, monkeypatch)
    (folder / "later.txt").write_text("mine")
    code, lines = typed(tmp_path, undo.diff)
    assert code == 0
    assert "+    return count * 3" in lines
    assert not any("later.txt" in line for line in lines)
    assert typed(tmp_path, undo.diff, job=job, stat=True)[1] == ["modified  shop.py"]


def test_changes_are_taken_back_one_by_one(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    folder, _ = changed(tmp_path, monkeypatch)
    assert typed(tmp_path, undo.undo)[0] == 0
    assert on_branch(folder) == WORSE
    typed(tmp_path, undo.undo)
    assert on_branch(folder) == SHOP
    assert (folder / "shop.py").read_text() == SHOP
    assert "There was nothing to take back." in typed(tmp_path, undo.undo)[1]


def test_or_all_at_once_and_the_commit_stays_on_its_branch(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    folder, job = changed(tmp_path, monkeypatch)
    code, lines = typed(tmp_path, undo.undo, job=job, all=True)
    assert (code, (folder / "shop.py").read_text()) == (0, SHOP)
    assert "Put back: shop.py" in lines
    assert lines[-1].endswith("its earlier commits stay.")
    assert (git(folder, "branch", "--show-current"), git(folder, "status", "--porcelain")) == ("main", "")
    branch = Jobs(tmp_path / "home").get(job).facts["branch"]
    assert git(folder, "log", "--format=%s", f"main..{branch}").splitlines() == [f"Take back changes of {job}", "Mend the price"]
    assert on_branch(folder) == SHOP
    assert not (tmp_path / "home" / "jobs" / job / "workspace").exists()


def test_what_is_no_change_of_the_job_is_left_alone_even_by_force(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    folder, job = changed(tmp_path, monkeypatch)
    git(folder, "switch", "--quiet", Jobs(tmp_path / "home").get(job).facts["branch"])
    (folder / "mine.txt").write_text("mine")
    (folder / "test_shop.py").write_text("mine too\n")
    assert typed(tmp_path, undo.undo, all=True)[0] == 0
    assert (folder / "shop.py").read_text() == SHOP
    assert ((folder / "mine.txt").read_text(), (folder / "test_shop.py").read_text()) == ("mine", "mine too\n")
    assert typed(tmp_path, undo.undo, all=True, force=True)[0] == 0
    assert (folder / "mine.txt").read_text() == "mine"


def test_after_a_kill_only_what_its_calls_changed_is_taken_back(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    folder, job = changed(tmp_path, monkeypatch)
    jobs = Jobs(tmp_path / "home")
    facts = {name: value for name, value in jobs.get(job).facts.items() if name not in ("after", "at")}
    jobs.save(replace(jobs.get(job), facts=facts, state="running"))
    (folder / "mine.txt").write_text("mine")
    assert typed(tmp_path, undo.undo, all=True)[0] == 0
    assert ((folder / "shop.py").read_text(), (folder / "mine.txt").read_text()) == (SHOP, "mine")


def test_it_works_from_a_folder_inside_too(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    folder, _ = changed(tmp_path, monkeypatch)
    (folder / "inner").mkdir()
    monkeypatch.chdir(folder / "inner")
    assert typed(tmp_path, undo.undo)[0] == 0
    assert on_branch(folder) == WORSE


def test_what_the_person_changed_since_is_not_overwritten_unless_forced(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    folder, job = changed(tmp_path, monkeypatch)
    git(folder, "switch", "--quiet", Jobs(tmp_path / "home").get(job).facts["branch"])
    (folder / "shop.py").write_text("mine\n")
    code, lines = typed(tmp_path, undo.undo, all=True)
    assert (code, (folder / "shop.py").read_text()) == (1, "mine\n")
    assert "These files were changed after the job: shop.py" in lines[0]
    assert typed(tmp_path, undo.undo, all=True, force=True)[0] == 0
    assert (folder / "shop.py").read_text() == SHOP


def test_where_no_job_changed_anything_that_is_said(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    with pytest.raises(SettingsError, match="No job has changed anything in this folder"):
        typed(tmp_path, undo.undo)


def test_all_of_a_failed_job_is_taken_back_in_its_own_folder_and_the_persons_is_as_it_was(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    folder = project(tmp_path)
    before = checkout_of(folder)
    job = carried_out(tmp_path, folder, "debug", {}, Scripted(mends(WORSE), reports("I can't", done=False)))
    monkeypatch.chdir(folder)
    assert (job.state, job.output.get("commit")) == ("failed", None)
    assert (workspace_of(tmp_path, job) / "shop.py").read_text() == WORSE
    assert typed(tmp_path, undo.undo, all=True)[1] == ["Put back: shop.py"]
    assert (workspace_of(tmp_path, job) / "shop.py").read_text() == SHOP
    assert (checkout_of(folder), git(folder, "branch", "--format=%(refname:short)")) == (before, "main")

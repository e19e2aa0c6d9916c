"""What a person does with a finished job, in real repositories: a patch, a merge, a pull request, a follow-up."""

import asyncio
import subprocess
from argparse import ArgumentParser, Namespace
from pathlib import Path
from typing import Any
from urllib.request import urlopen

import pytest

from assistants.coding.stage import MENDED, SHOP, asks, carried_out, git, mends, needs_git, project, reports
from assistants.coding.table import must_contain, served
from assistants.coding.test_undo import Screen, typed
from treadle.assistants.coding import finish, undo
from treadle.core.errors import SettingsError, TreadleError
from treadle.home import close_home, open_home
from treadle.jobs.store import Job, Jobs
from treadle.models.scripted import Scripted
from treadle.plugins.assistant import Host
from treadle.toolsets.git.branches import _move_branch  # pyright: ignore[reportPrivateUsage] - the moment between two looks
from treadle.toolsets.git.sandboxed import SandboxedGit

pytestmark = needs_git
DOUBLED = "def price(count):\n    return count * 6\n"
ADDED = "def name():\n    return 'shop'\n"


@pytest.fixture
def shop(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The project; nobody's settings; and a person who commits."""
    (tmp_path / "person").mkdir()
    (tmp_path / "person" / ".gitconfig").write_text("[user]\n\tname = Ann\n\temail = ann@example.org\n")
    monkeypatch.setenv("HOME", str(tmp_path / "person"))
    monkeypatch.setenv("TREADLE_CONFIG", str(tmp_path / "own.toml"))
    (tmp_path / "own.toml").write_text("")
    folder = project(tmp_path)
    must_contain(folder)
    monkeypatch.chdir(folder)
    return folder


def mended(place: Path, folder: Path, *more: Any) -> Job:
    return carried_out(place, folder, "debug", {"description": "Prices are off"}, Scripted(mends(), *more, reports()))


def writes(path: str, content: str) -> Any:
    return asks(("file", {"action": "write", "path": path, "content": content}))


def state(folder: Path) -> tuple[str, ...]:
    """Everything that a merge could change."""
    return git(folder, "show-ref"), git(folder, "status", "--porcelain", "--branch"), (folder / "shop.py").read_text()


# patch


def test_a_patch_is_taken_by_git_apply_also_with_what_is_no_text(tmp_path: Path, shop: Path, capfdbinary) -> None:
    binary = asks(("bash", {"command": "printf '\\000\\001\\r\\377' > logo.bin"}))
    job = mended(tmp_path, shop, binary)
    assert typed(tmp_path, finish.patch, job=job.id)[0] == 0
    patch = capfdbinary.readouterr().out
    git(shop, "switch", "--quiet", "main")
    subprocess.run(["git", "apply", "--index", "-"], cwd=shop, input=patch, check=True)
    assert ((shop / "shop.py").read_text(), (shop / "logo.bin").read_bytes()) == (MENDED, b"\0\1\r\xff")


def test_on_a_terminal_a_patch_is_shown_line_by_line(tmp_path: Path, shop: Path) -> None:
    job = mended(tmp_path, shop)
    lines = shown(tmp_path, finish.patch, job=job.id)
    assert lines[0] == "diff --git a/shop.py b/shop.py"
    assert "+    return count * 3" in lines


def shown(place: Path, command: Any, **words: Any) -> list[str]:
    class Wide(Screen):
        width = 80

    home, screen = open_home(place / "home"), Wide()

    async def nothing() -> Any:
        raise AssertionError("no model is needed")

    try:
        asyncio.run(command(Namespace(**{"json": False, **words}), Host(home, nothing, terminal=screen)))
    finally:
        close_home(home)
    return screen.lines


def test_what_was_taken_back_is_not_in_the_patch(tmp_path: Path, shop: Path, capfdbinary) -> None:
    job = mended(tmp_path, shop, writes("name.py", ADDED))
    typed(tmp_path, undo.undo)
    typed(tmp_path, finish.patch, job=job.id)
    patch = capfdbinary.readouterr().out
    assert (b"shop.py" in patch, b"name.py" in patch) == (True, False)


# merge


def test_a_jobs_branch_is_merged_into_the_branch_it_began_from(tmp_path: Path, shop: Path) -> None:
    job = mended(tmp_path, shop)
    remote = git(tmp_path / "remote.git", "rev-parse", "main")
    code, lines = typed(tmp_path, finish.merge)
    assert code == 0
    assert lines[0].startswith(f"Merged {job.facts['branch']} into main, which is at {job.output['commit'][:10]} now.")
    assert (git(shop, "branch", "--show-current"), git(shop, "rev-parse", "main")) == ("main", job.output["commit"])
    assert (git(shop, "status", "--porcelain"), (shop / "shop.py").read_text()) == ("", MENDED)
    assert git(tmp_path / "remote.git", "rev-parse", "main") == remote
    assert Jobs(tmp_path / "home").get(job.id).output["merged"] == f"into main, at {job.output['commit'][:10]}"
    assert "has all of" in typed(tmp_path, finish.merge)[1][0]


def test_where_the_branch_has_moved_on_there_is_a_merge_commit_of_the_persons(tmp_path: Path, shop: Path) -> None:
    job = mended(tmp_path, shop)
    git(shop, "switch", "--quiet", "main")
    (shop / "other.txt").write_text("other\n")
    git(shop, "add", "other.txt")
    git(shop, "commit", "--quiet", "-m", "Another")
    ours = git(shop, "rev-parse", "main")
    (shop / "mine.txt").write_text("mine\n")
    typed(tmp_path, finish.merge, job=job.id)
    assert git(shop, "log", "-1", "--format=%P").split() == [ours, job.output["commit"]]
    assert git(shop, "log", "-1", "--format=%an %s") == f"Ann Merge branch '{job.facts['branch']}'"
    assert git(shop, "status", "--porcelain") == "?? mine.txt"
    assert ((shop / "shop.py").read_text(), (shop / "other.txt").read_text()) == (MENDED, "other\n")


@pytest.mark.parametrize("on", ["main", "job"])
def test_a_conflict_is_told_and_everything_stays_as_it_was(tmp_path: Path, shop: Path, on: str) -> None:
    job = mended(tmp_path, shop)
    git(shop, "switch", "--quiet", "main")
    (shop / "shop.py").write_text(DOUBLED)
    git(shop, "commit", "--quiet", "-am", "Double it")
    git(shop, "switch", "--quiet", "main" if on == "main" else job.facts["branch"])
    before = state(shop)
    with pytest.raises(TreadleError, match=r"Nothing was merged: treadle/.* and main both change shop\.py"):
        typed(tmp_path, finish.merge, job=job.id)
    assert state(shop) == before
    assert "merged" not in Jobs(tmp_path / "home").get(job.id).output


@pytest.mark.parametrize("on", ["main", "job"])
def test_changes_of_the_same_files_that_arent_committed_refuse_a_merge(tmp_path: Path, shop: Path, on: str) -> None:
    job = mended(tmp_path, shop)
    git(shop, "switch", "--quiet", "main" if on == "main" else job.facts["branch"])
    (shop / "shop.py").write_text("mine\n")
    before = state(shop)
    with pytest.raises(TreadleError, match=r"your changes of shop\.py aren't committed"):
        typed(tmp_path, finish.merge, job=job.id)
    assert state(shop) == before


def test_on_a_third_branch_no_file_is_touched(tmp_path: Path, shop: Path) -> None:
    job = mended(tmp_path, shop)
    git(shop, "switch", "--quiet", "-c", "third", "main")
    (shop / "shop.py").write_text("mine\n")
    typed(tmp_path, finish.merge, job=job.id)
    assert (git(shop, "branch", "--show-current"), git(shop, "rev-parse", "main")) == ("third", job.output["commit"])
    assert (shop / "shop.py").read_text() == "mine\n"


def test_what_a_failed_job_left_uncommitted_is_not_merged(tmp_path: Path, shop: Path) -> None:
    carried_out(tmp_path, shop, "debug", {}, Scripted(mends(DOUBLED), reports("I can't", done=False)))
    before = state(shop)
    with pytest.raises(SettingsError, match="has committed nothing"):
        typed(tmp_path, finish.merge)
    assert state(shop) == before


def test_without_a_repository_there_is_nothing_to_merge(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    folder = project(tmp_path, repository=False)
    job = mended(tmp_path, folder)
    with pytest.raises(SettingsError, match="has no branch"):
        typed(tmp_path, finish.merge, job=job.id)


# pull requests


def test_a_jobs_branch_is_pushed_and_described_whichever_branch_the_folder_is_on(tmp_path: Path, shop: Path) -> None:
    job = mended(tmp_path, shop)
    git(shop, "switch", "--quiet", "main")
    remote = git(tmp_path / "remote.git", "rev-parse", "main")
    code, lines = typed(tmp_path, finish.pr, job=job.id)
    assert code == 0
    assert lines[0].startswith(f"Pushed {job.facts['branch']} at {job.output['commit'][:10]}")
    assert git(tmp_path / "remote.git", "rev-parse", job.facts["branch"]) == job.output["commit"]
    assert git(tmp_path / "remote.git", "rev-parse", "main") == remote
    kept = Jobs(tmp_path / "home").get(job.id).output
    assert [kept["pushed"], kept["pull_request"]] == lines


def test_a_job_that_committed_nothing_has_nothing_to_push(tmp_path: Path, shop: Path) -> None:
    carried_out(tmp_path, shop, "debug", {}, Scripted(mends(DOUBLED), reports("I can't", done=False)))
    with pytest.raises(SettingsError, match="has committed nothing"):
        typed(tmp_path, finish.pr)


# follow-ups


def followed(place: Path, job: str, model: Scripted, *words: str) -> tuple[int, Job]:
    """The job that a follow-up made, and the exit code of the command."""
    home, screen = open_home(place / "home"), Screen()
    parser = ArgumentParser()
    finish.follow_up_arguments(parser)

    async def same() -> Any:
        return model

    try:
        code = asyncio.run(finish.follow_up(parser.parse_args([job, *words]), Host(home, same, terminal=screen)))
        return code, Jobs(home.folder).all()[0]
    finally:
        close_home(home)


def test_a_follow_up_goes_on_from_the_jobs_branch_and_is_told_what_was_done(tmp_path: Path, shop: Path) -> None:
    first = mended(tmp_path, shop)
    git(shop, "switch", "--quiet", "main")
    model = Scripted(writes("name.py", ADDED), reports("Name the shop"))
    code, job = followed(tmp_path, first.id, model, "Give", "it", "a", "name")
    assert (code, job.kind, job.state, job.given["follows"]) == (0, "debug", "completed", first.id)
    assert (job.output["verified"], job.output["denied"]) == (False, False)
    assert job.why == "Not verified: no test shows the symptom: without the change the tests pass as well."
    asked = str(model.requests[0])
    for words in ("Give it a name", "Its task: Prices are off", "Its result: Mend the price", "Files it changed: shop.py"):
        assert words in asked
    assert git(shop, "log", "--format=%s", "-3", job.facts["branch"]).splitlines() == ["Name the shop", "Mend the price", "A shop"]
    typed(tmp_path, finish.merge, job=job.id)
    assert (git(shop, "branch", "--show-current"), git(shop, "rev-parse", "main")) == ("main", job.output["commit"])


def test_a_follow_up_is_taken_back_to_where_the_job_before_it_was(tmp_path: Path, shop: Path) -> None:
    first = mended(tmp_path, shop)
    _, job = followed(tmp_path, first.id, Scripted(writes("name.py", ADDED), reports("Name the shop")), "Give it a name")
    assert typed(tmp_path, undo.undo, all=True)[1][0] == "Removed again: name.py"
    assert git(shop, "diff", "--stat", first.facts["branch"], job.facts["branch"]) == ""
    assert git(shop, "status", "--porcelain") == ""


def test_after_a_merge_the_changes_are_taken_back_in_the_persons_folder(tmp_path: Path, shop: Path) -> None:
    job = mended(tmp_path, shop)
    typed(tmp_path, finish.merge)
    lines = typed(tmp_path, undo.undo, job=job.id, all=True)[1]
    assert lines == ["Put back: shop.py", f"The commit {job.output['commit'][:10]} stays on the branch {job.facts['branch']}."]
    assert ((shop / "shop.py").read_text(), git(shop, "status", "--porcelain")) == (SHOP, "M shop.py")


def test_a_branch_that_moves_during_a_merge_is_not_overwritten(tmp_path: Path, shop: Path) -> None:
    ours = git(shop, "rev-parse", "main")
    git(shop, "switch", "--quiet", "-c", "third")
    git(shop, "commit", "--quiet", "--allow-empty", "-m", "Another")
    git(shop, "branch", "--force", "main", "third")
    with pytest.raises(TreadleError, match="git update-ref failed"):
        asyncio.run(_move_branch(SandboxedGit(shop), "third", "job", "main", ours, ours))
    assert git(shop, "rev-parse", "main") == git(shop, "rev-parse", "third")


def test_after_a_merge_a_follow_up_goes_on_from_the_branch_that_has_it(tmp_path: Path, shop: Path) -> None:
    first = mended(tmp_path, shop)
    typed(tmp_path, finish.merge)
    git(shop, "branch", "--delete", first.facts["branch"])
    code, job = followed(tmp_path, first.id, Scripted(writes("name.py", ADDED), reports("Name the shop")), "Give it a name")
    assert (code, job.facts["base"]) == (0, "main")


def test_where_the_branch_is_gone_a_follow_up_says_so(tmp_path: Path, shop: Path) -> None:
    first = mended(tmp_path, shop)
    git(shop, "switch", "--quiet", "main")
    git(shop, "branch", "--quiet", "-D", first.facts["branch"])
    code, job = followed(tmp_path, first.id, Scripted(), "Give it a name")
    assert (code, job.state) == (1, "failed")
    assert job.why.startswith(f"There is no branch {first.facts['branch']} any more")


def test_a_follow_up_of_nothing_does_not_begin(tmp_path: Path, shop: Path) -> None:
    first = mended(tmp_path, shop)
    with pytest.raises(SettingsError, match="There is nothing to go by"):
        followed(tmp_path, first.id, Scripted())
    assert len(Jobs(tmp_path / "home").all()) == 1


# over HTTP


def test_a_job_is_merged_and_followed_up_over_http(tmp_path: Path, shop: Path) -> None:
    with served(tmp_path, mends(), reports(), writes("name.py", ADDED), reports("Name the shop")) as table:
        first = table.begin(shop)
        table.over(first)
        status, begun = table.ask("POST", f"/api/coding/jobs/{first}/follow-up", {"what": "Give it a name"})
        assert status == 201, begun
        second = begun["job"]["id"]
        done = table.over(second)
        assert (done["state"], done["can_merge"], done["into"]) == ("completed", True, "main")
        status, told = table.ask("POST", f"/api/coding/jobs/{second}/merge")
        assert (status, told["into"], told["commit"]) == (200, "main", git(shop, "rev-parse", "main")), told
        assert ((shop / "shop.py").read_text(), (shop / "name.py").read_text()) == (MENDED, ADDED)
        assert table.ask("GET", f"/api/coding/jobs/{second}")[1]["job"]["can_merge"] is False
        assert table.ask("POST", f"/api/coding/jobs/{second}/follow-up", {"what": " "})[0] == 422


def test_a_patch_comes_over_http_and_a_merge_that_cant_be_is_a_sentence(tmp_path: Path, shop: Path) -> None:
    with served(tmp_path, mends(), reports()) as table:
        job = table.begin(shop)
        table.over(job)
        with urlopen(f"{table.url}/api/coding/jobs/{job}/patch") as response:
            patch = response.read()
        (shop / "shop.py").write_text("mine\n")
        status, told = table.ask("POST", f"/api/coding/jobs/{job}/merge")
    assert (status, "your changes of shop.py aren't committed" in told["error"]) == (409, True)
    git(shop, "checkout", "--quiet", "--", "shop.py")
    git(shop, "switch", "--quiet", "main")
    assert (shop / "shop.py").read_text() == SHOP
    subprocess.run(["git", "apply", "-"], cwd=shop, input=patch, check=True)
    assert (shop / "shop.py").read_text() == MENDED

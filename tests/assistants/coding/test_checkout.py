"""Each job works in a copy of its own: several at once, and the person's checkout is the same byte for byte, whatever happens."""

import asyncio
import subprocess
import venv
from pathlib import Path
from typing import Any

import pytest

from assistants.coding import stage
from assistants.coding.stage import (
    MENDED,
    SHOP,
    asks,
    carried_out,
    checkout_of,
    git,
    mends,
    needs_git,
    patch_in,
    project,
    reports,
    workspace_of,
)
from assistants.coding.table import must_contain, named, served
from assistants.coding.test_undo import typed
from treadle.admin.deletion import delete_jobs
from treadle.assistants.coding import finish
from treadle.assistants.coding.job_kinds import find_coding_job_kind
from treadle.core.requests import Request
from treadle.core.seams import Model
from treadle.home import close_home, open_home
from treadle.jobs.execution import execute_job
from treadle.jobs.store import Job, Jobs, remove_tree
from treadle.models.scripted import Scripted, ScriptedReply
from treadle.plugins.assistant import Host

pytestmark = needs_git
OTHER = "def name():\n    return 'shop'\n"


@pytest.fixture
def shop(tmp_path: Path) -> Path:
    """The project, where commands can be contained."""
    folder = project(tmp_path)
    must_contain(folder)
    return folder


def writes(path: str, content: str) -> ScriptedReply:
    return asks(("file", {"action": "write", "path": path, "content": content}))


def bash(*commands: str) -> ScriptedReply:
    return asks(*[("bash", {"command": command}) for command in commands])


def results(model: Scripted) -> str:
    """What the model was told of its calls."""
    return "\n".join([part.content for message in model.requests[-1].history for part in message.parts if hasattr(part, "content")])


def test_two_jobs_change_one_repository_at_once_each_on_its_own_branch(tmp_path: Path, shop: Path) -> None:
    (shop / "shop.py").write_text(SHOP + "\n\n# mine\n")
    git(shop, "stash", "--quiet")
    (shop / "notes.txt").write_text("mine")
    (shop / "staged.txt").write_text("staged")
    git(shop, "add", "staged.txt")
    before = checkout_of(shop)
    both = asyncio.Barrier(2)

    def meets(answer: ScriptedReply) -> Any:
        def reply(request: Request) -> Any:
            async def deltas() -> Any:
                await asyncio.wait_for(both.wait(), 60)  # neither goes on before the other is in the middle of its work, too
                async for delta in Scripted(answer).reply(request):
                    yield delta

            return deltas()

        return reply

    async def one(home: Any, name: str, *replies: Any) -> Job:
        async def model() -> Model:
            return Scripted(*replies)

        job = Jobs(home.folder).create("coding", "build", name, given={"description": name}, workspace=str(shop))
        return await execute_job(job.id, find_coding_job_kind("build").work, Host(home, model))

    async def run(home: Any) -> list[Job]:
        first = one(home, "Prices", mends(), meets(bash("ls")), reports("Mend the price"))
        second = one(home, "Name it", writes("name.py", OTHER), meets(bash("ls")), *[reports("Name the shop")] * 3)
        return await asyncio.gather(first, second)

    home = open_home(tmp_path / "home")
    try:
        jobs = asyncio.run(run(home))
    finally:
        close_home(home)
    assert [job.state for job in jobs] == ["completed", "completed"]
    assert checkout_of(shop) == before
    branches = [job.output["branch"] for job in jobs]
    assert git(shop, "diff", "--name-only", "main", branches[0]) == "shop.py"
    assert git(shop, "diff", "--name-only", "main", branches[1]) == "name.py"
    assert git(shop, "stash", "list").count("\n") == 0
    assert not any(workspace_of(tmp_path, job).exists() for job in jobs)


def test_a_job_sees_changes_that_are_not_committed_and_leaves_them_to_the_person(tmp_path: Path, shop: Path) -> None:
    (shop / "test_shop.py").write_text(stage.TESTS + "\n\ndef test_mine():\n    assert price(1) == 3\n")
    (shop / "notes.txt").write_text("mine")
    (shop / ".gitignore").unlink()
    before = checkout_of(shop)
    model = Scripted(bash("cat notes.txt; ls -A"), mends(), reports())
    job = carried_out(tmp_path, shop, "debug", {}, model)
    assert (job.state, job.output["tests"]) == ("completed", "3 tests pass")
    assert "mine" in results(model)
    assert ".gitignore" not in results(model)
    assert sorted(job.facts["dirty"]) == [".gitignore", "notes.txt", "test_shop.py"]
    assert git(shop, "diff", "--name-only", "main", job.output["branch"]) == "shop.py"
    assert checkout_of(shop) == before
    patch = patch_in(tmp_path, job)
    subprocess.run(["git", "apply", "-"], cwd=shop, input=patch, text=True, check=True)
    assert (shop / "shop.py").read_text() == MENDED


def test_a_job_whose_file_had_changes_of_the_person_merges_once_those_are_committed(
    tmp_path: Path, shop: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    mine = f'"""Prices."""\n\n\n{SHOP}'
    (shop / "shop.py").write_text(mine)
    monkeypatch.chdir(shop)
    job = carried_out(tmp_path, shop, "debug", {}, Scripted(mends(f'"""Prices."""\n\n\n{MENDED}'), reports()))
    git(shop, "commit", "--quiet", "-am", "Say what it is")
    assert typed(tmp_path, finish.merge, job=job.id)[0] == 0
    assert ((shop / "shop.py").read_text(), git(shop, "status", "--porcelain")) == (f'"""Prices."""\n\n\n{MENDED}', "")


def test_a_job_that_failed_keeps_its_folder_goes_on_there_and_leaves_none_when_it_is_done(tmp_path: Path, shop: Path) -> None:
    before = checkout_of(shop)
    job = carried_out(tmp_path, shop, "debug", {}, Scripted(writes("half.txt", "half"), reports("Not yet", done=False)))
    kept = workspace_of(tmp_path, job)
    assert (job.state, (kept / "half.txt").read_text()) == ("failed", "half")

    async def again() -> Model:
        return Scripted(bash("cat half.txt"), mends(), reports("Mended"))

    home = open_home(tmp_path / "home")
    try:
        done = asyncio.run(execute_job(job.id, find_coding_job_kind("debug").work, Host(home, again)))
    finally:
        close_home(home)
    assert (done.state, sorted(done.output["files"]), kept.exists()) == ("completed", ["half.txt", "shop.py"], False)
    assert git(shop, "show", f"{done.output['branch']}:half.txt") == "half"
    assert checkout_of(shop) == before


def test_a_copy_that_is_lost_is_made_anew_from_the_branch(tmp_path: Path, shop: Path) -> None:
    commits = asks(("git", {"action": "add", "files": ["shop.py"]}), ("git", {"action": "commit", "message": "Half of it"}))
    job = carried_out(tmp_path, shop, "debug", {}, Scripted(mends(), commits, reports("Not yet", done=False)))
    assert git(shop, "log", "-1", "--format=%s", job.facts["branch"]) == "Half of it"
    remove_tree(Jobs(tmp_path / "home").drop_workspace(job.id))

    async def again() -> Model:
        return Scripted(writes("name.py", OTHER), reports("Name it"))

    home = open_home(tmp_path / "home")
    try:
        done = asyncio.run(execute_job(job.id, find_coding_job_kind("debug").work, Host(home, again)))
    finally:
        close_home(home)
    assert (done.state, done.why) == ("completed", "")
    assert git(shop, "log", "--format=%s", f"main..{done.output['branch']}").splitlines() == ["Name it", "Half of it"]


def test_tests_and_commands_have_the_projects_environment_at_its_own_path(tmp_path: Path, shop: Path) -> None:
    (shop / ".gitignore").write_text("__pycache__/\n.venv/\nnode_modules/\n")
    (shop / "src").mkdir()
    (shop / "src" / "rates.py").write_text("RATE = 2\n")
    (shop / "test_shop.py").write_text("import unittest, rates, extra\n\n\nclass T(unittest.TestCase):\n    def test_it(self):\n")
    with (shop / "test_shop.py").open("a") as file:
        file.write("        self.assertEqual((rates.RATE, extra.KNOWN), (3, True))\n")
    git(shop, "add", ".")
    git(shop, "commit", "--quiet", "-m", "Rates")
    venv.create(shop / ".venv", symlinks=True)
    packages = next((shop / ".venv" / "lib").glob("python3*/site-packages"))
    (packages / "extra.py").write_text("KNOWN = True\n")
    (packages / "editable.pth").write_text(f"{shop / 'src'}\n")  # as an editable installation has it
    script = shop / ".venv" / "bin" / "rate"
    script.write_text(f"#!{shop / '.venv' / 'bin' / 'python'}\nimport rates\nprint('the rate is', rates.RATE)\n")
    script.chmod(0o755)
    (shop / "node_modules" / "left-pad").mkdir(parents=True)
    (shop / "node_modules" / "left-pad" / "index.js").write_text("module.exports = 1\n")
    before = checkout_of(shop)
    looks = bash("pwd; rate; cat node_modules/left-pad/index.js", "touch .venv/here || echo read-only")
    absolute = asks(("file", {"action": "read", "path": str(shop / "src" / "rates.py")}))
    model = Scripted(absolute, writes("src/rates.py", "RATE = 3\n"), looks, reports())
    job = carried_out(tmp_path, shop, "debug", {}, model)
    said = results(model)
    assert (job.state, job.output["tests"], job.output["files"]) == ("completed", "1 test passes", ["src/rates.py"]), said
    for words in (f"{shop}\n", "the rate is 3", "module.exports", "read-only"):
        assert words in said
    assert checkout_of(shop) == before


def test_what_a_command_writes_into_git_never_runs_outside(tmp_path: Path, shop: Path) -> None:
    marks = tmp_path / "marks"
    marks.mkdir()
    hook = f"#!/bin/sh\\ntouch {marks}/ran\\n"
    names = "post-commit reference-transaction pre-push post-checkout post-merge pre-commit"
    evil = bash(
        f"mkdir -p .git/hooks; for name in {names}; do printf '{hook}' > .git/hooks/$name; chmod +x .git/hooks/$name; done",
        f"git config core.fsmonitor 'touch {marks}/ran'; git config core.hooksPath .; echo '[x' >> .git/config",
        f"printf '* filter=evil\\n' > .gitattributes; git config filter.evil.clean 'touch {marks}/ran; cat'",
        f"rm -rf .git .gitattributes; git init -q . && git config core.fsmonitor 'touch {marks}/ran'",
    )
    before = checkout_of(shop)
    job = carried_out(tmp_path, shop, "debug", {}, Scripted(evil, mends(), reports()))
    assert job.state == "completed", job.why
    assert checkout_of(shop) == before
    git(shop, "status")
    git(shop, "switch", "--quiet", job.output["branch"])
    assert list(marks.iterdir()) == []


def test_a_command_cannot_reach_the_persons_repository(tmp_path: Path, shop: Path) -> None:
    before = checkout_of(shop)
    reaching = bash(f"echo gone > {shop}/shop.py; rm -rf {shop}/.git/objects; git -C {shop} branch -f main HEAD^; ls {shop}/..")
    job = carried_out(tmp_path, shop, "debug", {}, Scripted(reaching, mends(), reports()))
    assert job.state == "completed", job.why  # it was the copy that it saw there
    assert checkout_of(shop) == before
    assert git(shop, "fsck", "--no-dangling") == ""


def test_a_deleted_job_leaves_no_byte_also_of_what_it_made_unreadable(tmp_path: Path, shop: Path) -> None:
    word = "unmistakable-word"
    locked = bash(f"mkdir locked && echo {word} > locked/file && chmod 000 locked/file locked")
    job = carried_out(tmp_path, shop, "debug", {}, Scripted(locked, reports("Not yet", done=False)))
    assert workspace_of(tmp_path, job).is_dir()
    home = open_home(tmp_path / "home")
    try:
        asyncio.run(delete_jobs(home, [job.id]))
    finally:
        close_home(home)
    assert not (tmp_path / "home" / "jobs" / job.id).exists()
    found = [path for path in (tmp_path / "home").rglob("*") if path.is_file() and word.encode() in path.read_bytes()]
    assert found == []


def test_a_job_that_nobody_carries_out_leaves_no_copy_when_it_is_cancelled(tmp_path: Path, shop: Path) -> None:
    job = carried_out(tmp_path, shop, "build", {"description": "x"}, Scripted(mends(), asks(("git", {"action": "push"}))))
    assert (job.state, workspace_of(tmp_path, job).is_dir()) == ("waiting", True)
    assert Jobs(tmp_path / "home").cancel(job.id).state == "cancelled"
    assert not workspace_of(tmp_path, job).exists()
    assert "return count * 3\n" in patch_in(tmp_path, job)


def test_what_does_not_belong_in_a_repository_is_told_and_is_in_the_patch(tmp_path: Path, shop: Path) -> None:
    key = "-----BEGIN RSA PRIVATE KEY-----\nMIIEowIBAAKCAQEA7bq0\n-----END RSA PRIVATE KEY-----\n"
    job = carried_out(tmp_path, shop, "debug", {}, Scripted(mends(), writes("notes.txt", key), reports()))
    assert list(job.output["left_out"]) == ["notes.txt"]
    assert git(shop, "diff", "--name-only", "main", job.output["branch"]) == "shop.py"
    assert "notes.txt" in patch_in(tmp_path, job)


def test_without_a_sandbox_the_copy_has_links_to_the_projects_environment(
    tmp_path: Path, shop: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (shop / ".gitignore").write_text("__pycache__/\n.venv/\n")
    git(shop, "commit", "--quiet", "-am", "Ignore it")
    venv.create(shop / ".venv", symlinks=True)
    (tmp_path / "own.toml").write_text("[commands]\nsandbox = false\n")
    monkeypatch.setenv("TREADLE_CONFIG", str(tmp_path / "own.toml"))
    monkeypatch.setenv("TREADLE_BWRAP", str(tmp_path / "none"))
    before = checkout_of(shop)
    model = Scripted(bash("readlink .venv; git status --porcelain"), mends(), reports(done=False))
    job = carried_out(tmp_path, shop, "debug", {"description": "Prices are off."}, model)
    assert (job.state, job.facts["is_private"]) == ("failed", True)
    assert f"{shop}/.venv\n" in results(model)
    assert "?? .venv" not in results(model)
    assert checkout_of(shop) == before


def test_a_job_on_the_page_leaves_the_checkout_alone_and_is_merged_there(tmp_path: Path, shop: Path) -> None:
    before = checkout_of(shop)
    with served(tmp_path, named(mends()), named(reports())) as table:
        job = table.begin(shop)
        done = table.over(job)
        assert (done["state"], done["workspace"], done["can_merge"]) == ("completed", str(shop), True)
        assert table.ask("GET", f"/api/coding/jobs/{job}/diff")[1]["files"][0]["path"] == "shop.py"
        assert checkout_of(shop) == before
        assert table.ask("POST", f"/api/coding/jobs/{job}/merge")[1]["into"] == "main"
    assert (shop / "shop.py").read_text() == MENDED


def test_a_job_is_begun_in_a_folder_that_has_no_commit_yet(tmp_path: Path) -> None:
    folder = tmp_path / "new"
    folder.mkdir()
    must_contain(folder)
    git(folder, "init", "--quiet", "--initial-branch=main")
    (folder / "shop.py").write_text(SHOP)
    (folder / "test_shop.py").write_text(stage.TESTS)
    job = carried_out(tmp_path, folder, "debug", {}, Scripted(mends(), reports()))
    assert (job.state, job.why) == ("completed", "")
    assert git(folder, "ls-tree", "--name-only", job.output["branch"]) == "shop.py"
    assert (folder / "shop.py").read_text() == SHOP

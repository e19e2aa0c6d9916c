"""What a command writes so that git runs a program outside, at the person's next `git status` or commit. None of it may run.

Each attempt leaves a mark of its own if its program runs. All are made in one start of the sandbox; then the person uses git.
"""

import asyncio
import os
import shutil
import subprocess
from functools import cache
from pathlib import Path
from tempfile import TemporaryDirectory

import pytest

from treadle.core.calls import Call
from treadle.core.context import RunContext
from treadle.sandbox.probe import check_sandbox
from treadle.sandbox.runner import run_command
from treadle.sandbox.values import Bounds, SandboxSpec
from treadle.toolsets.git.tools import git_tools

pytestmark = pytest.mark.skipif(shutil.which("git") is None, reason="there is no git here")

PERSON = {
    "GIT_CONFIG_GLOBAL": os.devnull,
    "GIT_CONFIG_NOSYSTEM": "1",
    "GIT_TEMPLATE_DIR": "",
    **{f"GIT_{role}_{what}": value for role in ("AUTHOR", "COMMITTER") for what, value in (("NAME", "a"), ("EMAIL", "a@b"))},
}
EVIL_CONFIG = "printf '[core]\\n\\tfsmonitor = \"touch {mark}; false\"\\n\\trepositoryformatversion = 0\\n\\tbare = false\\n'"
EVIL_HOOK = "printf '#!/bin/sh\\ntouch {mark}\\n'"
EVIL_REPOSITORY = f"git init -q $d; {EVIL_CONFIG} > $d/.git/config"

# name: what the command does, and what the person does afterwards
ATTEMPTS = {
    "setting by git": ('git config core.fsmonitor "touch {mark}"', "git status"),
    "setting by hand": (f"{EVIL_CONFIG} >> .git/config", "git status"),
    "alias": ('git config alias.st "!touch {mark}"', "git st"),
    "hook": (f"{EVIL_HOOK} > .git/hooks/pre-commit; chmod +x .git/hooks/pre-commit", "git commit --allow-empty -m x"),
    "hooks replaced": (
        f"rm -r .git/hooks; mkdir h; {EVIL_HOOK} > h/pre-commit; chmod +x h/*; ln -s ../h .git/hooks",
        "git commit -am x",
    ),
    "settings of a worktree": (f"{EVIL_CONFIG} > .git/config.worktree", "git status"),
    "common folder": (f"mkdir -p c/refs c/objects; {EVIL_CONFIG} > c/config; echo ../c > .git/commondir", "git status"),
    "the repository replaced": (f"mv .git away; d=.; {EVIL_REPOSITORY}", "git status"),
    "settings of a submodule": (f"{EVIL_CONFIG} >> .git/modules/sub/config", "git status"),
    "a new submodule's settings": (f"mkdir -p .git/modules/new; {EVIL_CONFIG} > .git/modules/new/config", "git status"),
    "a submodule's file replaced": (f"rm -f sub/.git; d=sub; {EVIL_REPOSITORY}", "git status"),
    "a submodule's file edited": (f"d=evil1; {EVIL_REPOSITORY}; echo gitdir: ../evil1/.git > sub/.git", "git status"),
    "a submodule's folder replaced": (f"mv moving moved; d=moving; {EVIL_REPOSITORY}", "git status"),
    "a submodule that is not checked out": (f"d=empty; {EVIL_REPOSITORY}", "git status"),
    "another worktree's common folder": ("mkdir -p c2; echo ../../../c2 > .git/worktrees/wt/commondir", "git -C ../wt status"),
    "another worktree's settings": (f"{EVIL_CONFIG} > .git/worktrees/wt/config.worktree", "git -C ../wt status"),
    "a nested repository's settings": (f"{EVIL_CONFIG} >> nested/.git/config", "git -C nested status"),
    "a nested repository's hook": (
        f"{EVIL_HOOK} > nested/.git/hooks/pre-commit; chmod +x nested/.git/hooks/pre-commit",
        "git -C nested commit --allow-empty -m x",
    ),
    "a nested repository replaced": (f"mv other1 other2; d=other1; {EVIL_REPOSITORY}", "git -C other1 status"),
    "a new repository": (f"d=new1; {EVIL_REPOSITORY}", "git -C new1 status"),
    "a new repository that includes settings": (
        f"git init -q new2; {EVIL_CONFIG} > new2/evil; printf '[include]\\n\\tpath = ../evil\\n' >> new2/.git/config",
        "git -C new2 status",
    ),
    "a new repository with a hook": (
        f"git init -q new3; mkdir -p new3/.git/hooks; {EVIL_HOOK} > new3/.git/hooks/pre-commit; chmod +x new3/.git/hooks/*",
        "git -C new3 commit --allow-empty -m x",
    ),
    "a new repository with linked hooks": (
        f"git init -q new4; mkdir h4; {EVIL_HOOK} > h4/pre-commit; chmod +x h4/*; cd new4/.git; rm -rf hooks; ln -s ../../h4 hooks",
        "git -C new4 commit --allow-empty -m x",
    ),
    "a new repository with a common folder": (
        f"git init -q new5; cp -r new5/.git c5; {EVIL_CONFIG} > c5/config; echo ../../c5 > new5/.git/commondir",
        "git -C new5 status",
    ),
    "a file that leads to a repository": (
        f"d=evil6; {EVIL_REPOSITORY}; mkdir new6; echo gitdir: ../evil6/.git > new6/.git",
        "git -C new6 status",
    ),
    "a link that leads to a repository": (
        f"d=evil7; {EVIL_REPOSITORY}; mkdir new7; ln -s ../evil7/.git new7/.git",
        "git -C new7 status",
    ),
    "a bare repository": (
        f"git init -q --bare bare1; {EVIL_CONFIG} > bare1/config; printf '\\tworktree = ..\\n' >> bare1/config",
        "git -C bare1 status",
    ),
    "a bare repository that was there": (
        f"{EVIL_CONFIG} > bare/config; printf '\\tworktree = ..\\n' >> bare/config",
        "git -C bare status",
    ),
    "a repository deep below": (f"mkdir -p a/b/c/d/e; d=a/b/c/d/e/f; {EVIL_REPOSITORY}", "git -C a/b/c/d/e/f status"),
    "a repository added to the index": (
        f"d=new8; {EVIL_REPOSITORY}; git update-index --add --cacheinfo 160000,$(git rev-parse HEAD),new8",
        "git status",
    ),
    "a remote that is a program": (
        "git init -q new9; git -C new9 remote add o 'ext::sh -c touch% {mark}'",
        "git -C new9 -c protocol.ext.allow=always fetch o",
    ),
}


def git(*words, cwd):
    return subprocess.run(["git", *words], cwd=cwd, env=os.environ | PERSON, capture_output=True, text=True, check=False)


def prepared(folder):
    """A repository with submodules, worktrees, and others nested in it."""
    workspace, source = folder / "work", folder / "source"
    for path in (source, workspace):
        git("init", "-q", str(path), cwd=folder)
        git("commit", "-q", "--allow-empty", "-m", "first", cwd=path)
    for name in ("sub", "moving", "empty"):
        git("-c", "protocol.file.allow=always", "submodule", "add", "-q", str(source), name, cwd=workspace)
    git("commit", "-qm", "submodules", cwd=workspace)
    git("submodule", "deinit", "-q", "empty", cwd=workspace)
    git("worktree", "add", "-q", str(folder / "wt"), cwd=workspace)
    git("config", "extensions.worktreeConfig", "true", cwd=workspace)
    for name in ("nested", "other1"):
        git("init", "-q", name, cwd=workspace)
    git("init", "-q", "--bare", "bare", cwd=workspace)
    for name in (".", "nested"):
        (workspace / name / ".git" / "hooks").mkdir()
    return workspace


def marked(text, folder, name):
    return text.replace("{mark}", str(folder / "marks" / name.replace(" ", "-").replace("'", "")))


@cache
def marks(*, contained):
    """The marks of attempts whose program ran, with the sandbox or without one."""
    with TemporaryDirectory(prefix="treadle-test-") as name:
        folder = Path(name, "all")
        (folder / "marks").mkdir(parents=True)
        workspace = prepared(folder)
        if contained:
            lines = [f"( {marked(line, folder, name)} ) >/dev/null 2>&1" for name, (line, _) in ATTEMPTS.items()]
            asyncio.run(run_command("; ".join(lines), SandboxSpec(workspace), Bounds(seconds=100)))
        shutil.copytree(folder, Path(name, "kept"), symlinks=True)
        for attempt, (line, then) in ATTEMPTS.items():
            if not contained:
                again(folder, Path(name, "kept"))
                person(marked(line, folder, attempt), workspace)
            person(then, workspace)
        return {path.name for path in (folder / "marks").iterdir()}


def again(folder, kept):
    """Everything as it was, but for the marks."""
    for path in kept.iterdir():
        if path.name != "marks":
            shutil.rmtree(folder / path.name)
            shutil.copytree(path, folder / path.name, symlinks=True)


def person(line, cwd):
    subprocess.run(line, shell=True, cwd=cwd, env=os.environ | PERSON, capture_output=True, check=False)


@pytest.fixture(autouse=True)
def contained(tmp_path):
    here = asyncio.run(check_sandbox(tmp_path))
    if not here.sandboxed:
        pytest.skip(here.why)


@pytest.mark.parametrize("name", ATTEMPTS)
def test_nothing_that_a_command_wrote_runs_when_the_person_uses_git(name):
    mark = marked("{mark}", Path("/"), name).rpartition("/")[2]
    assert mark not in marks(contained=True)


def test_the_attempts_are_real():
    """Without a sandbox nearly all of them run their program."""
    missing = {marked("{mark}", Path("/"), name).rpartition("/")[2] for name in ATTEMPTS} - marks(contained=False)
    assert missing <= {"a-new-submodules-settings", "another-worktrees-common-folder", "a-repository-added-to-the-index"}, missing


def ran(line, workspace):
    return asyncio.run(run_command(line, SandboxSpec(workspace), Bounds(seconds=30)))


def test_a_repository_where_there_was_none_is_kept_only_if_it_is_plain(tmp_path):
    mark = tmp_path / "mark"
    for name, more, kept in (("plain", "true", True), ("evil", f'git config core.fsmonitor "touch {mark}"', False)):
        workspace = tmp_path / name
        workspace.mkdir()
        left = ran(f"git init -q && {more}", workspace).set_aside
        git("status", cwd=workspace)
        assert (workspace / ".git").is_dir() is kept
        assert left == (() if kept else (".git",))
    assert not mark.exists()


def test_a_linked_worktree_keeps_its_file(tmp_path):
    workspace = prepared(tmp_path)
    before = (tmp_path / "wt" / ".git").read_text()
    ran("rm -f .git; mv .git x; echo gitdir: evil > .git; git init -q --separate-git-dir=y", tmp_path / "wt")
    assert (tmp_path / "wt" / ".git").read_text() == before
    assert git("status", "--short", cwd=workspace).returncode == 0


def test_a_link_to_a_repository_that_was_replaced_is_set_aside(tmp_path):
    source = prepared(tmp_path)
    workspace = tmp_path / "linked"
    workspace.mkdir()
    (workspace / ".git").symlink_to(source / ".git")
    mark = tmp_path / "mark"
    line = marked(f"rm .git; d=.; {EVIL_REPOSITORY}", tmp_path, "x")
    assert ran(line, workspace).set_aside == (".git",)
    git("status", cwd=workspace)
    assert not mark.exists()
    assert not (tmp_path / "marks").exists()


def test_hooks_that_are_kept_in_the_workspace_by_a_link_cannot_be_changed(tmp_path):
    workspace = prepared(tmp_path)
    shutil.rmtree(workspace / ".git" / "hooks")
    (workspace / "tools" / "hooks").mkdir(parents=True)
    (workspace / "tools" / "hooks" / "pre-commit").write_text("#!/bin/sh\n")
    (workspace / ".git" / "hooks").symlink_to("../tools/hooks")
    ran("echo touch ran >> tools/hooks/pre-commit; echo x > tools/hooks/post-commit; rm -rf tools/hooks", workspace)
    assert [path.name for path in (workspace / "tools" / "hooks").iterdir()] == ["pre-commit"]
    assert (workspace / "tools" / "hooks" / "pre-commit").read_text() == "#!/bin/sh\n"


def test_a_program_that_our_own_git_tool_starts_cannot_change_what_git_runs_either(tmp_path):
    """A filter that the person set up, and whose program lies in the workspace where a command could change it."""
    workspace = prepared(tmp_path)
    git("config", "filter.x.clean", "./clean.sh", cwd=workspace)
    (workspace / ".gitattributes").write_text("*.x filter=x\n")
    targets = [
        *("config", "config.worktree", "commondir", "hooks/pre-commit", "modules/sub/config", "modules/new/config"),
        *("worktrees/wt/commondir", "worktrees/wt/config.worktree"),
    ]
    writes = [f"mkdir -p $(dirname .git/{path}); echo evil > .git/{path}" for path in targets]
    more = ["echo evil >> nested/.git/config", "echo gitdir: evil > sub/.git", "echo x > ran"]
    (workspace / "clean.sh").write_text("#!/bin/sh\n{ " + "; ".join([*writes, *more]) + "; } 2>/dev/null\ncat\n")
    (workspace / "clean.sh").chmod(0o755)
    (workspace / "a.x").write_text("one\n")
    before = {path: (workspace / ".git" / path).exists() for path in targets}
    asyncio.run(git_tools(workspace).call(Call("1", "git", {"action": "add", "files": ["a.x"]}), RunContext(key="k")))
    assert (workspace / "ran").exists()  # or else nothing was tried
    texts = [(workspace / ".git" / path).read_text() for path in targets if (workspace / ".git" / path).exists()]
    assert not any(
        "evil" in text for text in [*texts, (workspace / "nested/.git/config").read_text(), (workspace / "sub/.git").read_text()]
    )
    assert {path: (workspace / ".git" / path).exists() for path in targets} == before


def test_our_own_git_tool_leaves_nothing_in_a_repository_without_hooks(tmp_path):
    workspace = prepared(tmp_path)
    shutil.rmtree(workspace / ".git" / "hooks")
    (workspace / "a").write_text("one\n")
    for _ in range(2):
        asyncio.run(git_tools(workspace).call(Call("1", "git", {"action": "add", "files": ["a"]}), RunContext(key="k")))
        (workspace / "a").write_text("two\n")
    assert [path.name for path in (workspace / ".git").iterdir() if "untrusted" in path.name] == []

"""Pushes to a bare repository beside the workspace."""

import asyncio
import subprocess
from pathlib import Path

import pytest

from treadle.toolsets.git.host_programs import HostPrograms
from treadle.toolsets.git.push import push_branch
from treadle.toolsets.git.sandboxed import GitFailed, GitRefused, NoGit, SandboxedGit


def in_remote(remote, *words):
    ran = subprocess.run(["git", *words], cwd=remote, capture_output=True, text=True, check=True)
    return ran.stdout.strip()


def commit(room, name="b.txt"):
    room.put(name)
    room.call("add", files=[name])
    room.call("commit", message=f"add {name}")
    return room.git("rev-parse", "HEAD")


def test_a_branch_is_pushed_and_a_repeat_changes_nothing(room, remote):
    head = commit(room)
    assert room.call("push") == f"Pushed treadle/work at {head[:10]} to {remote}."
    assert in_remote(remote, "rev-parse", "treadle/work") == head
    assert room.git("rev-parse", "origin/treadle/work") == head
    assert room.call("push") == f"treadle/work at {head[:10]} is there already: {remote}."
    assert in_remote(remote, "for-each-ref", "--format=%(refname)") == "refs/heads/main\nrefs/heads/treadle/work"
    assert [path.name for path in (room.folder / ".git" / "treadle").iterdir()] == []


def test_more_commits_are_pushed_on_top(room, remote):
    commit(room)
    room.call("push")
    head = commit(room, "c.txt")
    assert room.call("push", branch="work", remote="origin").startswith("Pushed treadle/work")
    assert in_remote(remote, "rev-parse", "treadle/work") == head


def test_another_branch_than_the_current_one_is_pushed_by_its_name(room, remote):
    room.git("branch", "side")
    assert room.call("push", branch="side").startswith("Pushed side at ")
    assert in_remote(remote, "rev-parse", "side") == room.git("rev-parse", "main")


def test_what_others_pushed_is_never_overwritten(room, remote, tmp_path):
    commit(room)
    room.call("push")
    other = tmp_path / "other"
    subprocess.run(["git", "clone", "-q", "-b", "treadle/work", str(remote), str(other)], check=True)
    subprocess.run("git commit -q --allow-empty -m theirs && git push -q", shell=True, cwd=other, check=True)
    theirs = in_remote(remote, "rev-parse", "treadle/work")
    commit(room, "c.txt")
    with pytest.raises(GitRefused, match=r"Nothing was pushed: .* has commits that this one doesn't have.*Create another branch"):
        room.call("push")
    room.git("reset", "-q", "--hard", "main")
    with pytest.raises(GitRefused, match="never overwritten"):
        room.call("push")
    assert in_remote(remote, "rev-parse", "treadle/work") == theirs


def test_what_the_remote_refuses_is_told_in_its_words(room, remote):
    (remote / "hooks").mkdir(exist_ok=True)
    (remote / "hooks" / "pre-receive").write_text("#!/bin/sh\necho 'commits need a ticket' >&2\nexit 1\n")
    (remote / "hooks" / "pre-receive").chmod(0o755)
    commit(room)
    with pytest.raises(GitFailed, match=r"The push to .* failed: [\s\S]*commits need a ticket[\s\S]*pre-receive hook declined"):
        room.call("push")


def test_a_shallow_clone_is_pushed_from(room, remote, tmp_path, at):
    for name in ("c.txt", "d.txt"):
        room.put(name)
        room.git("add", name)
        room.git("commit", "-qm", name)
    room.git("push", "-q", "origin", "treadle/work:main")
    shallow = at(tmp_path / "shallow")
    subprocess.run(["git", "clone", "-q", "--depth=1", f"file://{remote}", "-b", "main", str(shallow.folder)], check=True)
    shallow.call("create_branch", branch="thin")
    head = commit(shallow)
    assert shallow.call("push").startswith("Pushed treadle/thin")
    assert in_remote(remote, "rev-parse", "treadle/thin") == head
    assert in_remote(remote, "rev-list", "--count", "treadle/thin") == "4"


def test_a_repository_with_longer_hashes_is_pushed(folder, tmp_path, at):
    room, remote = at(folder), tmp_path / "long.git"
    subprocess.run(["git", "init", "-q", "--bare", "--object-format=sha256", str(remote)], check=True)
    room.git("init", "-q", "-b", "main", "--object-format=sha256")
    room.git("remote", "add", "origin", str(remote))
    room.call("create_branch", branch="long")
    head = commit(room)
    assert len(head) == 64
    room.call("push")
    assert in_remote(remote, "rev-parse", "treadle/long") == head


def test_a_remote_is_meant_by_its_name_only(room, remote):
    for name in ("nowhere", "upstream"):
        with pytest.raises(GitRefused, match=f"There is no remote {name}"):
            room.call("push", remote=name)
    for name in (str(remote), "https://example.org/x", "-x", "a b"):
        with pytest.raises(GitRefused, match="is no name of a remote"):
            room.call("push", remote=name)


def test_a_branch_without_a_commit_cannot_be_pushed(room):
    with pytest.raises(GitRefused, match="There is no branch nothing with a commit to push"):
        room.call("push", branch="nothing")


def test_a_remote_that_is_no_repository_is_refused(room, tmp_path):
    room.git("config", "remote.origin.url", str(tmp_path / "nothing"))
    with pytest.raises(GitRefused, match="is no bare repository"):
        room.call("push")


def test_a_server_that_is_not_there_is_explained_without_the_password(room):
    room.git("config", "remote.origin.url", "https://ada:hunter2hunter2@127.0.0.1:1/x.git")
    with pytest.raises(GitFailed, match=r"Nothing was pushed: https://127.0.0.1:1/x.git can't be reached") as caught:
        room.call("push")
    assert "hunter2" not in str(caught.value)


def test_without_git_outside_nothing_is_pushed(room, tmp_path):
    (tmp_path / "bin").mkdir()
    outside = HostPrograms(room.folder, {"PATH": f"{tmp_path}/bin:relative:"})
    with pytest.raises(NoGit, match="isn't installed outside"):
        asyncio.run(push_branch(SandboxedGit(room.folder), outside, "treadle/work", "origin"))


@pytest.mark.parametrize(
    ("step", "words", "said"),
    [
        ("init", "fatal: no room", "Preparing the push failed: no room"),
        ("index-pack", "fatal: pack is corrupted", "Taking the commits out of the sandbox failed: pack is corrupted"),
        ("push", "git@host: Permission denied (publickey).", "refused access.*publickey"),
        ("push", "fatal: The requested URL returned error: 403", "refused access.*403"),
        ("push", "!\tab52ed9449401791f91b5199c798abaec08c402e: declined", "The push to .* failed"),
        ("push", "fatal: something else", "The push to .* failed: something else"),
    ],
)
def test_each_step_that_fails_is_told(step, words, said, room, tmp_path):
    (tmp_path / "bin").mkdir()
    (tmp_path / "bin" / "git").write_text(f"#!/bin/sh\n[ $1 != {step} ] || {{ echo '{words}'; exit 1; }}\n")
    (tmp_path / "bin" / "git").chmod(0o755)
    with pytest.raises(GitFailed, match=said):
        asyncio.run(
            push_branch(SandboxedGit(room.folder), HostPrograms(room.folder, {"PATH": f"{tmp_path}/bin"}), "treadle/work", "origin")
        )
    assert [*(room.folder / ".git" / "treadle").glob("*")] == []


# Outside


def test_a_program_outside_stands_apart_from_the_workspace(room, monkeypatch):
    monkeypatch.setenv("GIT_DIR", str(room.folder / ".git"))
    monkeypatch.setenv("GIT_SSH_COMMAND", "mine")
    ran = asyncio.run(HostPrograms(room.folder).run("/usr/bin/env", cwd=Path("/")))
    assert "GIT_DIR" not in ran.output
    assert "GIT_SSH_COMMAND=mine\n" in ran.output
    assert "GIT_TERMINAL_PROMPT=0\n" in ran.output


def test_a_program_outside_that_takes_too_long_is_ended(room):
    ran = asyncio.run(HostPrograms(room.folder).run("/bin/sh", "-c", "echo on; sleep 600", cwd=Path("/"), seconds=0.3))
    assert (ran.code, ran.output, ran.killed_for) == (None, "on\n", "time")


def test_the_person_is_asked_for_outside_of_any_repository(room, person):
    room.git("config", "user.name", "Somebody Else")
    assert asyncio.run(HostPrograms(room.folder).identity()).name == "Ada Person"
    assert asyncio.run(HostPrograms(room.folder, {"HOME": str(person), "PATH": ""}).identity()).name == "Treadle"
    (person / ".gitconfig").unlink()
    assert asyncio.run(HostPrograms(room.folder).identity()).email == "treadle@localhost"

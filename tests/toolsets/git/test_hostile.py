"""A repository that wants to run programs by way of git. Outside of the sandbox none of it takes effect."""

import subprocess

import pytest

from treadle.toolsets.git.sandboxed import GitProblem, GitRefused, NoRepository


def hostile(marker):
    """Settings that start a program, each in its own way; the program leaves a mark."""
    leaves = f"touch {marker}"
    return f"""
[core]
\tfsmonitor = "{leaves}; false"
\thooksPath = evil-hooks
\tpager = "{leaves}; cat"
\teditor = "{leaves}; true"
\tsshCommand = "{leaves}; false"
\taskPass = "{leaves}"
\tgitProxy = "{leaves}"
[filter "x"]
\tclean = "{leaves}; cat"
\tsmudge = "{leaves}; cat"
\trequired = true
[diff]
\texternal = "{leaves}; true"
[diff "x"]
\ttextconv = "{leaves}; cat"
\tcommand = "{leaves}; true"
[merge "x"]
\tdriver = "{leaves}; true"
[alias]
\tstatus = "!{leaves}"
\tx = "!{leaves}"
[credential]
\thelper = "!{leaves}; true"
[gpg]
\tprogram = "{leaves}"
[commit]
\tgpgSign = true
[sequence]
\teditor = "{leaves}"
[remote "origin"]
\treceivepack = "{leaves}; git-receive-pack"
\tuploadpack = "{leaves}; git-upload-pack"
[push]
\tgpgSign = true
[uploadpack]
\tpackObjectsHook = "{leaves}; exec"
"""


HOOKS = ["pre-commit", "post-commit", "commit-msg", "reference-transaction", "post-checkout", "pre-push", "post-index-change"]


@pytest.fixture
def marker(room, tmp_path):
    """Where the program's mark would be; it is there only if something ran outside."""
    marker = tmp_path / "marker"
    room.put(".gitattributes", "*.x filter=x diff=x merge=x\n")
    room.put("a.x", "one\n")
    room.git("add", ".gitattributes", "a.x")
    room.git("commit", "-qm", "with attributes")
    for folder in ("evil-hooks", ".git/hooks"):
        for name in HOOKS:
            room.put(f"{folder}/{name}", f"#!/bin/sh\ntouch {marker}\n")
            (room.folder / folder / name).chmod(0o755)
    with (room.folder / ".git" / "config").open("a") as config:
        config.write(hostile(marker))
    return marker


@pytest.mark.parametrize(
    "line",
    [
        "status",
        "-c core.fsmonitor= diff",
        "-c core.fsmonitor= add a.x",
        "-c core.fsmonitor= commit -m x",
        "update-ref refs/x HEAD",
        "-c push.gpgSign=false push origin HEAD:x",
    ],
)
def test_the_repository_is_as_hostile_as_it_looks(line, room, marker):
    room.put("a.x", "two\n")
    room.git(*line.split(), check=False)
    assert marker.exists()


def test_nothing_of_it_takes_effect_outside(room, marker, remote):
    room.put("a.x", "two\n")
    room.put("b.x", "new\n")
    for action, arguments in [
        ("status", {}),
        ("diff", {}),
        ("log", {}),
        ("branch", {}),
        ("create_branch", {"branch": "other"}),
        ("add", {"files": ["a.x", "b.x"]}),
        ("commit", {"message": "contained"}),
        ("diff", {"base": "main"}),
        ("checkout", {"branch": "work"}),
        ("checkout", {"branch": "other"}),
        ("push", {}),
        ("create_pr", {"title": "x"}),
    ]:
        room.call(action, **arguments)
        assert not marker.exists(), action
    pushed = subprocess.run(
        ["git", "log", "-1", "--format=%s", "treadle/other"], cwd=remote, capture_output=True, text=True, check=True
    )
    assert pushed.stdout == "contained\n"


def test_hooks_do_not_run_inside_either(room):
    for name in HOOKS:
        room.put(f".git/hooks/{name}", "#!/bin/sh\ntouch ran; exit 1\n")
        (room.folder / ".git" / "hooks" / name).chmod(0o755)
    room.put("b.txt")
    room.call("add", files=["b.txt"])
    room.call("commit", message="x")
    assert not (room.folder / "ran").exists()


def test_hooks_and_settings_stay_as_they_are(room, marker):
    before = (room.folder / ".git" / "config").read_text()
    room.put("b.txt")
    room.call("add", files=["b.txt"])
    room.call("commit", message="x")
    assert (room.folder / ".git" / "config").read_text() == before


def test_a_push_over_ssh_takes_no_ssh_command_from_the_repository(room, marker):
    room.git("config", "remote.origin.url", "ssh://git@127.0.0.1:1/x.git")
    with pytest.raises(GitProblem):
        room.call("push")
    assert not marker.exists()


@pytest.mark.parametrize(
    "url",
    [
        "ext::sh -c touch% {marker}",
        "--upload-pack=touch {marker}",
        "-oProxyCommand=touch {marker}",
        "ssh://-oProxyCommand=touch%20{marker}/x",
        "-oProxyCommand=touch${{IFS}}x:y",
        "fd::17/foo",
        "http://127.0.0.1:1/x.git",
        "git://127.0.0.1:1/x.git",
        "ftp://127.0.0.1/x",
        "transport::address",
    ],
)
def test_an_address_that_could_start_a_program_is_refused(url, room, tmp_path):
    marker = tmp_path / "marker"
    room.git("config", "remote.origin.url", url.format(marker=marker))
    with pytest.raises(GitRefused):
        room.call("push")
    assert not marker.exists()


def test_an_address_that_is_rewritten_to_a_program_is_refused(room, tmp_path):
    marker = tmp_path / "marker"
    room.git("config", "remote.origin.url", "https://example.org/x.git")
    room.git("config", f"url.ext::sh -c touch% {marker} .insteadOf", "https://example.org/")
    with pytest.raises(GitRefused, match="isn't one that is pushed to"):
        room.call("push")
    assert not marker.exists()


def test_a_remote_in_the_workspace_is_refused_because_its_hooks_would_run(room, tmp_path):
    marker = tmp_path / "marker"
    evil = room.folder / "evil.git"
    subprocess.run(["git", "init", "-q", "--bare", str(evil)], check=True)
    (evil / "hooks" / "pre-receive").write_text(f"#!/bin/sh\ntouch {marker}\n")
    (evil / "hooks" / "pre-receive").chmod(0o755)
    (tmp_path / "innocent.git").symlink_to(evil)
    for url in ("evil.git", "./evil.git", str(evil), f"file://{evil}", str(tmp_path / "innocent.git"), "../work/evil.git"):
        room.git("config", "remote.origin.url", url)
        with pytest.raises(GitRefused, match="a folder in the workspace"):
            room.call("push")
    assert not marker.exists()


def test_programs_that_lie_in_the_workspace_are_not_used_outside(room, tmp_path, monkeypatch):
    marker = tmp_path / "marker"
    room.git("remote", "add", "github", "https://github.com/acme/widget.git")
    for name in ("git", "gh", "ssh"):
        room.put(f".venv/bin/{name}", f"#!/bin/sh\ntouch {marker}\n")
        (room.folder / ".venv" / "bin" / name).chmod(0o755)
    (tmp_path / "links").mkdir()
    (tmp_path / "links" / "gh").symlink_to(room.folder / ".venv" / "bin" / "gh")
    monkeypatch.setenv("PATH", f"{room.folder}/.venv/bin:{tmp_path}/links:.:/usr/local/bin:/usr/bin:/bin")
    room.put("b.txt")
    room.call("add", files=["b.txt"])
    room.call("commit", message="x")
    room.call("push")
    room.with_(remote="github").call("create_pr", title="x")
    assert not marker.exists()


def test_a_pack_that_is_a_link_to_something_outside_is_not_read(room, tmp_path):
    (tmp_path / "elsewhere").mkdir()
    (room.folder / ".git" / "treadle").symlink_to(tmp_path / "elsewhere")
    with pytest.raises(GitProblem, match="Packing the commits failed"):
        room.call("push")
    assert [*(tmp_path / "elsewhere").iterdir()] == []


def test_settings_that_a_command_led_git_to_are_noticed(room):
    """The one way left to change a repository's settings from inside; a push would go where they say."""
    room.put("evil/config", "[core]\n\trepositoryformatversion = 0\n")
    (room.folder / ".git" / "commondir").write_text("../evil\n")
    with pytest.raises(NoRepository, match="tell the person to find out who put it there"):
        room.call("push")

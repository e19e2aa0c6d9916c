"""Ways out of the sandbox, each tried for real. What is outside is looked at from outside afterwards."""

import asyncio
import os
import shutil
import socket
import subprocess
import sys
from pathlib import Path

import pytest

from treadle.sandbox.runner import run_command
from treadle.sandbox.values import Bounds, SandboxMissing, SandboxSpec

PYTHON = (Path(sys.base_prefix), Path(sys.executable).resolve())


def ran(command, place, **bounds):
    return asyncio.run(run_command(command, place, Bounds(**({"seconds": 20} | bounds))))


def untouched(outside):
    return [path.name for path in outside.iterdir()] == ["secret"] and (outside / "secret").read_text() == "the secret"


@pytest.mark.parametrize(
    "line",
    [
        "echo x > {outside}/new",
        "echo x > ../outside/new",
        "echo x > {outside}/secret",
        "ln -s {outside} link && echo x > link/new",
        "ln -s {outside}/secret link && echo x > link",
        "echo ok; rm -rf {outside}",
        "echo ok && $(rm -rf {outside}) `rm -rf ../outside`",
        "mkdir -p {outside} && echo x > {outside}/new; rm -rf {outside}/*",
        "mount -o remount,rw / ; mount -o remount,bind,rw /usr; echo x > {outside}/new",
        "chroot /proc/1/root sh -c 'echo x > {outside}/new'",
        "unshare -Urm sh -c 'mount -o remount,rw /; echo x > {outside}/new'",
        "nsenter -t 1 -m sh -c 'echo x > {outside}/new'",
    ],
)
def test_nothing_is_written_outside(line, workspace, outside):
    ran(line.format(outside=outside), SandboxSpec(workspace))
    assert untouched(outside)


def test_a_link_to_a_file_outside_that_was_there_before_leads_nowhere(workspace, outside):
    (workspace / "link").symlink_to(outside / "secret")
    result = ran("cat link; echo x > link", SandboxSpec(workspace))
    assert "the secret" not in result.output
    assert untouched(outside)


def test_a_file_that_may_be_read_can_be_neither_written_nor_linked_to(workspace, outside):
    place = SandboxSpec(workspace, extra_read=(outside,))
    assert ran(f"cat {outside}/secret", place).output == "the secret"
    result = ran(f"echo x > {outside}/secret; ln {outside}/secret mine && echo x > mine; touch {outside}/new", place)
    assert result.code != 0
    assert untouched(outside)


def test_a_workspace_that_is_only_to_be_read_stays_as_it_is(workspace):
    (workspace / "a").write_text("as it was")
    result = ran("cat a; echo x > a; rm a; touch b; chmod 777 a", SandboxSpec(workspace, writable=False))
    assert result.output.startswith("as it was")
    assert [path.name for path in workspace.iterdir()] == ["a"]
    assert (workspace / "a").read_text() == "as it was"


def test_the_workspace_itself_is_written_to(workspace):
    assert ran("echo done > a; cat a", SandboxSpec(workspace)).output == "done\n"
    assert (workspace / "a").read_text() == "done\n"


@pytest.mark.parametrize(
    "path", ["/etc/shadow", "/etc/ssh", "/etc/ssl/private", "/root", "/home", "/var", "/run", "/sys", "/boot", "/mnt"]
)
def test_folders_and_files_of_the_system_that_hold_secrets_are_not_there(path, workspace):
    result = ran(f"ls -a {path}", SandboxSpec(workspace))
    assert result.code != 0, result.output


def test_keys_are_hidden_also_in_a_folder_that_may_be_read(workspace, tmp_path, monkeypatch):
    home = tmp_path / "home"
    (home / ".ssh").mkdir(parents=True)
    (home / ".ssh" / "id_ed25519").write_text("the key")
    (home / ".netrc").write_text("the password")
    (home / "notes").write_text("some notes")
    monkeypatch.setenv("HOME", str(home))
    result = ran(
        f"cat {home}/notes {home}/.netrc {home}/.ssh/*; ls {home}/.ssh; cat ~/.ssh/id_ed25519",
        SandboxSpec(workspace, extra_read=(home,)),
    )
    assert "some notes" in result.output
    assert "the key" not in result.output
    assert "the password" not in result.output


def test_what_is_hidden_in_the_workspace_can_be_neither_read_nor_written(workspace):
    (workspace / ".env").write_text("KEY=1")
    (workspace / "private").mkdir()
    (workspace / "private" / "a").write_text("KEY=2")
    result = ran(
        "cat .env private/a; echo x > .env; touch private/b; mv private p; rm .env",
        SandboxSpec(workspace, hide=(".env", "private")),
    )
    assert "KEY" not in result.output
    assert (workspace / ".env").read_text() == "KEY=1"
    assert [path.name for path in (workspace / "private").iterdir()] == ["a"]


def test_the_environment_holds_no_secrets_and_what_is_given(workspace, monkeypatch):
    monkeypatch.setenv("OPENAI_API_KEY", "sk-secret")
    result = asyncio.run(run_command("env; cat /proc/*/environ", SandboxSpec(workspace), env={"CI": "1"}))
    assert "secret" not in result.output
    assert "CI=1\n" in result.output
    assert "HOME=/tmp/home\n" in result.output


CONNECT = "import socket, sys; socket.create_connection(('127.0.0.1', int(sys.argv[1])), 3); print('connected')"


@pytest.mark.parametrize("network", [False, True])
def test_a_listener_of_this_machine_is_never_reached(network, workspace):
    with socket.create_server(("127.0.0.1", 0)) as listener:
        command = [str(PYTHON[1]), "-I", "-c", CONNECT, str(listener.getsockname()[1])]
        result = ran(command, SandboxSpec(workspace, extra_read=PYTHON[:1], network=network))
    assert "ConnectionRefusedError" in result.output


def test_a_socket_with_a_name_but_no_file_is_not_reached(workspace):
    name = f"\0treadle-{os.getpid()}"
    with socket.socket(socket.AF_UNIX) as listener:
        listener.bind(name)
        listener.listen()
        code = f"import socket; socket.socket(socket.AF_UNIX).connect({name!r}); print('connected')"
        result = ran([str(PYTHON[1]), "-I", "-c", code], SandboxSpec(workspace, extra_read=PYTHON[:1]))
    assert "ConnectionRefusedError" in result.output


def test_settings_of_the_kernel_cannot_be_changed(workspace):
    hidden = "-e '^/proc/key'"  # an empty device lies over them
    writable = f"find /proc -maxdepth 4 -type f -writable 2>/dev/null | grep -v -e '^/proc/[0-9ts]' {hidden}"
    result = ran(f"cat /proc/sys/vm/swappiness > /proc/sys/vm/swappiness; {writable}", SandboxSpec(workspace))
    assert "Read-only file system" in result.output or "Permission denied" in result.output
    assert result.output.count("\n") == 1, result.output


def test_processes_outside_can_be_neither_seen_nor_ended(workspace):
    with subprocess.Popen(["/bin/sleep", "60"]) as sleeper:
        line = f"kill -9 {sleeper.pid}; kill -9 -1; ls /proc/{sleeper.pid}/; true"
        attach = f"import ctypes; print(ctypes.CDLL(None).ptrace(16, {sleeper.pid}, 0, 0))"
        ran(line, SandboxSpec(workspace))
        traced = ran([str(PYTHON[1]), "-I", "-c", attach], SandboxSpec(workspace, extra_read=PYTHON[:1]))
        alive = sleeper.poll() is None
        sleeper.kill()
    assert alive
    assert traced.output == "-1\n"


def test_there_are_no_capabilities_and_no_way_to_new_ones(workspace):
    result = ran(
        "grep -E 'Cap(Prm|Eff|Bnd)|NoNewPrivs' /proc/self/status; ls /dev/vda /dev/sda /dev/kmsg /dev/mem", SandboxSpec(workspace)
    )
    assert [line.split()[1] for line in result.output.splitlines()[:4] if ":" in line] == ["0" * 16] * 3 + ["1"], result.output
    assert result.code != 0


def git(*words, cwd):
    subprocess.run(["git", "-c", "user.name=a", "-c", "user.email=a@b", *words], cwd=cwd, check=True, capture_output=True)


@pytest.mark.parametrize("hooks", [True, False])
@pytest.mark.skipif(shutil.which("git") is None, reason="there is no git here")
def test_git_can_be_read_but_not_written_by_a_command(hooks, workspace):
    git("init", cwd=workspace)
    (workspace / "a").write_text("a")
    git("add", "a", cwd=workspace)
    git("commit", "-qm", "first", cwd=workspace)
    shutil.rmtree(workspace / ".git" / "hooks", ignore_errors=True)
    if hooks:
        (workspace / ".git" / "hooks").mkdir()
    assert ran("git status --short && git log --format=%s && git diff", SandboxSpec(workspace)).output == "first\n"
    before = sorted(path for path in (workspace / ".git").rglob("*"))
    result = ran(
        "echo b > b; git add b; git commit -qm second; git config core.fsmonitor ./evil; echo x > .git/config; mkdir .git/hooks; "
        "echo x > .git/hooks/pre-commit; mv .git other; rm -rf .git/hooks; echo ../evil > .git/commondir; "
        "touch .git/config.worktree",
        SandboxSpec(workspace),
    )
    assert "Read-only file system" in result.output
    assert sorted(path for path in (workspace / ".git").rglob("*")) == before
    assert not (workspace / "other").exists()


@pytest.mark.skipif(shutil.which("git") is None, reason="there is no git here")
def test_what_the_person_has_there_stays(workspace):
    git("init", cwd=workspace)
    (workspace / ".git" / "config.worktree").write_text("[core]\n")
    ran("true", SandboxSpec(workspace))
    assert (workspace / ".git" / "config.worktree").read_text() == "[core]\n"


@pytest.mark.parametrize("path", ["/", "/etc", "~", "/usr"])
def test_a_workspace_that_is_more_than_a_project_is_refused(path):
    with pytest.raises(SandboxMissing, match="Name a project's own folder"):
        ran("ls", SandboxSpec(Path(path)))


def test_a_workspace_that_is_not_there_is_refused(tmp_path):
    with pytest.raises(SandboxMissing, match="is no folder"):
        ran("ls", SandboxSpec(tmp_path / "none"))

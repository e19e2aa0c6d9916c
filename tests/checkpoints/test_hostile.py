"""A folder that means harm: nothing in it runs, nothing outside of it is read or written, and nothing in it is waited for."""

import asyncio
import os
import socket
import threading
from contextlib import suppress
from pathlib import Path

import pytest

from properties import EXPLORE
from treadle.checkpoints import Checkpoints, CheckpointsError, CheckpointsMissing, NotRestored
from treadle.checkpoints.git_runner import find_git

run = asyncio.run


def trap(repository, marker):
    """Settings and hooks by which a repository runs a program whenever git looks at it."""
    program = repository / ".git" / "trap"
    program.write_text(f'#!/bin/sh\necho ran >> "{marker}"\ncat\n')
    program.chmod(0o755)
    hooks = repository / ".git" / "hooks"
    hooks.mkdir(exist_ok=True)
    for hook in ("pre-commit", "post-checkout", "post-index-change", "reference-transaction"):
        (hooks / hook).write_text(program.read_text())
        (hooks / hook).chmod(0o755)
    with (repository / ".git" / "config").open("a") as file:
        file.write(
            f'[core]\n\tfsmonitor = {program}\n\tpager = {program}\n[filter "x"]\n\tclean = {program}\n\tsmudge = {program}\n'
            f'\trequired = true\n[diff "x"]\n\ttextconv = {program}\n\tcommand = {program}\n[diff]\n\texternal = {program}\n'
        )


@pytest.fixture
def hostile(tmp_path, git):
    """A repository and one inside of it, both of which run programs."""
    folder, marker = tmp_path / "work", tmp_path / "marker"
    for repository in (folder, folder / "inner"):
        repository.mkdir()
        git(repository, "init")
        (repository / "a.txt").write_text("before\n")
        git(repository, "add", "a.txt")
        git(repository, "commit", "-m", "first")
    for repository in (folder, folder / "inner"):
        trap(repository, marker)
        (repository / ".gitattributes").write_text("* filter=x diff=x merge=x text eol=crlf\n*.txt -diff\n")
    (folder / ".gitmodules").write_text('[submodule "inner"]\n\tpath = inner\n\turl = ./inner\n\tupdate = !touch marker\n')
    return folder, marker


def test_the_trap_works_on_those_who_walk_into_it(hostile, git):
    folder, marker = hostile
    git(folder / "inner", "status")
    assert marker.exists()
    marker.unlink()
    git(folder, "add", "a.txt")
    assert marker.exists()


def test_nothing_that_a_repository_says_is_run(hostile, tmp_path):
    folder, marker = hostile
    checkpoints = Checkpoints(folder, tmp_path / "store")
    first = run(checkpoints.take())
    (folder / "a.txt").write_text("after\n")
    (folder / "inner" / "a.txt").write_text("after\n")
    (folder / "b.txt").write_text("new\n")
    assert [change.path for change in run(checkpoints.changes(first))] == ["a.txt", "b.txt"]
    assert "-before\n+after\n" in run(checkpoints.diff(first))
    run(checkpoints.restore(first, expected=run(checkpoints.take())))
    assert (folder / "a.txt").read_bytes() == b"before\n"
    assert not marker.exists()
    assert not (folder / "marker").exists()


def test_nothing_that_the_environment_says_is_done(hostile, tmp_path, monkeypatch, git):
    folder, marker = hostile
    config = tmp_path / "config"
    config.write_text((folder / ".git" / "config").read_text())
    monkeypatch.setenv("HOME", str(tmp_path))
    for name, value in {
        "GIT_CONFIG_GLOBAL": str(config),
        "GIT_CONFIG_COUNT": "1",
        "GIT_CONFIG_KEY_0": "core.fsmonitor",
        "GIT_CONFIG_VALUE_0": str(folder / ".git" / "trap"),
        "GIT_DIR": str(folder / ".git"),
        "GIT_WORK_TREE": str(tmp_path),
        "GIT_EXTERNAL_DIFF": str(folder / ".git" / "trap"),
        "GIT_TEMPLATE_DIR": str(folder / ".git"),
        "GIT_TRACE": str(marker),
    }.items():
        monkeypatch.setenv(name, value)
    checkpoints = Checkpoints(folder, tmp_path / "store")
    first = run(checkpoints.take())
    (folder / "a.txt").write_text("after\n")
    assert "-before\n+after\n" in run(checkpoints.diff(first))
    run(checkpoints.restore(first))
    assert not marker.exists()


def test_a_git_that_lies_in_the_folder_is_not_used(tmp_path):
    program = tmp_path / "bin" / "git"
    program.parent.mkdir()
    program.write_text("#!/bin/sh\n")
    program.chmod(0o755)
    assert find_git(tmp_path / "elsewhere", [str(program.parent)]) == program
    (tmp_path / "link").symlink_to(program.parent)
    for place in (str(program.parent), str(tmp_path / "link"), "bin", ""):
        with pytest.raises(CheckpointsMissing, match=r"Install it \(apt install git"):
            find_git(tmp_path / "bin", [place])


# links


@pytest.fixture
def outside(tmp_path):
    folder = tmp_path / "outside"
    folder.mkdir()
    (folder / "a.txt").write_text("the secret")
    return folder


@pytest.fixture
def checkpoints(tmp_path):
    (tmp_path / "work" / "sub").mkdir(parents=True)
    (tmp_path / "work" / "sub" / "a.txt").write_text("inside")
    return Checkpoints(tmp_path / "work", tmp_path / "store")


def test_a_link_in_the_place_of_a_folder_is_not_followed(checkpoints, outside):
    sub = checkpoints.folder / "sub"
    first = run(checkpoints.take())
    (sub / "a.txt").unlink()
    sub.rmdir()
    sub.symlink_to(outside)
    second = run(checkpoints.take())
    assert {change.path: change.kind for change in run(checkpoints.changes(first))} == {"sub": "added", "sub/a.txt": "deleted"}
    assert "the secret" not in run(checkpoints.diff(first))
    run(checkpoints.restore(first))
    assert (sub / "a.txt").read_text() == "inside"
    assert not sub.is_symlink()
    run(checkpoints.restore(second))
    assert sub.readlink() == outside
    assert [path.read_text() for path in outside.iterdir()] == ["the secret"]


def test_nor_is_one_that_is_ignored(checkpoints, outside):
    sub = checkpoints.folder / "sub"
    first = run(checkpoints.take())
    (sub / "a.txt").unlink()
    sub.rmdir()
    sub.symlink_to(outside)
    (checkpoints.folder / ".gitignore").write_text("/sub\n")
    with pytest.raises(NotRestored, match=r"sub/a\.txt \(something is in the way\)"):
        run(checkpoints.restore(first))
    assert sub.is_symlink()
    assert [path.read_text() for path in outside.iterdir()] == ["the secret"]


def test_a_link_in_the_place_of_a_file_is_replaced_and_not_written_through(checkpoints, outside):
    file = checkpoints.folder / "sub" / "a.txt"
    first = run(checkpoints.take())
    file.unlink()
    file.symlink_to(outside / "a.txt")
    run(checkpoints.restore(first))
    assert file.read_text() == "inside"
    assert (outside / "a.txt").read_text() == "the secret"


def test_a_hard_link_is_not_written_through(checkpoints, outside):
    file = checkpoints.folder / "sub" / "a.txt"
    first = run(checkpoints.take())
    file.unlink()
    file.hardlink_to(outside / "a.txt")
    run(checkpoints.restore(first))
    assert file.read_text() == "inside"
    assert (outside / "a.txt").read_text() == "the secret"


def change(sub, text):
    """The file of a real folder, never of one that a link leads to."""
    parent = os.open(sub, os.O_DIRECTORY | os.O_NOFOLLOW)
    with os.fdopen(os.open("a.txt", os.O_WRONLY | os.O_CREAT | os.O_TRUNC, dir_fd=parent), "w") as file:
        file.write(text)
    os.close(parent)


def test_links_swapped_in_at_any_moment_lead_nowhere(checkpoints, outside):
    """Somebody swaps a folder for a link and back, as fast as they can, while the folder is kept and put back."""
    folder, over = checkpoints.folder, threading.Event()
    first = run(checkpoints.take())

    def swap():
        link, away = folder.parent / "link", folder.parent / "away"
        link.symlink_to(outside)
        while not over.is_set():
            with suppress(OSError):  # it may be put back meanwhile
                (folder / "sub").rename(away)
                link.rename(folder / "sub")
                (folder / "sub").rename(link)
                away.rename(folder / "sub")

    swapper = threading.Thread(target=swap)
    swapper.start()
    try:
        for number in range(60 if EXPLORE else 20):
            with suppress(OSError):
                change(folder / "sub", f"changed {number}")
            with suppress(CheckpointsError):
                assert "the secret" not in run(checkpoints.diff(first))
            with suppress(CheckpointsError):
                run(checkpoints.restore(first))
    finally:
        over.set()
        swapper.join()
    assert {path.name: path.read_text() for path in outside.iterdir()} == {"a.txt": "the secret"}


# what is no file


def test_pipes_and_sockets_are_neither_kept_nor_waited_for(checkpoints):
    folder = checkpoints.folder
    os.mkfifo(folder / "pipe")
    with socket.socket(socket.AF_UNIX) as server:
        server.bind(os.path.relpath(folder / "socket"))
        first = run(checkpoints.take())
        assert run(checkpoints.list())[0].changed == 1
        (folder / "sub" / "a.txt").unlink()
        os.mkfifo(folder / "sub" / "a.txt")
        with pytest.raises(NotRestored, match=r"sub/a\.txt \(something is in the way\)"):
            run(checkpoints.restore(first))
    assert Path(folder / "sub" / "a.txt").is_fifo()

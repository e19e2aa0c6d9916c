"""What a command leaves behind: which repositories are plain, and what is done with everything else."""

import os
import socket
import subprocess
import time

import pytest

from treadle.sandbox.disarm import DisarmReport, WorkspaceSurvey, disarm_workspace, is_harmless_config, survey_workspace
from treadle.sandbox.walk import MAX_DEPTH, walk_folders

PLAIN = "[core]\n\trepositoryformatversion = 0\n\tfilemode = true\n\tbare = false\n\tlogallrefupdates = true\n"


@pytest.mark.parametrize(
    "more",
    [
        "",
        '[remote "origin"]\n\turl = https://example.org/a/b.git\n\tfetch = +refs/heads/*:refs/remotes/origin/*\n',
        '[branch "main"]\n\tremote = origin\n\tmerge = refs/heads/main\n',
        "[user]\n\tname = Ada Person\n\temail = ada@example.org\n",
        "[extensions]\n\tobjectformat = sha256\n",
    ],
)
def test_usual_settings_are_harmless(more):
    assert is_harmless_config(PLAIN + more)


@pytest.mark.parametrize(
    "more",
    [
        "\tfsmonitor = ./evil\n",
        "\tFSMonitor = ./evil\n",
        "[core] fsmonitor = ./evil\n",
        "[CORE]\n\tfsmonitor = x\n",
        "\tpager = evil\n",
        "\thooksPath = evil\n",
        "\tworktree = ..\n",
        "\tbare = false \\\nfsmonitor = x\n",
        "[include]\n\tpath = evil\n",
        '[includeIf "gitdir:/"]\n\tpath = evil\n',
        '[filter "x"]\n\tclean = evil\n',
        '[diff "x"]\n\ttextconv = evil\n',
        "[alias]\n\tst = !evil\n",
        '[remote "o"]\n\turl = ext::sh -c evil\n',
        '[remote "o"]\n\turl = ssh://-oProxyCommand=evil/x\n',
        '[remote "o"]\n\turl = /srv/other\n',
        '[remote "o"]\n\tuploadpack = evil\n',
        "[extensions]\n\tworktreeConfig = true\n",
        '[submodule "x"]\n\tupdate = !evil\n',
        '[user]\n\tname = "a\n\tfsmonitor = evil\n',
        "\tfsmonitor\n",
        "[core\n",
        "\x00",
    ],
)
def test_everything_else_is_not(more):
    assert not is_harmless_config(PLAIN + more)


def repository(folder, config=PLAIN):
    subprocess.run(["git", "init", "-q", "--template=", str(folder)], check=True, capture_output=True)
    (folder / ".git" / "config").write_text(config)
    return folder / ".git"


def test_what_was_there_before_stays_and_new_plain_ones_too(tmp_path):
    repository(tmp_path / "old", PLAIN + "\tfsmonitor = x\n")
    before = survey_workspace(tmp_path)
    (tmp_path / "old").rename(tmp_path / "moved")
    repository(tmp_path / "new")
    assert disarm_workspace(tmp_path, before, time.time_ns()) == DisarmReport()
    assert (tmp_path / "moved" / ".git").is_dir()
    assert (tmp_path / "new" / ".git").is_dir()


@pytest.mark.parametrize("how", ["unreadable", "too long", "no text", "a link", "missing"])
def test_settings_that_cannot_be_read_are_not_trusted(how, tmp_path):
    config = repository(tmp_path / "new") / "config"
    config.unlink()
    match how:
        case "unreadable":
            config.mkdir()
        case "too long":
            config.write_text(PLAIN + "\n" * 200_000)
        case "no text":
            config.write_bytes(b"[core]\n\xff\n")
        case "a link":
            config.symlink_to("/etc/passwd")
    assert disarm_workspace(tmp_path, WorkspaceSurvey(), time.time_ns()).set_aside == ("new/.git",)
    assert not (tmp_path / "new" / ".git").exists()


def test_a_program_that_would_run_as_its_owner_loses_the_bit_and_what_was_there_keeps_it(tmp_path):
    for name in ("old", "new", "plain", "unreadable"):
        (tmp_path / name).write_text("x")
        (tmp_path / name).chmod({"plain": 0o755, "unreadable": 0o4111}.get(name, 0o6755))
    since = (tmp_path / "old").stat().st_ctime_ns + 2_000_000_000
    assert disarm_workspace(tmp_path, WorkspaceSurvey(), since) == DisarmReport()
    (tmp_path / "link").symlink_to("new")
    assert sorted(disarm_workspace(tmp_path, WorkspaceSurvey(), 0).stripped) == ["new", "old", "unreadable"]
    assert {path.stat().st_mode & 0o6000 for path in tmp_path.iterdir()} == {0}


def test_a_file_in_a_folder_without_new_names_is_looked_at_where_nothing_else_refuses_it(tmp_path):
    (tmp_path / "a").write_text("x")
    (tmp_path / "a").chmod(0o4755)
    since = tmp_path.stat().st_ctime_ns + 10**9 + 1
    os.utime(tmp_path)
    assert disarm_workspace(tmp_path, WorkspaceSurvey(), 0, everywhere=True).stripped == ("a",)
    assert disarm_workspace(tmp_path, WorkspaceSurvey(), since + 10**12).stripped == ()


def test_sockets_are_found_and_pipes_are_not(tmp_path):
    (tmp_path / "deep").mkdir()
    os.mkfifo(tmp_path / "pipe")
    with socket.socket(socket.AF_UNIX) as listener:
        listener.bind(os.path.relpath(tmp_path / "deep" / "s"))
        (tmp_path / "link").symlink_to("deep/s")
        assert survey_workspace(tmp_path).sockets == ("deep/s",)


def test_folders_without_end_are_left_at_some_depth_and_no_descriptor_stays_open(tmp_path):
    here = os.open(tmp_path, os.O_RDONLY)
    for _ in range(MAX_DEPTH + 300):
        os.mkdir("d", dir_fd=here)
        below = os.open("d", os.O_RDONLY, dir_fd=here)
        os.close(here)
        here = below
    os.close(here)
    before = len(os.listdir("/proc/self/fd"))  # noqa: PTH208 - a count
    assert max(folder.where.count("d") for folder in walk_folders(tmp_path)) == MAX_DEPTH
    walking = walk_folders(tmp_path)
    next(walking)
    next(walking)
    walking.close()
    assert len(os.listdir("/proc/self/fd")) == before  # noqa: PTH208 - a count


def test_links_are_not_followed(tmp_path):
    (tmp_path / "outside" / "inner").mkdir(parents=True)
    (tmp_path / "work").mkdir()
    (tmp_path / "work" / "link").symlink_to(tmp_path / "outside")
    assert [folder.where for folder in walk_folders(tmp_path / "work")] == [""]


@pytest.mark.parametrize("mode", [0o000, 0o311, 0o555])
def test_a_repository_cannot_be_hidden_in_a_folder_without_rights(mode, tmp_path):
    """Git enters a folder that can't be listed, and a folder that can't be written to keeps its names."""
    (tmp_path / "above").mkdir()
    repository(tmp_path / "above" / "new", PLAIN + "\tfsmonitor = x\n")
    (tmp_path / "above" / "new").chmod(mode)
    (tmp_path / "above").chmod(mode)
    left = disarm_workspace(tmp_path, WorkspaceSurvey(), time.time_ns())
    assert left.set_aside == ("above/new/.git",)
    assert not (tmp_path / "above" / "new" / ".git").exists()
    for folder in (tmp_path / "above", tmp_path / "above" / "new"):
        folder.chmod(0o755)


@pytest.mark.skipif(os.getuid() == 0, reason="root reads everything")
def test_a_folder_that_was_closed_before_stays_closed(tmp_path):
    (tmp_path / "closed").mkdir(mode=0o300)
    disarm_workspace(tmp_path, WorkspaceSurvey(), time.time_ns() + 10**10)
    assert (tmp_path / "closed").stat().st_mode & 0o777 == 0o300
    (tmp_path / "closed").chmod(0o755)

"""Paths beneath a folder: every way out is tried."""

import errno
import os
import socket
import stat
import subprocess
import sys
from contextlib import contextmanager
from pathlib import Path

import pytest

from treadle.core.errors import ToolProblem, TreadleError
from treadle.files.openat2 import load_opener
from treadle.files.problems import (
    BadPath,
    FileTooLarge,
    GuardedPath,
    MissingPath,
    NotAFile,
    NotAFolder,
    OutsideWorkspace,
    SecretFile,
    SystemRefused,
    WorkspaceProblem,
    error_from_os,
    printable_name,
)
from treadle.files.workspace import Workspace

TRIES = 2_000


@pytest.fixture(params=["kernel", "walk"])
def workspace(request, tmp_path):
    if request.param == "kernel" and load_opener() is None:
        pytest.skip("this kernel has no openat2")
    (tmp_path / "work" / "src").mkdir(parents=True)
    (tmp_path / "work" / "src" / "a.txt").write_text("inside")
    (tmp_path / "outside").mkdir()
    (tmp_path / "outside" / "a.txt").write_text("outside")
    return Workspace(tmp_path / "work", links=request.param == "kernel")


def test_a_file_is_read_by_a_relative_or_an_absolute_path(workspace):
    assert workspace.read_bytes("src/a.txt") == b"inside"
    assert workspace.read_bytes("./src/../src//a.txt") == b"inside"
    assert workspace.read_bytes(f"{workspace.folder}/src/a.txt") == b"inside"
    assert workspace.relative(f"{workspace.folder}/src/") == "src"
    assert workspace.relative(str(workspace.folder)) == workspace.relative("") == "."


@pytest.mark.parametrize("path", ["../outside/a.txt", "src/../../outside/a.txt", "/etc/passwd", "..", "//etc/passwd"])
def test_no_path_leads_out(workspace, path):
    for attempt in (workspace.read_bytes, workspace.listing, workspace.remove, workspace.make_folder, workspace.stat):
        with pytest.raises(OutsideWorkspace, match="outside of the workspace"):
            attempt(path)
    with pytest.raises(OutsideWorkspace):
        workspace.write_bytes(path, b"x")


def test_a_folder_whose_name_begins_like_the_workspace_is_outside(workspace):
    Path(f"{workspace.folder}-other").mkdir()
    Path(f"{workspace.folder}-other/a.txt").write_text("outside")
    with pytest.raises(OutsideWorkspace):
        workspace.read_bytes(f"{workspace.folder}-other/a.txt")


@pytest.mark.parametrize("target", ["../outside", "{tmp}/outside", "/"])
def test_a_link_to_a_folder_outside_is_no_way_out(workspace, target):
    outside = workspace.folder.parent / "outside"
    (workspace.folder / "link").symlink_to(target.format(tmp=workspace.folder.parent))
    for attempt in (
        lambda: workspace.read_bytes("link/a.txt"),
        lambda: workspace.write_bytes("link/a.txt", b"x"),
        lambda: workspace.write_bytes("link/new.txt", b"x"),
        lambda: workspace.make_folder("link/new"),
        lambda: workspace.remove("link/a.txt"),
        lambda: workspace.listing("link"),
        lambda: workspace.read_bytes("src/../link/a.txt"),
    ):
        with pytest.raises(WorkspaceProblem):
            attempt()
    assert [entry.name for entry in workspace.listing("link/..")] == ["link", "src"]
    assert [path.name for path in outside.iterdir()] == ["a.txt"]
    assert (outside / "a.txt").read_text() == "outside"


def test_a_link_to_a_file_outside_is_neither_read_nor_written(workspace):
    secret = workspace.folder.parent / "outside" / "a.txt"
    (workspace.folder / "link").symlink_to(secret)
    (workspace.folder / "nowhere").symlink_to("../outside/new.txt")
    for attempt in ("link", "nowhere"):
        with pytest.raises(WorkspaceProblem):
            workspace.read_bytes(attempt)
        with pytest.raises(WorkspaceProblem):
            workspace.write_bytes(attempt, b"x")
    assert secret.read_text() == "outside"
    assert not secret.with_name("new.txt").exists()


def test_deleting_a_link_leaves_what_it_leads_to(workspace):
    (workspace.folder / "link").symlink_to("../outside/a.txt")
    (workspace.folder / "folder").symlink_to("../outside")
    workspace.remove("link")
    workspace.remove("folder")
    assert (workspace.folder.parent / "outside" / "a.txt").read_text() == "outside"
    assert [entry.name for entry in workspace.listing()] == ["src"]


def test_links_that_go_in_a_circle_end(workspace):
    (workspace.folder / "one").symlink_to("two")
    (workspace.folder / "two").symlink_to("one")
    for attempt in (workspace.read_bytes, workspace.listing, lambda path: workspace.write_bytes(path, b"x")):
        with pytest.raises(WorkspaceProblem):
            attempt("one")


def test_magic_links_of_the_system_are_not_followed(workspace):
    (workspace.folder / "link").symlink_to("/proc/self/root")
    with pytest.raises(WorkspaceProblem):
        workspace.read_bytes("link/etc/passwd")


def test_links_that_stay_inside_are_followed_where_the_kernel_watches(tmp_path):
    workspace = Workspace(tmp_path)
    if load_opener() is None:
        pytest.skip("this kernel has no openat2")
    (tmp_path / "real.txt").write_text("old")
    (tmp_path / "link").symlink_to("real.txt")
    workspace.write_bytes("link", b"new")
    assert (tmp_path / "real.txt").read_text() == "new"
    assert (tmp_path / "link").is_symlink()
    assert workspace.real("link") == "real.txt"


def test_a_link_inside_is_refused_where_nobody_watches(tmp_path):
    (tmp_path / "real.txt").write_text("old")
    (tmp_path / "link").symlink_to("real.txt")
    workspace = Workspace(tmp_path, links=False)
    with pytest.raises(NotAFile, match="symbolic link"):
        workspace.read_bytes("link")
    with pytest.raises(NotAFile, match="symbolic link"):
        workspace.write_bytes("link", b"x")
    assert workspace.stat("link").kind == "link"


SWAPS = """
import ctypes, os, sys
exchange = ctypes.CDLL(None).renameat2
spot, link = map(os.fsencode, sys.argv[1:])
print("ready", flush=True)
while True:
    exchange(-100, spot, -100, link, 2)  # both at once
"""


@contextmanager
def swapping(folder):
    """Another process exchanges the folder `spot` and the link `link`, as fast as it can."""
    with subprocess.Popen([sys.executable, "-c", SWAPS, folder / "spot", folder / "link"], stdout=subprocess.PIPE) as racer:
        racer.stdout.readline()
        try:
            yield
        finally:
            racer.kill()


@pytest.mark.skipif(sys.platform != "linux", reason="names are exchanged as Linux can")
def test_a_link_swapped_in_by_another_process_never_leads_out(workspace):
    outside = workspace.folder.parent / "outside"
    (workspace.folder / "spot").mkdir()
    (workspace.folder / "spot" / "a.txt").write_text("inside")
    (workspace.folder / "link").symlink_to(outside)
    read, refused = set(), 0
    with swapping(workspace.folder):
        for turn in range(TRIES):
            try:
                read.add(workspace.read_bytes("spot/a.txt"))
                if turn % 20 == 0:
                    workspace.write_bytes("spot/a.txt", b"inside")
                    workspace.make_folder("spot/made")
                    workspace.remove("spot/made")
            except WorkspaceProblem:
                refused += 1
    assert read == {b"inside"}
    assert refused > 0
    assert [(path.name, path.read_text()) for path in outside.iterdir()] == [("a.txt", "outside")]


def test_a_hard_link_keeps_its_content_when_the_file_is_written(workspace):
    outside = workspace.folder.parent / "outside" / "a.txt"
    os.link(outside, workspace.folder / "hard.txt")
    assert workspace.stat("hard.txt").links == 2
    workspace.write_bytes("hard.txt", b"new")
    assert outside.read_text() == "outside"
    assert workspace.read_bytes("hard.txt") == b"new"
    assert workspace.stat("hard.txt").links == 1


def test_writing_keeps_the_mode_and_leaves_nothing_beside(workspace):
    file = workspace.folder / "src" / "a.txt"
    file.chmod(0o751)
    workspace.write_bytes("src/a.txt", b"new")
    assert stat.S_IMODE(file.stat().st_mode) == 0o751
    assert [path.name for path in file.parent.iterdir()] == ["a.txt"]


def test_a_failed_write_leaves_the_old_content_and_nothing_beside(workspace):
    with pytest.raises(TypeError):
        workspace.write_bytes("src/a.txt", "no bytes")
    assert [(entry.name, entry.size) for entry in workspace.listing("src")] == [("a.txt", 6)]


def test_a_read_only_file_is_not_replaced(workspace):
    (workspace.folder / "src" / "a.txt").chmod(0o444)
    with pytest.raises(SystemRefused, match="read-only"):
        workspace.write_bytes("src/a.txt", b"x")


def test_writing_makes_the_folders_on_the_way(workspace):
    workspace.write_bytes("new/deep/b.txt", b"b")
    assert workspace.read_bytes("new/deep/b.txt") == b"b"
    workspace.make_folder("new/deep")
    assert workspace.stat("new/deep").kind == "folder"


@pytest.mark.parametrize("path", [".git/config", ".git/hooks/pre-commit", "sub/.git/x", ".GIT/x", ".git"])
def test_nothing_is_written_below_git(workspace, path):
    (workspace.folder / ".git" / "hooks").mkdir(parents=True)
    (workspace.folder / ".git" / "config").write_text("old")
    for attempt in (lambda: workspace.write_bytes(path, b"x"), lambda: workspace.make_folder(path), lambda: workspace.remove(path)):
        with pytest.raises((GuardedPath, MissingPath, NotAFile)):
            attempt()
    with pytest.raises((GuardedPath, NotAFile)):
        workspace.write_bytes(path, b"x")
    assert (workspace.folder / ".git" / "config").read_text() == "old"
    assert sorted(path.name for path in workspace.folder.iterdir()) == [".git", "src"]


def test_a_link_into_git_is_no_way_to_write_there(workspace):
    (workspace.folder / ".git" / "hooks").mkdir(parents=True)
    (workspace.folder / ".git" / "HEAD").write_text("old")
    (workspace.folder / "docs").symlink_to(".git/hooks")
    (workspace.folder / "head").symlink_to(".git/HEAD")
    for attempt in (
        lambda: workspace.write_bytes("docs/pre-commit", b"x"),
        lambda: workspace.write_bytes("docs/deep/pre-commit", b"x"),
        lambda: workspace.make_folder("docs/x"),
        lambda: workspace.write_bytes("head", b"x"),
    ):
        with pytest.raises(WorkspaceProblem):
            attempt()
    assert list((workspace.folder / ".git" / "hooks").iterdir()) == []
    assert (workspace.folder / ".git" / "HEAD").read_text() == "old"


def test_pipes_sockets_and_devices_are_not_waited_for(workspace):
    os.mkfifo(workspace.folder / "pipe")
    with socket.socket(socket.AF_UNIX) as server:
        server.bind(os.path.relpath(workspace.folder / "socket"))
        for name in ("pipe", "socket"):
            with pytest.raises(NotAFile):
                workspace.read_bytes(name)
            with pytest.raises(NotAFile):
                workspace.write_bytes(name, b"x")
    if os.geteuid() == 0:
        os.mknod(workspace.folder / "zero", 0o666 | stat.S_IFCHR, os.makedev(1, 5))
        with pytest.raises(NotAFile):
            workspace.read_bytes("zero")
    assert {entry.kind for entry in workspace.listing() if entry.name != "src"} == {"other"}


def test_a_huge_file_is_not_read(workspace):
    with (workspace.folder / "huge").open("wb") as file:
        file.truncate(20_000_000_000)
    with pytest.raises(FileTooLarge, match="20,000,000,000 bytes"):
        workspace.read_bytes("huge")
    with pytest.raises(FileTooLarge):
        workspace.read_bytes("src/a.txt", most=5)
    assert workspace.read_bytes("src/a.txt", most=6) == b"inside"


@pytest.mark.parametrize("name", ["-rf", "two\nlines", " ", "~", "*", "a b", "--", "\\", "ü\u202e", "$(x)"])
def test_odd_names_are_names(workspace, name):
    workspace.write_bytes(f"odd/{name}", b"x")
    assert [entry.name for entry in workspace.listing("odd")] == [name]
    assert workspace.read_bytes(f"odd/{name}") == b"x"
    workspace.remove(f"odd/{name}")
    assert workspace.listing("odd") == []


def test_a_name_cannot_pretend_to_be_more_lines():
    assert printable_name("a\nb") == r"'a\nb'"
    assert printable_name("a b") == "a b"


@pytest.mark.parametrize("path", ["a\0b", "\ud800"])
def test_what_can_be_no_name_is_said_so(workspace, path):
    with pytest.raises(BadPath):
        workspace.read_bytes(path)


def test_what_is_wrong_with_a_path_is_said(workspace):
    with pytest.raises(MissingPath, match="no src/b"):
        workspace.read_bytes("src/b")
    with pytest.raises(NotAFile, match="is a folder"):
        workspace.read_bytes("src")
    with pytest.raises(NotAFile, match="is a folder"):
        workspace.write_bytes(".", b"x")
    with pytest.raises(NotAFile, match="is a folder"):
        workspace.write_bytes("src", b"x")
    with pytest.raises(NotAFolder):
        workspace.listing("src/a.txt")
    with pytest.raises(NotAFolder):
        workspace.write_bytes("src/a.txt/b", b"x")
    with pytest.raises(BadPath, match="too long"):
        workspace.read_bytes("x" * 5000)
    with pytest.raises(SystemRefused, match="isn't empty"):
        workspace.remove("src")
    with pytest.raises(GuardedPath):
        workspace.remove(".")


def test_what_the_system_refuses_is_told_in_its_words():
    assert str(error_from_os(PermissionError(errno.EACCES, "Permission denied"), "a")) == "The system refused a: Permission denied."


def test_a_problem_is_an_error_for_programs_and_a_sentence_for_models():
    assert issubclass(OutsideWorkspace, TreadleError)
    assert issubclass(OutsideWorkspace, ToolProblem)


@pytest.mark.parametrize(
    "name", [".env", ".env.local", "x.PEM", "id_rsa", "id_ed25519_work", ".netrc", "a/.aws/credentials", ".git/config"]
)
def test_files_that_may_hold_secrets_are_not_read(workspace, name):
    (workspace.folder / name).parent.mkdir(parents=True, exist_ok=True)
    (workspace.folder / name).write_text("secret")
    with pytest.raises(SecretFile, match="may hold secrets"):
        workspace.read_bytes(name)
    assert Workspace(workspace.folder, secrets=True).read_bytes(name) == b"secret"


@pytest.mark.parametrize("name", [".env.example", "id_rsa.pub", "environment.py", "keys.py", "aws/credentials"])
def test_files_with_harmless_names_are_read(workspace, name):
    (workspace.folder / name).parent.mkdir(parents=True, exist_ok=True)
    (workspace.folder / name).write_text("fine")
    assert workspace.read_bytes(name) == b"fine"


def test_a_link_to_a_secret_does_not_show_it(workspace):
    (workspace.folder / ".env").write_text("secret")
    (workspace.folder / "notes.txt").symlink_to(".env")
    with pytest.raises(WorkspaceProblem):
        workspace.read_bytes("notes.txt")


@pytest.mark.skipif(sys.platform != "linux", reason="descriptors are counted as Linux lists them")
def test_no_descriptor_is_left_open(workspace):
    opened = Path("/proc/self/fd")
    before = len(list(opened.iterdir()))
    for path in ("src/a.txt", "src", "nothing", "../x", "src/a.txt/b"):
        for attempt in (
            workspace.read_bytes,
            workspace.listing,
            workspace.stat,
            lambda path: workspace.write_bytes(path, b"inside"),
        ):
            try:
                attempt(path)
            except WorkspaceProblem:
                continue
    assert len(list(opened.iterdir())) == before

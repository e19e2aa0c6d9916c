"""What is no regular file, too large, closed or endless, through every face that opens one: refused at once, never waited for."""

import asyncio
import os
import socket
import stat
import subprocess
import sys
from pathlib import Path

import pytest

from security.faces import FACES, INSIDE, NAMED, SECRET, get
from treadle.assistants.courses.material.formats.html import read_docx, read_html
from treadle.assistants.courses.material.formats.html_to_markdown import MAX_NESTING
from treadle.checkpoints import Checkpoints
from treadle.core.errors import SettingsError
from treadle.files import Workspace
from treadle.passages import UnreadableDocument
from treadle.retrieval.source_files import scan_folder
from treadle.settings.toml import read_settings_file

IS_ROOT = os.geteuid() == 0
EVERY = {**FACES, **NAMED}


def _pipe(path: Path) -> None:
    os.mkfifo(path)


def _socket(path: Path) -> None:
    here = Path.cwd()
    os.chdir(path.parent)  # a socket's path is short
    try:
        with socket.socket(socket.AF_UNIX) as bound:
            bound.bind(path.name)
    finally:
        os.chdir(here)


def _device(path: Path) -> None:
    """The device without an end; where even root can't make one, as in some containers, a link to it."""
    try:
        os.mknod(path, stat.S_IFCHR | 0o666, os.makedev(1, 5))
    except PermissionError:
        path.symlink_to("/dev/zero")


def _huge(path: Path) -> None:
    path.touch()
    try:
        os.truncate(path, 1 << 40)
    except OSError:  # a file system with smaller files
        os.truncate(path, 1 << 32)


def _closed(path: Path) -> None:
    path.write_text(SECRET)
    path.chmod(0)


MAKE = {
    "pipe": _pipe,
    "socket": _socket,
    "device": _device,
    "huge": _huge,
    "folder": Path.mkdir,
    "link to a pipe": lambda path: (_pipe(path.with_name("pipe.py")), path.symlink_to("pipe.py")),
    "link to itself": lambda path: path.symlink_to(path.name),
    "link to nothing": lambda path: path.symlink_to("gone.py"),
    "link to a device": lambda path: path.symlink_to("/dev/zero"),
    "link to a terminal": lambda path: path.symlink_to("/dev/tty"),
    "link to memory": lambda path: path.symlink_to("/proc/self/mem"),
    "link to an open file": lambda path: path.symlink_to("/proc/self/fd/0"),
    **({} if IS_ROOT else {"closed": _closed}),  # nothing is closed to root
}


@pytest.fixture
def work(tmp_path, monkeypatch):
    (tmp_path / "work").mkdir()
    monkeypatch.chdir(tmp_path / "work")
    monkeypatch.setenv("TREADLE_HOME", str(tmp_path / "data"))
    return tmp_path / "work"


@pytest.mark.parametrize("kind", MAKE)
@pytest.mark.parametrize("face", EVERY)
def test_what_is_no_file_to_read_is_refused_at_once(work, face, kind):
    MAKE[kind](work / "x.py")
    if (face, kind) == ("a file of settings", "huge"):
        return  # only its beginning is read
    said = EVERY[face](work, "x.py")
    assert SECRET not in said
    assert said.startswith("problem: ") or (face, said) == ("a file of settings", "")


@pytest.mark.parametrize("kind", ["pipe", "socket", "device", "huge"])
def test_a_server_goes_on_answering(work, kind):
    """One request for a pipe froze the server for everybody."""
    MAKE[kind](work / "x.py")
    (work / "a.py").write_text(INSIDE)
    refused, listed, read = get(work, "/api/reading/file?path=x.py", "/api/reading/files", "/api/reading/file?path=a.py")
    assert (refused.status_code, refused.json()["success"]) == (400, False)
    assert listed.json()["files"] == (["a.py", "x.py"] if kind == "huge" else ["a.py"])
    assert read.json()["text"] == INSIDE


@pytest.mark.parametrize("kind", ["pipe", "socket", "device", "link to a pipe", "link to a device", "link to itself"])
def test_a_checkpoint_waits_for_nothing(work, kind):
    (work / "a.py").write_text(INSIDE)
    MAKE[kind](work / "x.py")
    checkpoints = Checkpoints(work, work.parent / "checkpoints")
    assert asyncio.run(checkpoints.take("one"))


@pytest.mark.parametrize("kind", ["pipe", "socket", "device", "folder"])
def test_documents_are_found_without_opening_what_is_none(work, kind):
    MAKE[kind](work / "x.md")
    for file in scan_folder("x", work, ["**/*.md"]).files:
        assert NAMED["a document to index"](work, file.path).startswith("problem: ")


@pytest.mark.parametrize("kind", ["pipe", "socket", "folder"])
def test_settings_are_read_from_files_alone(work, kind):
    MAKE[kind](work / "treadle.toml")
    with pytest.raises(SettingsError, match="it is no regular file"):
        list(read_settings_file(work / "treadle.toml"))


@pytest.fixture
def nested(work):
    """Folders in one another, more than a path can name; taken away again, since Python's own way to do that recurses."""
    here = os.open(work, os.O_RDONLY)
    for _ in range(2_500):
        os.mkdir("dd", dir_fd=here)
        below = os.open("dd", os.O_RDONLY | os.O_DIRECTORY, dir_fd=here)
        os.close(here)
        here = below
    os.close(here)
    yield work
    subprocess.run(["rm", "-rf", str(work / "dd")], check=True)


def test_folders_nested_beyond_what_a_path_can_say_are_left_out(nested):
    (nested / "a.py").write_text(INSIDE)
    assert list(Workspace(nested).files()) == ["a.py"]
    found = scan_folder("x", nested, ["**/*.py"])
    assert [file.path for file in found.files] == ["a.py"]
    assert [each.reason for each in found.skipped] == ["its folders are nested too deeply"]


# pages


def lines_run(html: str) -> int:
    """How many lines of Python a page takes."""
    count = 0

    def trace(frame, event, arg):
        nonlocal count
        count += event == "line"
        return trace

    read_html(b"<p>warm</p>")
    before = sys.gettrace()
    sys.settrace(trace)
    try:
        read_html(html.encode())
    except UnreadableDocument:
        pass
    finally:
        sys.settrace(before)
    return count


WIDE = {
    "links that lead nowhere": "<a href='#'>x</a>",
    "pictures": "<img alt=x>",
    "comments": "<!--x-->y",
    "scripts": "<script>1</script>z",
    "open elements": "<div>",
    "open links": "<a href='#'>",
    "unread elements in one another": "<nav>",
    "ends of nothing": "</p>",
    "quotes in one another": "<blockquote>x",
    "beginnings of comments": "<!--",
    "beginnings of sections": "<![CDATA[",
}


@pytest.mark.parametrize("piece", WIDE)
def test_a_page_takes_time_linear_to_it(piece):
    once, twice = lines_run(WIDE[piece] * 400), lines_run(WIDE[piece] * 800)
    assert twice < 2.5 * once


def test_a_numbered_list_takes_time_linear_to_it():
    once, twice = (lines_run(f"<ol>{'<li>x</li>' * count}</ol>") for count in (300, 600))
    assert twice < 2.5 * once


@pytest.mark.parametrize("blank", [" ", "\n", "\n \n", "&#32;", "\t\r\n"])
def test_a_megabyte_of_blanks_is_read(blank):
    assert read_html(f"<p>a{blank * (1_000_000 // len(blank))}b</p>".encode()).text.split() == ["a", "b"]


@pytest.mark.parametrize("tag", ["div", "b", "ul", "blockquote", "table", "a", "nav", "span"])
def test_elements_nested_too_deeply_are_said_so(tag):
    with pytest.raises(UnreadableDocument, match="nested too deeply"):
        read_html(f"<{tag}>".encode() * 100_000)


def test_elements_nested_as_people_do_are_read():
    deep = MAX_NESTING - 5
    assert read_html(("<div>" * deep + "said" + "</div>" * deep).encode()).text == "said"


def test_an_archive_that_unpacks_to_more_than_it_may_is_refused():
    from io import BytesIO
    from zipfile import ZIP_DEFLATED, ZipFile

    packed = BytesIO()
    with ZipFile(packed, "w", ZIP_DEFLATED) as archive:
        archive.writestr("word/document.xml", b"<a>" * 17_000_000)
    with pytest.raises(UnreadableDocument, match="too large when unpacked"):
        read_docx(packed.getvalue())

"""What a path leads to is changed while it is opened: at every step by a hook, and by a thread that never rests."""

import asyncio
import ctypes
import os
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

import pytest

import treadle.files.workspace
from security.faces import FACES, INSIDE, SECRET, get
from treadle.assistants.reading.source_files import iter_source_files, load_workspace_file
from treadle.core.errors import TreadleError
from treadle.core.regular_files import open_regular
from treadle.files import Workspace, WorkspaceProblem
from treadle.retrieval.source_files import UnreadableDocument, read_source, scan_folder

TRIES = 1_000
_HERE, _EXCHANGE = -100, 2  # AT_FDCWD, RENAME_EXCHANGE


@pytest.fixture
def work(tmp_path, monkeypatch):
    work = tmp_path / "work"
    (work / "x" / "a").mkdir(parents=True)
    (work / "x" / "a" / "a.py").write_text(INSIDE)
    (work / "x" / "a" / "a.md").write_text(INSIDE)
    (tmp_path / "outside").mkdir()
    for name in ("a.py", "a.md"):
        (tmp_path / "outside" / name).write_text(SECRET)
    (work / "x" / "link").symlink_to(tmp_path / "outside")
    monkeypatch.chdir(work)
    monkeypatch.setenv("TREADLE_HOME", str(tmp_path / "data"))
    return work


def swap(work: Path) -> None:
    """A folder and a link to one outside change places, at once."""
    exchange(work / "x" / "a", work / "x" / "link")


def exchange(one: Path, other: Path) -> None:
    names = [ctypes.c_char_p(os.fsencode(path)) for path in (one, other)]
    assert ctypes.CDLL(None, use_errno=True).renameat2(_HERE, names[0], _HERE, names[1], _EXCHANGE) == 0, ctypes.get_errno()


@contextmanager
def flipping(change: Callable[[], None]) -> Iterator[None]:
    over = threading.Event()

    def flip() -> None:
        while not over.is_set():
            change()

    thread = threading.Thread(target=flip, daemon=True)
    thread.start()
    try:
        yield
    finally:
        over.set()
        thread.join()


@pytest.mark.parametrize("at", [0, 1, 2, 3])
@pytest.mark.parametrize("path", ["x/a/a.py", "x/a/../a/a.py", "./x/../x/a/a.py"])
@pytest.mark.parametrize("face", FACES)
def test_a_folder_that_becomes_a_link_at_any_step_is_no_way_out(work, face, path, at, monkeypatch):
    """The step is the opening of a descriptor: of the root, of each part of a path, of the file."""
    opens, original = [], os.open

    def swapping(name, flags, *args, **kwargs):
        if "/proc/self/fd" not in str(name):
            opens.append(name)
            if len(opens) == at + 1:
                swap(work)
        return original(name, flags, *args, **kwargs)

    monkeypatch.setattr(treadle.files.workspace.os, "open", swapping)
    said = FACES[face](work, path)
    monkeypatch.undo()
    assert SECRET not in said


@pytest.mark.parametrize("path", ["x/a/a.py", "x/a/../a/a.py"])
@pytest.mark.parametrize("links", [True, False])
def test_nothing_outside_is_read_however_often_folder_and_link_change_places(work, path, links):
    workspace = Workspace(work, links=links)
    with flipping(lambda: swap(work)):
        for _ in range(TRIES):
            with suppress(TreadleError):
                assert load_workspace_file(workspace, path) == INSIDE.encode()
            with suppress(TreadleError):
                assert not [each for each in iter_source_files(workspace) if "outside" in each]


def test_no_request_reads_another_persons_file_while_folder_and_link_change_places(work):
    with flipping(lambda: swap(work)):
        answers = get(work, *["/api/reading/file?path=x/a/../a/a.py"] * 250)
    assert not [each for each in answers if SECRET in each.text]
    assert {each.status_code for each in answers} <= {200, 400}


@pytest.mark.parametrize("attempt", ["write", "remove", "make"])
@pytest.mark.parametrize("links", [True, False])
def test_nothing_outside_is_changed_while_folder_and_link_change_places(work, attempt, links):
    workspace, outside = Workspace(work, links=links), work.parent / "outside"
    attempts = {
        "write": lambda: workspace.write_bytes("x/a/new.py", b"x"),
        "remove": lambda: workspace.remove("x/a/a.md"),
        "make": lambda: workspace.make_folder("x/a/new"),
    }
    with flipping(lambda: swap(work)):
        for _ in range(200):
            with suppress(WorkspaceProblem):
                attempts[attempt]()
    assert sorted(each.name for each in outside.iterdir()) == ["a.md", "a.py"]


def test_a_document_whose_folder_became_a_link_after_it_was_found_is_not_read(work):
    found = [file for file in scan_folder("x", work, ["**/*.md"]).files if file.path == "x/a/a.md"]
    assert read_source(found[0]).data == INSIDE.encode()
    swap(work)
    with pytest.raises((OSError, UnreadableDocument)):
        read_source(found[0])


def test_a_document_is_not_looked_for_outside_while_folder_and_link_change_places(work):
    with flipping(lambda: swap(work)):
        for _ in range(300):
            for file in scan_folder("x", work, ["**/*.md"]).files:
                with suppress(OSError, UnreadableDocument):
                    assert read_source(file).data == INSIDE.encode()


def test_a_folder_that_was_replaced_by_a_link_is_no_root(work):
    workspace = Workspace(work)
    work.rename(work.parent / "old")
    work.symlink_to(work.parent / "outside")
    with pytest.raises(WorkspaceProblem):
        workspace.read_bytes("a.py")


@pytest.mark.parametrize("look", [True, False])
def test_a_file_that_becomes_a_pipe_is_never_waited_for(work, look):
    os.mkfifo(work / "pipe")
    (work / "file").write_text(INSIDE)

    with flipping(lambda: exchange(work / "file", work / "pipe")):
        for _ in range(TRIES):
            with suppress(OSError), os.fdopen(open_regular(str(work / "file"), look=look), "rb") as file:
                assert file.read() == INSIDE.encode()


def test_no_request_opens_a_file_on_the_event_loop(work, monkeypatch):
    on_loop: list[bool] = []

    def opened(*args, **kwargs):
        try:
            asyncio.get_running_loop()
            on_loop.append(True)
        except RuntimeError:
            on_loop.append(False)
        return open_regular(*args, **kwargs)

    monkeypatch.setattr(treadle.files.workspace, "open_regular", opened)
    assert get(work, "/api/reading/file?path=x/a/a.py")[0].json()["text"] == INSIDE
    for face in ("read_file", "refer_to_source_code"):
        assert INSIDE in FACES[face](work, "x/a/a.py")
    assert on_loop == [False] * 3

"""What a call of a workspace tool changes, as data: the content before and after, with nothing changed."""

import pytest

from treadle.files.workspace import Workspace
from treadle.toolsets.workspace.file_edits import FileEdit, find_edit

TEXT = "one\ntwo\nthree\n"


@pytest.fixture
def workspace(tmp_path):
    (tmp_path / "a.txt").write_text(TEXT)
    (tmp_path / "data.bin").write_bytes(b"\0\1")
    (tmp_path / ".env").write_text("KEY=1\n")
    (tmp_path / "link.txt").symlink_to("a.txt")
    return Workspace(tmp_path)


@pytest.mark.parametrize(
    ("name", "arguments", "after"),
    [
        ("write_file", {"content": "new\n"}, "new\n"),
        ("replace_text", {"old": "two", "new": "2"}, "one\n2\nthree\n"),
        ("edit_lines", {"start_line": 1, "end_line": 2, "new_content": "1"}, "1\nthree\n"),
        ("insert_lines", {"line_number": 1, "content": "zero"}, "zero\none\ntwo\nthree\n"),
        ("delete_lines", {"start_line": 1, "end_line": 2}, "three\n"),
        ("delete_file", {}, ""),
        ("file", {"action": "write", "content": "new\n"}, "new\n"),
        ("file", {"action": "append", "content": "four\n"}, TEXT + "four\n"),
        ("file", {"action": "delete"}, ""),
        ("code_edit", {"action": "delete_lines", "start_line": 1, "end_line": 1}, "two\nthree\n"),
    ],
)
def test_each_change_is_found_and_none_is_made(workspace, name, arguments, after):
    assert find_edit(workspace, name, {"path": "a.txt", **arguments}) == FileEdit("a.txt", TEXT, after)
    assert (workspace.folder / "a.txt").read_text() == TEXT


def test_a_new_file_has_no_content_before(workspace):
    assert find_edit(workspace, "write_file", {"path": "b/new.txt", "content": "x\n"}) == FileEdit("b/new.txt", None, "x\n")
    assert not (workspace.folder / "b").exists()


@pytest.mark.parametrize(
    ("name", "arguments"),
    [
        ("read_file", {"path": "a.txt"}),
        ("file", {"action": "read", "path": "a.txt"}),
        ("replace_text", {"path": "a.txt", "old": "nowhere", "new": ""}),
        ("replace_text", {"path": "missing.txt", "old": "a", "new": ""}),
        ("write_file", {"path": "../out.txt", "content": ""}),
        ("replace_text", {"path": ".env", "old": "1", "new": "2"}),
        ("replace_text", {"path": "data.bin", "old": "a", "new": ""}),
        ("delete_file", {"path": "data.bin"}),
        ("delete_file", {"path": "link.txt"}),
        ("write_file", {"somewhere": "else"}),
        ("run_command", {"command": "rm a.txt"}),
    ],
)
def test_there_is_none_where_nothing_is_changed_or_the_call_would_fail(workspace, name, arguments):
    assert find_edit(workspace, name, arguments) is None

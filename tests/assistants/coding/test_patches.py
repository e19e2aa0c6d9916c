"""A diff of git's is told file by file, counted, and bounded."""

import subprocess
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from assistants.coding.stage import git, needs_git
from properties import examples
from treadle.assistants.coding import patches
from treadle.assistants.coding.patches import FilePatch, parse_diff, parse_patch, unquote_diff_path

LINES = st.lists(
    st.text(st.characters(codec="utf-8", exclude_characters="\r\0"), max_size=8).map(lambda text: text.replace("\n", ""))
)


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    git(tmp_path, "init", "--quiet")
    return tmp_path


def change(folder: Path, before: dict[str, str | bytes], after: dict[str, str | bytes]) -> str:
    """What git says differs between two states of a folder."""
    trees = [tree(folder, files) for files in (before, after)]
    line = ["git", "diff-tree", "-r", "-p", "-M", "--src-prefix=a/", "--dst-prefix=b/", *trees]
    return subprocess.run(line, cwd=folder, check=True, capture_output=True).stdout.decode(errors="replace")


def tree(folder: Path, files: dict[str, str | bytes]) -> str:
    git(folder, "read-tree", "--empty")
    for name, content in files.items():
        raw = content if isinstance(content, bytes) else content.encode()
        blob = subprocess.run(["git", "hash-object", "-w", "--stdin"], cwd=folder, input=raw, check=True, capture_output=True)
        git(folder, "update-index", "--add", "--cacheinfo", "100644", blob.stdout.decode().strip(), name)
    return git(folder, "write-tree")


def test_nothing_is_nothing() -> None:
    assert parse_patch("").files == ()
    assert parse_patch("warning: something\n").files == ()


@needs_git
def test_files_are_told_by_what_happened_to_them(folder: Path) -> None:
    long = "".join(f"line {number}\n" for number in range(20))
    before = {"gone.txt": "a\nb\n", "kept.txt": "one\ntwo\n", "old name.txt": long, "empty.txt": "", "same.txt": "x"}
    after = {"new.txt": "--- a\n+++ b\n", "kept.txt": "one\n2\n", "new name.txt": long, "same.txt": "x", "void.txt": ""}
    found = {file.path: file for file in parse_patch(change(folder, before, after)).files}
    assert {path: (file.kind, file.was, file.added, file.removed) for path, file in found.items()} == {
        "gone.txt": ("deleted", "", 0, 2),
        "kept.txt": ("modified", "", 1, 1),
        "new name.txt": ("renamed", "old name.txt", 0, 0),
        "new.txt": ("added", "", 2, 0),
        "void.txt": ("renamed", "empty.txt", 0, 0),
    }
    assert found["kept.txt"].lines == ("@@ -1,2 +1,2 @@", " one", "-two", "+2")
    assert found["new.txt"].lines == ("@@ -0,0 +1,2 @@", "+--- a", "++++ b")


@needs_git
def test_what_is_no_text_and_what_is_empty_have_their_names(folder: Path) -> None:
    (one, other) = parse_patch(change(folder, {}, {"a picture.png": b"\0\1\2", "b.txt": ""})).files
    assert one == FilePatch("a picture.png", "added", is_binary=True)
    assert other == FilePatch("b.txt", "added")


@needs_git
@pytest.mark.parametrize("name", ["grün.txt", 'quo"te.txt', "ta\tb.txt", "back\\slash.txt", "b/b b/b.txt", "a b"])
def test_odd_names_are_read_as_they_are(folder: Path, name: str) -> None:
    assert [file.path for file in parse_patch(change(folder, {name: "x\n"}, {name: "y\n"})).files] == [name]
    assert [file.path for file in parse_patch(change(folder, {}, {name: b"\0"})).files] == [name]


@needs_git
@examples(10)
@given(before=LINES, after=LINES)
def test_counts_and_lines_agree_whatever_changes(folder: Path, before: list[str], after: list[str]) -> None:
    old, new = "".join(f"{line}\n" for line in before), "".join(f"{line}\n" for line in after)
    files = parse_patch(change(folder, {"f": old, "rest": "x"}, {"f": new, "rest": "x"})).files
    assert bool(files) == (old != new)
    for file in files:
        assert (file.path, file.added - file.removed) == ("f", len(after) - len(before))
        assert (file.added, file.removed) == tuple(sum(line.startswith(sign) for line in file.lines) for sign in "+-")


def section(path: str, lines: int, width: int = 4) -> str:
    body = "\n".join(f"+{'x' * width}" for _ in range(lines))
    return f"diff --git a/{path} b/{path}\nnew file mode 100644\n--- /dev/null\n+++ b/{path}\n@@ -0,0 +1,{lines} @@\n{body}\n"


def test_a_large_diff_is_cut_and_says_by_how_much() -> None:
    (file,) = parse_patch(section("long", patches.MAX_LINES + 9)).files
    assert (len(file.lines), file.left_out, file.added) == (patches.MAX_LINES, 10, patches.MAX_LINES + 9)
    (wide,) = parse_patch(section("wide", 1, 10_000)).files
    assert len(wide.lines[1]) == patches.MAX_LINE_LENGTH + 1
    many = parse_patch("".join(section(str(number), 1) for number in range(patches.MAX_FILES + 3)))
    assert (len(many.files), many.left_out) == (patches.MAX_FILES, 3)
    heavy = parse_patch("".join(section(str(number), 250, 1_900) for number in range(4)))
    assert sum(len(line) for file in heavy.files for line in file.lines) <= patches.MAX_CHARACTERS
    assert (len(heavy.files[-1].lines), heavy.files[-1].left_out, heavy.files[-1].added) == (1, 250, 250)


def test_quoted_paths_are_unquoted() -> None:
    assert unquote_diff_path('"gr\\303\\274n\\t\\"\\\\"') == 'grün\t"\\'
    assert (unquote_diff_path("plain"), unquote_diff_path('"'), unquote_diff_path('"\\777"')) == ("plain", '"', "\ufffd")


def test_plain_diffs_and_a_last_line_without_newline_are_read_as_they_are() -> None:
    heading = "A message.\n\n--- a.txt\t2026-01-01\n+++ a.txt\t2026-01-02\n"
    plain = f"{heading}@@ -1,2 +1 @@\n-one\n--- two\n+one\n\\ No newline at end of file\n"
    (file,) = parse_patch(plain).files
    assert (file.path, file.added, file.removed) == ("a.txt", 1, 2)
    assert file.lines == ("@@ -1,2 +1 @@", "-one", "--- two", "+one", "\\ No newline at end of file")
    (hunk,) = parse_diff(plain)[0].hunks
    assert [(line.sign, line.text, line.number) for line in hunk.lines] == [("-", "one", 1), ("-", "-- two", 1), ("+", "one", 1)]

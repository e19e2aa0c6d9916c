"""What has changed in a working folder since a commit."""

import asyncio

import pytest

from treadle.toolsets.git.changes import MAX_UNTRACKED, FileChange, changes_since, parse_changes
from treadle.toolsets.git.sandboxed import GitFailed, GitRefused, NoRepository


def changes(room, commit="HEAD", path=""):
    return {change.path: change for change in asyncio.run(changes_since(room.folder / path, commit))}


def test_a_changed_file_has_both_texts_the_lines_that_differ_and_a_short_diff(room):
    room.put("b.py", "".join(f"line {number}\n" for number in range(1, 21)))
    room.git("add", "b.py")
    room.git("commit", "-qm", "b")
    room.put("b.py", "first\n" + "".join(f"line {number}\n" for number in range(1, 21) if number != 15))
    change = changes(room)["b.py"]
    assert (change.status, change.added, change.removed) == ("changed", (1,), (15,))
    assert (change.before.count("\n"), change.after.splitlines()[0]) == (20, "first")
    assert change.diff.splitlines() == [
        *("@@ -1 +1 @@", "+first", " line 1", " line 2", " line 3"),
        *("@@ -12 +13 @@", " line 12", " line 13", " line 14", "-line 15", " line 16", " line 17", " line 18"),
    ]


def test_files_are_added_removed_and_new_to_git_whatever_their_names(room):
    room.put("w ü\n.py", "x = 1")
    room.put("staged.py", "y = 1\n")
    room.git("add", "staged.py")
    (room.folder / "a.txt").unlink()
    found = changes(room)
    assert {path: (change.status, change.added, change.removed) for path, change in found.items()} == {
        "a.txt": ("removed", (), (1,)),
        "staged.py": ("added", (1,), ()),
        "w ü\n.py": ("added", (1,), ()),
    }
    assert found["w ü\n.py"].diff == "@@ -0 +1 @@\n+x = 1"
    assert list(changes(room, "HEAD", "staged.py")) == ["staged.py"]


def test_commits_since_then_count_and_so_does_what_is_not_committed(room):
    room.put("a.txt", "two\n")
    room.git("commit", "-qam", "two")
    room.put("a.txt", "three\n")
    assert (changes(room, "main")["a.txt"].before, changes(room, "main")["a.txt"].after) == ("one\n", "three\n")
    assert changes(room, "HEAD")["a.txt"].before == "two\n"


def test_secrets_links_and_what_is_binary_are_named_and_not_read(room):
    room.put("server.key", "secret one\n")
    (room.folder / "data.bin").write_bytes(b"\0\1")
    (room.folder / "link.py").symlink_to("a.txt")
    room.git("add", ".")
    room.put("new.pem", "secret two\n")
    (room.folder / "new.bin").write_bytes(b"\0\2")
    found = changes(room)
    assert sorted(found) == ["data.bin", "link.py", "new.bin", "new.pem", "server.key"]
    assert all(change.problem and not change.after + change.diff for change in found.values())
    assert "secret" not in str([(change.after, change.diff) for change in found.values()])


def test_a_change_of_the_mode_alone_has_no_lines(room):
    (room.folder / "a.txt").chmod(0o755)
    assert changes(room) == {"a.txt": FileChange("a.txt", "changed")}


def test_programs_that_a_repository_names_for_its_diffs_are_not_run(room):
    room.git("config", "diff.external", f"touch {room.folder}/ran; false")
    room.put("a.txt", "two\n")
    assert list(changes(room)) == ["a.txt"]


def test_of_very_many_new_files_the_first_are_read(room):
    for number in range(MAX_UNTRACKED + 1):
        room.put(f"new/{number:03}.txt")
    assert [path for path, change in changes(room).items() if change.problem] == [f"new/{MAX_UNTRACKED:03}.txt"]


def test_what_is_no_commit_and_what_is_no_repository_is_said(room, tmp_path):
    for name in ("nosuch", "--output=x", "a..b"):
        with pytest.raises(GitRefused):
            changes(room, name)
    with pytest.raises(NoRepository, match="in no git repository"):
        asyncio.run(changes_since(tmp_path / "home", "HEAD"))
    room.git("worktree", "add", "-q", str(tmp_path / "linked"))
    with pytest.raises(NoRepository, match="linked worktree"):
        asyncio.run(changes_since(tmp_path / "linked", "HEAD"))


def test_an_answer_that_does_not_fit_together_is_a_failure():
    with pytest.raises(GitFailed, match="Try again"):
        parse_changes(":100644 100644 1 2 M\ta.txt\n\n* Unmerged path a.txt\n")

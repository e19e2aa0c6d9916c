"""Git for the assistant itself."""

import asyncio

import pytest

from treadle.toolsets.git.commit import Identity
from treadle.toolsets.git.repository import Repository, commit_paths, diff_branch, find_unsuitable, read_repository
from treadle.toolsets.git.sandboxed import GitRefused

BOT = Identity("Bot", "bot@example.org")


def test_facts_of_a_repository(room, remote):
    room.put("a.txt", "two\n")
    room.put("new folder/b.txt")
    head = room.git("rev-parse", "HEAD")
    assert asyncio.run(read_repository(room.folder)) == Repository(
        room.folder, "treadle/work", head, ("a.txt", "new folder/b.txt"), str(remote)
    )


def test_facts_say_nothing_of_passwords_and_of_what_is_not_there(empty):
    empty.git("switch", "-q", "-c", "x")
    assert asyncio.run(read_repository(empty.folder)) == Repository(empty.folder, "x", None, (), None)
    empty.git("remote", "add", "origin", "https://ada:secret@example.org/x.git")
    assert asyncio.run(read_repository(empty.folder)).remote == "https://example.org/x.git"


def test_where_there_is_no_repository_there_are_no_facts(room, tmp_path):
    (room.folder / "sub").mkdir()
    assert asyncio.run(read_repository(room.folder / "sub")) is None
    assert asyncio.run(read_repository(tmp_path / "home")) is None


def test_exactly_the_named_paths_are_committed_and_the_rest_stays_staged(room):
    room.put("a.txt", "two\n")
    room.put("mine.txt")
    room.put("staged.txt")
    room.git("add", "staged.txt")
    room.put("gone.txt", "soon gone\n")
    room.git("add", "gone.txt")
    room.git("commit", "-qm", "gone", "--", "gone.txt")
    (room.folder / "gone.txt").unlink()
    made = asyncio.run(commit_paths(room.folder, ["mine.txt", "gone.txt"], "Job done", "run:1", BOT))
    assert made == room.git("rev-parse", "HEAD")
    assert room.git("show", "--format=%an %s", "--name-status").split("\n") == ["Bot Job done", "", "D\tgone.txt", "A\tmine.txt"]
    assert room.git("status", "--porcelain").splitlines() == ["M a.txt", "A  staged.txt"]  # the first blank is stripped
    assert [path.name for path in (room.folder / ".git" / "treadle").iterdir()] == []


def test_a_repeat_with_the_same_key_gives_the_same_commit(room):
    room.put("a.txt", "two\n")
    made = asyncio.run(commit_paths(room.folder, ["a.txt"], "x", "run:1", BOT))
    room.put("a.txt", "three\n")
    assert asyncio.run(commit_paths(room.folder, ["a.txt"], "x", "run:1", BOT)) == made
    assert asyncio.run(commit_paths(room.folder, ["a.txt"], "y", "run:2")) != made
    assert room.git("log", "--format=%s %an").splitlines() == ["y Ada Person", "x Bot", "first Ada Person"]


def test_nothing_to_commit_is_no_commit(room):
    assert asyncio.run(commit_paths(room.folder, ["a.txt", "none.txt"], "x", "run:1", BOT)) is None
    assert asyncio.run(commit_paths(room.folder, [], "x", "run:1", BOT)) is None
    room.put("a.txt", "two\n")
    room.git("add", "a.txt")
    room.put("a.txt", "one\n")  # as it was committed, though staged otherwise
    assert asyncio.run(commit_paths(room.folder, ["a.txt"], "x", "run:1", BOT)) is None
    assert room.subjects() == ["first"]


def test_secrets_are_left_out_and_told(room):
    room.put(".env")
    room.put("b.txt")
    told = asyncio.run(find_unsuitable(room.folder, [".env", "b.txt"]))
    assert list(told) == [".env"]
    assert "secrets" in told[".env"]
    asyncio.run(commit_paths(room.folder, [".env", "b.txt"], "x", "run:1", BOT))
    assert room.git("show", "--format=", "--name-only") == "b.txt"
    assert room.git("status", "--porcelain") == "?? .env"


def test_the_first_commit_is_made_of_paths(empty):
    empty.put("a.txt")
    empty.put("b.txt")
    made = asyncio.run(commit_paths(empty.folder, ["a.txt"], "begin", "run:1", BOT))
    assert empty.git("log", "--format=%H %s") == f"{made} begin"
    assert empty.git("status", "--porcelain") == "?? b.txt"


def test_while_a_merge_is_under_way_nothing_is_committed(room):
    room.put("b.txt")
    (room.folder / ".git" / "MERGE_HEAD").write_text(room.git("rev-parse", "HEAD") + "\n")
    with pytest.raises(GitRefused, match="A merge is under way"):
        asyncio.run(commit_paths(room.folder, ["b.txt"], "x", "run:1", BOT))


def test_a_branch_is_shown_as_a_difference(room):
    room.put("b.txt", "mine\n")
    room.git("add", "b.txt")
    room.git("commit", "-qm", "mine")
    assert "+mine\n" in asyncio.run(diff_branch(room.folder, "main", "treadle/work"))
    assert asyncio.run(diff_branch(room.folder, "treadle/work", "main")) == ""
    with pytest.raises(GitRefused, match="There is no branch or commit nowhere"):
        asyncio.run(diff_branch(room.folder, "main", "nowhere"))

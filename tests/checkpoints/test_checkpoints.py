"""The states of a folder: taken, listed, compared, put back."""

import asyncio
import os
import stat
import time
from hashlib import sha1
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from properties import examples
from treadle.checkpoints import ChangedSince, CheckpointChange, Checkpoints, CheckpointsError, NoCheckpoint, NotRestored
from treadle.checkpoints.scan import stamp_of
from treadle.checkpoints.store import CheckpointStore
from treadle.core.errors import TreadleError

run = asyncio.run


def take(checkpoints, label=""):
    return run(checkpoints.take(label))


def kinds(checkpoints, since, until=None):
    return {change.path: change.kind for change in run(checkpoints.changes(since, until))}


def contents(folder):
    """All that is in a folder but `.git`, as it is on disk."""
    found = {}
    for path in Path(folder).rglob("*"):
        name = path.relative_to(folder)
        if ".git" in name.parts or (path.is_dir() and not path.is_symlink()):
            continue
        mode = bool(path.lstat().st_mode & stat.S_IXUSR)
        found[str(name)] = str(path.readlink()) if path.is_symlink() else (mode, path.read_bytes())
    return found


def test_a_state_has_one_id_until_something_changes(folder, checkpoints):
    before = time.time()
    first = take(checkpoints, "the beginning")
    assert take(checkpoints, "again") == first
    (folder / "src" / "a.py").write_text("four\n")
    second = take(checkpoints)
    assert second != first
    one, two = run(checkpoints.list())
    assert (one.id, one.label, one.changed, one.left_out) == (first, "the beginning", 2, ())
    assert (two.id, two.label, two.changed) == (second, "", 1)
    assert before <= one.at <= two.at <= time.time()


def test_nothing_is_in_the_list_and_on_disk_before_the_first(checkpoints, tmp_path):
    assert run(checkpoints.list()) == []
    assert not (tmp_path / "store").exists()


def test_other_processes_see_what_was_taken(folder, checkpoints, tmp_path):
    first = take(checkpoints, "x")
    other = Checkpoints(str(folder), str(tmp_path / "store"))
    assert [each.id for each in run(other.list())] == [first]
    assert take(other) == first


def test_changes_say_what_happened_to_which_file(folder, checkpoints):
    first = take(checkpoints)
    (folder / "src" / "a.py").write_text("one\n2\nthree\n")
    (folder / "new.txt").write_text("new")
    (folder / "read me.txt").rename(folder / "src" / "README")
    assert run(checkpoints.changes(first)) == (
        CheckpointChange("new.txt", "added"),
        CheckpointChange("src/README", "renamed", was="read me.txt"),
        CheckpointChange("src/a.py", "modified"),
    )
    second = take(checkpoints)
    (folder / "new.txt").unlink()
    assert kinds(checkpoints, second) == {"new.txt": "deleted"}
    assert kinds(checkpoints, first, second) == {"new.txt": "added", "src/README": "renamed", "src/a.py": "modified"}
    assert kinds(checkpoints, second, first) == {"new.txt": "deleted", "read me.txt": "renamed", "src/a.py": "modified"}
    assert kinds(checkpoints, first, first) == {}


def test_looking_at_changes_makes_no_checkpoint(folder, checkpoints):
    first = take(checkpoints)
    (folder / "new.txt").write_text("new")
    assert kinds(checkpoints, first) == {"new.txt": "added"}
    assert len(run(checkpoints.list())) == 1


def test_a_diff_is_unified(folder, checkpoints):
    first = take(checkpoints)
    (folder / "src" / "a.py").write_text("one\n2\nthree\n")
    (folder / "ü.txt").write_text("new\n")
    told = run(checkpoints.diff(first))
    assert "--- a/src/a.py\n+++ b/src/a.py\n@@ -1,3 +1,3 @@\n one\n-two\n+2\n three\n" in told
    assert "+++ b/ü.txt\n@@ -0,0 +1 @@\n+new\n" in told
    second = take(checkpoints)
    assert run(checkpoints.diff(first, second)) == told
    assert "-2\n+two\n" in run(checkpoints.diff(second, first))
    assert run(checkpoints.diff(second)) == ""


def test_a_diff_of_some_paths_takes_them_as_they_are_written(folder, checkpoints):
    first = take(checkpoints)
    for name in ("x.txt", "[x].txt", "*.txt", ":(top)x.txt"):
        (folder / name).write_text(f"this is {name}\n")
    told = run(checkpoints.diff(first, paths=["*.txt", "src"]))
    assert told.count("diff --git") == 1
    assert "+this is *.txt" in told
    assert "+this is :(top)x.txt" in run(checkpoints.diff(first, paths=[":(top)x.txt"]))


def test_going_back_undoes_everything_that_was_done_to_files(folder, checkpoints):
    (folder / "tool.sh").write_text("#!/bin/sh\n")
    (folder / "link").symlink_to("src/a.py")
    (folder / "plain").write_text("plain")
    before = contents(folder)
    first = take(checkpoints)

    (folder / "src" / "a.py").write_text("changed")
    (folder / "read me.txt").rename(folder / "renamed.txt")
    (folder / "tool.sh").chmod(0o755)
    (folder / "link").unlink()
    (folder / "link").symlink_to("/etc/passwd")
    (folder / "plain").unlink()
    (folder / "plain").symlink_to("nowhere")
    (folder / "new" / "deep").mkdir(parents=True)
    (folder / "new" / "deep" / "file").write_text("new")
    after = contents(folder)
    second = take(checkpoints)

    assert run(checkpoints.restore(first)) == (
        CheckpointChange("link", "modified"),
        CheckpointChange("new/deep/file", "deleted"),
        CheckpointChange("plain", "modified"),
        CheckpointChange("read me.txt", "added"),
        CheckpointChange("renamed.txt", "deleted"),
        CheckpointChange("src/a.py", "modified"),
        CheckpointChange("tool.sh", "modified"),
    )
    assert contents(folder) == before
    assert not (folder / "new").exists()
    assert kinds(checkpoints, first) == {}
    run(checkpoints.restore(second))
    assert contents(folder) == after


def test_going_back_can_itself_be_undone(folder, checkpoints):
    first = take(checkpoints, "good")
    (folder / "src" / "a.py").write_text("never taken")
    run(checkpoints.restore(first))
    *_, last = run(checkpoints.list())
    assert last.label == "before going back to good"
    assert run(checkpoints.restore(last.id)) == (CheckpointChange("src/a.py", "modified"),)
    assert (folder / "src" / "a.py").read_text() == "never taken"


def test_going_back_to_where_one_is_touches_nothing(folder, checkpoints):
    first = take(checkpoints)
    before = (folder / "src" / "a.py").stat()
    assert run(checkpoints.restore(first)) == ()
    assert (folder / "src" / "a.py").stat() == before
    assert len(run(checkpoints.list())) == 1


@pytest.mark.parametrize("way", ["there", "back"])
def test_files_links_and_folders_take_one_anothers_place(folder, checkpoints, way):
    def one():
        (folder / "x").mkdir()
        (folder / "x" / "y").mkdir()
        (folder / "x" / "y" / "file").write_text("deep")
        (folder / "z").symlink_to("src")

    def other():
        (folder / "x").symlink_to("src")
        (folder / "z").mkdir()
        (folder / "z" / "a.py").write_text("no longer the same file")

    def clear():
        for name in ("x/y/file", "z/a.py"):
            if not (folder / name).parent.is_symlink() and not (folder / name).parents[1].is_symlink():
                (folder / name).unlink(missing_ok=True)
        for name in ("x/y", "x", "z"):
            path = folder / name
            path.unlink() if path.is_symlink() else path.rmdir() if path.is_dir() else None

    first, second = (one, other) if way == "there" else (other, one)
    first()
    before = contents(folder)
    kept = take(checkpoints)
    clear()
    second()
    after = contents(folder)
    assert before != after
    run(checkpoints.restore(kept))
    assert contents(folder) == before
    run(checkpoints.restore(run(checkpoints.list())[-1].id))
    assert contents(folder) == after


def test_a_mode_is_kept_but_for_who_may_run_it(folder, checkpoints):
    file = folder / "src" / "a.py"
    file.chmod(0o640)
    first = take(checkpoints)
    file.chmod(0o750)
    assert kinds(checkpoints, first) == {"src/a.py": "modified"}
    second = take(checkpoints)
    run(checkpoints.restore(first))
    assert stat.S_IMODE(file.stat().st_mode) == 0o640
    run(checkpoints.restore(second))
    assert stat.S_IMODE(file.stat().st_mode) == 0o750


@pytest.mark.parametrize(
    "name",
    ["two words", "two\nlines", "ü\u202e", "-rf", "--", '"quoted"', "back\\slash", "tab\t", ":(top)", "*", "$(x)", b"\xff\xfe"],
)
def test_odd_names_are_names(folder, checkpoints, name):
    path = folder / os.fsdecode(name)
    first = take(checkpoints)
    path.write_text("x")
    second = take(checkpoints)
    assert kinds(checkpoints, first, second) == {os.fsdecode(name): "added"}
    run(checkpoints.restore(first))
    assert not os.path.lexists(path)
    run(checkpoints.restore(second))
    assert path.read_text() == "x"


def test_what_is_on_disk_is_kept_byte_by_byte(folder, checkpoints):
    (folder / ".gitattributes").write_text("* text eol=crlf ident working-tree-encoding=UTF-16\n")
    odd = {"crlf": b"a\r\nb\r\n", "mixed": b"a\r\nb\n", "id": b"$Id: x $\n", "zero": b"a\0b", "utf16": "ü\n".encode("utf-16")}
    for name, data in odd.items():
        (folder / name).write_bytes(data)
    first = take(checkpoints)
    for name in odd:
        (folder / name).write_bytes(b"changed")
    run(checkpoints.restore(first))
    assert {name: (folder / name).read_bytes() for name in odd} == odd


def test_a_change_that_hides_behind_size_and_time_is_seen(folder, checkpoints):
    file = folder / "src" / "a.py"
    os.utime(file, (1, 1))
    first = take(checkpoints)
    file.write_text("ONE\ntwo\nthree\n")
    os.utime(file, (1, 1))
    assert kinds(checkpoints, first) == {"src/a.py": "modified"}


def test_an_empty_folder_is_a_state_too(tmp_path):
    (tmp_path / "empty").mkdir()
    checkpoints = Checkpoints(tmp_path / "empty", tmp_path / "store")
    first = take(checkpoints)
    assert take(checkpoints) == first
    (tmp_path / "empty" / "a").write_text("a")
    assert kinds(checkpoints, first) == {"a": "added"}
    second = take(checkpoints)
    assert run(checkpoints.restore(first)) == (CheckpointChange("a", "deleted"),)
    assert list((tmp_path / "empty").iterdir()) == []
    assert run(checkpoints.restore(second)) == (CheckpointChange("a", "added"),)


def test_a_folder_that_is_gone_does_not_pass_for_an_empty_one(folder, checkpoints, tmp_path):
    take(checkpoints)
    folder.rename(tmp_path / "elsewhere")
    with pytest.raises(CheckpointsError, match="No such file"):
        take(checkpoints)
    folder.symlink_to(tmp_path / "elsewhere")
    with pytest.raises(CheckpointsError, match=r"work can't be opened"):
        take(checkpoints)
    assert len(run(checkpoints.list())) == 1


# somebody else's changes


def test_nothing_is_touched_where_somebody_else_changed_files(folder, checkpoints):
    first = take(checkpoints)
    (folder / "src" / "a.py").write_text("by the job")
    (folder / "new.txt").write_text("by the job")
    second = take(checkpoints)
    (folder / "src" / "a.py").write_text("by the person")
    (folder / "mine.txt").write_text("by the person")
    before = contents(folder)
    with pytest.raises(ChangedSince, match=r"Another process changed src/a\.py") as raised:
        run(checkpoints.restore(first, expected=second))
    assert raised.value.paths == ("src/a.py",)
    assert contents(folder) == before
    assert len(run(checkpoints.list())) == 2
    done = run(checkpoints.restore(first, expected=second, force=True))
    assert [change.path for change in done] == ["new.txt", "src/a.py"]
    assert (folder / "src" / "a.py").read_text() == "one\ntwo\nthree\n"
    assert (folder / "mine.txt").read_text() == "by the person"  # it never was the job's


def test_the_jobs_own_changes_are_undone_without_a_question(folder, checkpoints):
    first = take(checkpoints)
    (folder / "src" / "a.py").write_text("by the job")
    second = take(checkpoints)
    assert run(checkpoints.restore(first, expected=second)) == (CheckpointChange("src/a.py", "modified"),)


def test_what_somebody_put_back_already_is_nobodys_change(folder, checkpoints):
    first = take(checkpoints)
    (folder / "src" / "a.py").write_text("by the job")
    (folder / "new.txt").write_text("by the job")
    second = take(checkpoints)
    (folder / "src" / "a.py").write_text("one\ntwo\nthree\n")
    assert run(checkpoints.restore(first, expected=second)) == (CheckpointChange("new.txt", "deleted"),)


# what isn't kept


def test_what_is_ignored_is_neither_kept_nor_touched(folder, checkpoints):
    (folder / ".gitignore").write_text("*.log\nbuild/\n!keep.log\n")
    (folder / "src" / ".gitignore").write_text("local\n")
    (folder / "build").mkdir()
    for name in ("a.log", "keep.log", "build/x", "src/local"):
        (folder / name).write_text("before")
    first = take(checkpoints)
    for name in ("a.log", "keep.log", "build/x", "src/local", "b.log"):
        (folder / name).write_text("after")
    assert kinds(checkpoints, first) == {"keep.log": "modified"}
    run(checkpoints.restore(first))
    now = {name: (folder / name).read_text() for name in ("a.log", "keep.log", "build/x", "src/local", "b.log")}
    assert now == {"a.log": "after", "keep.log": "before", "build/x": "after", "src/local": "after", "b.log": "after"}


def test_rules_of_ignoring_that_went_away_cost_nobody_what_was_ignored(folder, checkpoints):
    (folder / ".gitignore").write_text(".env\ndata/\n")
    (folder / "data").mkdir()
    (folder / "data" / "all").write_text("years of work")
    (folder / ".env").write_text("KEY=1")
    first = take(checkpoints)
    (folder / ".gitignore").write_text("nothing\n")
    (folder / "src" / "new.py").write_text("new")
    second = take(checkpoints)
    assert kinds(checkpoints, first, second) == {".gitignore": "modified", "src/new.py": "added"}
    assert "years of work" not in run(checkpoints.diff(first, second))
    (folder / ".gitignore").write_text(".env\ndata/\n")
    assert kinds(checkpoints, first) == {"src/new.py": "added"}
    (folder / ".gitignore").unlink()
    done = run(checkpoints.restore(first))
    assert [change.path for change in done] == [".gitignore", "src/new.py"]
    assert (folder / ".env").read_text() == "KEY=1"
    assert (folder / "data" / "all").read_text() == "years of work"


def test_a_file_that_was_kept_stays_kept_when_it_is_ignored_later(folder, checkpoints):
    first = take(checkpoints)
    (folder / ".gitignore").write_text("*.py\n")
    (folder / "src" / "a.py").write_text("changed, and hidden")
    assert kinds(checkpoints, first) == {".gitignore": "added", "src/a.py": "modified"}
    take(checkpoints)
    run(checkpoints.restore(first))
    assert (folder / "src" / "a.py").read_text() == "one\ntwo\nthree\n"
    run(checkpoints.restore(run(checkpoints.list())[-1].id))
    assert (folder / "src" / "a.py").read_text() == "changed, and hidden"


def test_a_large_file_is_left_out_and_named_and_seen_to_change(folder, checkpoints):
    (folder / "large").write_bytes(b"x" * 200_000)
    first = take(checkpoints)
    assert run(checkpoints.list())[0].left_out == ("large",)
    assert take(checkpoints) == first
    with (folder / "large").open("ab") as file:
        file.write(b"y")
    (folder / "larger").write_bytes(b"x" * 300_000)
    (folder / "src" / "a.py").write_text("changed")
    assert kinds(checkpoints, first) == {"large": "modified", "larger": "added", "src/a.py": "modified"}
    with pytest.raises(NotRestored, match=r"Everything was put back but large, larger \(not kept\)") as raised:
        run(checkpoints.restore(first))
    assert raised.value.done == (CheckpointChange("src/a.py", "modified"),)
    assert raised.value.reasons == {"large": "not kept", "larger": "not kept"}
    assert (folder / "large").stat().st_size == 200_001
    assert (folder / "larger").exists()
    assert (folder / "src" / "a.py").read_text() == "one\ntwo\nthree\n"


def test_a_file_that_has_grown_too_large_is_not_lost_for_the_small_one(folder, checkpoints):
    first = take(checkpoints)
    (folder / "src" / "a.py").write_bytes(b"x" * 200_000)
    assert kinds(checkpoints, first) == {"src/a.py": "modified"}
    for force in (False, True):
        with pytest.raises(NotRestored):
            run(checkpoints.restore(first, force=force))
    assert (folder / "src" / "a.py").stat().st_size == 200_000
    (folder / "src" / "a.py").unlink()
    run(checkpoints.restore(first))
    assert (folder / "src" / "a.py").read_text() == "one\ntwo\nthree\n"


def test_what_stands_in_the_way_and_is_not_kept_stays(folder, checkpoints):
    (folder / ".gitignore").write_text("*.log\n")
    (folder / "thing").write_text("a file")
    first = take(checkpoints)
    (folder / "thing").unlink()
    (folder / "thing").mkdir()
    (folder / "thing" / "a.log").write_text("ignored")
    (folder / "src" / "a.py").write_text("changed")
    with pytest.raises(NotRestored, match=r"thing \(something is in the way\)"):
        run(checkpoints.restore(first))
    assert (folder / "thing" / "a.log").read_text() == "ignored"
    assert (folder / "src" / "a.py").read_text() == "one\ntwo\nthree\n"


def test_repositories_inside_are_named_and_left_alone(folder, checkpoints, git):
    inner = folder / "inner"
    inner.mkdir()
    git(inner, "init")
    (inner / "x").write_text("before")
    git(inner, "add", ".")
    git(inner, "commit", "-m", "x")
    first = take(checkpoints)
    assert run(checkpoints.list())[0].left_out == ("inner/",)
    (inner / "x").write_text("after")
    (folder / "src" / "a.py").write_text("after")
    assert kinds(checkpoints, first) == {"src/a.py": "modified"}
    run(checkpoints.restore(first))
    assert (inner / "x").read_text() == "after"


def test_a_folder_that_becomes_a_repository_keeps_what_was_known_of_it(folder, checkpoints, git):
    first = take(checkpoints)
    git(folder / "src", "init")
    (folder / "src" / "a.py").write_text("changed")
    assert kinds(checkpoints, first) == {"src/a.py": "modified"}
    run(checkpoints.restore(first))
    assert (folder / "src" / "a.py").read_text() == "one\ntwo\nthree\n"
    assert (folder / "src" / ".git" / "HEAD").exists()


def test_names_that_are_git_in_other_letters_are_skipped(folder, checkpoints):
    (folder / ".GIT").mkdir()
    (folder / ".GIT" / "config").write_text("x")
    first = take(checkpoints)
    assert run(checkpoints.list())[0].changed == 2
    (folder / ".GIT" / "config").write_text("y")
    assert kinds(checkpoints, first) == {}


# the repository that a folder is or lies in


@pytest.fixture
def repository(tmp_path, git):
    root = tmp_path / "repository"
    (root / "part" / "sub").mkdir(parents=True)
    git(root, "init")
    (root / "part" / "a.py").write_text("a")
    return root


def test_what_the_repository_tracks_is_kept_though_it_is_ignored(repository, tmp_path, git):
    (repository / ".gitignore").write_text("bin/\n")
    (repository / "bin").mkdir()
    (repository / "bin" / "tracked").write_text("before")
    (repository / "bin" / "not").write_text("before")
    git(repository, "add", "-f", "bin/tracked")
    checkpoints = Checkpoints(repository, tmp_path / "store")
    first = take(checkpoints)
    (repository / "bin" / "tracked").write_text("after")
    (repository / "bin" / "not").write_text("after")
    assert run(checkpoints.restore(first)) == (CheckpointChange("bin/tracked", "modified"),)


def test_so_it_is_in_another_work_tree_of_the_repository(repository, tmp_path, git):
    (repository / ".gitignore").write_text("bin/\n")
    (repository / "bin").mkdir()
    (repository / "bin" / "tracked").write_text("x")
    git(repository, "add", "-f", ".")
    git(repository, "commit", "-m", "x")
    assert git(repository, "worktree", "add", str(tmp_path / "tree")).returncode == 0
    checkpoints = Checkpoints(tmp_path / "tree", tmp_path / "store")
    first = take(checkpoints)
    (tmp_path / "tree" / "bin" / "tracked").write_text("after")
    assert kinds(checkpoints, first) == {"bin/tracked": "modified"}


@pytest.mark.parametrize("damage", [b"", b"DIRC nonsense", os.urandom(5000)], ids=["empty", "short", "noise"])
def test_an_index_that_cannot_be_read_is_no_matter(repository, tmp_path, git, damage):
    git(repository, "add", ".")
    (repository / ".git" / "index").write_bytes(damage)
    checkpoints = Checkpoints(repository, tmp_path / "store")
    first = take(checkpoints)
    (repository / "part" / "a.py").write_text("b")
    assert kinds(checkpoints, first) == {"part/a.py": "modified"}


def test_rules_of_the_repository_hold_in_its_folders(repository, tmp_path):
    (repository / ".gitignore").write_text("*.log\n")
    (repository / "part" / ".gitignore").write_text("/sub/generated\n")
    (repository / ".git" / "info").mkdir(exist_ok=True)
    (repository / ".git" / "info" / "exclude").write_text("private\n")
    sub = repository / "part" / "sub"
    checkpoints = Checkpoints(sub, tmp_path / "store")
    first = take(checkpoints)
    for name in ("x.log", "generated", "private", "file"):
        (sub / name).write_text("x")
    assert kinds(checkpoints, first) == {"file": "added"}
    second = take(checkpoints)
    (repository / "part" / ".gitignore").unlink()
    third = take(checkpoints)
    assert kinds(checkpoints, second, third) == {"generated": "added"}
    (repository / "part" / ".gitignore").write_text("/sub/generated\n")
    assert run(checkpoints.restore(first)) == (CheckpointChange("file", "deleted"),)
    assert sorted(path.name for path in sub.iterdir()) == ["generated", "private", "x.log"]


def test_a_repository_that_ignores_the_folder_as_a_whole_has_no_say(repository, tmp_path):
    (repository / ".gitignore").write_text("/*\n")
    checkpoints = Checkpoints(repository / "part", tmp_path / "store")
    first = take(checkpoints)
    (repository / "part" / "a.py").write_text("b")
    assert kinds(checkpoints, first) == {"a.py": "modified"}


# mistakes


@pytest.mark.parametrize("wanted", ["", "HEAD", "--help", "--output=x", "0" * 40])
def test_a_checkpoint_that_is_not_there_is_said_so(folder, checkpoints, wanted):
    first = take(checkpoints)
    for attempt in (
        lambda: checkpoints.changes(wanted),
        lambda: checkpoints.changes(first, wanted),
        lambda: checkpoints.diff(wanted),
        lambda: checkpoints.restore(wanted),
        lambda: checkpoints.restore(first, expected=wanted or "x"),
    ):
        with pytest.raises(NoCheckpoint, match="There is no checkpoint"):
            run(attempt())
    assert issubclass(NoCheckpoint, TreadleError)


def test_a_store_and_its_folder_do_not_lie_in_one_another(tmp_path):
    (tmp_path / "work").mkdir()
    for folder, store in ((tmp_path, tmp_path / "store"), (tmp_path / "work", tmp_path), (tmp_path / "work", tmp_path / "work")):
        with pytest.raises(CheckpointsError, match="one lies in the other"):
            Checkpoints(folder, store)


def test_a_store_is_one_folders_alone(folder, checkpoints, tmp_path):
    take(checkpoints)
    (tmp_path / "another").mkdir()
    with pytest.raises(CheckpointsError, match=r"keeps the states of .*work, not of .*another"):
        take(Checkpoints(tmp_path / "another", tmp_path / "store"))


def test_a_store_that_cannot_be_made_is_said_so(folder, tmp_path):
    (tmp_path / "file").write_text("x")
    with pytest.raises(CheckpointsError, match="can't be written"):
        take(Checkpoints(folder, tmp_path / "file" / "store"))


def test_a_list_that_cannot_be_read_is_said_so_and_left_alone(checkpoints, tmp_path):
    take(checkpoints)
    (tmp_path / "store" / "checkpoints.json").write_text("[{")
    with pytest.raises(CheckpointsError, match=r"checkpoints\.json can't be read"):
        take(checkpoints)
    assert (tmp_path / "store" / "checkpoints.json").read_text() == "[{"


def test_a_store_is_its_owners_alone(checkpoints, tmp_path):
    take(checkpoints)
    assert stat.S_IMODE((tmp_path / "store").stat().st_mode) == 0o700


def test_what_is_remembered_of_files_may_be_lost_or_wrong(folder, checkpoints, tmp_path):
    store = tmp_path / "store"
    first = take(checkpoints)
    (store / "seen").write_bytes(b"\xc1 nonsense")
    assert take(checkpoints) == first
    (folder / "src" / "a.py").write_text("changed")
    stamp = stamp_of((folder / "src" / "a.py").stat())
    CheckpointStore(store, folder).remember({"src/a.py": (stamp, "1" * 40)})
    assert kinds(checkpoints, first) == {"src/a.py": "modified"}
    assert "+changed" in run(checkpoints.diff(first))


def test_a_content_that_the_store_has_lost_is_named_and_the_rest_put_back(folder, checkpoints, tmp_path):
    (folder / "b.txt").write_text("b")
    first = take(checkpoints)
    (folder / "b.txt").write_text("changed")
    (folder / "src" / "a.py").write_text("changed")
    take(checkpoints)
    oid = sha1(b"blob 1\0b", usedforsecurity=False).hexdigest()
    (tmp_path / "store" / "git" / "objects" / oid[:2] / oid[2:]).unlink()
    with pytest.raises(NotRestored, match=r"b\.txt \(its content is missing in the store\)"):
        run(checkpoints.restore(first))
    assert (folder / "src" / "a.py").read_text() == "one\ntwo\nthree\n"


def test_two_thousand_files_are_kept_and_put_back(tmp_path):
    folder = tmp_path / "work"
    for number in range(2_000):
        path = folder / f"d{number % 40}" / f"e{number % 7}" / f"file {number}"
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(f"content {number}")
    before = contents(folder)
    checkpoints = Checkpoints(folder, tmp_path / "store")
    first = take(checkpoints)
    assert run(checkpoints.list())[0].changed == 2_000
    for number in range(0, 2_000, 2):
        (folder / f"d{number % 40}" / f"e{number % 7}" / f"file {number}").write_text("changed")
    assert len(run(checkpoints.restore(first))) == 1_000
    assert contents(folder) == before


# any two states

NAMES = st.sampled_from(["a", "b", "a b", "ü", "\n", "-x"])
PATHS = st.lists(NAMES, min_size=1, max_size=3).map("/".join)
FILES = st.one_of(st.tuples(st.booleans(), st.binary(max_size=6)), st.sampled_from(["a", "..", "/nowhere", "a/b"]))
STATES = st.dictionaries(PATHS, FILES, max_size=6).map(
    lambda files: {path: file for path, file in files.items() if not any(other.startswith(f"{path}/") for other in files)}
)


def make(folder, files):
    """The folder, with these files and nothing else."""
    for path in sorted(folder.rglob("*"), reverse=True):
        path.rmdir() if path.is_dir() and not path.is_symlink() else path.unlink()
    for name, file in files.items():
        path = folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        if isinstance(file, str):
            path.symlink_to(file)
        else:
            path.write_bytes(file[1])
            path.chmod(0o755 if file[0] else 0o644)


@examples(10)
@given(states=st.lists(STATES, min_size=2, max_size=3))
def test_whatever_was_there_comes_back_as_it_was(tmp_path_factory, states):
    place = tmp_path_factory.mktemp("any")
    folder = place / "work"
    folder.mkdir()
    checkpoints = Checkpoints(folder, place / "store")
    taken = []
    for files in states:
        make(folder, files)
        taken.append(take(checkpoints))
    for files, wanted in zip(states, taken, strict=True):
        run(checkpoints.restore(wanted))
        assert contents(folder) == files
        assert kinds(checkpoints, wanted) == {}

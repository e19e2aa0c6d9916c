"""What differs between two states: which paths, which kinds of change, and as a patch. Git compares what it keeps, no files."""

import os
from collections.abc import Iterable, Iterator, Mapping, Sequence

from treadle.toolsets.checkpoints.git import Git
from treadle.toolsets.checkpoints.values import Change, Kept, Kind

_KINDS: dict[str, Kind] = {"A": "added", "D": "deleted", "R": "renamed"}  # all others are modifications


def differing(one: Mapping[str, Kept], other: Mapping[str, Kept]) -> set[str]:
    """The paths at which two states differ."""
    return {path for path in one.keys() | other.keys() if one.get(path) != other.get(path)}


def folders_of(paths: Iterable[str]) -> set[str]:
    """All folders that these paths lie in."""
    return {path[:at] for path in paths for at, letter in enumerate(path) if letter == "/"}


def changes_between(git: Git, since: str, until: str) -> tuple[Change, ...]:
    """The files that changed, by path; one that was moved is one change."""
    said = git.run("diff-tree", "-r", "-z", "-M", "--raw", since, until)
    words = iter([os.fsdecode(word) for word in said.split(b"\0")[:-1]])
    return tuple(sorted(_changes(words), key=lambda change: change.path))


def _changes(words: Iterator[str]) -> Iterator[Change]:
    for about in words:
        kind = _KINDS.get(about.rpartition(" ")[2][0], "modified")
        was = next(words) if kind == "renamed" else ""
        yield Change(next(words), kind, was)


def patch_between(git: Git, since: str, until: str, paths: Sequence[str], *, whole: bool = False) -> bytes:
    """The same as a unified diff, of these paths or of all; `whole`, with what is no text, so that `git apply` takes it."""
    content = ("--binary", "--full-index") if whole else ()
    plain = ("--no-color", "--no-ext-diff", "--no-textconv", "--src-prefix=a/", "--dst-prefix=b/")
    return git.run("--literal-pathspecs", "diff-tree", "-r", "-p", "-M", *plain, *content, since, until, "--", *paths)

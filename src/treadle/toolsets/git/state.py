"""What git says of a working folder: the branch, and what is staged, changed and untracked. Pure."""

import re

from msgspec import Struct

from treadle.files.problems import shown
from treadle.toolsets.git.names import unquoted

QUERY = ("status", "--porcelain=v2", "--branch", "--no-renames", "--ignore-submodules=dirty")
MOST_LISTED = 60
_AHEAD = re.compile(r"# branch\.ab \+(\d+) -(\d+)")
_MARKS = {"M": "changed", "T": "changed", "A": "new", "D": "deleted", "R": "renamed", "C": "copied", "U": "in conflict"}


class Change(Struct, frozen=True):
    """One path. `staged` and `unstaged` are git's letters, empty where nothing is."""

    path: str
    staged: str = ""
    unstaged: str = ""
    untracked: bool = False
    ignored: bool = False
    conflict: bool = False


class State(Struct, frozen=True):
    """A working folder. `branch` is None where no branch is checked out, `head` where there is no commit yet."""

    branch: str | None
    head: str | None
    upstream: str = ""
    ahead: int = 0
    behind: int = 0
    changes: tuple[Change, ...] = ()

    @property
    def ref(self) -> str:
        """What a commit moves."""
        return f"refs/heads/{self.branch}" if self.branch is not None else "HEAD"

    @property
    def staged(self) -> tuple[Change, ...]:
        """What a commit would take."""
        return tuple(change for change in self.changes if change.staged)


def state_of(output: str) -> State:
    """The state, from what the query gave."""
    facts = {
        words[1]: words[2] for words in (line.split(" ", 2) for line in output.splitlines()) if words[0] == "#" and len(words) == 3
    }
    counts = _AHEAD.search(output)
    branch, head = facts.get("branch.head", "(detached)"), facts.get("branch.oid", "(initial)")
    return State(
        None if branch == "(detached)" else branch,
        None if head == "(initial)" else head,
        facts.get("branch.upstream", ""),
        int(counts[1]) if counts else 0,
        int(counts[2]) if counts else 0,
        tuple(change for change in map(_change, output.splitlines()) if change is not None),
    )


def _change(line: str) -> Change | None:
    """One line: its kind, two letters, and fields before the path, whose number depends on the kind."""
    kind, _, rest = line.partition(" ")
    match kind:
        case "?":
            return Change(unquoted(rest), untracked=True)
        case "!":
            return Change(unquoted(rest), ignored=True)
        case "1" if rest.count(" ") >= 7:
            letters, *_, path = rest.split(" ", 7)
            return Change(unquoted(path), letters[0].strip("."), letters[1].strip("."))
        case "u" if rest.count(" ") >= 9:
            return Change(unquoted(rest.split(" ", 9)[-1]), conflict=True)
        case _:
            return None


def told(state: State) -> str:
    """The state for a model."""
    lines = [_where(state)]
    lines += _list("In conflict", [shown(change.path) for change in state.changes if change.conflict])
    lines += _list("Staged", [f"{shown(change.path)} ({_MARKS.get(change.staged, change.staged)})" for change in state.staged])
    unstaged = [change for change in state.changes if change.unstaged]
    lines += _list("Not staged", [f"{shown(change.path)} ({_MARKS.get(change.unstaged, change.unstaged)})" for change in unstaged])
    lines += _list("Untracked", [shown(change.path) for change in state.changes if change.untracked])
    return "\n".join(lines if len(lines) > 1 else [*lines, "Nothing is changed."])


def _where(state: State) -> str:
    commit = f"at {state.head[:10]}" if state.head else "without a commit yet"
    branch = f"On branch {state.branch}, {commit}" if state.branch is not None else f"On no branch, {commit}"
    away = f"; {state.ahead} ahead of and {state.behind} behind {state.upstream}" if state.upstream else ""
    return f"{branch}{away}."


def _list(title: str, names: list[str]) -> list[str]:
    if not names:
        return []
    more = [f"  [{len(names) - MOST_LISTED} more]"] if len(names) > MOST_LISTED else []
    return [f"{title}:", *[f"  {name}" for name in names[:MOST_LISTED]], *more]

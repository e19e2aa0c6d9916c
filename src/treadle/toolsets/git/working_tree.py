"""Status of a working folder: the branch, and what is staged, changed and untracked. Pure."""

import re

from msgspec import Struct

from treadle.files.problems import printable_name
from treadle.toolsets.git.names import unquote_path

STATUS_QUERY = ("status", "--porcelain=v2", "--branch", "--no-renames", "--ignore-submodules=dirty")
MAX_LISTED = 60
_AHEAD = re.compile(r"# branch\.ab \+(\d+) -(\d+)")
_MARKS = {"M": "changed", "T": "changed", "A": "new", "D": "deleted", "R": "renamed", "C": "copied", "U": "in conflict"}


class StatusChange(Struct, frozen=True):
    """One path. `staged` and `unstaged` are git's letters, empty where nothing is."""

    path: str
    staged: str = ""
    unstaged: str = ""
    untracked: bool = False
    ignored: bool = False
    conflict: bool = False


class GitState(Struct, frozen=True):
    """A working folder. `branch` is None where no branch is checked out, `head` where there is no commit yet."""

    branch: str | None
    head: str | None
    upstream: str = ""
    ahead: int = 0
    behind: int = 0
    changes: tuple[StatusChange, ...] = ()

    @property
    def ref(self) -> str:
        """The ref that a commit moves."""
        return f"refs/heads/{self.branch}" if self.branch is not None else "HEAD"

    @property
    def staged(self) -> tuple[StatusChange, ...]:
        """What a commit would contain."""
        return tuple(change for change in self.changes if change.staged)


def parse_status(output: str) -> GitState:
    """Parse the output of `STATUS_QUERY`."""
    facts = {
        words[1]: words[2] for words in (line.split(" ", 2) for line in output.splitlines()) if words[0] == "#" and len(words) == 3
    }
    counts = _AHEAD.search(output)
    branch, head = facts.get("branch.head", "(detached)"), facts.get("branch.oid", "(initial)")
    return GitState(
        None if branch == "(detached)" else branch,
        None if head == "(initial)" else head,
        facts.get("branch.upstream", ""),
        int(counts[1]) if counts else 0,
        int(counts[2]) if counts else 0,
        tuple(change for change in map(_parse_change, output.splitlines()) if change is not None),
    )


def _parse_change(line: str) -> StatusChange | None:
    """Parse one line: its kind, two letters, and fields before the path, whose number depends on the kind."""
    kind, _, rest = line.partition(" ")
    match kind:
        case "?":
            return StatusChange(unquote_path(rest), untracked=True)
        case "!":
            return StatusChange(unquote_path(rest), ignored=True)
        case "1" if rest.count(" ") >= 7:
            letters, *_, path = rest.split(" ", 7)
            return StatusChange(unquote_path(path), letters[0].strip("."), letters[1].strip("."))
        case "u" if rest.count(" ") >= 9:
            return StatusChange(unquote_path(rest.split(" ", 9)[-1]), conflict=True)
        case _:
            return None


def format_git_status(state: GitState) -> str:
    """Format the status for a model."""
    lines = [_format_branch(state)]
    lines += _format_list("In conflict", [printable_name(change.path) for change in state.changes if change.conflict])
    lines += _format_list(
        "Staged", [f"{printable_name(change.path)} ({_MARKS.get(change.staged, change.staged)})" for change in state.staged]
    )
    unstaged = [change for change in state.changes if change.unstaged]
    lines += _format_list(
        "Not staged", [f"{printable_name(change.path)} ({_MARKS.get(change.unstaged, change.unstaged)})" for change in unstaged]
    )
    lines += _format_list("Untracked", [printable_name(change.path) for change in state.changes if change.untracked])
    return "\n".join(lines if len(lines) > 1 else [*lines, "Nothing is changed."])


def _format_branch(state: GitState) -> str:
    commit = f"at {state.head[:10]}" if state.head else "without a commit yet"
    branch = f"On branch {state.branch}, {commit}" if state.branch is not None else f"On no branch, {commit}"
    away = f"; {state.ahead} ahead of and {state.behind} behind {state.upstream}" if state.upstream else ""
    return f"{branch}{away}."


def _format_list(title: str, names: list[str]) -> list[str]:
    if not names:
        return []
    more = [f"  [{len(names) - MAX_LISTED} more]"] if len(names) > MAX_LISTED else []
    return [f"{title}:", *[f"  {name}" for name in names[:MAX_LISTED]], *more]

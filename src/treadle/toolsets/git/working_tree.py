"""Status of a working folder, and names in git: quoted paths, branches, revisions, and the ref that records a call. Pure."""

import re
from hashlib import sha256

from msgspec import Struct

from treadle.files.problems import printable_name
from treadle.toolsets.git.sandboxed import GitRefused

CALLS = "refs/treadle/calls/"
_ESCAPED = re.compile(r"\\([0-7]{3}|.)")
_LETTERS = {"a": 7, "b": 8, "t": 9, "n": 10, "v": 11, "f": 12, "r": 13, '"': 34, "\\": 92}
_INVALID_BRANCH = re.compile(r"[\x00-\x20\x7f~^:?*\[\\]|\.\.|@\{|//|/\.|\.lock(?:/|\Z)|\A[-./]|\A@\Z|[./]\Z")
_SHA = re.compile(r"[0-9a-f]{40}(?:[0-9a-f]{24})?")
STATUS_QUERY = ("status", "--porcelain=v2", "--branch", "--no-renames", "--ignore-submodules=dirty")
MAX_LISTED = 60
_AHEAD = re.compile(r"# branch\.ab \+(\d+) -(\d+)")
_MARKS = {"M": "changed", "T": "changed", "A": "new", "D": "deleted", "R": "renamed", "C": "copied", "U": "in conflict"}


def unquote_path(name: str) -> str:
    """Unquote a path that git wrote with unusual characters: in double quotes, with bytes as octal numbers."""
    if not (len(name) > 1 and name[0] == name[-1] == '"'):
        return name
    raw = _ESCAPED.sub(lambda found: chr(_byte(found[1])), name[1:-1])
    return raw.encode("latin-1").decode("utf-8", "surrogateescape")


def _byte(escape: str) -> int:
    return int(escape, 8) if len(escape) == 3 else _LETTERS.get(escape, ord(escape))


def normalize_branch(name: str, prefix: str = "") -> str:
    """Return a branch name with the prefix that all of ours have. Raises `GitRefused` for one that git wouldn't accept."""
    whole = name if name.startswith(prefix) else f"{prefix}{name}"
    if not name or _INVALID_BRANCH.search(name) or _INVALID_BRANCH.search(whole):
        raise GitRefused(
            f"{printable_name(name)!r} can't be the name of a branch. Use letters, digits, `-`, `_` and `/`, as in fix-login."
        )
    return whole


def check_revision(name: str) -> str:
    """Return a revision that can't be taken for an option."""
    if not name or name.startswith("-") or not name.isprintable() or " " in name or ".." in name:
        raise GitRefused(
            f"{printable_name(name)!r} names no commit. Use a branch, a tag or a commit's hash, as in main or 1a2b3c4."
        )
    return name


def is_sha(text: str) -> bool:
    """Return whether this is the full hash of an object."""
    return _SHA.fullmatch(text) is not None


def call_ref(key: str) -> str:
    """Return the ref that records the commit of a call; empty for a call without a key."""
    if not key:
        return ""
    plain = re.sub(r"[^A-Za-z0-9_-]+", "-", key).strip("-")[:80]
    return f"{CALLS}{plain}-{sha256(key.encode()).hexdigest()[:12]}"


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

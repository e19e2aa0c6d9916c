"""Names in git: quoted paths, branches, revisions, and the ref that records a call. Pure."""

import re
from hashlib import sha256

from treadle.files.problems import printable_name
from treadle.toolsets.git.problems import GitRefused

CALLS = "refs/treadle/calls/"
_ESCAPED = re.compile(r"\\([0-7]{3}|.)")
_LETTERS = {"a": 7, "b": 8, "t": 9, "n": 10, "v": 11, "f": 12, "r": 13, '"': 34, "\\": 92}
_INVALID_BRANCH = re.compile(r"[\x00-\x20\x7f~^:?*\[\\]|\.\.|@\{|//|/\.|\.lock(?:/|\Z)|\A[-./]|\A@\Z|[./]\Z")
_SHA = re.compile(r"[0-9a-f]{40}(?:[0-9a-f]{24})?")


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

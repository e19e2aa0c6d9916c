"""Names in git: quoted paths, branches, revisions, and the ref that remembers a call. Pure."""

import re
from hashlib import sha256

from treadle.files.problems import shown
from treadle.toolsets.git.problems import Refused

CALLS = "refs/treadle/calls/"
_ESCAPED = re.compile(r"\\([0-7]{3}|.)")
_LETTERS = {"a": 7, "b": 8, "t": 9, "n": 10, "v": 11, "f": 12, "r": 13, '"': 34, "\\": 92}
_UNFIT = re.compile(r"[\x00-\x20\x7f~^:?*\[\\]|\.\.|@\{|//|/\.|\.lock(?:/|\Z)|\A[-./]|\A@\Z|[./]\Z")
_SHA = re.compile(r"[0-9a-f]{40}(?:[0-9a-f]{24})?")


def unquoted(name: str) -> str:
    """A path as git writes it when it has unusual characters: in double quotes, with bytes as octal numbers."""
    if not (len(name) > 1 and name[0] == name[-1] == '"'):
        return name
    raw = _ESCAPED.sub(lambda found: chr(_byte(found[1])), name[1:-1])
    return raw.encode("latin-1").decode("utf-8", "surrogateescape")


def _byte(escape: str) -> int:
    return int(escape, 8) if len(escape) == 3 else _LETTERS.get(escape, ord(escape))


def branch_named(name: str, prefix: str = "") -> str:
    """A name for a branch, with the prefix that all of ours have. Raises `Refused` for what git wouldn't take."""
    whole = name if name.startswith(prefix) else f"{prefix}{name}"
    if not name or _UNFIT.search(name) or _UNFIT.search(whole):
        raise Refused(f"{shown(name)!r} can't be the name of a branch. Use letters, digits, `-`, `_` and `/`, as in fix-login.")
    return whole


def revision(name: str) -> str:
    """Words that name a commit and can't be taken for an option."""
    if not name or name.startswith("-") or not name.isprintable() or " " in name or ".." in name:
        raise Refused(f"{shown(name)!r} names no commit. Use a branch, a tag or a commit's hash, as in main or 1a2b3c4.")
    return name


def is_sha(text: str) -> bool:
    """Whether this is the whole hash of an object."""
    return _SHA.fullmatch(text) is not None


def call_ref(key: str) -> str:
    """The ref that remembers the commit of a call; nothing for a call without a key."""
    if not key:
        return ""
    plain = re.sub(r"[^A-Za-z0-9_-]+", "-", key).strip("-")[:80]
    return f"{CALLS}{plain}-{sha256(key.encode()).hexdigest()[:12]}"

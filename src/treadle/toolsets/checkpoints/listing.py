"""Which files belong to the state of a folder: all that git wouldn't ignore there, and all that the folder's own repository tracks.

Git only looks here, with our store as its repository: it names files, reads `.gitignore` and runs nothing. Repositories inside of
the folder are named, and what is in them isn't looked at.
"""

import os
import re
import stat
from collections.abc import Iterable, Mapping
from contextlib import suppress
from functools import cached_property
from pathlib import Path
from tempfile import TemporaryDirectory

from treadle.files.named import head_of
from treadle.toolsets.checkpoints.git import Git
from treadle.toolsets.checkpoints.values import CheckpointsError

RULES = ".gitignore"
MOST_RULES = 1_000_000  # bytes

_NEVER = frozenset({"", ".", "..", ".git"})
_UNFINISHED = re.compile(r"\.treadle-[0-9a-f]{16}")  # a file that somebody is writing, or was killed at
_NO_INDEX = "no-index"
_IGNORED = ("check-ignore", "-z", "--stdin", "--no-index")


class Listing:
    """The names in one folder."""

    def __init__(self, git: Git, folder: Path) -> None:
        self._git = git
        self._folder = folder

    def names(self) -> tuple[set[str], set[str]]:
        """The paths of files and links, and those of the repositories inside, which end with a slash."""
        others = _paths(self._ask("ls-files", "-z", "--others", "--exclude-standard", root=self._root))
        return {path for path in others | self._tracked() if is_kept(path)}, {path for path in others if path.endswith("/")}

    def ignored(self, paths: Iterable[str], rules: Mapping[str, bytes]) -> set[str]:
        """Which of these paths are ignored where these are the `.gitignore` files of the folder, by their paths."""
        asked = b"".join(b"./%s\0" % os.fsencode(path) for path in paths)  # a name may begin like an option of git's
        with TemporaryDirectory(prefix="rules-", suffix=".new", dir=self._git.repository.parent) as scratch:
            folder = Path(scratch, self._folder.relative_to(self._root))
            folder.mkdir(parents=True, exist_ok=True)
            for path, content in {**self._rules_above(), **rules}.items():
                (folder / path).parent.mkdir(parents=True, exist_ok=True)
                (folder / path).write_bytes(content)
            said = self._ask(*_IGNORED, root=self._root, work_tree=Path(scratch), cwd=folder, stdin=asked)
        return {path.removeprefix("./") for path in _paths(said)}

    def _rules_above(self) -> dict[str, bytes]:
        """The `.gitignore` files between the root of the repository and the folder, by paths that lead up."""
        found: dict[str, bytes] = {}
        depth = len(self._folder.relative_to(self._root).parts)
        for up, parent in enumerate(self._folder.parents[:depth], 1):
            if rules := head_of(parent / RULES, MOST_RULES):
                found["../" * up + RULES] = rules
        return found

    def _tracked(self) -> set[str]:
        """What the repository that the folder lies in tracks, also where it is ignored. Its index is read as data."""
        index = _index_of(self._root)
        if index is None:
            return set()
        try:
            return _paths(self._ask("ls-files", "-z", "--cached", root=self._root, index=index))
        except CheckpointsError:  # one that can't be read without its repository
            return set()

    def _ask(
        self,
        *words: str,
        root: Path,
        work_tree: Path | None = None,
        cwd: Path | None = None,
        stdin: bytes = b"",
        index: Path | None = None,
    ) -> bytes:
        """What git says of the folder. What the person ignores without telling others is the root's."""
        private = root / ".git" / "info" / "exclude"
        return self._git.run(
            *words,
            stdin=stdin,
            cwd=cwd or self._folder,
            env={"GIT_WORK_TREE": str(work_tree or root), "GIT_INDEX_FILE": str(index or self._git.repository / _NO_INDEX)},
            settings=(f"core.excludesFile={private if _is_file(private) else os.devnull}",),
            codes=(0, 1) if words == _IGNORED else (0,),
        )

    @cached_property
    def _root(self) -> Path:
        """The folder that rules of ignoring begin at: the repository's, unless that ignores our folder as a whole."""
        for folder in (self._folder, *self._folder.parents):
            if os.path.lexists(folder / ".git"):
                return folder if folder == self._folder or not self._ignores(folder) else self._folder
        return self._folder

    def _ignores(self, root: Path) -> bool:
        asked = b"./%s\0" % os.fsencode(self._folder.relative_to(root))
        return bool(self._ask(*_IGNORED, root=root, cwd=root, stdin=asked))


def is_kept(path: str) -> bool:
    """Whether a path could be kept at all: nothing in a `.git`, however that is written, and nothing unfinished."""
    parts = path.split("/")
    return not any(part.casefold() in _NEVER for part in parts) and not _UNFINISHED.fullmatch(parts[-1])


def _paths(said: bytes) -> set[str]:
    return {os.fsdecode(path) for path in said.split(b"\0") if path}


def _index_of(root: Path) -> Path | None:
    """The index of a repository; of one that is a work tree of another, where its `.git` says."""
    place = root / ".git"
    with suppress(OSError, ValueError):
        if _is_file(place):
            line = head_of(place, MOST_RULES).decode().strip()
            place = root / line.removeprefix("gitdir:").strip() if line.startswith("gitdir:") else place
        if _is_file(place / "index"):
            return place / "index"
    return None


def _is_file(path: Path) -> bool:
    """An ordinary file, and no link to one: a pipe would never end."""
    try:
        return stat.S_ISREG(path.lstat().st_mode)
    except OSError:
        return False

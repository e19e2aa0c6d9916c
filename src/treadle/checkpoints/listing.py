"""The files that belong to the state of a folder: all that git wouldn't ignore, and all that the folder's own repository tracks.

Git only reads here, with our store as its repository: it lists files, reads `.gitignore` and runs nothing. Repositories
inside the folder are listed, but not their contents.
"""

import os
import re
import stat
from collections.abc import Iterable, Mapping
from contextlib import suppress
from functools import cached_property
from pathlib import Path
from tempfile import TemporaryDirectory

from treadle.checkpoints.git_runner import GitRunner
from treadle.checkpoints.values import CheckpointsError
from treadle.files.named_files import head_of

IGNORE_FILE = ".gitignore"
MAX_RULES = 1_000_000  # bytes

_NEVER = frozenset({"", ".", "..", ".git"})
_UNFINISHED = re.compile(r"\.treadle-[0-9a-f]{16}")  # a file that is being written, or whose writer was killed
_NO_INDEX = "no-index"
_IGNORED = ("check-ignore", "-z", "--stdin", "--no-index")


class FileListing:
    """The files of one folder."""

    def __init__(self, git: GitRunner, folder: Path) -> None:
        self._git = git
        self._folder = folder

    def names(self) -> tuple[set[str], set[str]]:
        """Return the paths of files and links, and those of nested repositories, which end with a slash."""
        others = _split_paths(self._run_git("ls-files", "-z", "--others", "--exclude-standard", root=self._root))
        return {path for path in others | self._list_tracked() if is_storable(path)}, {
            path for path in others if path.endswith("/")
        }

    def find_ignored(self, paths: Iterable[str], rules: Mapping[str, bytes]) -> set[str]:
        """Return which of these paths are ignored if these are the `.gitignore` files of the folder, by path."""
        asked = b"".join(b"./%s\0" % os.fsencode(path) for path in paths)  # a name may begin like an option of git's
        with TemporaryDirectory(prefix="rules-", suffix=".new", dir=self._git.repository.parent) as scratch:
            folder = Path(scratch, self._folder.relative_to(self._root))
            folder.mkdir(parents=True, exist_ok=True)
            for path, content in {**self._read_rules_above(), **rules}.items():
                (folder / path).parent.mkdir(parents=True, exist_ok=True)
                (folder / path).write_bytes(content)
            said = self._run_git(*_IGNORED, root=self._root, work_tree=Path(scratch), cwd=folder, stdin=asked)
        return {path.removeprefix("./") for path in _split_paths(said)}

    def _read_rules_above(self) -> dict[str, bytes]:
        """Return the `.gitignore` files between the root of the repository and the folder, by paths that lead up."""
        found: dict[str, bytes] = {}
        depth = len(self._folder.relative_to(self._root).parts)
        for up, parent in enumerate(self._folder.parents[:depth], 1):
            if rules := head_of(parent / IGNORE_FILE, MAX_RULES):
                found["../" * up + IGNORE_FILE] = rules
        return found

    def _list_tracked(self) -> set[str]:
        """Return what the enclosing repository tracks, also where it is ignored. Its index is read as data."""
        index = _find_index(self._root)
        if index is None:
            return set()
        try:
            return _split_paths(self._run_git("ls-files", "-z", "--cached", root=self._root, index=index))
        except CheckpointsError:  # one that can't be read without its repository
            return set()

    def _run_git(
        self,
        *words: str,
        root: Path,
        work_tree: Path | None = None,
        cwd: Path | None = None,
        stdin: bytes = b"",
        index: Path | None = None,
    ) -> bytes:
        """Run git on the folder. The user's private exclude rules are those of the root."""
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
        """The folder where ignore rules begin: the repository's root, unless that ignores our folder as a whole."""
        for folder in (self._folder, *self._folder.parents):
            if os.path.lexists(folder / ".git"):
                return folder if folder == self._folder or not self._is_folder_ignored(folder) else self._folder
        return self._folder

    def _is_folder_ignored(self, root: Path) -> bool:
        asked = b"./%s\0" % os.fsencode(self._folder.relative_to(root))
        return bool(self._run_git(*_IGNORED, root=root, cwd=root, stdin=asked))


def is_storable(path: str) -> bool:
    """Return whether a path could be stored at all: nothing in a `.git`, in any case, and no unfinished file."""
    parts = path.split("/")
    return not any(part.casefold() in _NEVER for part in parts) and not _UNFINISHED.fullmatch(parts[-1])


def _split_paths(said: bytes) -> set[str]:
    return {os.fsdecode(path) for path in said.split(b"\0") if path}


def _find_index(root: Path) -> Path | None:
    """Return the index of a repository; for a linked work tree, where its `.git` points to."""
    place = root / ".git"
    with suppress(OSError, ValueError):
        if _is_file(place):
            line = head_of(place, MAX_RULES).decode().strip()
            place = root / line.removeprefix("gitdir:").strip() if line.startswith("gitdir:") else place
        if _is_file(place / "index"):
            return place / "index"
    return None


def _is_file(path: Path) -> bool:
    """Return whether this is a regular file and no link to one: reading a pipe would never end."""
    try:
        return stat.S_ISREG(path.lstat().st_mode)
    except OSError:
        return False

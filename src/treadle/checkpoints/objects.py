"""Objects stored by git: contents and states written in one go, states listed, contents read back. No work tree is involved.

States are compared by git too, from stored objects: which paths, which kinds of change, and as a patch.
"""

import os
import subprocess
from collections.abc import Iterable, Iterator, Mapping, Sequence
from tempfile import TemporaryFile
from types import TracebackType
from typing import IO, Self

from treadle.checkpoints.git_runner import GIT_TIMEOUT, GitRunner, git_error
from treadle.checkpoints.values import CheckpointChange, CheckpointsError, Kind, StoredFile

_KINDS: dict[str, Kind] = {"A": "added", "D": "deleted", "R": "renamed"}  # all others are modifications


def find_differing(one: Mapping[str, StoredFile], other: Mapping[str, StoredFile]) -> set[str]:
    """Return the paths at which two states differ."""
    return {path for path in one.keys() | other.keys() if one.get(path) != other.get(path)}


def parent_folders(paths: Iterable[str]) -> set[str]:
    """Return all folders that contain these paths."""
    return {path[:at] for path in paths for at, letter in enumerate(path) if letter == "/"}


def list_changes(git: GitRunner, since: str, until: str) -> tuple[CheckpointChange, ...]:
    """Return the changed files by path; a moved file is one change."""
    said = git.run("diff-tree", "-r", "-z", "-M", "--raw", since, until)
    words = iter([os.fsdecode(word) for word in said.split(b"\0")[:-1]])
    return tuple(sorted(_parse_changes(words), key=lambda change: change.path))


def _parse_changes(words: Iterator[str]) -> Iterator[CheckpointChange]:
    for about in words:
        kind = _KINDS.get(about.rpartition(" ")[2][0], "modified")
        was = next(words) if kind == "renamed" else ""
        yield CheckpointChange(next(words), kind, was)


def build_patch(git: GitRunner, since: str, until: str, paths: Sequence[str], *, whole: bool = False) -> bytes:
    """Return a unified diff of these paths or of all; `whole` includes binary files, so that `git apply` accepts it."""
    content = ("--binary", "--full-index") if whole else ()
    plain = ("--no-color", "--no-ext-diff", "--no-textconv", "--src-prefix=a/", "--dst-prefix=b/")
    return git.run("--literal-pathspecs", "diff-tree", "-r", "-p", "-M", *plain, *content, since, until, "--", *paths)


REF = "refs/treadle/now"  # the newest state; those before it are its ancestors

_ESCAPES = ((b"\\", b"\\\\"), (b'"', b'\\"'), (b"\n", b"\\n"))


class _GitProcess:
    """A git process for a dialogue, started at the first message and ended with this context manager."""

    words: tuple[str, ...]

    def __init__(self, git: GitRunner, lock: int | None = None) -> None:
        self._git = git
        self._inherited = () if lock is None else (lock,)
        self._process: subprocess.Popen[bytes] | None = None
        self._said: IO[bytes] = TemporaryFile()  # noqa: SIM115 - closed with this value

    def __enter__(self) -> Self:
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None) -> None:
        if self._process is not None:
            self._process.kill()
            self._process.communicate()
        self._said.close()

    def send(self, *pieces: bytes) -> IO[bytes]:
        """Send data; return the stream of the response."""
        if self._process is None:
            self._process = self._git.start(*self.words, stderr=self._said, inherited=self._inherited)
        assert self._process.stdin is not None  # both were asked for
        assert self._process.stdout is not None
        try:
            for piece in pieces:
                self._process.stdin.write(piece)
            self._process.stdin.flush()
        except OSError as error:  # it has given up
            raise self._error() from error
        return self._process.stdout

    def _error(self) -> CheckpointsError:
        self._said.seek(0)
        return git_error(self.words[0], self._said.read())


class ObjectWriter(_GitProcess):
    """Writer of new contents and the state they make. Nothing is valid before `commit` has returned."""

    words = ("fast-import", "--quiet", "--force", "--done", "--date-format=raw")

    def blob(self, data: bytes) -> None:
        """Write a content."""
        self.send(b"blob\ndata %d\n" % len(data), data, b"\n")

    def commit(self, parent: str, gone: Iterable[str], put: Mapping[str, StoredFile]) -> str:
        """Return the ID of the state that differs from its parent by these paths. The same for the same state and parent."""
        base = f"from {parent}\n" if parent else ""
        told = [f"commit {REF}\nmark :1\ncommitter treadle <> 0 +0000\ndata 0\n{base}".encode()]
        told += [b"D %s\n" % _quote_path(path) for path in gone]
        told += [f"M {kept.mode} {kept.oid} ".encode() + _quote_path(path) + b"\n" for path, kept in put.items()]
        answer = self.send(b"".join(told), b"\nget-mark :1\ndone\n")
        made = answer.readline().decode().strip()
        self._finish()
        return made

    def _finish(self) -> None:
        """Wait until everything is safe on disk."""
        assert self._process is not None  # something was said
        try:
            self._process.communicate(timeout=GIT_TIMEOUT)
        except subprocess.TimeoutExpired as error:
            raise CheckpointsError(f"git took longer than {GIT_TIMEOUT:.0f} seconds, and was ended.") from error
        if self._process.returncode:
            raise self._error()


class ObjectReader(_GitProcess):
    """Reader of contents, one after the other."""

    words = ("cat-file", "--batch")

    def content(self, oid: str) -> bytes:
        """Return the content stored under this ID."""
        answer = self.send(f"{oid}\n".encode())
        head = answer.readline().split()
        if len(head) != 3:
            raise CheckpointsError("its content is missing in the store")
        return answer.read(int(head[2]) + 1)[:-1]


def read_state(git: GitRunner, checkpoint: str) -> dict[str, StoredFile]:
    """Return all files of a state by path."""
    found: dict[str, StoredFile] = {}
    for line in git.run("ls-tree", "-r", "-z", checkpoint).split(b"\0")[:-1]:
        about, _, path = line.partition(b"\t")
        mode, _, oid = about.decode().split(" ")
        found[os.fsdecode(path)] = StoredFile(mode, oid)
    return found


def _quote_path(path: str) -> bytes:
    quoted = os.fsencode(path)
    for plain, escaped in _ESCAPES:
        quoted = quoted.replace(plain, escaped)
    return b'"%s"' % quoted

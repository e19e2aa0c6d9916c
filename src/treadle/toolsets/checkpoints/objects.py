"""What git keeps: contents and states written in one go, states listed, contents read back. No work tree is involved."""

import os
import subprocess
from collections.abc import Iterable, Mapping
from tempfile import TemporaryFile
from types import TracebackType
from typing import IO, Self

from treadle.toolsets.checkpoints.git import PATIENCE, Git, failed
from treadle.toolsets.checkpoints.values import CheckpointsError, Kept

REF = "refs/treadle/now"  # the newest state; those before it are its ancestors

_ESCAPES = ((b"\\", b"\\\\"), (b'"', b'\\"'), (b"\n", b"\\n"))


class _Talk:
    """A git that is talked with, started when there is something to say and ended with this value."""

    words: tuple[str, ...]

    def __init__(self, git: Git, lock: int | None = None) -> None:
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
        """Say something; where the answer comes."""
        if self._process is None:
            self._process = self._git.start(*self.words, stderr=self._said, inherited=self._inherited)
        assert self._process.stdin is not None  # both were asked for
        assert self._process.stdout is not None
        try:
            for piece in pieces:
                self._process.stdin.write(piece)
            self._process.stdin.flush()
        except OSError as error:  # it has given up
            raise self._failed() from error
        return self._process.stdout

    def _failed(self) -> CheckpointsError:
        self._said.seek(0)
        return failed(self.words[0], self._said.read())


class Writer(_Talk):
    """New contents, and the state they make. Nothing counts before `commit` has returned."""

    words = ("fast-import", "--quiet", "--force", "--done", "--date-format=raw")

    def blob(self, data: bytes) -> None:
        """A content."""
        self.send(b"blob\ndata %d\n" % len(data), data, b"\n")

    def commit(self, parent: str, gone: Iterable[str], put: Mapping[str, Kept]) -> str:
        """The id of the state that differs from its parent by these paths. The same for the same state and parent."""
        base = f"from {parent}\n" if parent else ""
        told = [f"commit {REF}\nmark :1\ncommitter treadle <> 0 +0000\ndata 0\n{base}".encode()]
        told += [b"D %s\n" % _quoted(path) for path in gone]
        told += [f"M {kept.mode} {kept.oid} ".encode() + _quoted(path) + b"\n" for path, kept in put.items()]
        answer = self.send(b"".join(told), b"\nget-mark :1\ndone\n")
        made = answer.readline().decode().strip()
        self._end()
        return made

    def _end(self) -> None:
        """Wait until everything is safe on disk."""
        assert self._process is not None  # something was said
        try:
            self._process.communicate(timeout=PATIENCE)
        except subprocess.TimeoutExpired as error:
            raise CheckpointsError(f"git took longer than {PATIENCE:.0f} seconds, and was ended.") from error
        if self._process.returncode:
            raise self._failed()


class Reader(_Talk):
    """Contents, one after the other."""

    words = ("cat-file", "--batch")

    def content(self, oid: str) -> bytes:
        """What is kept under this id."""
        answer = self.send(f"{oid}\n".encode())
        head = answer.readline().split()
        if len(head) != 3:
            raise CheckpointsError("its content is missing in the store")
        return answer.read(int(head[2]) + 1)[:-1]


def state_of(git: Git, checkpoint: str) -> dict[str, Kept]:
    """All files of a state, by their paths."""
    found: dict[str, Kept] = {}
    for line in git.run("ls-tree", "-r", "-z", checkpoint).split(b"\0")[:-1]:
        about, _, path = line.partition(b"\t")
        mode, _, oid = about.decode().split(" ")
        found[os.fsdecode(path)] = Kept(mode, oid)
    return found


def _quoted(path: str) -> bytes:
    quoted = os.fsencode(path)
    for plain, escaped in _ESCAPES:
        quoted = quoted.replace(plain, escaped)
    return b'"%s"' % quoted

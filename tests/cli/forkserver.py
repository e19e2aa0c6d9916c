"""Starts `treadle` as a process without importing everything anew: a server that has all modules imported forks for each command.

A command costs a few milliseconds instead of up to a second, and is otherwise what `python -m treadle.cli.main` is: its own process
with its own environment, folder and files, killed by signals, with an exit status. No thread and no event loop live in the server,
so that forking is safe. What is about the start itself (`-X importtime`, Python's own variables) takes a new interpreter.
"""

import array
import atexit
import importlib
import json
import os
import pkgutil
import signal
import socket
import subprocess
import sys
import threading
from collections.abc import Mapping, Sequence
from functools import cache
from pathlib import Path
from typing import Any


class Forked(subprocess.Popen[str]):
    """A command as `subprocess.Popen` has it, forked off the server of this process."""

    def __init__(self, words: Sequence[str], *, env: Mapping[str, str], **how: Any) -> None:
        self._words = [*words]
        self._status = -1
        super().__init__([sys.executable, *words], env=env, **how)

    def _execute_child(self, *given: Any) -> None:
        # As in subprocess: args, executable, preexec_fn, close_fds, pass_fds, cwd, env, …, then the pipes' two ends each.
        cwd, env = given[5], given[6]
        p2cread, p2cwrite, c2pread, c2pwrite, errread, errwrite = given[10:16]
        order = json.dumps({"words": self._words, "cwd": os.fspath(cwd or Path.cwd()), "env": {**env}}).encode()
        self._status, theirs = os.pipe()
        self.pid = _server().fork(order, [p2cread, c2pwrite, errwrite, theirs])
        self._child_created = True
        devnull = getattr(self, "_devnull", None)
        for end, ours in ((p2cread, p2cwrite), (c2pwrite, c2pread), (errwrite, errread)):
            if end != -1 and ours != -1 and end != devnull:
                os.close(end)
        if devnull is not None:
            os.close(devnull)
        os.close(theirs)
        self._closed_child_pipe_fds = True

    def _try_wait(self, wait_flags: int) -> tuple[int, int]:
        os.set_blocking(self._status, not wait_flags & os.WNOHANG)
        try:
            told = os.read(self._status, 64)
        except BlockingIOError:
            return 0, 0
        os.close(self._status)
        return self.pid, int(told or b"9")  # no status: its supervisor was killed with it

    def _internal_poll(self, *_: Any, **__: Any) -> int | None:
        if self.returncode is None and self._waitpid_lock.acquire(blocking=False):
            try:
                if self.returncode is None:
                    pid, status = self._try_wait(os.WNOHANG)
                    if pid == self.pid:
                        self._handle_exitstatus(status)
            finally:
                self._waitpid_lock.release()
        return self.returncode


def forkable(words: Sequence[str], env: Mapping[str, str]) -> bool:
    """Whether a command is what the server can start: our module, in an environment without variables for Python itself."""
    special = {name for name in env if name.startswith(("PYTHON", "LC_", "LANG", "COVERAGE"))} - {"PYTHONPATH"}
    return [*words][:2] == ["-m", "treadle.cli.main"] and not special


class _Server:
    def __init__(self) -> None:
        ours, theirs = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
        kept = {name: os.environ[name] for name in ("PATH", "PYTHONPATH") if name in os.environ}
        kept["OPENBLAS_NUM_THREADS"] = "1"  # else numpy starts threads, in a process that forks
        command = [sys.executable, str(Path(__file__)), str(theirs.fileno())]
        self._process = subprocess.Popen(command, pass_fds=[theirs.fileno()], env=kept, stdin=subprocess.DEVNULL)
        theirs.close()
        self._socket = ours
        self._lock = threading.Lock()
        atexit.register(self.close)

    def fork(self, order: bytes, files: list[int]) -> int:
        """Have a command started with these files as stdin, stdout, stderr (-1 is ours) and for its exit status; its process id."""
        files = [own if given == -1 else given for own, given in enumerate(files)]
        path = os.memfd_create("order")
        os.write(path, order)
        with self._lock:
            self._socket.sendmsg([b"."], [(socket.SOL_SOCKET, socket.SCM_RIGHTS, array.array("i", [*files, path]))])
            told = self._socket.recv(64)
        os.close(path)
        return int(told)

    def close(self) -> None:
        self._socket.close()
        self._process.wait(10)


@cache
def _server() -> _Server:
    return _Server()


def _serve(connection: socket.socket) -> None:
    """Fork for each order, until the client closes the connection."""
    while True:
        data, files, *_ = socket.recv_fds(connection, 1, 5)
        if not data:
            return
        *files, path = files
        if os.fork():
            os.wait()
        elif os.fork():
            os._exit(0)  # so that init takes the supervisor over, and the server has nothing to wait for
        else:
            _supervise(connection, files, path)
        for file in (*files, path):
            os.close(file)


def _supervise(connection: socket.socket, files: list[int], path: int) -> None:
    """Fork the command, and write how it ended."""
    ready, begin = os.pipe()
    command = os.fork()
    if not command:
        os.close(begin)
        os.read(ready, 1)  # until its id is known
        os.close(ready)
        connection.close()
        _run(files, path)
    connection.send(str(command).encode())
    connection.close()
    for file in (*files[:3], path, begin, ready):
        os.close(file)
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    _, status = os.waitpid(command, 0)
    os.write(files[3], str(status).encode())
    os._exit(0)


def _run(files: list[int], path: int) -> None:
    """Be the command: never returns."""
    os.lseek(path, 0, os.SEEK_SET)
    with open(path, "rb") as file:
        order = json.loads(file.read())
    for number, given in enumerate(files[:3]):
        os.dup2(given, number)
    for given in files:
        os.close(given)
    before = {*_folders(os.environ)}
    os.environ.clear()
    os.environ.update(order["env"])
    os.chdir(order["cwd"])
    if _shadow(set(_folders(os.environ)) - before):
        os.execv(sys.executable, [sys.executable, *order["words"]])
    sys.path = [order["cwd"], *_folders(os.environ), *[path for path in sys.path[1:] if path not in before]]
    sys.argv = [sys.modules["treadle.cli.main"].__file__ or "", *order["words"][2:]]
    how = {"encoding": sys.stdout.encoding, "errors": sys.stdout.errors}
    sys.stdin = sys.__stdin__ = open(0, **how)  # noqa: SIM115 - open to the end
    sys.stdout = sys.__stdout__ = open(1, "w", **how)  # noqa: SIM115
    sys.stderr = sys.__stderr__ = open(2, "w", encoding=sys.stderr.encoding, errors=sys.stderr.errors, buffering=1)  # noqa: SIM115
    code: Any = 1
    try:
        code = sys.modules["treadle.cli.main"].main()
    except SystemExit as end:
        code = end.code
    except BaseException as error:  # noqa: BLE001 - as the interpreter does
        sys.excepthook(type(error), error, error.__traceback__)
        if isinstance(error, KeyboardInterrupt):
            code = -signal.SIGINT
    _exit(code)


def _folders(env: Mapping[str, str]) -> list[str]:
    return [path for path in env.get("PYTHONPATH", "").split(os.pathsep) if path]


def _shadow(folders: set[str]) -> bool:
    """Whether one of these folders has a module that was imported from elsewhere, or that an interpreter begins with."""
    names = {path.stem for folder in folders for path in Path(folder).glob("*")}
    return not names.isdisjoint({*sys.modules, "sitecustomize", "usercustomize"})


def _exit(code: Any) -> None:
    """End as the interpreter does, without taking apart what the server imported."""
    if code is not None and not isinstance(code, int):
        print(code, file=sys.stderr)
        code = 1
    threading._shutdown()
    atexit._run_exitfuncs()
    try:
        sys.stdout.flush()
    except OSError:
        code = 120
    if code == -signal.SIGINT:
        signal.signal(signal.SIGINT, signal.SIG_DFL)
        os.kill(os.getpid(), signal.SIGINT)
    os._exit((code or 0) & 255)


def _import_everything() -> None:
    import treadle

    for module in pkgutil.walk_packages(treadle.__path__, "treadle."):
        if not module.name.endswith(("__main__", "migrations.env")):
            importlib.import_module(module.name)


def _load_embedder() -> None:
    """Load the embedding model, which takes longer than most commands."""
    from treadle.models.embeddings.builtin import Builtin, installed

    if installed():
        Builtin()._embed([])


if __name__ == "__main__":
    _import_everything()
    _load_embedder()
    import gc

    gc.freeze()
    _serve(socket.socket(fileno=int(sys.argv[1])))

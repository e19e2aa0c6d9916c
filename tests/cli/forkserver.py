"""Starts `python …` as a process without importing everything anew: a server that has all modules imported forks for each command.

A command costs a few milliseconds instead of a second, and is otherwise what `python -m treadle.cli.main`, `python -c CODE` or
`python FILE` is: its own process with its own environment, folder and files, killed by signals, with an exit status. No thread and
no event loop live in the server, so that forking is safe. What is about the start itself (`-X importtime`, what is imported when,
Python's own variables) takes a new interpreter. `launched` is a command line for whoever starts programs by one.
"""

import array
import atexit
import importlib
import marshal
import os
import pkgutil
import runpy
import select
import signal
import socket
import subprocess
import sys
import threading
import types
import warnings
from collections.abc import Mapping, Sequence
from contextlib import suppress
from functools import cache
from pathlib import Path
from secrets import token_hex
from typing import Any

PATIENCE = 120  # seconds that a command may take


class Forked(subprocess.Popen[str]):
    """A command as `subprocess.Popen` has it, forked off the server of this process."""

    def __init__(self, words: Sequence[str], *, env: Mapping[str, str] | None = None, **how: Any) -> None:
        self._words = [*words]
        self._status = -1
        super().__init__([sys.executable, *words], env=env, **how)

    def _execute_child(self, *given: Any) -> None:
        # As in subprocess: args, executable, preexec_fn, close_fds, pass_fds, cwd, env, …, the pipes' ends, …, start_new_session.
        cwd, env = given[5], given[6]
        p2cread, p2cwrite, c2pread, c2pwrite, errread, errwrite = given[10:16]
        environment = {**(os.environ if env is None else env)}
        order = {"words": self._words, "cwd": os.fspath(cwd or Path.cwd()), "env": environment, "session": bool(given[21])}
        self._status, theirs = os.pipe()
        self.pid = _server().fork(marshal.dumps(order), [p2cread, c2pwrite, errwrite, theirs])
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
        return self.pid, int(told or b"9")  # no status: the server is gone, and it with that

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


def launched(*words: str) -> tuple[str, ...]:
    """A command line that does what `python WORDS…` does, started by whoever likes."""
    return (sys.executable, "-I", "-S", str(Path(__file__).with_name("launch.py")), _server().name, *words)


def ran(*words: str, env: Mapping[str, str] | None = None, cwd: Path | None = None) -> "subprocess.CompletedProcess[str]":
    """What `python WORDS…` has printed, and how it ended."""
    pipe = subprocess.PIPE
    with Forked(words, env=env, cwd=cwd, stdin=subprocess.DEVNULL, stdout=pipe, stderr=pipe, text=True) as process:
        try:
            out, err = process.communicate(timeout=PATIENCE)
        except BaseException:
            process.kill()
            raise
    return subprocess.CompletedProcess([*words], process.returncode, out, err)


class _Server:
    def __init__(self) -> None:
        self.name = f"treadle-fork-{token_hex(8)}"
        ours, theirs = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
        kept = {name: os.environ[name] for name in ("PATH", "PYTHONPATH") if name in os.environ}
        kept["OPENBLAS_NUM_THREADS"] = "1"  # else numpy starts threads, in a process that forks
        with theirs, socket.socket(socket.AF_UNIX, socket.SOCK_SEQPACKET) as listening:
            listening.bind("\0" + self.name)
            listening.listen(64)
            files = [theirs.fileno(), listening.fileno()]
            command = [sys.executable, str(Path(__file__)), *map(str, files)]
            self._process = subprocess.Popen(command, pass_fds=files, env=kept, stdin=subprocess.DEVNULL)
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
        self._process.wait(120)


@cache
def _server() -> _Server:
    return _Server()


def _serve(connection: socket.socket, listening: socket.socket) -> None:
    """Fork for each order, and write how each command ended, until the client closes the connection."""
    running: dict[int, tuple[int, int]] = {}  # pidfd: process id, and where its exit status goes
    while True:
        ready, *_ = select.select([connection, listening, *running], [], [])
        for pidfd in running.keys() & set(ready):
            pid, status = running.pop(pidfd)
            with suppress(BrokenPipeError):  # nobody waits for it any more
                os.write(status, str(os.waitpid(pid, 0)[1]).encode())
            os.close(pidfd)
            os.close(status)
        if listening in ready:
            with listening.accept()[0] as launching:
                _fork(launching, running, [connection, listening])
        if connection in ready and not _fork(connection, running, [listening]):
            return


def _fork(connection: socket.socket, running: dict[int, tuple[int, int]], others: list[socket.socket]) -> bool:
    """Fork for the next order of a connection; False where none comes."""
    data, files, *_ = socket.recv_fds(connection, 1, 5)
    if not data:
        return False
    *streams, status, path = files
    command = os.fork()
    if not command:
        for file in (connection.fileno(), *(other.fileno() for other in others), *running, *(to for _, to in running.values())):
            os.close(file)
        os.close(status)
        _run(streams, path)
    running[os.pidfd_open(command)] = command, status
    with suppress(BrokenPipeError):  # as above, for a launcher that was killed
        connection.send(str(command).encode())
    for file in (*streams, path):
        os.close(file)
    return True


def _run(files: list[int], path: int) -> None:
    """Be the command: never returns."""
    os.lseek(path, 0, os.SEEK_SET)
    with open(path, "rb") as file:
        order = marshal.loads(file.read())
    for number, given in enumerate(files):
        os.dup2(given, number)
    for given in files:
        os.close(given)
    if order.get("session"):
        os.setsid()
    before = {*_folders(os.environ)}
    os.environ.clear()
    os.environ.update(order["env"])
    os.chdir(order["cwd"])
    if _shadow(set(_folders(os.environ)) - before):
        os.execv(sys.executable, [sys.executable, *order["words"]])
    sys.path = [order["cwd"], *_folders(os.environ), *[path for path in sys.path[1:] if path not in before]]
    how = {"encoding": sys.stdout.encoding, "errors": sys.stdout.errors}
    sys.stdin = sys.__stdin__ = open(0, **how)  # noqa: SIM115 - open to the end
    sys.stdout = sys.__stdout__ = open(1, "w", **how)  # noqa: SIM115
    sys.stderr = sys.__stderr__ = open(2, "w", encoding=sys.stderr.encoding, errors=sys.stderr.errors, buffering=1)  # noqa: SIM115
    code: Any = 1
    try:
        code = _called(order["words"])
    except SystemExit as end:
        code = end.code
    except BaseException as error:  # noqa: BLE001 - as the interpreter does
        sys.excepthook(type(error), error, error.__traceback__)
        if isinstance(error, KeyboardInterrupt):
            code = -signal.SIGINT
    _exit(code)


def _called(words: list[str]) -> Any:
    """Do what the interpreter does with these words."""
    match words:
        case ["-W", action, *rest]:
            warnings.simplefilter(action)
            return _called(rest)
        case ["-m", "treadle.cli.main", *rest]:
            sys.argv = [sys.modules["treadle.cli.main"].__file__ or "", *rest]
            return sys.modules["treadle.cli.main"].main()
        case ["-c", code, *rest]:
            sys.argv = ["-c", *rest]
            sys.modules["__main__"] = main = types.ModuleType("__main__")
            exec(compile(code, "<string>", "exec"), vars(main))
        case [path, *_]:
            sys.argv = words
            sys.path[0] = str(Path(path).parent)
            runpy.run_path(path, run_name="__main__")
    return 0


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
    from treadle.retrieval.local_embeddings import BuiltinEmbedder, is_builtin_installed

    if is_builtin_installed():
        BuiltinEmbedder()._embed([])


if __name__ == "__main__":
    _import_everything()
    _load_embedder()
    import gc

    gc.freeze()
    _serve(*[socket.socket(fileno=int(file)) for file in sys.argv[1:]])

"""Jobs: pieces of work that last, each a run with what it is for, where it works and what came of it. Kept in the home folder.

A job has the id of its run; the journal says what happened in it, this says the rest. Who carries one out is `work`. The file of
one that holds a secret is encrypted, as lines of the journal are.
"""

import fcntl
import os
import shutil
from collections.abc import Generator
from contextlib import contextmanager, suppress
from hashlib import sha256
from pathlib import Path
from time import sleep, time
from typing import Any, Literal

import msgspec
from msgspec import Struct
from msgspec.structs import replace

from treadle.app.home import cipher_of
from treadle.core.errors import TreadleError
from treadle.files.places import JOBS, WORKSPACE
from treadle.guard.redaction import Redactor
from treadle.stores.encryption import BEGIN

State = Literal["pending", "running", "waiting", "completed", "failed", "cancelled"]
OVER: tuple[State, ...] = ("completed", "failed", "cancelled")
LONGEST = 120  # characters of a title
_ATTEMPTS, _PAUSE = 10, 0.02
_GONE = "Its process is gone. To go on: treadle jobs resume {}"


class JobNotFound(TreadleError):
    """There is no such job, or more than one."""


class JobTaken(TreadleError):
    """Another process carries it out."""


class Job(Struct, frozen=True):
    """A piece of work.

    id         its run has the same
    kind       which work of the assistant it is
    given      what it was begun with
    origin     what a face needs to go on with the same model
    facts      what it notes of itself on the way: a branch, a checkpoint
    output     what came of it
    why        why it waits, failed or was cancelled, in a sentence
    """

    id: str
    assistant: str
    kind: str
    title: str
    given: dict[str, Any] = {}
    workspace: str = ""
    user: str = ""
    origin: dict[str, Any] = {}
    state: State = "pending"
    facts: dict[str, Any] = {}
    output: dict[str, Any] = {}
    why: str = ""
    created_at: float = 0.0
    started_at: float = 0.0
    finished_at: float = 0.0

    @property
    def is_over(self) -> bool:
        """Whether nothing more will happen."""
        return self.state in OVER


def masked(job: Job) -> Job:
    """A job without secrets, for whoever shows it."""
    return msgspec.convert(Redactor().value(msgspec.to_builtins(job)), Job)


def remove_tree(folder: Path) -> None:
    """Remove a folder with all that is in it, also what a command has made unreadable. Somebody else may remove it, too."""
    with suppress(FileNotFoundError):
        for parent, names, _ in os.walk(folder):
            for path in [Path(parent, name) for name in names]:
                if not path.is_symlink():
                    path.chmod(0o700)
        shutil.rmtree(folder)


@contextmanager
def _locked(path: Path, taken: str) -> Generator[None, None, None]:
    """A file's lock, which the system lets go of when the process ends, however it does. Looks hold it for a moment."""
    with path.open("ab") as lock:
        for attempt in range(_ATTEMPTS):
            try:
                fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
                break
            except OSError as error:
                if attempt == _ATTEMPTS - 1:
                    raise JobTaken(taken) from error
                sleep(_PAUSE)
        yield


class Jobs:
    """The jobs of one home folder: a folder each, with a file that is replaced as a whole."""

    def __init__(self, home: Path) -> None:
        self.folder = home / JOBS
        self._cipher = cipher_of(home)

    def create(self, assistant: str, kind: str, title: str, **more: Any) -> Job:
        """A new job, which nobody carries out yet."""
        shown = Redactor().text(" ".join(title.split()))[:LONGEST]
        job = Job(f"job-{os.urandom(4).hex()}", assistant, kind, shown, created_at=time(), **more)
        self.save(job)
        return job

    def folder_of(self, job_id: str) -> Path:
        """Where a job keeps its things."""
        return self.folder / job_id

    def workspace_of(self, job_id: str) -> Path:
        """Where a job has its private workspace, if it has one."""
        return self.folder_of(job_id) / WORKSPACE

    def drop_workspace(self, job_id: str) -> Path:
        """Take its private workspace from a job, which takes no time, and return the folder to remove."""
        dropped = self.folder_of(job_id) / f"dropped-{os.urandom(4).hex()}"
        with suppress(FileNotFoundError):
            self.workspace_of(job_id).rename(dropped)
        return dropped

    def save(self, job: Job) -> Job:
        """Keep it as it is now."""
        folder = self.folder_of(job.id)
        self.folder.mkdir(parents=True, exist_ok=True, mode=0o700)
        folder.mkdir(exist_ok=True, mode=0o700)
        fresh = folder / f"job.{os.getpid()}.new"
        line = self._cipher.safe(msgspec.json.encode(job), job.id)
        with fresh.open("wb") as file:
            file.write(line if line.startswith(BEGIN) else msgspec.json.format(line))
            file.flush()
            os.fsync(file.fileno())
        fresh.replace(folder / "job.json")
        return job

    def get(self, job_id: str) -> Job:
        """The job by this id, or by the beginning of it; as it really is, should its process be gone."""
        return self._seen(self._read(self._named(job_id)))

    def all(self, user: str | None = None) -> list[Job]:
        """All of them, or one person's, newest first."""
        found = [self._seen(job) for job in map(self._try, self._ids()) if job is not None]
        mine = [job for job in found if user is None or job.user == user]
        return sorted(mine, key=lambda job: (job.created_at, job.id), reverse=True)

    def has(self, job_id: str) -> bool:
        """Whether there is a job by exactly this id."""
        return job_id in self._ids()

    def cancel(self, job_id: str) -> Job:
        """Stop it: at once where nobody carries it out, else as soon as whoever does looks."""
        job = self.get(job_id)
        if job.is_over:
            return job
        (self.folder_of(job.id) / "cancel").touch()
        if self._is_held(job.id):
            return job
        cancelled = self.save(replace(self._read(job.id), state="cancelled", why="", finished_at=time()))
        remove_tree(self.drop_workspace(job.id))
        return cancelled

    def is_cancelled(self, job_id: str) -> bool:
        """Whether somebody wants it to stop."""
        return (self.folder_of(job_id) / "cancel").exists()

    @contextmanager
    def held(self, job_id: str) -> Generator[Job, None, None]:
        """The job, for as long as this process carries it out."""
        taken = f"Job {job_id} is under way in another process; `treadle jobs watch {job_id}` shows it."
        with _locked(self.folder_of(job_id) / "lock", taken):
            yield self._read(job_id)

    @contextmanager
    def alone_in(self, workspace: str) -> Generator[None, None, None]:
        """For as long as a job changes a folder: no other one may, or their changes would be taken for each other's."""
        folder = self.folder.parent / "workspaces"
        folder.mkdir(parents=True, exist_ok=True, mode=0o700)
        name = sha256(workspace.encode(errors="surrogateescape")).hexdigest()[:16]
        taken = f"Another job is changing {workspace}. Wait until it is over, or cancel it; `treadle jobs` lists them."
        with _locked(folder / name, taken):
            yield

    def _is_held(self, job_id: str) -> bool:
        try:
            with (self.folder_of(job_id) / "lock").open("rb") as lock:
                fcntl.flock(lock, fcntl.LOCK_SH | fcntl.LOCK_NB)
        except BlockingIOError:
            return True
        except OSError:
            return False  # nobody ever held it
        return False

    def _seen(self, job: Job) -> Job:
        """A job that was under way when its process died waits for somebody to take it up."""
        if job.state == "running" and not self._is_held(job.id):
            job = self._read(job.id)  # it may have ended between the two looks
            if job.state == "running":
                return replace(job, state="waiting", why=_GONE.format(job.id))
        return job

    def _named(self, beginning: str) -> str:
        ids = self._ids()
        found = [beginning] if beginning in ids else [job_id for job_id in ids if beginning and job_id.startswith(beginning)]
        if len(found) == 1:
            return found[0]
        if found:
            raise JobNotFound(f"{len(found)} jobs begin with {beginning!r}; write more of the id.")
        raise JobNotFound(f"There is no job {beginning!r}. `treadle jobs` lists them.")

    def _ids(self) -> list[str]:
        try:
            return sorted(entry.name for entry in self.folder.iterdir() if (entry / "job.json").is_file())
        except OSError:
            return []

    def _try(self, job_id: str) -> Job | None:
        try:
            return self._read(job_id)
        except TreadleError:
            return None  # a damaged one doesn't hide the others; `show` says what is wrong with it

    def _read(self, job_id: str) -> Job:
        path = self.folder_of(job_id) / "job.json"
        try:
            return msgspec.json.decode(self._cipher.read(path.read_bytes(), job_id), type=Job)
        except (OSError, msgspec.DecodeError, UnicodeDecodeError) as error:
            raise JobNotFound(f"The file of job {job_id} can't be read ({path}): {error}") from error

"""Jobs: long-running work, each a run with its input, workspace and result. Stored in the home folder.

A job has the id of its run; the journal records what happened in it, this module the rest. `execution` runs jobs. A
job file that contains a secret is encrypted, as journal lines are.
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

from treadle.core.errors import TreadleError
from treadle.core.id_matching import LAST, require_one, select_id
from treadle.files.workspace_folders import JOBS, WORKSPACE
from treadle.guard.redaction import Redactor
from treadle.home import cipher_of
from treadle.stores.encryption import BEGIN

State = Literal["pending", "running", "waiting", "completed", "failed", "cancelled"]
FINAL_STATES: tuple[State, ...] = ("completed", "failed", "cancelled")
LONGEST = 120  # characters of a title
_ATTEMPTS, _PAUSE = 10, 0.02
_PROCESS_GONE = "Its process is gone. To continue: treadle jobs resume {}"


class JobNotFound(TreadleError):
    """There is no such job, or the id is ambiguous."""


class JobTaken(TreadleError):
    """Another process is executing the job."""


class Job(Struct, frozen=True):
    """A job.

    id         the same as its run's
    kind       which kind of the assistant's work it is
    given      its input
    origin     what a host needs to resume it with the same model
    facts      what it records about itself on the way: a branch, a checkpoint
    output     its result
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
        """Whether the job is in a final state."""
        return self.state in FINAL_STATES


def mask_job(job: Job) -> Job:
    """Return the job without secrets, for display."""
    return msgspec.convert(Redactor().value(msgspec.to_builtins(job)), Job)


def remove_tree(folder: Path) -> None:
    """Remove a folder with its contents, also what a command has made unreadable. Tolerates concurrent removal."""
    with suppress(FileNotFoundError):
        for parent, names, _ in os.walk(folder):
            for path in [Path(parent, name) for name in names]:
                if not path.is_symlink():
                    path.chmod(0o700)
        shutil.rmtree(folder)


@contextmanager
def _hold_lock(path: Path, taken: str, how: int = fcntl.LOCK_EX) -> Generator[None, None, None]:
    """Hold a file lock, which the system releases when the process ends, however it does. Status checks hold it for a moment."""
    with path.open("ab") as lock:
        for attempt in range(_ATTEMPTS):
            try:
                fcntl.flock(lock, how | fcntl.LOCK_NB)
                break
            except OSError as error:
                if attempt == _ATTEMPTS - 1:
                    raise JobTaken(taken) from error
                sleep(_PAUSE)
        yield


class Jobs:
    """The jobs of one home folder: a folder each, with a file that is replaced atomically."""

    def __init__(self, home: Path) -> None:
        self.folder = home / JOBS
        self._cipher = cipher_of(home)

    def create(self, assistant: str, kind: str, title: str, **more: Any) -> Job:
        """Create a pending job."""
        shown = Redactor().text(" ".join(title.split()))[:LONGEST]
        job = Job(f"job-{os.urandom(4).hex()}", assistant, kind, shown, created_at=time(), **more)
        self.save(job)
        return job

    def folder_of(self, job_id: str) -> Path:
        """Return a job's folder."""
        return self.folder / job_id

    def workspace_of(self, job_id: str) -> Path:
        """Return the path of a job's private workspace, which may not exist."""
        return self.folder_of(job_id) / WORKSPACE

    def drop_workspace(self, job_id: str) -> Path:
        """Detach a job's private workspace, which takes no time, and return the folder to remove."""
        dropped = self.folder_of(job_id) / f"dropped-{os.urandom(4).hex()}"
        with suppress(FileNotFoundError):
            self.workspace_of(job_id).rename(dropped)
        return dropped

    def save(self, job: Job) -> Job:
        """Save the job."""
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
        """Return the job of this id, with its actual state should its process have died."""
        if not self.has(job_id):
            raise JobNotFound(f"There is no job {job_id} here. `treadle jobs` lists them.")
        return self._with_actual_state(self._read(job_id))

    def find(self, typed: str) -> Job:
        """Return the job that a person means: by its id, a unique prefix of it, or `last`. They may see every job's title."""
        ids = [job.id for job in self.all()] if typed == LAST else self._ids()
        found = select_id(typed, ids)
        titles = {job_id: job.title for job_id in found if len(found) > 1 and (job := self._read_or_none(job_id)) is not None}
        return self.get(require_one(typed, [(job_id, titles.get(job_id, "")) for job_id in found], "job", JobNotFound))

    def all(self, user: str | None = None) -> list[Job]:
        """Return all jobs, or one user's, newest first."""
        found = [self._with_actual_state(job) for job in map(self._read_or_none, self._ids()) if job is not None]
        mine = [job for job in found if user is None or job.user == user]
        return sorted(mine, key=lambda job: (job.created_at, job.id), reverse=True)

    def has(self, job_id: str) -> bool:
        """Whether there is a job with exactly this id."""
        return job_id in self._ids()

    def cancel(self, job_id: str) -> Job:
        """Cancel a job: at once where no process executes it, else as soon as that process polls."""
        job = self.get(job_id)
        if job.is_over:
            return job
        (self.folder_of(job.id) / "cancel").touch()
        if self._is_locked(job.id):
            return job
        cancelled = self.save(replace(self._read(job.id), state="cancelled", why="", finished_at=time()))
        remove_tree(self.drop_workspace(job.id))
        return cancelled

    def is_cancelled(self, job_id: str) -> bool:
        """Whether cancellation was requested."""
        return (self.folder_of(job_id) / "cancel").exists()

    @contextmanager
    def held(self, job_id: str) -> Generator[Job, None, None]:
        """Lock the job for this process and yield it."""
        taken = f"Job {job_id} is under way in another process; `treadle jobs watch {job_id}` shows it."
        with _hold_lock(self.folder_of(job_id) / "lock", taken):
            yield self._read(job_id)

    @contextmanager
    def alone_in(self, workspace: str) -> Generator[None, None, None]:
        """Lock a folder while a job changes it, so that no changes of another job or of a session are attributed to it."""
        taken = f"Another job or a coding session is changing {workspace}. Wait until it is over, or stop it; see `treadle jobs`."
        with _hold_lock(self._workspace_lock(workspace), taken):
            yield

    @contextmanager
    def along_in(self, workspace: str) -> Generator[None, None, None]:
        """Lock a folder while a session changes it, against jobs that change it in place; other sessions may change it too."""
        taken = f"A job is changing {workspace}, so nothing else is. Wait until it is over, or cancel it; see `treadle jobs`."
        with _hold_lock(self._workspace_lock(workspace), taken, fcntl.LOCK_SH):
            yield

    def _workspace_lock(self, workspace: str) -> Path:
        folder = self.folder.parent / "workspaces"
        folder.mkdir(parents=True, exist_ok=True, mode=0o700)
        return folder / sha256(workspace.encode(errors="surrogateescape")).hexdigest()[:16]

    def _is_locked(self, job_id: str) -> bool:
        try:
            with (self.folder_of(job_id) / "lock").open("rb") as lock:
                fcntl.flock(lock, fcntl.LOCK_SH | fcntl.LOCK_NB)
        except BlockingIOError:
            return True
        except OSError:
            return False  # it was never leased
        return False

    def _with_actual_state(self, job: Job) -> Job:
        """Return the job, as waiting where it was running when its process died."""
        if job.state == "running" and not self._is_locked(job.id):
            job = self._read(job.id)  # it may have ended between the two looks
            if job.state == "running":
                return replace(job, state="waiting", why=_PROCESS_GONE.format(job.id))
        return job

    def _ids(self) -> list[str]:
        try:
            return sorted(entry.name for entry in self.folder.iterdir() if (entry / "job.json").is_file())
        except OSError:
            return []

    def _read_or_none(self, job_id: str) -> Job | None:
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

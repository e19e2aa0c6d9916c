"""Workers as processes, for tests: an assistant whose runs take known steps, a place that runs are kept in, and commands on it.

`N steps of S s, held at K` makes the model call `mark` N times, the Kth until it is released; `buy` asks for an approval.
What the tools did is in a file, a line for each time.
"""

import asyncio
import os
import signal
import subprocess
import time
from collections.abc import Callable, Coroutine, Sequence
from pathlib import Path
from typing import Any

import treadle
from cli.running import Ran, environment, finished, opened
from treadle.core.entries import Entry
from treadle.engine.engine import new_run_id
from treadle.stores.database import Database
from treadle.stores.journal import DatabaseJournal
from treadle.stores.postgres.database import PostgresDatabase
from treadle.stores.queue import QueuePosition, RunQueue
from treadle.stores.sqlite import SqliteDatabase
from treadle.workers.run_spec import RunSpec, opening_entries

PATIENCE = 120
MODEL = "stepping:a"
SOURCE = """
import asyncio, os, re, time
from pathlib import Path
from treadle import FunctionToolset, RunContext, ask, allow, tool
from treadle.assistant import Assistant
from treadle.testing import Scripted
from treadle.models.scripted import calls

def done():
    return Path(os.environ["STEPS_DONE"])  # looked up each time: the module outlives the test that imported it

def note(what, run_id, key):
    with done().open("a") as file:
        file.write(f"{what} {run_id} {key} {os.getpid()}\\n")

@tool(effect="write", retry="keyed")
async def mark(ctx: RunContext, number: int, seconds: float, held: bool = False) -> str:
    '''One step. Whoever gets it knows it by its key.'''
    note("try", ctx.run_id, ctx.key)
    await asyncio.sleep(seconds)
    while held and f"go {ctx.run_id} " not in done().read_text():
        await asyncio.sleep(0.02)
    if f"step {ctx.run_id} {ctx.key} " not in done().read_text():
        note("step", ctx.run_id, ctx.key)
    return "marked"

@tool(effect="write")
def buy(ctx: RunContext) -> str:
    '''Buy something.'''
    note("bought", ctx.run_id, ctx.key)
    return "bought"

@tool(effect="read")
async def stuck() -> str:
    '''Can't be stopped.'''
    note("stuck", "-", "-")
    until = time.monotonic() + 60
    while time.monotonic() < until:
        try:
            await asyncio.sleep(1)
        except asyncio.CancelledError:
            pass
    return "at last"

def reply(request):
    '''Goes by the conversation alone, so that any process goes on with it.'''
    said = request.history[0].text if hasattr(request.history[0], "text") else str(request.history[0])
    done = sum(1 for message in request.history if message.role == "tools")
    steps = re.search(r"(\\d+) steps of ([\\d.]+) s", said)
    if steps and done < int(steps[1]):
        held = re.search(r"held at (\\d+)", said)
        return calls(("mark", {"number": done, "seconds": float(steps[2]), "held": bool(held) and done + 1 == int(held[1])}))
    if "stuck" in said:
        return calls(("stuck", {}))
    if "buy" in said and not done:
        return calls(("buy", {}))
    return "All done."

class Stepping:
    def __init__(self, name):
        self.name, self.traits = f"stepping:{name}", Scripted().traits
    def reply(self, request):
        return Scripted(reply).reply(request)

def toolsets(host):
    return [FunctionToolset([mark, buy, stuck])]

def broken(host):
    raise RuntimeError("the shop is closed")

CLOSED = []

def opens(host):
    async def later():
        CLOSED.append("later")
    def never():
        raise OSError("stuck")
    host.on_close(lambda: CLOSED.append("at once"))
    host.on_close(never)
    host.on_close(later)
    return [FunctionToolset([buy])]

steps = Assistant("steps", "Steps", "Takes steps.", toolsets=toolsets, policy=[allow("mark"), ask("buy")])
opening = Assistant("opening", "Opening", "Opens things.", toolsets=opens)
closed = Assistant("closed", "Closed", "Can't be made.", toolsets=broken)
"""


def installed(folder: Path) -> Path:
    """The folder to put on the path, so that the assistants and the model are installed."""
    folder.mkdir(parents=True, exist_ok=True)
    (folder / "stepping_package.py").write_text(SOURCE)
    info = folder / "stepping_package-1.0.dist-info"
    info.mkdir()
    (info / "METADATA").write_text("Metadata-Version: 2.1\nName: stepping-package\nVersion: 1.0\n")
    points = "".join([f"{name} = stepping_package:{name}\n" for name in ("steps", "closed", "opening")])
    (info / "entry_points.txt").write_text(
        f"[treadle.assistants]\n{points}\n[treadle.models]\nstepping = stepping_package:Stepping\n"
    )
    return folder


class Stage:
    """A home, in a file or in a PostgreSQL database, and what is done in it by processes of their own."""

    def __init__(self, folder: Path, url: str = "") -> None:
        self.home = folder
        self.url = url
        self.done = folder / "done"
        self.done.touch()
        self.package = installed(folder / "packages")
        self.workers: list[subprocess.Popen[str]] = []  # for tests to keep
        self._started: list[subprocess.Popen[str]] = []

    def environment(self, **more: str) -> dict[str, str]:
        path = os.pathsep.join([str(self.package), str(Path(treadle.__file__).parents[1])])
        said = {"PYTHONPATH": path, "STEPS_DONE": str(self.done), "TREADLE_MODEL": MODEL, **more}
        return environment(self.home, **({"TREADLE_DATABASE": self.url} if self.url else {}), **said)

    def treadle(self, *args: str, stdin: str = "") -> Ran:
        """Run a command to its end."""
        return finished(*args, stdin=stdin, cwd=self.home, env=self.environment())

    def submit(self, message: str, *, user: str = "", model: str = MODEL, assistant: str = "steps") -> str:
        """What `treadle submit` does, without waiting for a process."""
        return self.submit_many((user, model, message), assistant=assistant)[0]

    def submit_many(self, *orders: tuple[str, str, str], assistant: str = "steps") -> list[str]:
        """Many runs: user, model, message."""

        async def submitted(database: Database) -> list[str]:
            queue, runs = RunQueue(database), [new_run_id() for _ in orders]
            for run_id, (user, model, message) in zip(runs, orders, strict=True):
                await queue.open(QueuePosition(run_id, user, model), opening_entries(RunSpec(assistant, model), message, user))
            return runs

        return self.looked(submitted)

    def looked(self, look: Callable[[Database], Coroutine[Any, Any, Any]]) -> Any:
        """What is done with the database by this process."""

        async def done() -> Any:
            database = self.database()
            try:
                return await look(database)
            finally:
                await asyncio.to_thread(database.close)

        return asyncio.run(done())

    def worker(self, *args: str, settings: str = "") -> "subprocess.Popen[str]":
        """A worker under way; what it says goes into files."""
        number = len(self._started)
        more: dict[str, str] = {}
        if settings:
            path = self.home / f"treadle-{number}.toml"
            path.write_text(settings)
            more["TREADLE_CONFIG"] = str(path)
        with (self.home / f"out-{number}").open("w") as out, (self.home / f"err-{number}").open("w") as err:
            process = opened(
                "worker", *args, stdin=subprocess.DEVNULL, stdout=out, stderr=err, text=True, env=self.environment(**more)
            )
        self._started.append(process)
        return process

    def said(self, process: "subprocess.Popen[str]") -> str:
        number = self._started.index(process)
        return (self.home / f"out-{number}").read_text() + (self.home / f"err-{number}").read_text()

    def everything(self) -> str:
        return "".join([self.said(process) for process in self._started])

    def until(self, true: Callable[[], Any], what: str = "it") -> Any:
        """Wait for something to be so."""
        deadline = time.monotonic() + PATIENCE
        while not (found := true()):
            assert time.monotonic() < deadline, f"{what} never came to be: {self.everything()}"
            time.sleep(0.05)
        return found

    def until_over(self, runs: Sequence[str], status: str = "answered") -> None:
        self.until(lambda: set(self.statuses(runs)) == {status}, f"{runs} {status}: {self.statuses(runs)}")

    def statuses(self, runs: Sequence[str]) -> list[str]:
        async def found(database: Database) -> list[str]:
            return [(await DatabaseJournal(database).info(run_id)).status for run_id in runs]

        return self.looked(found)

    def entries(self, run_id: str) -> list[Entry]:
        return self.looked(lambda database: DatabaseJournal(database).read(run_id))

    def database(self) -> Database:
        return PostgresDatabase(self.url) if self.url else SqliteDatabase(self.home / "data" / "treadle.db")

    def lines(self, what: str, run_id: str = "") -> list[list[str]]:
        """What the tools did: run, key, process."""
        found = [line.split() for line in self.done.read_text().splitlines()]
        return [words[1:] for words in found if words[0] == what and run_id in ("", words[1])]

    def release(self, run_id: str) -> None:
        """Let a run go on that is held at one of its steps."""
        with self.done.open("a") as file:
            file.write(f"go {run_id} - -\n")

    def stop(self, process: "subprocess.Popen[str]") -> int:
        process.send_signal(signal.SIGTERM)
        return process.wait(PATIENCE)

    def close(self) -> None:
        for process in self._started:
            if process.poll() is None:
                process.kill()
            process.wait()

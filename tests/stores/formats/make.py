"""Makes a home in the format of an older commit, by that commit's own code, and writes it down as text.

    git worktree add --detach CHECKOUT COMMIT
    python tests/stores/formats/make.py CHECKOUT tests/stores/formats/NAME

The home has a run that was answered, one with a run inside of it, one that waits for a person, one whose process died during a
call, and the audit of all of them; a job, a schedule and a secret where that commit knew such.
"""

import asyncio
import os
import shutil
import sqlite3
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from contextlib import closing
from importlib.util import find_spec
from pathlib import Path
from typing import Any

FILES = ("audit.anchors", "journal.key")
SECRET = "postgres://ann:correct-horse-battery@db.example/shop"


def main(checkout: Path, out: Path) -> None:
    """Make the home with one process for each story, since one of them dies."""
    with tempfile.TemporaryDirectory() as folder:
        home = Path(folder) / "home"
        env = {"PATH": os.environ["PATH"], "HOME": folder, "TREADLE_HOME": str(home), "PYTHONPATH": str(checkout / "src")}
        has_agents = any((checkout / "src/treadle" / name).exists() for name in ("app", "agent"))
        for story in STORIES if has_agents else ("written",):
            subprocess.run([sys.executable, __file__, "--story", story], env=env, check=story != "killed")
        shutil.rmtree(out, ignore_errors=True)
        out.mkdir(parents=True)
        with closing(sqlite3.connect(home / "treadle.db")) as connection:
            (out / "treadle.sql").write_text("".join(f"{line}\n" for line in dumped(connection)))
        for name in FILES:
            if (home / name).exists():
                shutil.copy(home / name, out / name)
        for job in sorted(home.glob("jobs/*/job.json")):
            shutil.copytree(job.parent, out / "jobs" / job.parent.name)


def dumped(connection: sqlite3.Connection) -> Iterator[str]:
    """SQL that makes the same file, with lines of the journal and the audit to be read by people."""
    (version,) = connection.execute("PRAGMA user_version").fetchone()
    made = connection.execute("SELECT type, name, sql FROM sqlite_master WHERE sql IS NOT NULL").fetchall()
    yield from (f"{sql};" for kind, _, sql in made if kind == "table")
    for kind, name, _ in made:
        if kind == "table":
            for row in connection.execute(f'SELECT * FROM "{name}"'):
                yield f"INSERT INTO {name} VALUES ({', '.join(map(literal, row))});"
    yield from (f"{sql};" for kind, _, sql in made if kind != "table")
    yield f"PRAGMA user_version={version};"


def literal(value: object) -> str:
    """A value as SQL."""
    match value:
        case None:
            return "NULL"
        case bytes():
            return f"CAST({literal(value.decode())} AS BLOB)"
        case str():
            return "'{}'".format(value.replace("'", "''"))
        case _:
            return repr(value)


# what happens in the home


def scripted(*says: Any) -> Any:
    from treadle.models.scripted import Scripted

    return Scripted(*says)


def agent(*says: Any, dies: bool = False) -> Any:
    from treadle import Agent, allow, ask, tool

    @tool(effect="read")
    def stock(item: str) -> int:
        """How many there are."""
        return 40

    @tool(effect="write", retry="once")
    def order(item: str, count: int) -> str:
        """Order more."""
        if dies:
            os._exit(9)
        return f"ordered {count}"

    return Agent(scripted(*says), tools=[stock, order], policy=[allow("order") if dies else ask("order")], name="shop")


async def answered() -> None:
    from treadle.models.scripted import calls

    clerk = agent(calls(("stock", {"item": "A-113"})), "We have 40 of them.")
    await clerk.run("How many A-113 are there?", run_id="answered", journal=True, user="ann")


async def nested() -> None:
    from treadle import Agent
    from treadle.models.scripted import calls

    clerk = agent(calls(("stock", {"item": "B-7"})), "Forty.")
    boss = Agent(scripted(calls(("clerk", {"prompt": "B-7?"})), "The clerk says forty."), tools=[clerk.as_tool("clerk", "Knows.")])
    await boss.run("Ask the clerk.", run_id="nested", journal=True)


async def waiting() -> None:
    from treadle.models.scripted import calls

    clerk = agent(calls(("stock", {"item": "A-113"})), calls(("order", {"item": "A-113", "count": 5})))
    await clerk.run("Order five more.", run_id="waiting", journal=True, user="ann")


async def killed() -> None:
    from treadle.models.scripted import calls

    clerk = agent(calls(("order", {"item": "C-1", "count": 2})), dies=True)
    await clerk.run("Order two.", run_id="killed", journal=True)


async def secret() -> None:
    await agent("I keep it.").run(f"It is {SECRET} here.", run_id="secret", journal=True)


async def later() -> None:
    """What only newer commits have: a job, a queued run, a schedule."""
    home = Path(os.environ["TREADLE_HOME"])
    if find_spec("treadle.jobs.store"):
        from treadle.jobs.store import Jobs

        Jobs(home).create("coding", "debug", "Find the bug", workspace="/nowhere")
    if find_spec("treadle.workers"):
        from treadle.home import open_home
        from treadle.workers.run_spec import RunSpec
        from treadle.workers.schedules import ScheduledRun
        from treadle.workers.submission import schedule_run

        wanted = ScheduledRun(RunSpec("reading", "scripted:none.json"), "What is new?")
        await schedule_run(open_home(), "0 7 * * *", "UTC", wanted, "daily")


async def asleep() -> None:
    """A run that waits for an event, where that commit knew such."""
    from treadle import Agent, RunContext, tool
    from treadle.models.scripted import calls

    if not hasattr(RunContext, "defer"):
        return

    async def delivery(ctx: RunContext, order: str) -> str:
        """Wait for a delivery."""
        return ctx.defer(event="delivered", key=order)

    clerk = Agent(scripted(calls(("delivery", {"order": "7"}))), tools=[tool(effect="read")(delivery)], name="shop")
    await clerk.run("Has order 7 come?", run_id="asleep", journal=True)


async def written() -> None:
    """The same runs as entries, for the commit that had stores and no agent yet."""
    from treadle.core.calls import Allow, Ask, Call, Result, Written
    from treadle.core.entries import Finished, Judged, Opened, Replied, Returned, Said, Started
    from treadle.core.messages import Text
    from treadle.core.seams import AuditRecord
    from treadle.stores.audit import SqliteAudit
    from treadle.stores.database import Database
    from treadle.stores.journal import SqliteJournal

    database = Database(Path(os.environ["TREADLE_HOME"]) / "treadle.db")
    journal, audit = SqliteJournal(database), SqliteAudit(database)
    stock, order = Call("call_1_1", "stock", {"item": "A-113"}), Call("call_2_1", "order", {"item": "A-113", "count": 5})
    looked = [
        Replied(parts=(Written("call_1_1", "stock", '{"item": "A-113"}'),), finish="calls"),
        Judged(call=stock, verdict=Allow()),
        Returned(result=Result("call_1_1", "stock", "40")),
    ]
    answer = [Replied(parts=(Text("We have 40 of them."),)), Finished(stopped="answered", text="We have 40 of them.")]
    opened = Opened(agent="shop", model="scripted", user="ann", at=1.0)
    await journal.append("answered", 0, [opened, Said(text="How many A-113 are there?", at=1.0)])
    await journal.append("answered", 2, [*looked, *answer])
    asks = [Replied(parts=(Written("call_2_1", "order", '{"item": "A-113", "count": 5}'),), finish="calls")]
    asks += [Judged(call=order, verdict=Ask("by the policy")), Finished(stopped="waiting")]
    await journal.append("waiting", 0, [opened, Said(text="Order five more.", at=2.0), *looked, *asks])
    begun = [asks[0], Judged(call=order, verdict=Allow()), Started(call_id="call_2_1")]
    await journal.append("killed", 0, [opened, Said(text="Order two.", at=3.0), *begun])
    for run_id in ("answered", "waiting"):
        await audit.record(
            AuditRecord(run_id, "call_1_1", "ann", "stock", {"item": "A-113"}, "allow", "default", "40", 1.0, True, None, 1.0)
        )
    database.close()


STORIES = ("answered", "nested", "waiting", "killed", "secret", "asleep", "later")

if __name__ == "__main__":
    if sys.argv[1] == "--story":
        asyncio.run(globals()[sys.argv[2]]())
    else:
        main(Path(sys.argv[1]).absolute(), Path(sys.argv[2]).absolute())

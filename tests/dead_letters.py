"""A home with dead letters and a worker, for tests of commands and routes."""

from treadle.core.entries import Finished
from treadle.home import Home
from treadle.stores.queue import QueuePosition, RunCeilings, RunQueue
from treadle.stores.worker_list import WorkerInfo, WorkerList
from treadle.workers.run_spec import RunSpec, opening_entries

SECRET = "sk-ant-REDACTED" + "a" * 80


async def fill(home: Home) -> None:
    """Have r1 (queue mail) and r2 fail, r3 wait in the queue gpu, and a worker run."""
    queue = RunQueue(home.database)
    for run_id, name in (("r1", "mail"), ("r2", "default")):
        spec = RunSpec("reading", "scripted:none.json", queue=name)
        await queue.open(spec.position(run_id, ""), opening_entries(spec, f"Ask {run_id}", ""))
        (sent,) = await queue.admit(RunCeilings(), 1)
        await home.journal.append(run_id, 2, [Finished(stopped="failed", reason=f"No reply with {SECRET}.")])
        await queue.fail(sent, "failed", lambda name: 1, 1.0)
    await queue.add(QueuePosition("r3", queue="gpu", priority=5))
    await WorkerList(home.database).renew(WorkerInfo("w1", ("default", "gpu"), 4, "0.1", draining=False, live=True), 600.0)

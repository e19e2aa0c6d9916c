"""DBOS on SQLite: a workflow of twenty steps, each an effect. What was pending is recovered when the next process launches it."""

import time
from pathlib import Path

from dbos import DBOS, SetWorkflowID

from bench.faults.births import Tell, serve
from bench.faults.orders import Life, Order
from bench.faults.peers import STEPS, effect
from bench.faults.plans import DONE
from bench.faults.world import World


@DBOS.step()
def act(folder: str, run_id: str, number: int, tail: float) -> None:
    World(Path(folder) / "world").happen(run_id, effect(number))
    time.sleep(tail)


@DBOS.workflow()
def work(folder: str, run_id: str, tail: float) -> str:
    for number in range(STEPS):
        act(folder, run_id, number, tail)
    return DONE


def living(order: Order, tell: Tell) -> Life:
    """A life: launch, which recovers, and see the workflow to its end."""
    launched(order)
    tell()
    with SetWorkflowID(order.run_id):
        handle = DBOS.start_workflow(work, order.folder, order.run_id, order.tail)
    return Life(stopped="answered", text=handle.get_result())


def launched(order: Order) -> None:
    """DBOS, with a database of this run's own, and one version and executor for all lives."""
    Path(order.home).mkdir(exist_ok=True)
    DBOS(
        config={
            "name": "faults",
            "system_database_url": f"sqlite:///{order.home}/{order.run_id}.sqlite",
            "application_version": "1",
            "executor_id": "faults",
            "run_admin_server": False,
            "log_level": "CRITICAL",
        }
    )
    DBOS.launch()


if __name__ == "__main__":
    serve(living, "bench.faults.peers.dbos_steps")

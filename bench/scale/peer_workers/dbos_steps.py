"""DBOS: a workflow of three steps, each an effect."""

import time

from dbos import DBOS

from bench.scale.peer_workers.dbos_queue import WORKFLOW, serve_queue
from bench.scale.peer_workers.effects import EFFECTS, PAUSE, write_effect


@DBOS.step()
def make(run_id: str, number: int) -> str:
    """Make something."""
    time.sleep(PAUSE)
    write_effect(run_id, number)
    return f"made {number}"


@DBOS.workflow(name=WORKFLOW)
def work(run_id: str) -> str:
    """Make three things."""
    for number in range(1, EFFECTS + 1):
        make(run_id, number)
    return "All made."


if __name__ == "__main__":
    serve_queue()

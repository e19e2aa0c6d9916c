"""A worker of DBOS: workflows from a queue. Started again after a kill, it has the same name, and recovers its workflows."""

import os
import sys
import threading

from dbos import DBOS

from bench.scale.peer_workers.effects import POLL_SECONDS

QUEUE, WORKFLOW, VERSION = "runs", "work", "1"


def serve_queue() -> None:
    """Execute workflows until the process ends."""
    name, at_once = sys.argv[1], int(sys.argv[2])
    DBOS(
        config={
            "name": "scale",
            "system_database_url": os.environ["TREADLE_DATABASE"],
            "application_version": VERSION,
            "executor_id": name,
            "run_admin_server": False,
            "log_level": "CRITICAL",
        }
    )
    DBOS.launch()
    DBOS.register_queue(QUEUE, worker_concurrency=at_once, polling_interval_sec=POLL_SECONDS, on_conflict="always_update")
    threading.Event().wait()

"""DBOS on SQLite, for the frameworks that document it as their durable execution."""

from dbos import DBOS

from agent_exam.protocol import Task


def launch(task: Task) -> None:
    """Launch DBOS with a database of this case's own, and one version and executor for all its processes; that recovers."""
    DBOS(
        config={
            "name": "exam",
            "system_database_url": f"sqlite:///{task.folder}/dbos.sqlite",
            "application_version": "1",
            "executor_id": "exam",
            "run_admin_server": False,
            "log_level": "CRITICAL",
        }
    )
    DBOS.launch()

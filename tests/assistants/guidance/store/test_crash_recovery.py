"""A process that is killed in the middle of a write leaves what was there before, or what it wrote, and never something between."""

import signal
import sqlite3
import subprocess
import sys
from contextlib import closing
from pathlib import Path

from assistants.guidance.store.stage import keeping

DYING = Path(__file__).with_name("dying.py")


def test_a_spec_is_the_old_or_the_new_one_wherever_the_process_was_killed(tmp_path):
    path = tmp_path / "projects.db"
    project = keeping(path, lambda store: store.create_project("ada", "Bridge"))

    async def look(store):
        return await store.get_problem_spec("ada", project.id), await store.list_provenance("ada", project.id)

    version, survived = 0, []
    for number in range(20):
        told = [sys.executable, str(DYING), str(path), project.id, str(version), str(number)]
        assert subprocess.run(told).returncode == -signal.SIGKILL
        spec, provenance = keeping(path, look)
        new = spec.version if spec else 0
        assert new in (version, version + 1)
        assert spec is None or spec.goals == (f"version {new}",) * 300
        assert [each.version for each in provenance] == list(range(1, new + 1))
        survived.append(new > version)
        version = new
        if survived[-1]:
            break
    assert survived[-1], "every write was cut off, also the one that nobody cut"
    assert survived.count(False) >= 5, "too few places at which it was cut off to say anything"
    with closing(sqlite3.connect(path)) as connection:
        assert connection.execute("PRAGMA integrity_check").fetchone() == ("ok",)

"""Both kinds of home: a file on one machine, and a PostgreSQL database for many."""

from contextlib import ExitStack

import pytest

from postgres import database
from working import Stage


@pytest.fixture(scope="module", params=["sqlite", "postgres"])
def kind(request):
    if request.param == "postgres":
        pytest.importorskip("dbos", reason="dbos isn't installed")
    return request.param


def stage_of(kind, folder, cleanup):
    stage = Stage(folder, cleanup.enter_context(database()) if kind == "postgres" else "")
    cleanup.callback(stage.close)
    return stage


SETTINGS = "[worker]\nat_once = 6\nlease = 3\nper_user = 2\nper_model = 4\n"


@pytest.fixture(scope="module")
def shared(kind, tmp_path_factory):
    """A home for all tests of a module. Workers that are left at the end stop well."""
    with ExitStack() as cleanup:
        stage = stage_of(kind, tmp_path_factory.mktemp("shared"), cleanup)
        yield stage
        for worker in stage.workers:
            assert worker.poll() is not None or stage.stop(worker) == 0, stage.said(worker)


@pytest.fixture
def pair(shared):
    """Two workers that live, and share the home and its ceilings."""
    shared.workers = [worker for worker in shared.workers if worker.poll() is None]
    while len(shared.workers) < 2:
        shared.workers.append(shared.worker(settings=SETTINGS))
    return shared

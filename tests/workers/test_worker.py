"""Workers as they run: real processes on a real database, killed, frozen and stopped. The same on one machine and on many."""

import re
import signal

from treadle.core.entries import Finished, Opened, Replied

LEASE = 3.0


def most_at_once(stage, runs):
    """How many of these runs were in a step at the same time, by the order of what the tools wrote."""
    now = most = 0
    for line in stage.done.read_text().splitlines():
        what, run_id, *_ = line.split()
        if run_id in runs:
            now += {"try": 1, "step": -1}[what]
            most = max(most, now)
    return most


# two workers that share what there is


def test_what_is_submitted_is_answered(pair):
    ran = pair.treadle("submit", "-a", "steps", "2 steps of 0.01 s", "--user", "anna")
    run_id = ran.out.strip()
    pair.until_over([run_id])
    assert len(pair.lines("step", run_id)) == 2
    pair.until(lambda: f"{run_id} answered (" in pair.everything())
    opened = pair.entries(run_id)[0]
    assert isinstance(opened, Opened)
    assert (opened.user, opened.agent, opened.model) == ("anna", "steps", "stepping:a")


def test_a_run_that_another_process_executes_is_cancelled_by_a_command(pair):
    run_id = pair.submit("1 steps of 600 s")
    pair.until(lambda: pair.lines("try", run_id))
    ran = pair.treadle("cancel", run_id)
    assert (ran.code, ran.out) == (0, f"Cancelled: {run_id}\n"), ran.err
    pair.until(lambda: f"{run_id} cancelled (" in pair.everything())
    assert pair.lines("step", run_id) == []


def test_two_workers_share_what_there_is_and_each_run_is_carried_out_once(pair):
    runs = pair.submit_many(*[(f"user {number}", f"stepping:{number}", "2 steps of 0.3 s") for number in range(20)])
    pair.until_over(runs)
    steps = [line for run_id in runs for line in pair.lines("step", run_id)]
    assert len(steps) == 40
    assert [len(pair.lines("try", run_id)) for run_id in runs] == [2] * 20
    assert {line[2] for line in steps} == {str(worker.pid) for worker in pair.workers}
    pair.until(lambda: all(f"{run_id} answered" in pair.everything() for run_id in runs))
    assert all(pair.everything().count(f"{run_id} answered") == 1 for run_id in runs)


def test_ceilings_hold_over_both_workers_and_others_overtake(pair):
    annas = [("anna", f"stepping:{number}", "1 steps of 0.3 s") for number in range(6)]
    crowd = [(f"user {number}", "stepping:busy", "1 steps of 0.3 s") for number in range(8)]
    runs = pair.submit_many(*annas, *crowd, ("ben", "stepping:quiet", "1 steps of 0.01 s"))
    pair.until_over(runs)
    assert 1 <= most_at_once(pair, runs[:6]) <= 2  # fewer on a busy machine, never more
    assert 2 <= most_at_once(pair, runs[6:14]) <= 4
    order = [run_id for run_id, *_ in pair.lines("step") if run_id in runs]
    assert order.index(runs[14]) < order.index(runs[5])


def test_a_run_that_waits_for_a_person_goes_on_when_they_have_answered(pair):
    run_id = pair.submit("buy it")
    pair.until_over([run_id], "waiting")
    pair.until(lambda: f"{run_id} waits for a person: treadle approve {run_id}" in pair.everything())
    (call,) = [part.id for entry in pair.entries(run_id) if isinstance(entry, Replied) for part in entry.parts]
    ran = pair.treadle("approve", run_id, call)
    assert "It is queued: a worker continues it." in ran.out
    pair.until_over([run_id])
    assert len(pair.lines("bought", run_id)) == 1


def test_what_is_scheduled_begins_once_when_it_is_due(pair):
    ran = pair.treadle("submit", "-a", "steps", "1 steps of 0.01 s", "--every", "0 7 * * *", "--name", "daily")
    assert ran.out == "daily\n", ran.err
    assert "daily" in pair.treadle("schedules").out
    database = pair.database()
    with database.apart() as connection:
        connection.execute("UPDATE schedules SET at = 1000")
    pair.until(lambda: pair.lines("step", "daily-19700101T001640Z"))
    pair.until_over(["daily-19700101T001640Z"])
    assert pair.everything().count("daily-19700101T001640Z was due and is queued") == 1
    assert pair.treadle("schedules", "remove", "daily").out == "Removed: daily\n"
    assert pair.treadle("schedules", "--json").json == []
    assert len(pair.lines("try", "daily-19700101T001640Z")) == 1
    database.close()


def test_a_run_that_cannot_be_carried_on_says_why_and_can_be_queued_again(pair):
    run_id = pair.submit("hello", assistant="closed")
    pair.until_over([run_id], "failed")
    last = pair.entries(run_id)[-1]
    assert isinstance(last, Finished)
    assert last.reason == "It couldn't be carried on: the shop is closed"
    assert pair.treadle("submit", "--resume", run_id).out == f"{run_id}\n"
    pair.until(lambda: pair.everything().count(f"{run_id} failed: It couldn't be carried on: the shop is closed") == 2)


# workers that end, well or not


def started_step(stage, run_id, number):
    """The process that has begun a run's step of this number."""
    stage.until(lambda: len(stage.lines("try", run_id)) >= number, f"step {number}")
    return int(stage.lines("try", run_id)[number - 1][2])


def both(stage, pid):
    """The worker with this process, and the other one."""
    mine, other = stage.workers
    return (mine, other) if mine.pid == pid else (other, mine)


def test_a_killed_workers_run_is_taken_over_and_nothing_happens_twice(pair):
    run_id = pair.submit("6 steps of 0.01 s, held at 3")
    victim, _ = both(pair, started_step(pair, run_id, 3))
    before = len(pair.lines("try", run_id))
    victim.kill()
    pair.release(run_id)
    pair.until(lambda: len(pair.lines("try", run_id)) > before, "a takeover")  # how soon is measured in bench/faults
    pair.until_over([run_id])
    steps = pair.lines("step", run_id)
    assert len(steps) == len({key for _, key, _ in steps}) == 6
    assert len({pid for *_, pid in steps}) == 2


def test_a_frozen_worker_that_wakes_is_fenced_off_and_says_so(pair):
    run_id = pair.submit("5 steps of 0.01 s, held at 2")
    frozen, other = both(pair, started_step(pair, run_id, 2))
    frozen.send_signal(signal.SIGSTOP)
    pair.release(run_id)
    pair.until_over([run_id])
    pair.until(lambda: f"{run_id} answered" in pair.said(other))
    entries = pair.entries(run_id)
    frozen.send_signal(signal.SIGCONT)
    pair.until(lambda: f"{run_id} given up: " in pair.said(frozen))
    assert re.search(f"{run_id} given up: .*nother worker carries", pair.said(frozen))
    assert "Traceback" not in pair.said(frozen)
    assert pair.entries(run_id) == entries
    steps = pair.lines("step", run_id)
    assert len(steps) == len({key for _, key, _ in steps}) == 5
    later = pair.submit_many(*[(f"user {number}", f"stepping:{number}", "1 steps of 0.2 s") for number in range(12)])
    pair.until_over(later)
    assert {pid for run in later for *_, pid in pair.lines("step", run)} == {str(frozen.pid), str(other.pid)}


def test_a_worker_that_is_told_to_stop_lets_go_and_others_go_on(pair):
    run_id = pair.submit("4 steps of 0.01 s, held at 2")
    mine, other = both(pair, started_step(pair, run_id, 2))
    assert pair.stop(mine) == 0
    assert f"{run_id} let go, for another worker to go on with" in pair.said(mine)
    pair.release(run_id)
    pair.until_over([run_id])
    pair.until(lambda: f"{run_id} answered" in pair.said(other))
    assert len(pair.lines("step", run_id)) == 4

"""Jobs are kept whole, found by the beginning of their id, and held by one process at a time, whatever becomes of it."""

import os
import signal
import subprocess
from pathlib import Path

import pytest
from msgspec.structs import replace

from cli.forkserver import Forked
from treadle.home import close_homes, open_home, open_user_home
from treadle.jobs.store import JobNotFound, Jobs, JobTaken, mask_job

HOLDS = """
import sys, time
from pathlib import Path
from msgspec.structs import replace
from treadle.jobs.store import Jobs
jobs = Jobs(Path(sys.argv[1]))
with jobs.held(sys.argv[2]) as job:
    jobs.save(replace(job, state="running"))
    print("held", flush=True)
    time.sleep(60)
"""


def holder(home: Path, job_id: str) -> "subprocess.Popen[str]":
    process = Forked(["-c", HOLDS, str(home), job_id], stdout=subprocess.PIPE, text=True)
    assert process.stdout is not None
    assert process.stdout.readline() == "held\n"
    return process


def end(process: "subprocess.Popen[str]") -> None:
    os.kill(process.pid, signal.SIGKILL)
    process.communicate()


def test_a_job_is_kept_as_it_was_made(tmp_path: Path) -> None:
    made = Jobs(tmp_path).create("coding", "build", "Add a\n  flag", given={"description": "x"}, workspace="/w", user="ann")
    assert Jobs(tmp_path).get(made.id) == made
    assert (made.title, made.state, made.is_over) == ("Add a flag", "pending", False)


def test_ids_never_clash_within_a_second(tmp_path: Path) -> None:
    jobs = Jobs(tmp_path)
    assert len({jobs.create("coding", "build", "x").id for _ in range(50)}) == 50


def test_the_beginning_of_an_id_is_enough_if_it_is_one_jobs(tmp_path: Path) -> None:
    jobs = Jobs(tmp_path)
    one, other = jobs.create("coding", "build", "a"), jobs.create("coding", "debug", "b")
    assert jobs.find(one.id[:-1] if one.id[:-1] != other.id[:-1] else one.id) == one
    with pytest.raises(JobNotFound, match=r"Several jobs begin with job-: job-\w+ \(.*\); job-\w+ \(.*\)\. Type more of the id\."):
        jobs.find("job-")
    with pytest.raises(JobNotFound, match="no job nope here"):
        jobs.find("nope")
    with pytest.raises(JobNotFound):
        jobs.find("")


def test_a_program_names_a_job_by_its_whole_id(tmp_path: Path) -> None:
    jobs = Jobs(tmp_path)
    made = jobs.create("coding", "build", "a")
    for typed in (made.id[:-1], "last", ""):
        with pytest.raises(JobNotFound):
            jobs.get(typed)


def test_the_last_job_is_the_newest(tmp_path: Path) -> None:
    jobs = Jobs(tmp_path)
    with pytest.raises(JobNotFound, match="There is no job yet"):
        jobs.find("last")
    jobs.create("coding", "build", "a")
    newest = jobs.create("coding", "debug", "b")
    assert jobs.find("last") == newest


def test_the_newest_come_first_and_a_damaged_one_hides_no_other(tmp_path: Path) -> None:
    jobs = Jobs(tmp_path)
    old, new = (
        jobs.save(replace(jobs.create("coding", "build", title), created_at=at)) for title, at in (("old", 1.0), ("new", 2.0))
    )
    damaged = jobs.create("coding", "build", "damaged")
    (jobs.folder_of(damaged.id) / "job.json").write_text("{")
    assert jobs.all() == [new, old]
    with pytest.raises(JobNotFound, match="can't be read"):
        jobs.get(damaged.id)


def test_one_persons_jobs_are_not_anothers(tmp_path: Path) -> None:
    jobs = Jobs(tmp_path)
    mine = jobs.create("coding", "build", "a", user="ann")
    jobs.create("coding", "build", "b", user="bob")
    assert jobs.all("ann") == [mine]


def test_nobody_else_can_hold_a_job_that_is_held(tmp_path: Path) -> None:
    jobs = Jobs(tmp_path)
    job = jobs.create("coding", "build", "x")
    process = holder(tmp_path, job.id)
    try:
        assert jobs.get(job.id).state == "running"
        with pytest.raises(JobTaken, match="under way in another process"), jobs.held(job.id):
            pass
    finally:
        end(process)


def test_a_job_whose_process_was_killed_waits_for_somebody_to_take_it_up(tmp_path: Path) -> None:
    jobs = Jobs(tmp_path)
    job = jobs.create("coding", "build", "x")
    end(holder(tmp_path, job.id))
    found = jobs.get(job.id)
    assert (found.state, found.why) == ("waiting", f"Its process is gone. To continue: treadle jobs resume {job.id}")
    with jobs.held(job.id) as held:
        assert held.id == job.id


def test_a_job_that_nobody_carries_out_is_cancelled_at_once(tmp_path: Path) -> None:
    jobs = Jobs(tmp_path)
    job = jobs.create("coding", "build", "x")
    assert jobs.cancel(job.id).state == "cancelled"
    assert jobs.get(job.id).state == "cancelled"


def test_a_job_under_way_is_asked_to_stop(tmp_path: Path) -> None:
    jobs = Jobs(tmp_path)
    job = jobs.create("coding", "build", "x")
    process = holder(tmp_path, job.id)
    try:
        assert jobs.cancel(job.id).state == "running"
        assert jobs.is_cancelled(job.id)
    finally:
        end(process)


def test_a_job_that_is_over_stays_as_it_is(tmp_path: Path) -> None:
    jobs = Jobs(tmp_path)
    job = jobs.save(replace(jobs.create("coding", "build", "x"), state="completed"))
    assert jobs.cancel(job.id) == job


def test_what_was_half_written_when_a_process_died_is_not_seen(tmp_path: Path) -> None:
    jobs = Jobs(tmp_path)
    job = jobs.create("coding", "build", "x")
    (jobs.folder_of(job.id) / "job.123.new").write_text('{"id": "ha')
    assert jobs.get(job.id) == job


def test_the_file_of_a_job_with_a_secret_is_encrypted_and_its_title_masked(tmp_path: Path) -> None:
    secret = "AK" + "IA" + "IOSFODNN7QXAMPLE"
    made = Jobs(tmp_path).create("coding", "build", f"Use {secret}", given={"description": f"Use {secret}"})
    kept = (tmp_path / "jobs" / made.id / "job.json").read_bytes()
    assert (secret.encode() in kept, made.title) == (False, "Use [redacted:aws_key]")
    assert Jobs(tmp_path).get(made.id) == made
    assert mask_job(made).given == {"description": "Use [redacted:aws_key]"}


def test_a_servers_user_has_the_servers_key(tmp_path: Path) -> None:
    theirs = open_user_home(open_home(tmp_path), "ann")
    made = Jobs(theirs.folder).create("coding", "build", "x", given={"password": "open sesame"})
    assert (tmp_path / "journal.key").exists()
    assert not (theirs.folder / "journal.key").exists()
    assert Jobs(theirs.folder).get(made.id) == made
    close_homes()

"""`treadle build` and its like, and `treadle jobs`, as a person types them: in the foreground or not, stopped, resumed."""

import json
import signal
import time
from pathlib import Path

import pytest

from assistants.coding.stage import MENDED, SHOP, git, needs_git, project
from cli.running import asks, script, start, treadle

pytestmark = needs_git

READ = ("file", {"action": "read", "path": "shop.py"})
MENDS = asks(READ, ("file", {"action": "write", "path": "shop.py", "content": MENDED}))
REPORTS = asks(("give_answer", {"summary": "Mend the price. It was off by one.", "done": True}))
SLEEPS = asks(("bash", {"command": "echo asleep > asleep; sleep 60"}))


def wait_until_asleep(home: Path) -> None:
    for _ in range(800):
        if any((home / "data" / "jobs").glob("*/workspace/asleep")):
            return
        time.sleep(0.05)
    raise AssertionError("it never came to that")


def test_a_job_is_told_as_it_happens_and_its_end_in_plain_words(home: Path) -> None:
    folder = project(home)
    done = treadle(home, "debug", "Prices are wrong", "-C", str(folder), "-m", script(home, MENDS, REPORTS))
    assert done.code == 0, done.err
    assert done.out == "Mend the price. It was off by one.\n"
    assert 'file(action="write"' in done.err
    assert "is completed, and verified: 2 tests pass." in done.err
    assert "Changed: shop.py" in done.err
    assert "To take it back: treadle undo job-" in done.err
    assert "To take it over: treadle merge job-" in done.err
    said = git(folder, "log", "--format=%B", "--branches", "--not", "main")
    assert said == "Mend the price\n\nMend the price. It was off by one."


def test_what_the_model_says_between_calls_is_shown_beside_the_result(home: Path) -> None:
    folder = project(home)
    says = {"text": "I'll start by reading the file:", **MENDS}
    reads = script(home, says, "Task complete. It was off by one.")
    done = treadle(home, "build", "-description", "Fix it", "--direct", "-C", str(folder), "-m", reads)
    assert done.code == 0, done.err
    assert done.out == "Task complete. It was off by one.\n"
    assert "I'll start by reading the file:" in done.err


def test_jobs_are_listed_shown_and_found_by_the_beginning_of_their_id(home: Path) -> None:
    folder = project(home)
    made = treadle(home, "debug", "-C", str(folder), "--json", "-q", "-m", script(home, MENDS, REPORTS)).json
    listed = treadle(home, "jobs").out.splitlines()
    assert listed[0].split() == ["JOB", "WHEN", "STATE", "VERIFIED", "KIND", "FOLDER", "TITLE"]
    row = listed[1].split()
    assert (row[0], row[row.index("completed") :][:4]) == (made["id"], ["completed", "yes", "debug", folder.name])
    assert [job["id"] for job in treadle(home, "jobs", "list", "--json", "--state", "completed").json] == [made["id"]]
    assert treadle(home, "jobs", "--state", "failed", "--json").json == []
    shown = treadle(home, "jobs", "show", made["id"][:8]).out
    assert shown == treadle(home, "jobs", "show").out == treadle(home, "jobs", "show", "last").out
    for words in ("completed", "shop.py", "treadle/", "Mend the price"):
        assert words in shown
    assert treadle(home, "jobs", "show", made["id"], "--json").json["output"]["verified"] is True
    assert 'file(action="read"' in treadle(home, "jobs", "watch", made["id"]).err
    assert treadle(home, "show", made["id"]).code == 0


def test_what_the_tests_deny_is_no_success(home: Path) -> None:
    folder = project(home)
    done = treadle(home, "debug", "-C", str(folder), "-m", script(home, *[REPORTS] * 3))
    assert done.code == 1
    assert "is failed: Nothing was changed. The model said: Mend the price." in done.err
    assert "verified" not in done.err
    assert git(folder, "branch", "--format=%(refname:short)") == "main"


def test_a_job_in_the_background_is_watched_and_cancelled_from_elsewhere(home: Path) -> None:
    folder = project(home)
    job = treadle(home, "build", "Sleep", "-C", str(folder), "--detach", "-m", script(home, MENDS, SLEEPS)).out.strip()
    wait_until_asleep(home)
    assert treadle(home, "jobs", "--json").json[0]["state"] == "running"
    watching = start(home, "jobs", "watch", job)
    assert "being stopped" in treadle(home, "jobs", "cancel", job).err
    said = watching.communicate(timeout=120)[1]
    assert watching.returncode == 130
    assert f"Job {job} is cancelled." in said
    assert "+    return count * 3\n" in treadle(home, "diff", job).out
    assert (folder / "shop.py").read_text() == SHOP


def test_a_job_in_the_background_imports_nothing_from_the_folder_it_works_in(home: Path) -> None:
    folder, marker = project(home), home / "ran"
    for name in ("msgspec.py", "json.py", "asyncio.py"):
        (folder / name).write_text(f"open({str(marker)!r}, 'w').close()\nraise SystemExit(1)\n")
    job = treadle(home, "build", "x", "-C", str(folder), "--detach", "-m", script(home, REPORTS), cwd=home).out.strip()
    watching = start(home, "jobs", "watch", job)
    watching.communicate(timeout=60)
    assert watching.returncode in (0, 1)
    assert not marker.exists()


@pytest.mark.parametrize(("number", "code"), [(signal.SIGINT, 130), (signal.SIGTERM, 143)])
def test_a_signal_stops_the_process_and_says_how_to_go_on(home: Path, number: int, code: int) -> None:
    folder = project(home)
    process = start(home, "build", "Sleep", "-C", str(folder), "-m", script(home, SLEEPS))
    wait_until_asleep(home)
    process.send_signal(number)
    said = process.communicate(timeout=120)[1]
    assert process.returncode == code
    assert "bash was running, and may have taken effect: " in said
    (job,) = treadle(home, "jobs", "--json").json
    assert f"To go on: treadle jobs resume {job['id']}" in said
    assert job["state"] == "waiting"
    assert "is cancelled" in treadle(home, "jobs", "cancel", job["id"]).err
    assert "nothing to resume" in treadle(home, "jobs", "resume", job["id"]).err
    assert treadle(home, "jobs", "cancel", job["id"]).code == 0


def test_a_job_that_waits_for_an_approval_goes_on_after_it(home: Path) -> None:
    folder = project(home)
    pushes = asks(("git", {"action": "push"}))
    done = treadle(home, "build", "Push", "-C", str(folder), "-m", script(home, pushes, REPORTS))
    assert done.code == 3
    (job,) = treadle(home, "jobs", "--json").json
    assert f"treadle jobs resume {job['id']}" in job["why"]
    call = job["why"].split(f"treadle approve {job['id']} ")[1].split()[0]
    assert treadle(home, "approve", job["id"], call).code == 0
    again = script(home, REPORTS, *[REPORTS] * 3, name="again.json")
    treadle(home, "jobs", "resume", job["id"], "-m", again)
    branch = git(folder, "branch", "--format=%(refname:short)", "--list", "treadle/*")
    assert branch in git(home / "remote.git", "branch", "--format=%(refname:short)")


def test_diff_and_undo_work_where_the_person_is(home: Path) -> None:
    folder = project(home)
    treadle(home, "debug", "-C", str(folder), "-m", script(home, MENDS, REPORTS))
    assert "+    return count * 3\n" in treadle(home, "diff", cwd=folder).out
    assert treadle(home, "undo", "--all", cwd=folder).code == 0
    assert (folder / "shop.py").read_text() == SHOP


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (("build",), "There is nothing to go by"),
        (("build", "x", "-C", "nowhere"), "There is no folder nowhere."),
        (("debug", "--error-log", "@nowhere.log"), "There is no file nowhere.log."),
        (("jobs", "show", "nope"), "There is no job nope"),
        (("jobs", "resume", "nope"), "There is no job nope"),
        (("undo",), "No job has changed anything in this folder"),
        (("diff", "nope"), "There is no job nope"),
        (("build", "x", "-m", "acme:big"), "acme"),
    ],
)
def test_what_cannot_be_is_said_in_a_sentence(home: Path, words: tuple[str, ...], said: str) -> None:
    more = () if words[0] in ("jobs", "undo", "diff") or "-m" in words else ("-m", script(home, "x"))
    (home / "empty").mkdir()
    done = treadle(home, *words, *more, cwd=home / "empty")
    assert done.code in (1, 2)
    assert said in done.err
    assert "Traceback" not in done.err


def test_review_and_triage_print_what_they_found(home: Path) -> None:
    folder = project(home)
    (folder / "shop.py").write_text(MENDED)
    review = asks(("give_answer", {"summary": "Right.", "verdict": "APPROVE", "findings": []}))
    assert treadle(home, "review", "-C", str(folder), "-m", script(home, review)).out == "Right.\n\n**APPROVE**\n"
    triage = asks(("give_answer", {"severity": "low", "category": "bug", "summary": "Off by one.", "root_cause": "+ 1"}))
    log = home / "service.log"
    log.write_text("price was 7\n")
    done = treadle(home, "triage", "--logs", f"@{log}", "-C", str(folder), "-m", script(home, triage))
    assert done.out.startswith("## Summary\nOff by one.")
    assert json.loads(treadle(home, "jobs", "--json").out)[0]["given"]["logs"] == "price was 7\n"

"""The coding assistant over HTTP: jobs begun, followed, stopped and taken back; and whatever must not be possible."""

import asyncio
import threading
from pathlib import Path

import pytest

from assistants.coding.stage import MENDED, SHOP, asks, git, mends, needs_git, on_branch, project, reports
from assistants.coding.table import PATIENCE, Gate, Table, eventually, must_contain, named, served
from treadle.assistants.coding.agreed_checks import save_agreed_check
from treadle.assistants.coding.checkout import checkpoints_of, patch_of
from treadle.core.entries import Approved, Finished, Resumed, Started, Unclear
from treadle.errors import ModelError, UnknownModel
from treadle.home import close_home, open_home
from treadle.models.scripted import Scripted
from treadle.stores.accounts import Allowance, User

pytestmark = needs_git
WORSE = "def price(count):\n    return 0\n"
ANN = User("ann", "user")
PUSH = asks(("git", {"action": "push"}))


@pytest.fixture
def shop(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The project, in a place of its own, and nobody's settings."""
    (tmp_path / "home").mkdir()
    monkeypatch.setenv("HOME", str(tmp_path / "home"))
    settle(tmp_path, monkeypatch)
    folder = project(tmp_path)
    must_contain(folder)
    return folder


def settle(place: Path, monkeypatch: pytest.MonkeyPatch, text: str = "") -> None:
    monkeypatch.setenv("TREADLE_CONFIG", str(place / "own.toml"))
    (place / "own.toml").write_text(text)


def allow(place: Path, monkeypatch: pytest.MonkeyPatch, *folders: Path | str, more: str = "") -> None:
    named_folders = ", ".join(f'"{folder}"' for folder in folders)
    settle(place, monkeypatch, f"{more}\n[assistants.coding]\nworkspaces = [{named_folders}]\n")


# the way through


def test_a_bug_is_mended_and_every_step_is_told(tmp_path: Path, shop: Path) -> None:
    runs = asks(("test", {}), ("bash", {"command": "echo hello > note.txt"}), text="Let me see.")
    with served(tmp_path, mends(), runs, reports()) as table:
        job = table.begin(shop)
        told = table.over(job)
        status, shown = table.ask("GET", f"/api/coding/jobs/{job}")
        diff = table.ask("GET", f"/api/coding/jobs/{job}/diff")[1]
    assert (status, told["state"], told["is_good"]) == (200, "completed", True)
    assert told["words"] == "is completed, and verified: 2 tests pass."
    assert told["report"] == "Mend the price"
    steps = {step["title"]: step for step in shown["steps"]}
    assert list(steps) == [
        "Ran the tests before the first change",
        "What the model was told",
        "Read shop.py",
        "Wrote shop.py",
        "",
        "Ran the tests",
        "echo hello > note.txt",
        "Reported",
    ]
    assert (steps["Ran the tests before the first change"]["outcome"], steps["Ran the tests before the first change"]["good"]) == (
        "2 failed",
        False,
    )
    assert (steps["Ran the tests"]["outcome"], steps["Ran the tests"]["good"]) == ("2 passed", True)
    assert steps["Wrote shop.py"]["files"] == ["shop.py"]
    assert (steps["echo hello > note.txt"]["outcome"], steps["echo hello > note.txt"]["files"]) == ("exit code 0", ["note.txt"])
    assert steps[""]["text"] == "Let me see."
    assert [(each["path"], each["kind"], each["added"], each["removed"]) for each in diff["files"]] == [
        ("note.txt", "added", 1, 0),
        ("shop.py", "modified", 1, 1),
    ]
    assert "+    return count * 3" in diff["files"][1]["lines"]


def test_events_tell_of_a_job_while_it_works_and_the_diff_grows(tmp_path: Path, shop: Path) -> None:
    first, second = Gate(named(mends(WORSE))), Gate(named(reports()))
    again = named(asks(("file", {"action": "write", "path": "shop.py", "content": MENDED})))
    with served(tmp_path, first, second, again, reports()) as table:
        job = table.begin(shop)
        assert first.reached.wait(PATIENCE)
        empty = table.ask("GET", f"/api/coding/jobs/{job}/diff")[1]
        heard: list[dict] = []
        listening = threading.Thread(target=table.events, args=(job, heard))
        listening.start()
        eventually(lambda: len(versions(heard)) == 1)
        first.open()
        assert second.reached.wait(PATIENCE)
        eventually(lambda: len(versions(heard)) > 1)
        grown = table.ask("GET", f"/api/coding/jobs/{job}/diff")[1]
        running = table.ask("GET", f"/api/coding/jobs/{job}")[1]["job"]
        second.open()
        listening.join(PATIENCE)
    assert empty["files"] == []
    assert grown["files"][0]["lines"][-1] == "+    return 0"
    assert (running["state"], running["doing"], running["can_cancel"], running["can_undo"]) == (
        "running",
        "The model is thinking",
        True,
        False,
    )
    assert [event["event"] for event in heard][:2] == ["job", "steps"]
    assert heard[-1] == {"event": "over"}
    assert {"Wrote shop.py", "Reported", "Sent back: the tests say otherwise"} <= {
        event["step"]["title"] for event in heard if event["event"] == "step"
    }
    assert len(versions(heard)) > 2


def versions(heard: list[dict]) -> set[str]:
    return {event["version"] for event in heard if event["event"] == "job"}


def test_what_a_job_changed_is_taken_back_step_by_step_and_whole(tmp_path: Path, shop: Path) -> None:
    again = asks(("file", {"action": "write", "path": "shop.py", "content": MENDED}))
    with served(tmp_path, mends(WORSE), again, reports()) as table:
        job = table.begin(shop)
        table.over(job)
        status, told = table.ask("POST", f"/api/coding/jobs/{job}/undo", {"steps": 1})
        assert (status, told["lines"][0]) == (200, "Put back: shop.py")
        assert on_branch(shop) == WORSE
        assert table.ask("GET", f"/api/coding/jobs/{job}/diff")[1]["files"][0]["lines"][-1] == "+    return 0"
        told = table.ask("POST", f"/api/coding/jobs/{job}/undo", {})[1]
        shown = table.ask("GET", f"/api/coding/jobs/{job}")[1]["job"]
        assert table.ask("GET", f"/api/coding/jobs/{job}/diff")[1]["files"] == []
    assert (on_branch(shop), (shop / "shop.py").read_text()) == (SHOP, SHOP)
    assert told["lines"][-1].endswith("its earlier commits stay.")
    assert (shown["is_back"], shown["can_undo"]) == (True, False)
    assert git(shop, "branch", "--show-current") == "main"


def test_what_the_person_changed_since_is_theirs_unless_they_insist(tmp_path: Path, shop: Path) -> None:
    with served(tmp_path, mends(), reports()) as table:
        job = table.begin(shop)
        table.over(job)
        git(shop, "switch", "--quiet", table.jobs.get(job).facts["branch"])
        (shop / "shop.py").write_text("mine\n")
        status, told = table.ask("POST", f"/api/coding/jobs/{job}/undo", {})
        assert (status, (shop / "shop.py").read_text()) == (409, "mine\n")
        assert (told["error"], told["changed"]) == ("You have changed shop.py since the job; nothing was taken back.", ["shop.py"])
        assert table.ask("POST", f"/api/coding/jobs/{job}/undo", {"force": True})[0] == 200
    assert (shop / "shop.py").read_text() == SHOP


def test_a_job_is_stopped_and_what_it_changed_stays(tmp_path: Path, shop: Path) -> None:
    gate = Gate(reports())
    with served(tmp_path, mends(), gate) as table:
        job = table.begin(shop)
        assert gate.reached.wait(PATIENCE)
        status, told = table.ask("POST", f"/api/coding/jobs/{job}/undo", {})
        assert (status, told["error"]) == (409, f"Job {job} is still under way; cancel it first.")
        assert table.ask("POST", f"/api/coding/jobs/{job}/cancel")[0] == 202
        assert table.over(job)["state"] == "cancelled"
        status, told = table.ask("POST", f"/api/coding/jobs/{job}/resume")
    assert (status, told["error"]) == (409, f"Job {job} is cancelled: there is nothing to resume.")
    job = table.jobs.get(job)
    assert "+    return count * 3\n" in asyncio.run(patch_of(job, checkpoints_of(job, table.jobs)))
    assert (shop / "shop.py").read_text() == SHOP


def test_a_job_that_failed_is_gone_on_with(tmp_path: Path, shop: Path) -> None:
    with served(tmp_path, ModelError("The model is out."), mends(), reports()) as table:
        job = table.begin(shop)
        told = table.over(job)
        assert (told["state"], told["is_good"], told["can_resume"]) == ("failed", False, True)
        assert table.ask("POST", f"/api/coding/jobs/{job}/resume")[0] == 202
        assert table.over(job)["state"] == "completed"


def test_a_job_goes_on_when_the_server_is_there_again(tmp_path: Path, shop: Path) -> None:
    gate = Gate(reports())
    with served(tmp_path, mends(), gate) as table:
        job = table.begin(shop)
        assert gate.reached.wait(PATIENCE)
    assert table.jobs.get(job).state == "waiting"
    with served(tmp_path, reports()) as table:
        assert table.ask("GET", "/api/coding/jobs")[1]["jobs"][0]["id"] == job
        assert table.over(job)["state"] == "completed"
    assert (on_branch(shop), (shop / "shop.py").read_text()) == (MENDED, SHOP)


def test_a_job_that_keeps_ending_the_server_is_left_to_a_person(tmp_path: Path, shop: Path) -> None:
    for number in range(4):
        gate = Gate(reports())
        with served(tmp_path, gate) as table:
            job = table.begin(shop) if number == 0 else table.ask("GET", "/api/coding/jobs")[1]["jobs"][0]["id"]
            assert gate.reached.wait(PATIENCE)
    with served(tmp_path, reports(), mends(), reports()) as table:
        assert table.ask("GET", "/api/coding/jobs")[1]["jobs"][0]["state"] == "waiting"
        assert table.ask("POST", f"/api/coding/jobs/{job}/resume")[0] == 202
        assert table.over(job)["state"] == "completed"


def test_a_stream_ends_when_the_server_stops(tmp_path: Path, shop: Path) -> None:
    gate, heard = Gate(reports()), list[dict]()
    with served(tmp_path, gate) as table:
        job = table.begin(shop)
        assert gate.reached.wait(PATIENCE)
        listening = threading.Thread(target=table.events, args=(job, heard))
        listening.start()
        eventually(lambda: bool(heard))
    listening.join(PATIENCE)
    assert not listening.is_alive()


def test_jobs_of_commands_are_shown_and_left_to_their_process(tmp_path: Path, shop: Path) -> None:
    with served(tmp_path) as table:
        job = table.jobs.create("coding", "debug", "typed", workspace=str(shop))
        table.jobs.create("reading", "debug", "another assistant's")
        listed = table.ask("GET", "/api/coding/jobs")[1]
        assert [(each["id"], each["state"]) for each in listed["jobs"]] == [(job.id, "pending")]
        assert table.ask("GET", f"/api/coding/jobs/{job.id}")[1]["steps"] == []
        assert table.ask("GET", f"/api/coding/jobs/{job.id}/diff")[1]["files"] == []


def test_a_review_and_a_triage_report_and_change_nothing(tmp_path: Path, shop: Path) -> None:
    (shop / "shop.py").write_text(MENDED)
    finding = {"severity": "warning", "title": "No test", "explanation": "", "path": "shop.py", "quote": "return count * 3"}
    review = asks(("give_answer", {"summary": "It is right.", "verdict": "COMMENT", "findings": [finding]}))
    triage = asks(("give_answer", {"severity": "low", "category": "bug", "summary": "One too many.", "root_cause": "A plus."}))
    with served(tmp_path, review, triage) as table:
        told = table.over(table.begin(shop, "review", ""))
        assert (told["verdict"], "`shop.py:2`: No test." in told["report"]) == ("COMMENT", True)
        told = table.over(table.begin(shop, "triage", log="price(2) == 7"))
    assert "## Root cause\nA plus." in told["report"]
    assert told["can_undo"] is False


# approvals


def waiting(table: Table, shop: Path) -> tuple[str, dict]:
    job = table.begin(shop)
    return job, table.until(job, "waiting")


@pytest.mark.parametrize("approved", [True, False])
def test_a_push_waits_for_the_person_and_goes_on_with_what_they_say(tmp_path: Path, shop: Path, approved: bool) -> None:
    commit = asks(("git", {"action": "add", "files": ["shop.py"]}), ("git", {"action": "commit", "message": "Fix it"}))
    with served(tmp_path, mends(), commit, PUSH, reports()) as table:
        job, told = waiting(table, shop)
        (asked,) = told["approvals"]
        assert (asked["name"], asked["arguments"]["action"]) == ("git", "push")
        path = f"/api/coding/jobs/{job}/approvals/{asked['call_id']}"
        answer = {"approved": approved, "digest": asked["digest"], "reason": "" if approved else "Not yet."}
        assert table.ask("POST", f"/api/coding/jobs/{job}/resume")[1]["error"] == f"Job {job} waits for your answer first."
        assert table.ask("POST", path, {**answer, "digest": "another"})[0] == 409
        assert table.ask("POST", path, answer)[0] == 202
        assert table.over(job)["state"] == "completed"
        assert table.ask("POST", path, answer)[0] == 409
        steps = table.ask("GET", f"/api/coding/jobs/{job}")[1]["steps"]
    push = next(step for step in steps if step["title"] == "git push")
    assert push["state"] == ("done" if approved else "denied")
    assert bool(git(tmp_path / "remote.git", "branch", "--list", "treadle/*")) is approved


def lost(table: Table, job: str, call_id: str) -> None:
    """As if the job's process had been killed while it pushed."""

    async def writing() -> None:
        home = open_home(table.jobs.folder_of(job).parents[1])
        journal = home.journal
        begun = [
            Approved(call_id=call_id),
            Resumed(),
            Started(call_id=call_id, key="k"),
            Unclear(call_id=call_id, reason="It ran."),
        ]
        await journal.append(job, len(await journal.read(job)), [*begun, Finished(stopped="waiting")])
        close_home(home)

    asyncio.run(writing())


@pytest.mark.parametrize(("settled", "state"), [("happened", "done"), ("not_happened", "failed")])
def test_what_became_of_a_push_is_the_persons_to_say(tmp_path: Path, shop: Path, settled: str, state: str) -> None:
    with served(tmp_path, mends(), PUSH, reports()) as table:
        job, told = waiting(table, shop)
        lost(table, job, told["approvals"][0]["call_id"])
        (asked,) = table.ask("GET", f"/api/coding/jobs/{job}")[1]["job"]["approvals"]
        assert asked["unclear"] is True
        path = f"/api/coding/jobs/{job}/approvals/{asked['call_id']}"
        status, refused = table.ask("POST", path, {"approved": True, "digest": asked["digest"]})
        assert (status, "can't be approved or denied" in refused["error"]) == (409, True)
        assert table.ask("POST", path, {"settled": settled, "reason": "I looked.", "digest": asked["digest"]})[0] == 202
        assert table.over(job)["state"] == "completed"
        steps = table.ask("GET", f"/api/coding/jobs/{job}")[1]["steps"]
    push = next(step for step in steps if step["title"] == "git push")
    assert (push["state"], "I looked." in push["text"]) == (state, True)
    assert not git(tmp_path / "remote.git", "branch", "--list", "treadle/*")


# folders


def test_whoever_runs_the_server_for_themselves_may_name_any_project(tmp_path: Path, shop: Path, monkeypatch) -> None:
    allow(tmp_path, monkeypatch, shop, "~/gone", shop)
    with served(tmp_path) as table:
        told = table.ask("GET", "/api/coding/workspaces")[1]
    assert told["workspaces"] == [{"path": str(shop), "name": "shop", "is_repository": True, "is_sample": False}]
    assert (told["any"], told["missing"], told["problem"]) == (True, ["~/gone"], "")


def test_a_check_is_proposed_for_a_folder_that_one_may_work_in(tmp_path: Path, shop: Path) -> None:
    with served(tmp_path) as table:
        path = f"/api/coding/check?workspace={shop}"
        before = table.ask("GET", path)
        save_agreed_check(tmp_path / "data", shop, "make check")
        after, gone = table.ask("GET", path), table.ask("GET", "/api/coding/check?workspace=/nowhere")
    assert before == (200, {"proposed": "python3 -m compileall -q .", "agreed": None})
    assert after == (200, {"proposed": "python3 -m compileall -q .", "agreed": "make check"})
    assert gone[0] == 404


def test_settings_that_cant_be_read_are_told(tmp_path: Path, shop: Path, monkeypatch) -> None:
    settle(tmp_path, monkeypatch, '[assistants.coding]\nworkspaces = "all"\n')
    with served(tmp_path) as table:
        told = table.ask("GET", "/api/coding/workspaces")[1]
    assert "assistants.coding.workspaces in " in told["problem"]
    assert told["problem"].endswith("must be a list of folders, not that text.")


@pytest.mark.parametrize(
    ("folder", "status", "says"),
    [
        ("", 404, "There is no folder ''"),
        ("shop", 404, "There is no folder 'shop'"),
        ("~nobody-here/shop", 404, "There is no folder"),
        ("/nowhere/at/all", 404, "There is no folder"),
        ("/tmp\0", 404, "There is no folder"),
        ("{shop}/shop.py", 404, "There is no folder"),
        ("/", 403, "is a folder of the system"),
        ("~", 403, "is your home folder"),
        ("{place}", 403, "a folder of the system"),
        ("{place}/data", 403, "is where Treadle keeps its own data"),
        ("{place}/data/jobs", 403, "is where Treadle keeps its own data"),
        ("{place}/link", 403, "is where Treadle keeps its own data"),
        ("{shop}/../data", 403, "is where Treadle keeps its own data"),
    ],
)
def test_no_job_begins_in_more_than_a_project(tmp_path: Path, shop: Path, folder: str, status: int, says: str) -> None:
    (tmp_path / "data" / "jobs").mkdir(parents=True)
    (tmp_path / "link").symlink_to(tmp_path / "data")
    body = {"kind": "debug", "workspace": folder.format(place=tmp_path, shop=shop)}
    with served(tmp_path) as table:
        found, told = table.ask("POST", "/api/coding/jobs", body)
        assert table.jobs.all() == []
    assert (found, says in told["error"]) == (status, True), told


@pytest.mark.parametrize("folder", ["{place}/other", "{shop}/..", "{shop}/../other", "{place}/link", "~", "/nowhere", "shop", ""])
def test_a_person_of_a_server_with_users_works_only_where_its_owner_says(
    tmp_path: Path, shop: Path, folder: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "other").mkdir()
    (tmp_path / "link").symlink_to(tmp_path / "other")
    allow(tmp_path, monkeypatch, shop)
    with served(tmp_path, person=ANN) as table:
        named_folder = folder.format(place=tmp_path, shop=shop)
        found, told = table.ask("POST", "/api/coding/jobs", {"kind": "debug", "workspace": named_folder})
        assert table.jobs.all() == []
        assert table.ask("GET", "/api/coding/workspaces")[1]["any"] is False
    assert (found, "isn't one of the folders that may be worked in here" in told["error"]) == (403, True)


def test_they_do_work_there_and_a_link_in_the_settings_is_followed(tmp_path: Path, shop: Path, monkeypatch) -> None:
    (tmp_path / "current").symlink_to(shop)
    allow(tmp_path, monkeypatch, tmp_path / "current")
    with served(tmp_path, mends(), reports(), person=ANN) as table:
        job = table.begin(tmp_path / "current")
        assert table.over(job)["state"] == "completed"
        assert table.jobs.get(job).workspace == str(shop)
        settle(tmp_path, monkeypatch)  # the owner has changed their mind
        for action in ("undo", "resume"):
            assert table.ask("POST", f"/api/coding/jobs/{job}/{action}", {} if action == "undo" else None)[0] == 403
    assert (on_branch(shop), (shop / "shop.py").read_text()) == (MENDED, SHOP)


def test_a_folder_of_their_own_is_theirs_to_work_in(tmp_path: Path, shop: Path) -> None:
    own = tmp_path / "data" / "users" / "ann" / "workspace"
    own.mkdir(parents=True)
    with served(tmp_path, person=ANN) as table:
        told = table.ask("GET", "/api/coding/workspaces")[1]["workspaces"]
        assert [each["path"] for each in told] == [str(own)]
        assert table.ask("POST", "/api/coding/jobs", {"kind": "triage", "workspace": str(own), "what": "Why?"})[0] == 201


def test_nobody_but_the_owner_gets_commands_that_arent_contained(tmp_path: Path, shop: Path, monkeypatch) -> None:
    allow(tmp_path, monkeypatch, shop, more="[commands]\nsandbox = false\n")
    with served(tmp_path, person=ANN) as table:
        status, told = table.ask("POST", "/api/coding/jobs", {"kind": "debug", "workspace": str(shop)})
    assert (status, "aren't contained here" in told["error"]) == (403, True)


def test_nobody_has_more_jobs_under_way_than_they_may(tmp_path: Path, shop: Path, monkeypatch) -> None:
    allow(tmp_path, monkeypatch, shop)
    gate = Gate(reports())
    with served(tmp_path, gate, person=User("ann", "user", Allowance(runs=1))) as table:
        job = table.begin(shop)
        assert gate.reached.wait(PATIENCE)
        status, told = table.ask("POST", "/api/coding/jobs", {"kind": "debug", "workspace": str(shop)})
        table.jobs.cancel(job)
        table.over(job)
    assert (status, told["error"][:30]) == (429, "1 of your jobs are under way, ")


def test_one_persons_jobs_are_nothing_to_another(tmp_path: Path, shop: Path, monkeypatch) -> None:
    allow(tmp_path, monkeypatch, shop)
    with served(tmp_path, person=ANN) as table:
        bobs = table.jobs.create("coding", "debug", "Bob's", workspace=str(shop), user="bob")
        assert table.ask("GET", "/api/coding/jobs")[1]["jobs"] == []
        for path in ("", "/events", "/diff"):
            assert table.ask("GET", f"/api/coding/jobs/{bobs.id}{path}")[0] == 404
        for path in ("cancel", "resume"):
            assert table.ask("POST", f"/api/coding/jobs/{bobs.id}/{path}")[0] == 404
        assert table.ask("POST", f"/api/coding/jobs/{bobs.id}/undo", {})[0] == 404


@pytest.mark.parametrize("job", ["job-00000000", "..", "%2e%2e", "%2e%2e%2fjobs", "job-", "%00"])
def test_a_job_that_isnt_there_is_not_found(tmp_path: Path, shop: Path, job: str) -> None:
    with served(tmp_path) as table:
        table.jobs.create("coding", "debug", "there", workspace=str(shop))
        status, told = table.ask("GET", f"/api/coding/jobs/{job}/diff")
    assert (status, told["success"]) == (404, False)


def test_a_job_that_changed_nothing_has_nothing_to_take_back(tmp_path: Path, shop: Path) -> None:
    with served(tmp_path) as table:
        job = table.jobs.create("coding", "review", "seen", workspace=str(shop), state="completed")
        status, told = table.ask("POST", f"/api/coding/jobs/{job.id}/undo", {})
    assert (status, told["error"]) == (409, f"Job {job.id} has changed nothing.")


# what can't begin


@pytest.mark.parametrize(
    ("body", "status", "says"),
    [
        ([], 400, "JSON object"),
        ({"kind": "deploy", "workspace": "/"}, 400, "kind"),
        ({"kind": "debug"}, 400, "workspace"),
        ({"kind": "debug", "workspace": "/", "push": True}, 400, "push"),
        ({"kind": "debug", "workspace": "/", "what": "x" * 20_001}, 400, "length"),
        ({"kind": "build", "workspace": "/", "what": "  "}, 422, "There is nothing to go by"),
    ],
)
def test_what_makes_no_sense_is_refused_with_a_sentence(tmp_path: Path, shop: Path, body, status: int, says: str) -> None:
    with served(tmp_path) as table:
        found, told = table.ask("POST", "/api/coding/jobs", body)
    assert (found, says in told["error"]) == (status, True), told


def test_without_a_model_there_is_no_job_and_the_server_says_what_to_do(tmp_path: Path, shop: Path) -> None:
    class Nobody(Scripted):
        @property
        def name(self) -> str:
            raise UnknownModel("No model was named. Set TREADLE_MODEL.")

        @name.setter
        def name(self, name: str) -> None: ...

    with served(tmp_path, model=Nobody()) as table:
        status, told = table.ask("POST", "/api/coding/jobs", {"kind": "debug", "workspace": str(shop)})
        assert table.jobs.all() == []
    assert (status, told["error"]) == (503, "No model was named. Set TREADLE_MODEL.")


def test_secrets_in_arguments_are_not_told(tmp_path: Path, shop: Path) -> None:
    leaks = asks(("bash", {"command": "echo sk-ant-api03-abcdefghijklmnopqrstuvwxyz0123456789ABCDEFGH"}), text="ghp_" + "a1B2" * 9)
    with served(tmp_path, leaks, reports(done=False)) as table:
        job = table.begin(shop)
        events = str(table.events(job))
        assert table.jobs.get(job).state == "failed"
    assert "abcdefghijklmnopqrstuvwxyz" not in events
    assert "a1B2a1B2" not in events


# the sample


def test_a_sample_is_made_to_try_it_on_and_another_when_it_was_used(tmp_path: Path, shop: Path) -> None:
    with served(tmp_path, person=ANN) as table:
        status, first = table.ask("POST", "/api/coding/sample")
        assert (status, first["kind"]) == (201, "debug")
        assert table.ask("POST", "/api/coding/sample")[1] == first
        folder = Path(first["workspace"])
        assert folder == tmp_path / "data" / "users" / "ann" / "samples" / "cart"
        assert git(folder, "log", "--format=%s") == "A cart"
        told = table.ask("GET", "/api/coding/workspaces")[1]["workspaces"]
        assert [(each["path"], each["is_sample"]) for each in told] == [(str(folder), True)]
        table.jobs.create("coding", "debug", "done", workspace=str(folder), user="ann")
        assert table.ask("POST", "/api/coding/sample")[1]["workspace"] == f"{folder}-2"


def test_its_bug_can_be_mended(tmp_path: Path, shop: Path) -> None:
    right = ("file", {"action": "replace", "path": "cart.py", "old": "prices[1:]", "new": "prices"})
    mending = asks(("file", {"action": "read", "path": "cart.py"}), right)
    with served(tmp_path, mending, reports("Count every price")) as table:
        sample = table.ask("POST", "/api/coding/sample")[1]
        job = table.begin(sample["workspace"], sample["kind"], sample["what"])
        told = table.over(job)
        before = table.ask("GET", f"/api/coding/jobs/{job}")[1]["steps"][0]
    assert told["words"] == "is completed, and verified: 4 tests pass."
    assert (before["outcome"], before["good"]) == ("2 passed, 2 failed", False)


# sessions


def test_the_mode_of_a_conversation_is_shown_and_switched(tmp_path: Path, shop: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(shop)
    read, write = asks(("read_file", {"path": "shop.py"})), asks(("write_file", {"path": "shop.py", "content": MENDED}))
    with served(tmp_path, named(read), named(write), "I can't.", named(read), named(write), "Done.", "Plain.") as table:
        status, known = table.ask("GET", "/api/coding/modes")
        assert (status, known["mode"], [mode["name"] for mode in known["modes"]]) == (200, "ask", ["ask", "accept-edits", "plan"])

        def turn(**body: object) -> str:
            run_id = table.ask("POST", "/api/runs", {"message": "Do it.", **body})[1]["run_id"]
            eventually(lambda: table.ask("GET", f"/api/runs/{run_id}")[1]["run"]["status"] != "open")
            return run_id

        run_id = turn(assistant="coding", context={"mode": "plan"})
        path = f"/api/coding/sessions/{run_id}/mode"
        assert table.ask("GET", path)[1]["mode"] == "plan"
        assert (shop / "shop.py").read_text() == SHOP
        assert table.ask("POST", path, {"mode": "accept-edits"})[1]["mode"] == "accept-edits"
        assert table.ask("POST", path, {"mode": "yolo"})[0] == 422
        turn(run_id=run_id)
        assert (shop / "shop.py").read_text() == MENDED
        plain = turn(assistant="coding")
        for other in (plain, "no-run", "../x"):
            assert table.ask("GET", f"/api/coding/sessions/{other}/mode")[0] == 404
    with served(tmp_path, person=ANN) as table:
        assert table.ask("POST", path, {"mode": "plan"})[0] == 404

"""Work in a folder without tests is checked by a command that the user names or agrees to, and is never called tested."""

import asyncio
from pathlib import Path
from typing import Any, cast

import pytest

from assistants.coding.stage import asks, carried_out, reports
from assistants.coding.table import must_contain
from treadle import Answer, Approval, RunContext, Runs, ToolProblem
from treadle.agent.session import AssistantSession
from treadle.assistant import settings_for
from treadle.assistants.coding import assistant
from treadle.assistants.coding.agreed_checks import FILE, ask_in_run, load_agreed_check, propose_check, save_agreed_check
from treadle.assistants.coding.job_report import format_job_state
from treadle.assistants.coding.session import CodingSession
from treadle.assistants.coding.verification import RepairEvidence, verify_claim, verify_repair
from treadle.home import close_home, open_home
from treadle.jobs.store import Job
from treadle.plugins.assistant import Host
from treadle.testing import Scripted, calls
from treadle.workspace import CheckOutcome

GOOD, BAD = "def total(prices):\n    return sum(prices)\n", "def total(prices:\n"
RUN = ("run_tests", {})
COMPILE = "python3 -m compileall -q ."


def check(state: Any = "passed", runner: Any = "check") -> CheckOutcome:
    return CheckOutcome(runner, "tsc --noEmit", 0, 0, 0, 0, (), state, "", 1.0)


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    folder = tmp_path / "till"
    folder.mkdir()
    (folder / "till.py").write_text(GOOD)
    must_contain(folder)
    return folder


def writes(text: str, name: str = "till.py") -> Any:
    write = {"action": "write", "path": name, "content": text}
    return asks(("file", {"action": "read", "path": "till.py"}), ("file", write))


def build(place: Path, folder: Path, *replies: Any, kind: str = "build", approver: Any = None, **given: Any) -> Job:
    given = {"description": "Add up", **given}
    return carried_out(place, folder, kind, given, Scripted(*replies), approver=approver)


# what is proposed


@pytest.mark.parametrize(
    ("files", "command"),
    [
        (("go.mod",), "go vet ./..."),
        (("Cargo.toml",), "cargo check --offline --quiet"),
        (("tsconfig.json", "node_modules/.bin/tsc"), "node_modules/.bin/tsc --noEmit"),
        (("src/shop/a.py",), COMPILE),
        (("a.py", ".venv/x.py"), "python3 -m compileall -q -x '/(.?venv|node_modules)/' ."),
        (("notes.txt",), ""),
    ],
)
def test_a_check_is_proposed_by_the_files(tmp_path: Path, files: tuple[str, ...], command: str):
    for name in files:
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / name).write_text("")
    assert propose_check(tmp_path) == command


def test_typescript_is_checked_by_an_installed_compiler(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    (tmp_path / "tsconfig.json").write_text("{}")
    monkeypatch.setattr("treadle.assistants.coding.agreed_checks.which", lambda name: f"/bin/{name}")
    assert propose_check(tmp_path) == "tsc --noEmit"
    monkeypatch.setattr("treadle.assistants.coding.agreed_checks.which", lambda name: None)
    assert propose_check(tmp_path) == ""


def test_answers_are_remembered_for_each_folder(tmp_path: Path):
    home = tmp_path / "home"
    assert load_agreed_check(home, tmp_path) is None
    save_agreed_check(home, tmp_path, "make lint")
    save_agreed_check(home, tmp_path / "other", "")
    assert (load_agreed_check(home, tmp_path), load_agreed_check(home, tmp_path / "other")) == ("make lint", "")
    (home / FILE).write_text("{")
    assert load_agreed_check(home, tmp_path) is None


# jobs


def test_a_user_is_asked_once_and_the_job_is_verified_by_the_check(tmp_path: Path, folder: Path):
    asked: list[Approval] = []

    def agree(approval: Approval) -> Answer:
        asked.append(approval)
        return Answer(True)

    first = build(tmp_path, folder, writes(GOOD + "\n"), reports(), approver=agree)
    assert format_job_state(first) == f"is completed, and verified: `{COMPILE}` passes; there are no tests."
    (approval,) = asked
    assert approval.arguments == {"command": COMPILE}
    assert "There are no tests here" in approval.reason
    second = build(tmp_path, folder, writes(GOOD + "\n\n"), reports(), approver=agree)
    assert second.output["verified"] is True
    assert len(asked) == 1
    assert not (folder / "__pycache__").exists()


def test_work_that_the_check_contradicts_goes_back_to_the_model(tmp_path: Path, folder: Path):
    model = Scripted(writes(BAD), reports(), writes(BAD + "\n"), reports(), writes(GOOD + "\n"), reports())
    job = carried_out(tmp_path, folder, "build", {"description": "Add up", "check": COMPILE}, model)
    assert job.output["verified"] is True
    assert "but the check says otherwise:\n\nThere are no tests. The check failed" in model.requests[2].history[-1].text
    assert load_agreed_check(tmp_path / "home", folder) == COMPILE


def test_a_user_who_declines_isnt_asked_again_and_nothing_is_verified(tmp_path: Path, folder: Path):
    asked: list[Approval] = []

    def decline(approval: Approval) -> bool:
        asked.append(approval)
        return False

    for number in range(2):
        job = build(tmp_path, folder, writes(GOOD + "\n" * number + "#\n"), reports(), approver=decline)
        assert job.output["verified"] is False
        assert f"--check '{COMPILE}' would check it" in job.why
    assert len(asked) == 1


def test_an_edited_command_is_the_one_that_is_agreed_to(tmp_path: Path, folder: Path):
    def edit(approval: Approval) -> Answer:
        return Answer(True, arguments={"command": " test -f till.py "})

    job = build(tmp_path, folder, writes(GOOD + "\n"), reports(), approver=edit)
    assert job.output["tests"] == "`test -f till.py` passes; there are no tests"


def test_without_a_user_nothing_is_asked_and_a_setting_names_the_check(tmp_path: Path, folder: Path):
    job = build(tmp_path, folder, writes(GOOD + "\n"), reports())
    assert job.output["verified"] is False
    (folder / "treadle.toml").write_text(f'[tests]\ncheck = "{COMPILE}"\n')
    job = build(tmp_path, folder, writes(GOOD + "\n#\n"), reports())
    assert job.output["tests"] == f"`{COMPILE}` passes; there are no tests"


def test_tests_that_the_job_adds_count_instead_of_the_check(tmp_path: Path, folder: Path):
    tests = "from till import total\n\n\ndef test_total():\n    assert total([1, 2]) == 3\n"
    job = build(tmp_path, folder, writes(tests, "test_till.py"), reports(), check="false")
    assert job.output["tests"] == "1 test passes"


def test_a_bug_is_fixed_if_the_check_failed_before(tmp_path: Path, folder: Path):
    (folder / "till.py").write_text(BAD)
    job = build(tmp_path, folder, writes(GOOD), reports(), kind="debug", description="", check=COMPILE)
    assert job.output["tests"] == f"`{COMPILE}`, which failed before, passes; there are no tests"
    job = build(tmp_path, folder, reports(), kind="debug", description="", check=COMPILE)
    assert "There are no tests, and" in job.output["summary"]


def test_a_check_that_is_too_long_is_refused(tmp_path: Path, folder: Path):
    job = build(tmp_path, folder, reports(), check="x" * 1_001)
    assert job.state == "failed"
    assert "at most 1,000 characters" in job.why


# sessions


@pytest.mark.parametrize("named", ["", "test -f till.py"])
def test_a_session_asks_for_a_check_once_its_tests_turn_out_to_be_missing(tmp_path: Path, folder: Path, named: str):
    asked: list[Approval] = []

    def agree(approval: Approval) -> Answer:
        asked.append(approval)
        return Answer(True)

    async def model() -> Any:
        raise AssertionError("the session has its model")

    async def turn() -> list[str]:
        host = Host(home, model, folder=folder, approver=agree)
        session = CodingSession(assistant, host, check=named)
        agent = AssistantSession(session.assistant, host).agent(Scripted(calls(RUN), calls(RUN), "Done."))
        result = await agent.run("Test it.", run_id="r", journal=home.services())
        return [record.result.content for record in result.calls if record.name == "run_tests" and record.result is not None]

    home = open_home(tmp_path / "home")
    try:
        results = asyncio.run(turn())
    finally:
        close_home(home)
    command = named or COMPILE
    assert [result.startswith(f"There are no tests. The check passed ({command}, ") for result in results] == [True, True]
    assert len(asked) == (0 if named else 1)
    assert load_agreed_check(home.folder, folder) == command


@pytest.mark.parametrize(
    ("answer", "remembered", "told"),
    [
        (Answer(True), COMPILE, f"There are no tests. The check passed ({COMPILE}, "),
        (Answer(True, arguments={"command": " test -f till.py "}), "test -f till.py", "The check passed (test -f till.py, "),
        (Answer(False), "", "No tests"),
    ],
)
def test_a_session_without_a_user_at_hand_waits_for_the_answer_also_in_another_process(
    tmp_path: Path, folder: Path, answer: Answer, remembered: str, told: str
):
    async def model() -> Any:
        raise AssertionError("the session has its model")

    def agent(*replies: Any) -> Any:
        host = Host(home, model, folder=folder)
        return AssistantSession(CodingSession(assistant, host, goes_on=True).assistant, host).agent(Scripted(*replies))

    async def turn() -> None:
        asked = await agent(calls(RUN)).run("Test it.", run_id="r", journal=home.services())
        assert asked.stopped == "waiting"
        (approval,) = asked.approvals
        assert (approval.name, approval.arguments) == ("check", {"command": COMPILE})
        assert "There are no tests here" in approval.reason
        assert load_agreed_check(home.folder, folder) is None
        await Runs(home).answer("r", approval.call_id, answer)
        result = await agent(calls(RUN), "Done.").resume("r", journal=home.services())
        results = [record.result.content for record in result.calls if record.name == "run_tests" and record.result]
        assert [told in each for each in results] == [True, True], results
        assert result.output == "Done."

    home = open_home(tmp_path / "home")
    try:
        asyncio.run(turn())
    finally:
        close_home(home)
    assert load_agreed_check(home.folder, folder) == remembered


@pytest.mark.parametrize(("by", "remembered"), [("", None), ("Ada", "")])
def test_only_a_persons_refusal_is_remembered(tmp_path: Path, folder: Path, by: str, remembered: str | None):
    async def refuse(name: str, arguments: dict[str, Any]) -> Any:
        raise ToolProblem("Not run.", refused_by=by)

    home = open_home(tmp_path / "home")
    try:
        host = Host(home, cast("Any", None), folder=folder)
        assert asyncio.run(ask_in_run(RunContext(call=refuse), host, folder, settings_for(folder))) == ""
    finally:
        close_home(home)
    assert load_agreed_check(home.folder, folder) == remembered


def test_a_piped_prompt_is_not_held_up_by_a_question(tmp_path: Path, folder: Path):
    async def model() -> Any:
        raise AssertionError("the session has its model")

    async def turn() -> Any:
        host = Host(home, model, folder=folder)
        agent = AssistantSession(CodingSession(assistant, host).assistant, host).agent(Scripted(calls(RUN), "Done."))
        return await agent.run("Test it.", run_id="r", journal=home.services())

    home = open_home(tmp_path / "home")
    try:
        assert asyncio.run(turn()).output == "Done."
    finally:
        close_home(home)
    assert load_agreed_check(home.folder, folder) is None


# verification


@pytest.mark.parametrize(("state", "why"), [("failed", "`tsc --noEmit` fails"), ("timed out", "`tsc --noEmit` took too long")])
def test_a_check_that_does_not_pass_contradicts_the_claim(state: Any, why: str):
    proof = verify_claim(None, check(state))
    assert (proof.holds, proof.denied, proof.why) == (False, True, why)


def test_a_check_does_not_stand_in_for_tests_that_were_there():
    before = CheckOutcome("pytest", "pytest", 3, 0, 0, 0, (), "passed", "", 1.0)
    assert verify_claim(before, check()).why == "there are no tests any more"


@pytest.mark.parametrize(("state", "verb"), [("passed", "passes"), ("failed", "fails")])
def test_a_check_shows_no_symptom(state: Any, verb: str):
    proof = verify_repair(RepairEvidence(check(), check(), ("a.ts",), reproduction=check(state)))
    assert not proof.holds
    assert proof.why == f"no test shows the symptom: there are none, and without the change `tsc --noEmit` {verb} as well"

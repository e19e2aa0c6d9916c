"""What `treadle debug` may claim: nothing is verified, and the exit code isn't 0, unless a test failed without the change."""

import asyncio
from pathlib import Path
from typing import Any

import pytest

from assistants.coding.packages import TOML, plant, write_package
from assistants.coding.stage import asks, carried_out, checkout_of, git, mends, needs_git, project, reports
from treadle.assistants.coding.job_kinds import find_coding_job_kind
from treadle.assistants.coding.job_report import coding_exit_code, format_job_state, format_work_lines
from treadle.core.requests import Request, Traits
from treadle.core.seams import Model
from treadle.home import close_home, open_home
from treadle.jobs.execution import execute_job
from treadle.jobs.store import Job
from treadle.models.scripted import Scripted, ScriptedReply
from treadle.plugins.assistant import Host

pytestmark = needs_git

SMALL = Traits(native_calls=False)
WRONG = "def price(count):\n    return count * 3 if count < 10 else count * 2\n"
RIGHT = "def price(count):\n    return count * 3\n"
SYMPTOM = "ten things cost 20, not 30"
SHOWS = "from shop import price\n\n\ndef test_ten():\n    assert price(10) == 30\n"
PASSES = SHOWS.replace("10) == 30", "2) == 6")


def hidden_bug(place: Path, *, tests: bool = True, repository: bool = True) -> Path:
    """The shop with a bug that its tests don't show; or without any tests."""
    folder = project(place, repository=repository)
    (folder / "shop.py").write_text(WRONG)
    if not tests:
        (folder / "test_shop.py").unlink()
        (folder / "pyproject.toml").write_text('[project]\nname = "shop"\n')
    if repository:
        git(folder, "add", ".")
        git(folder, "commit", "--quiet", "-am", "Ten")
    return folder


def writes(path: str, content: str) -> ScriptedReply:
    return asks(("file", {"action": "read", "path": path}), ("file", {"action": "write", "path": path, "content": content}))


def debugged(place: Path, folder: Path, model: Scripted, **given: Any) -> tuple[Job, int, str]:
    """The job, its exit code, and its state in words."""
    job = carried_out(place, folder, "debug", given, model)
    return job, coding_exit_code(job), format_job_state(job)


def is_untouched(folder: Path, job: Job) -> bool:
    """Whether nothing is left of a job, neither a branch nor a line that names one."""
    branches = git(folder, "branch", "--format=%(refname:short)").splitlines()
    return (
        branches == ["main"] and job.output.get("branch", "") == "" and not any("Branch" in line for line in format_work_lines(job))
    )


@pytest.mark.parametrize(
    ("tests", "test", "words"),
    [
        (True, "Sorry.", "All tests pass, so they don't show the symptom."),
        (True, f"```python\n{PASSES}```", "test 1: it passes, so it doesn't show the bug"),
        (False, "Sorry.", "There are no tests, so they don't show the symptom."),
    ],
)
def test_a_symptom_that_cant_be_reproduced_fails_the_job_and_leaves_nothing(
    tmp_path: Path, tests: bool, test: str, words: str
) -> None:
    folder = hidden_bug(tmp_path, tests=tests)
    before = checkout_of(folder)
    model = Scripted(*[test] * 3, traits=SMALL)
    job, code, state = debugged(tmp_path, folder, model, description=SYMPTOM)
    assert (job.state, code, len(model.requests)) == ("failed", 1, 3)
    assert words in state
    assert "verified" not in state
    assert job.output["files"] == []
    assert is_untouched(folder, job)
    assert checkout_of(folder) == before


@pytest.mark.parametrize("traits", [SMALL, Traits()])
def test_without_a_symptom_and_a_failing_test_no_model_is_asked(tmp_path: Path, traits: Traits) -> None:
    folder = hidden_bug(tmp_path)
    model = Scripted(traits=traits)
    job, code, state = debugged(tmp_path, folder, model)
    assert (code, state, model.requests) == (0, "is completed.", [])
    assert job.output["summary"] == "All tests pass, and no symptom was described, so there is nothing to repair."
    assert is_untouched(folder, job)
    job, code, state = debugged(tmp_path, folder, model, failing_test="test_ten")
    assert (code, state) == (1, "is failed: No test test_ten fails: 2 passed. Nothing was changed.")
    (folder / "test_shop.py").unlink()
    (folder / "pyproject.toml").write_text('[project]\nname = "shop"\n')
    job, code, state = debugged(tmp_path, folder, model)
    assert (code, state) == (1, "is failed: There are no tests, and no symptom was described: say what goes wrong.")
    assert model.requests == []


def test_a_small_model_writes_a_test_that_fails_and_then_the_repair(tmp_path: Path) -> None:
    folder = hidden_bug(tmp_path)
    model = Scripted(f"```python\n{SHOWS}```", f"```python\n{RIGHT}```", traits=SMALL)
    job, code, state = debugged(tmp_path, folder, model, description=SYMPTOM)
    assert (code, state) == (0, "is completed, and verified: 3 tests pass, and without the change a new test fails.")
    assert job.output["files"] == ["shop.py"]
    assert git(folder, "show", f"{job.output['branch']}:shop.py") + "\n" == RIGHT
    assert "test_reported_symptom.py" not in git(folder, "ls-tree", "--name-only", job.output["branch"])
    assert job.output["reproduction"] == {"path": "test_reported_symptom.py", "source": SHOWS, "kept": False}
    assert "    def test_ten():" in format_work_lines(job)


def test_the_test_is_kept_if_the_user_likes_also_where_there_were_none(tmp_path: Path) -> None:
    folder = hidden_bug(tmp_path, tests=False, repository=False)
    model = Scripted(f"```python\n{SHOWS}```", f"```python\n{RIGHT}```", traits=SMALL)
    _job, code, state = debugged(tmp_path, folder, model, description=SYMPTOM, keep_test=True)
    assert (code, state) == (0, "is completed, and verified: 1 test passes, and without the change a new test fails.")
    assert (folder / "test_reported_symptom.py").read_text() == SHOWS
    assert (folder / "shop.py").read_text() == RIGHT


def test_a_model_that_chooses_its_tools_has_to_show_the_symptom_too(tmp_path: Path) -> None:
    folder = hidden_bug(tmp_path)
    model = Scripted(
        reports(), mends(RIGHT), reports(), asks(("file", {"action": "write", "path": "test_ten.py", "content": PASSES})), reports()
    )
    _job, code, state = debugged(tmp_path, folder, model, description=SYMPTOM)
    sent_back = [request.history[-1].text for request in model.requests if request.history[-1].role == "person"]
    assert "No test shows this bug." in sent_back[0]
    assert "nothing was changed" in sent_back[1]
    assert "no test shows the symptom: without the change the tests pass as well" in sent_back[2]
    assert (code, state) == (
        1,
        "is completed, but not verified: no test shows the symptom: without the change the tests pass as well.",
    )


def test_with_a_test_that_fails_without_the_change_it_is_verified(tmp_path: Path) -> None:
    folder = hidden_bug(tmp_path)
    model = Scripted(mends(RIGHT), asks(("file", {"action": "write", "path": "test_ten.py", "content": SHOWS})), reports())
    job, code, state = debugged(tmp_path, folder, model, description=SYMPTOM)
    assert (code, state) == (0, "is completed, and verified: 3 tests pass, and without the change a new test fails.")
    assert job.output["files"] == ["shop.py", "test_ten.py"]


@pytest.mark.usefixtures("real_pytest")
def test_a_small_model_fixes_a_package_with_a_src_folder_from_a_symptom_alone(tmp_path: Path) -> None:
    settings = {"pyproject.toml": '[project]\nname = "minitoml"\n[tool.pytest.ini_options]\npythonpath = ["src"]\n'}
    path, right, wrong = (
        "src/minitoml/_re.py",
        'micros_str.ljust(6, "0")) if micros_str else 0\n    tz',
        "micros_str[:3]) if micros_str else 0\n    tz",
    )
    folder = write_package(tmp_path / "toml", {**plant(TOML, path, right, wrong), **settings})
    git(folder, "init", "--quiet", "--initial-branch=main")
    git(folder, "add", ".")
    git(folder, "commit", "--quiet", "-m", "Read TOML")
    call = 'minitoml.loads("d = 1979-05-27T00:32:00.999999")["d"]'
    test = f"import minitoml\n\n\ndef test_it():\n    assert {call}.microsecond == 999999\n"

    def reply(request: Request) -> str:
        text = request.history[-1].text
        shown = text.partition("```python\n")[2].partition("```")[0]
        return f"```python\n{test}```" if "Write one test" in text else f"```python\n{shown.replace(wrong, right)}```"

    symptom = "microseconds are cut off: 1979-05-27T00:32:00.999999 is read as .999000"
    job, code, state = debugged(tmp_path, folder, Scripted(*[reply] * 5, traits=SMALL), description=symptom)
    assert (code, state) == (0, "is completed, and verified: 7 tests pass, and without the change a new test fails.")
    assert job.output["files"] == [path]
    assert git(folder, "show", f"{job.output['branch']}:{path}") + "\n" == TOML[path]
    assert job.output["summary"].startswith(f"Fix match_to_datetime in {path}: ")


def test_a_job_that_is_resumed_has_its_test_again(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("treadle.assistants.coding.debug_plan._EDIT_SECONDS", 0.0)  # an edit without the model would fix it
    folder = hidden_bug(tmp_path)
    model = Scripted(f"```python\n{SHOWS}```", *["Sorry."] * 20, traits=SMALL)
    job, code, state = debugged(tmp_path, folder, model, description=SYMPTOM)
    assert (code, job.output["files"]) == (1, [])
    assert "none of the model's answers was a change of the code that was shown (shop.py" in state
    assert job.output["reproduction"]["source"] == SHOWS
    assert is_untouched(folder, job)

    async def better() -> Model:
        return Scripted(*[f"```python\n{RIGHT}```"] * 2, traits=SMALL)  # twice: the file has to be read in this process first

    home = open_home(tmp_path / "home")
    try:
        job = asyncio.run(execute_job(job.id, find_coding_job_kind("debug").work, Host(home, better)))
    finally:
        close_home(home)
    assert (coding_exit_code(job), job.output["files"]) == (0, ["shop.py"])
    assert job.output["tests"] == "3 tests pass, and without the change a new test fails"


def test_nothing_changed_is_a_failure_whatever_the_model_claims(tmp_path: Path) -> None:
    folder = hidden_bug(tmp_path)
    job, code, state = debugged(tmp_path, folder, Scripted(*[reports("All is well")] * 3), description=SYMPTOM)
    assert (code, state) == (1, "is failed: Nothing was changed. The model said: All is well")
    assert is_untouched(folder, job)


def test_a_failing_test_that_is_changed_proves_nothing(tmp_path: Path) -> None:
    folder = project(tmp_path)
    tests = (folder / "test_shop.py").read_text().replace("== 6", "== 7").replace("== 0", "== 1")
    comment = "# The price.\n" + (folder / "shop.py").read_text()
    model = Scripted(writes("test_shop.py", tests), reports(), mends(comment), reports(), reports())
    _job, code, state = debugged(tmp_path, folder, model)
    sent_back = [request.history[-1].text for request in model.requests if request.history[-1].role == "person"]
    assert "only tests were changed" in sent_back[1]
    assert (code, state) == (1, "is completed, but not verified: tests were changed, and as they were before they don't pass.")

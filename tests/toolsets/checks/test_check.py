"""Projects' tests, really run in the sandbox."""

import asyncio
import shutil
from pathlib import Path

import pytest

from toolsets.checks.projects import PROJECTS, bare_python, put
from treadle.sandbox.values import Bounds
from treadle.toolsets.checks.commands import build_check_command
from treadle.toolsets.checks.tools import BOUNDS, MAX_RUNS, run_checks
from treadle.toolsets.checks.values import CheckSelection, ChecksNotRun

SOON = Bounds(seconds=8)
WAITS = "import time\n\ndef test_quick():\n    pass\n\ndef test_waits():\n    time.sleep(600)\n"
WAITS_IN_CLASS = """
import time, unittest

class ShopTest(unittest.TestCase):
    def test_a(self):
        pass

    def test_waits(self):
        time.sleep(600)
"""
COUNTS = """
from pathlib import Path

def test_thrice():
    so_far = Path("runs").read_text() if Path("runs").exists() else ""
    Path("runs").write_text(so_far + "x")
    assert so_far != "xx"
"""
FORKS = """
import os, time

def test_forks():
    for _ in range(60):
        if not os.fork():
            time.sleep(600)
    time.sleep(600)
"""


def checked(folder, bounds=BOUNDS, unsafe=False, **wanted):
    return asyncio.run(run_checks(folder, CheckSelection(**wanted), bounds=bounds, unsafe=unsafe))


def counts(outcome):
    return outcome.state, outcome.passed, outcome.failed, outcome.skipped, outcome.errors


def places(outcome):
    return {(failure.path, failure.line) for failure in outcome.failures}


def files(folder):
    return {path.relative_to(folder).parts[0] for path in folder.iterdir()}


def having(folder, name):
    """A project of a kind, or a skipped test that says what is missing."""
    put(folder, PROJECTS[name]["fail"])
    try:
        build_check_command(folder, CheckSelection())
    except ChecksNotRun as problem:
        pytest.skip(str(problem))
    return folder


def test_pytest_is_run_and_leaves_no_bytecode(sandboxed):
    outcome = checked(put(sandboxed, PROJECTS["pytest"]["fail"]))
    assert (outcome.runner, outcome.command) == ("pytest", "pytest")
    assert counts(outcome) == ("failed", 2, 3, 1, 1)
    assert places(outcome) == {("tests/test_shop.py", 15), ("shop.py", 4), ("tests/test_shop.py", 7), ("tests/test_shop.py", 29)}
    assert "3 failed, 2 passed" in outcome.output
    assert "test-report" not in outcome.output
    assert outcome.seconds > 0
    assert files(sandboxed) == {"shop.py", "tests", ".pytest_cache"}
    assert files(sandboxed / "tests") == {"test_shop.py"}


def test_pytest_runs_what_is_wanted(sandboxed):
    put(sandboxed, PROJECTS["pytest"]["fail"])
    assert counts(checked(sandboxed, name="test_price")) == ("failed", 1, 1, 0, 0)
    assert counts(checked(sandboxed, path="tests/test_shop.py::test_works")) == ("passed", 1, 0, 0, 0)
    assert counts(checked(sandboxed, name="nothing_of_the_kind")) == ("no tests", 0, 0, 0, 0)


def test_a_test_that_waits_is_ended_and_named(sandboxed):
    put(sandboxed, {"test_shop.py": WAITS})
    outcome = checked(sandboxed, SOON)
    assert (outcome.state, outcome.passed, outcome.last) == ("timed out", 1, "test_shop.py::test_waits")


def test_a_test_that_ends_the_process_is_named(sandboxed):
    put(sandboxed, {"test_shop.py": "import os\n\ndef test_quick():\n    pass\n\ndef test_ends():\n    os._exit(0)\n"})
    outcome = checked(sandboxed)
    assert (outcome.state, outcome.passed, outcome.last) == ("crashed", 1, "test_shop.py::test_ends")


def test_a_conftest_that_can_not_be_imported_is_told_in_the_output(sandboxed):
    put(sandboxed, PROJECTS["pytest"]["pass"] | {"conftest.py": "import no_such_module\n"})
    outcome = checked(sandboxed)
    assert outcome.state == "crashed"
    assert "No module named 'no_such_module'" in outcome.output


def test_settings_of_the_person_stay_in_force_and_change_nothing_of_what_is_told(sandboxed):
    settings = "[pytest]\naddopts = -qq --tb=no --no-summary -p no:terminal\n"
    outcome = checked(put(sandboxed, PROJECTS["pytest"]["fail"] | {"pytest.ini": settings}))
    assert counts(outcome) == ("failed", 2, 3, 1, 1)
    assert ("shop.py", 4) in places(outcome)


def test_tests_that_fail_now_and_then_are_found_by_running_them_again(sandboxed):
    put(sandboxed, {"test_shop.py": COUNTS})
    outcome = checked(sandboxed, count=9)
    assert (outcome.state, outcome.runs, outcome.failures[0].name) == ("failed", 3, "test_shop.py::test_thrice")
    assert checked(sandboxed, count=2).runs == 2
    assert MAX_RUNS < 100


def test_all_runs_have_the_time_of_one(sandboxed):
    put(sandboxed, {"test_shop.py": "import time\n\ndef test_slow():\n    time.sleep(2)\n"})
    outcome = checked(sandboxed, SOON, count=50)
    assert outcome.state == "timed out"
    assert outcome.runs < 50  # 50 of them would need 100 seconds


def test_unittest_is_run_by_a_python_without_pytest(sandboxed):
    bare_python(put(sandboxed, PROJECTS["unittest"]["fail"]))
    outcome = checked(sandboxed)
    assert (outcome.runner, outcome.command) == ("unittest", "python -m unittest discover -s tests -v")
    assert counts(outcome) == ("failed", 1, 4, 1, 1)
    assert ("shop.py", 4) in places(outcome)
    assert counts(checked(sandboxed, name="test_shop.PriceTest.test_price")) == ("failed", 0, 1, 0, 0)
    assert counts(checked(sandboxed, path="tests/test_shop.py", name="test_works")) == ("passed", 1, 0, 0, 0)


def test_unittest_that_waits_is_ended_and_the_test_named(sandboxed):
    bare_python(put(sandboxed, {"test_shop.py": WAITS_IN_CLASS}))
    outcome = checked(sandboxed, SOON)
    assert (outcome.state, outcome.last) == ("timed out", "test_shop.ShopTest.test_waits")


@pytest.mark.parametrize("name", ["spec", "tap"])
def test_the_runner_of_node_is_run(sandboxed, name):
    having(sandboxed, name)
    outcome = checked(sandboxed)
    assert (outcome.runner, outcome.command) == ("node", "npm test")
    assert counts(outcome) == ("failed", 3, 6, 2, 0)
    assert {("shop.js", 3), ("test/shop.test.js", 12)} <= places(outcome)
    outcome = checked(sandboxed, name="prices > below zero")
    assert (outcome.failed, outcome.failures[0].name.rpartition(" > ")[2]) == (1, "below zero")
    assert counts(checked(sandboxed, path="test/fine.test.js")) == ("passed", 1, 0, 1, 0)


def test_node_tests_without_a_script_are_run_too(sandboxed):
    having(sandboxed, "spec")
    put(sandboxed, {"package.json": "{}"})
    outcome = checked(sandboxed)
    assert (outcome.command, outcome.state, outcome.failed) == ("node --test", "failed", 6)


def test_a_runner_that_is_not_installed_is_told_in_the_output(sandboxed):
    having(sandboxed, "jest")
    outcome = checked(sandboxed)
    assert outcome.state == "crashed"
    assert "jest: not found" in outcome.output


def test_go_is_run(sandboxed):
    having(sandboxed, "go")
    outcome = checked(sandboxed)
    assert counts(outcome) == ("failed", 3, 2, 0, 0)
    assert places(outcome) == {("shop_test.go", 17), ("shop.go", 7)}
    assert "--- FAIL: TestPrice" in outcome.output
    assert counts(checked(sandboxed, package="tools", name="TestFine")) == ("passed", 1, 0, 0, 0)


def test_cargo_is_run(sandboxed):
    having(sandboxed, "cargo")
    outcome = checked(sandboxed)
    assert counts(outcome) == ("failed", 2, 5, 0, 0)
    assert {("src/lib.rs", 22), ("tests/outer.rs", 4)} <= places(outcome)
    assert counts(checked(sandboxed, path="tests/outer.rs", name="fine")) == ("passed", 1, 0, 0, 0)


@pytest.mark.parametrize("command", ["python3 -m unittest discover -v", "python -m pytest -q"])
def test_a_command_that_a_person_settled_on_is_run_and_read(sandboxed, command):
    (sandboxed / "test_shop.py").write_text(
        "import unittest\n\nclass T(unittest.TestCase):\n    def test_a(self): pass\n    def test_b(self): self.fail('no')\n"
    )
    outcome = checked(sandboxed, command=command)
    assert (outcome.runner, outcome.state, outcome.passed, outcome.failed) == ("command", "failed", 1, 1)
    assert outcome.command == command


def test_a_command_that_shows_no_tests_proves_nothing(sandboxed):
    assert checked(sandboxed, command="true").state == "no tests"
    assert checked(sandboxed, command="exit 3").state == "crashed"


def test_what_is_wanted_in_particular_comes_before_the_command(sandboxed):
    (sandboxed / "test_shop.py").write_text("def test_a(): pass\n")
    assert checked(sandboxed, command="false", path="test_shop.py").state == "passed"


def test_paths_are_told_from_the_workspace_also_for_a_project_in_a_folder(sandboxed):
    put(sandboxed / "back end", PROJECTS["pytest"]["fail"])
    outcome = checked(sandboxed)
    assert ("back end/shop.py", 4) in places(outcome)
    assert {each.path for each in checked(sandboxed, path="back end/tests/test_shop.py").failures} == {
        "back end/shop.py",
        "back end/tests/test_shop.py",
    }


def test_what_is_outside_stays_outside(sandboxed):
    (sandboxed.parent / "secret").write_text("the secret")
    reads = f"def test_reads():\n    open({str(sandboxed.parent / 'secret')!r})\n"
    outcome = checked(put(sandboxed, {"test_shop.py": reads}))
    assert "No such file or directory" in outcome.failures[0].message


def test_tests_that_take_too_many_processes_are_ended_and_it_is_said(sandboxed):
    put(sandboxed, {"test_shop.py": FORKS})
    outcome = checked(sandboxed, Bounds(seconds=30, processes=20))
    if outcome.state == "failed":  # the system itself refused to start more
        assert "BlockingIOError" in outcome.failures[0].message
    else:
        assert (outcome.state, outcome.last) == ("crashed", "test_shop.py::test_forks")
        assert outcome.output.endswith("The tests were ended, since they took too much: processes.")


@pytest.mark.parametrize("path", ["nowhere", "../..", "x" * 300])
def test_tests_that_can_not_be_begun_are_not_run_and_the_reason_is_told(workspace, path):
    put(workspace, PROJECTS["pytest"]["pass"])
    outcome = checked(workspace, path=path)
    assert outcome.state == "not run"
    assert path[:10] in outcome.output


def test_without_a_sandbox_nothing_is_run_unless_that_is_accepted(workspace, monkeypatch):
    monkeypatch.setenv("TREADLE_BWRAP", "/no/such/bwrap")
    put(workspace, PROJECTS["pytest"]["pass"])
    outcome = checked(workspace)
    assert outcome.state == "not run"
    assert "TREADLE_BWRAP" in outcome.output
    assert counts(checked(workspace, unsafe=True)) == ("passed", 2, 0, 1, 0)


def test_a_program_in_the_workspace_is_not_taken_for_the_persons(workspace, monkeypatch):
    put(workspace, PROJECTS["go"]["pass"] | {"bin/go": "#!/bin/sh\necho fake\n"})
    (workspace / "bin" / "go").chmod(0o755)
    monkeypatch.setenv("PATH", str(workspace / "bin"))
    if Path("/usr/local/go").exists() or any(Path("/usr/lib").glob("go-*")):
        assert "work" not in build_check_command(workspace, CheckSelection()).words[0]
    else:
        assert "go isn't installed" in checked(workspace).output


def test_a_program_that_lies_in_a_home_folder_does_not_open_that_folder(workspace, tmp_path, monkeypatch):
    put(workspace, PROJECTS["jest"]["pass"])
    home = tmp_path / "home"
    put(home, {"bin/node": "#!/bin/sh\n", "letters.txt": "private"})
    (home / "bin" / "node").chmod(0o755)
    monkeypatch.setenv("PATH", str(home / "bin"))
    outcome = checked(workspace)
    assert (outcome.state, "node isn't installed" in outcome.output) == ("not run", True)


def test_a_node_that_is_installed_elsewhere_is_shown_with_its_folder_alone(workspace, tmp_path, monkeypatch):
    node = shutil.which("node")
    if node is None:
        pytest.skip("There is no node here.")
    put(workspace, PROJECTS["jest"]["pass"])
    home = tmp_path / "versions" / "node" / "v99"
    put(home, {"bin/npm": "", "lib/node_modules/npm/package.json": "{}"})
    shutil.copy(node, home / "bin" / "node")
    monkeypatch.setenv("PATH", str(home / "bin"))
    line = build_check_command(workspace, CheckSelection())
    assert line.program.read == (home,)
    assert line.program.env["PATH"].startswith(f"{home}/bin:")


def test_what_tests_left_and_git_would_run_is_told(sandboxed):
    outcome = checked(sandboxed, command="git init -q left && git -C left config core.fsmonitor evil; exit 3")
    assert "Git could run programs by the settings of left/.git, so it was renamed." in outcome.output

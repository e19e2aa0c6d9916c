"""Which runner a project has, by its files."""

import os

import pytest

from toolsets.checks.projects import PROJECTS, bare_python, put
from treadle.toolsets.checks.commands import build_check_command
from treadle.toolsets.checks.runners import detect_kinds, detect_npm_runner, find_script, load_package
from treadle.toolsets.checks.values import CheckSelection

JSON = '{{"scripts": {{"test": "{}"}}, "devDependencies": {{{}}}}}'
UNWRITTEN = 'echo \\"Error: no test specified\\" && exit 1'


def npm_runner(folder):
    package = load_package(folder)
    return detect_npm_runner(package, find_script(package, "test"))


@pytest.mark.parametrize(
    ("name", "kind"),
    [
        ("pytest", "python"),
        ("unittest", "python"),
        ("go", "go"),
        ("cargo", "rust"),
        ("jest", "npm"),
        ("vitest", "npm"),
        ("mocha", "npm"),
        ("spec", "npm"),
        ("tap", "npm"),
    ],
)
def test_each_project_has_its_kind(workspace, name, kind):
    assert detect_kinds(put(workspace, PROJECTS[name]["pass"])) == (kind,)


@pytest.mark.parametrize(
    ("name", "runner"), [("jest", "jest"), ("vitest", "vitest"), ("mocha", "mocha"), ("spec", "node"), ("tap", "node")]
)
def test_each_npm_project_has_its_runner(workspace, name, runner):
    assert npm_runner(put(workspace, PROJECTS[name]["pass"])) == runner


def test_a_python_of_the_workspace_without_pytest_means_unittest(workspace):
    put(workspace, PROJECTS["unittest"]["pass"])
    assert build_check_command(workspace, CheckSelection()).runner == "pytest"
    bare_python(workspace)
    assert build_check_command(workspace, CheckSelection()).runner == "unittest"


@pytest.mark.parametrize(
    ("files", "kinds"),
    [
        ({}, ()),
        ({"README.md": ""}, ()),
        ({"pytest.ini": ""}, ("python",)),
        ({"setup.py": ""}, ("python",)),
        ({"tests/unit/test_a.py": ""}, ("python",)),
        ({"a_test.py": ""}, ("python",)),
        ({"go.mod": "", "pyproject.toml": "[tool.ruff]"}, ("go", "python")),
        ({"go.mod": "", "pyproject.toml": "[tool.pytest.ini_options]"}, ("python", "go")),
        ({"Cargo.toml": "", "tests/test_a.py": ""}, ("python", "rust")),
        ({"package.json": JSON.format("jest", ""), "Cargo.toml": ""}, ("rust", "npm")),
        ({"package.json": JSON.format(UNWRITTEN, "")}, ()),
        ({"package.json": JSON.format(UNWRITTEN, ""), "test/a.js": ""}, ("npm",)),
        ({"package.json": "no JSON", "go.mod": ""}, ("go",)),
        ({"package.json": '{"scripts": 3}'}, ()),
    ],
)
def test_kinds_are_found_the_likeliest_first(workspace, files, kinds):
    assert detect_kinds(put(workspace, files)) == kinds


@pytest.mark.parametrize(
    ("script", "needs", "runner"),
    [
        ("jest --coverage", "", "jest"),
        ("tsc && vitest run", "", "vitest"),
        ("nyc mocha test", "", "mocha"),
        ("node --import tsx --test test/", "", "node"),
        ("npm run unit", '"jest": "^30"', "jest"),
        ("ava", "", "npm"),
        (UNWRITTEN, '"vitest": "1"', "vitest"),
        (UNWRITTEN, "", "node"),
    ],
)
def test_npm_goes_by_the_script_and_then_by_what_is_needed(workspace, script, needs, runner):
    put(workspace, {"package.json": JSON.format(script, needs), "a.test.js": ""})
    assert npm_runner(workspace) == runner


def test_a_pipe_in_place_of_settings_is_not_waited_for(workspace):
    os.mkfifo(workspace / "package.json")
    os.mkfifo(workspace / "pyproject.toml")
    assert detect_kinds(workspace) == ()

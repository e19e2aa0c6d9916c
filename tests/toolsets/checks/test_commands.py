"""How each runner is started for what is wanted."""

from contextlib import suppress

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from toolsets.checks.projects import PROJECTS, bare_python, put
from treadle.core.errors import ToolProblem
from treadle.files.problems import BadPath, MissingPath, OutsideWorkspace
from treadle.toolsets.checks.commands import build_check_command
from treadle.toolsets.checks.values import CheckSelection, ChecksNotRun


def line(folder, **wanted):
    try:
        return build_check_command(folder, CheckSelection(**wanted))
    except ChecksNotRun as problem:
        if "isn't installed" in str(problem):
            pytest.skip(str(problem))
        raise


def shown(folder, **wanted):
    return line(folder, **wanted).shown


@pytest.fixture
def python(workspace):
    return put(workspace, PROJECTS["pytest"]["pass"])


@pytest.fixture
def bare(workspace):
    bare_python(put(workspace, PROJECTS["unittest"]["pass"]))
    return workspace


@pytest.fixture
def go(workspace):
    return put(workspace, PROJECTS["go"]["fail"])


@pytest.fixture
def cargo(workspace):
    return put(workspace, PROJECTS["cargo"]["fail"])


@pytest.mark.parametrize(
    ("wanted", "command"),
    [
        ({}, "pytest"),
        ({"path": "tests"}, "pytest tests"),
        ({"path": "tests/test_shop.py", "name": "price"}, "pytest tests/test_shop.py -k price"),
        ({"path": "tests/test_shop.py::test_price[1]"}, "pytest 'tests/test_shop.py::test_price[1]'"),
        ({"name": "tests/test_shop.py::test_price"}, "pytest tests/test_shop.py::test_price"),
        ({"path": "tests/test_shop.py", "name": "TestText::test_lines"}, "pytest tests/test_shop.py::TestText::test_lines"),
        ({"name": "price and not later"}, "pytest -k 'price and not later'"),
        ({"name": "test_price[1-a]"}, "pytest -k 'test_price[1-a]'"),
        ({"name": "test_price[a b]"}, "pytest -k test_price"),
        ({"module": "tests.test_shop"}, "pytest tests/test_shop.py"),
        ({"module": "tests/test_shop.py"}, "pytest tests/test_shop.py"),
        ({"module": "shop.checks"}, "pytest --pyargs shop.checks"),
    ],
)
def test_pytest_is_told_what_is_wanted(python, wanted, command):
    assert shown(python, **wanted) == command


@pytest.mark.parametrize(
    ("wanted", "command"),
    [
        ({}, "python -m unittest discover -s tests -v"),
        (
            {"path": "tests/test_shop.py", "name": "test_shop.A.test_b (count=2)"},
            "python -m unittest tests/test_shop.py -v -k test_shop.A.test_b",
        ),
        ({"path": "tests"}, "python -m unittest discover -s tests -v"),
        ({"module": "tests.test_shop"}, "python -m unittest tests.test_shop -v"),
    ],
)
def test_unittest_is_told_what_is_wanted(bare, wanted, command):
    assert shown(bare, **wanted) == command


def test_a_package_of_tests_is_imported_from_the_project(bare):
    (bare / "tests" / "__init__.py").touch()
    assert shown(bare) == "python -m unittest discover -s tests -t . -v"


@pytest.mark.parametrize(
    ("wanted", "command"),
    [
        ({}, "go test -count=1 ./..."),
        ({"package": "./tools"}, "go test -count=1 ./tools"),
        ({"package": "tools"}, "go test -count=1 ./tools"),
        ({"package": "example.com/shop/tools"}, "go test -count=1 example.com/shop/tools"),
        ({"path": "tools"}, "go test -count=1 ./tools/..."),
        ({"path": "tools/tools_test.go", "name": "TestFine"}, "go test -count=1 -run TestFine ./tools"),
        ({"name": "TestPrice/count=(2)"}, r"go test -count=1 -run 'TestPrice/count=\(2\)' ./..."),
        ({"name": "^Test(A|B)$"}, "go test -count=1 -run '^Test(A|B)$' ./..."),
    ],
)
def test_go_is_told_what_is_wanted(go, wanted, command):
    assert shown(go, **wanted) == command


@pytest.mark.parametrize(
    ("wanted", "command"),
    [
        ({}, ""),
        ({"package": "shop", "name": "tests::prices"}, " -p shop tests::prices"),
        ({"path": "tests/outer.rs"}, " --test outer"),
        ({"path": "src/lib.rs"}, ""),
        ({"path": "src/cart/mod.rs"}, " cart"),
        ({"path": "src/cart/items.rs", "name": "one"}, " one"),
        ({"path": "src/cart/items.rs"}, " cart::items"),
    ],
)
def test_cargo_is_told_what_is_wanted(cargo, wanted, command):
    put(cargo, {"src/cart/mod.rs": "", "src/cart/items.rs": ""})
    assert shown(cargo, **wanted) == f"cargo test --offline --no-fail-fast{command}"


@pytest.mark.parametrize(
    ("name", "wanted", "command"),
    [
        ("jest", {}, "npm test"),
        ("jest", {"path": "test/shop.test.js"}, "npm test -- test/shop.test.js"),
        ("jest", {"name": "prices \u203a of many \u203a three (3)"}, r"npm test -- -t 'prices of many three \(3\)'"),
        ("vitest", {}, "npm test -- --run"),
        ("vitest", {"name": "test/shop.test.mjs > prices > below zero"}, "npm test -- --run -t 'prices below zero'"),
        ("mocha", {"name": "prices > lists"}, "npm test -- --grep 'prices lists'"),
        ("spec", {}, "npm test"),
        ("spec", {"name": "prices > below zero"}, "node --test --test-reporter=spec '--test-name-pattern=below zero'"),
        ("spec", {"path": "test/shop.test.js"}, "node --test --test-reporter=spec test/shop.test.js"),
    ],
)
def test_npm_scripts_are_told_what_is_wanted(workspace, name, wanted, command):
    assert shown(put(workspace, PROJECTS[name]["fail"] | PROJECTS[name]["pass"]), **wanted) == command


@pytest.mark.parametrize(
    ("package", "wanted", "command"),
    [
        ('{"scripts": {"test": "x", "unit": "jest"}}', {"script": "unit", "name": "a"}, "npm run unit -- -t a"),
        ('{"devDependencies": {"jest": "1"}}', {"name": "a"}, "npx --no-install jest -t a"),
        ('{"devDependencies": {"vitest": "1"}}', {}, "npx --no-install vitest --run"),
        ("{}", {}, "node --test"),
        ("{}", {"path": "a.test.js"}, "node --test a.test.js"),
        ('{"scripts": {"test": "vitest && eslint"}}', {}, "npm test"),
        ('{"scripts": {"test": "node --import tsx --test b.js"}}', {"path": "a.test.js"}, "node --import tsx --test a.test.js"),
        (
            '{"scripts": {"test": "node --import tsx --test b.js"}}',
            {"name": "a"},
            "node --import tsx --test --test-name-pattern=a b.js",
        ),
    ],
)
def test_other_packages_are_told_too(workspace, package, wanted, command):
    put(workspace, {"package.json": package, "a.test.js": ""})
    assert shown(workspace, **wanted) == command


@pytest.mark.parametrize(
    ("package", "wanted", "says"),
    [
        ('{"scripts": {"unit": "jest"}}', {"script": "e2e"}, "no script e2e. Its scripts: unit."),
        ('{"scripts": {"test": "ava"}}', {"name": "a"}, "can't be told a test's name"),
        ('{"scripts": {"test": "tsc && node --test"}}', {"name": "a"}, "more than a call of node"),
        ('{"scripts": {"test": "NODE_ENV=x node --test"}}', {"name": "a"}, "more than a call of node"),
        ('{"scripts": {"test": "node --test \'a b.js"}}', {"name": "a"}, "more than a call of node"),
    ],
)
def test_what_a_script_can_not_be_told_is_a_problem_with_a_way_out(workspace, package, wanted, says):
    put(workspace, {"package.json": package, "a.test.js": ""})
    with pytest.raises(ChecksNotRun, match=says):
        line(workspace, type="npm", **wanted)


def test_cargo_knows_no_other_folders(cargo):
    (cargo / "examples").mkdir()
    with pytest.raises(ChecksNotRun, match="package or run"):
        line(cargo, path="examples")


@pytest.mark.parametrize(
    ("path", "problem"),
    [
        ("../other", OutsideWorkspace),
        ("/etc", OutsideWorkspace),
        ("tests/nowhere.py", MissingPath),
        ("--version", BadPath),
        ("a\0b", BadPath),
    ],
)
def test_paths_stay_in_the_workspace(python, path, problem):
    (python.parent / "other").mkdir()
    with pytest.raises(problem) as raised:
        line(python, path=path)
    assert isinstance(raised.value, ToolProblem)


def test_a_link_out_of_the_workspace_is_not_followed(python):
    (python / "link").symlink_to("/etc")
    with pytest.raises(OutsideWorkspace):
        line(python, path="link")


@pytest.mark.parametrize("argument", ["package", "name", "module"])
def test_names_are_no_options(python, argument):
    with pytest.raises(ChecksNotRun, match="dash"):
        line(python, **{argument: "--help"})


@pytest.mark.parametrize("module", ["..", "/etc/passwd", "a b", "tests.", "\0"])
def test_a_module_is_written_as_one(python, module):
    with pytest.raises(ChecksNotRun, match="is no module"):
        line(python, module=module)


strange = st.text(st.sampled_from("ab./-:[](){}*^$|\\ \0\n'\"\ud800é"), max_size=300) | st.text(max_size=20)


@settings(suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(
    st.builds(CheckSelection, st.sampled_from(["auto", "go", "npm", "python", "rust"]), strange, strange, strange, strange, strange)
)
def test_no_wish_is_too_strange(mixed, wanted):
    with suppress(ToolProblem, OSError):  # anything else fails the test
        assert build_check_command(mixed, wanted).words


@pytest.fixture(scope="module")
def mixed(tmp_path_factory):
    folder = tmp_path_factory.mktemp("mixed")
    for name in ("pytest", "go", "cargo", "jest"):
        put(folder, PROJECTS[name]["pass"])
    return folder


def test_a_path_inside_the_workspace_may_be_whole(python):
    assert shown(python, path=str(python / "tests")) == "pytest tests"


def test_the_project_is_the_nearest_one_above_the_path(workspace):
    for name, kind in {"backend": "pytest", "tool": "go"}.items():
        put(workspace / name, PROJECTS[kind]["pass"])
    put(workspace / "backend", {"pyproject.toml": ""})
    found = line(workspace, path="backend/tests/test_shop.py")
    assert (found.project.folder, found.shown) == (workspace / "backend", "pytest tests/test_shop.py")
    assert found.from_root[:5] == ("/bin/sh", "-c", found.from_root[2], "sh", str(workspace / "backend"))
    assert line(workspace, path="tool").shown == "go test -count=1 ./..."


def test_a_workspace_that_holds_one_project_is_taken_for_it(workspace):
    put(workspace / "backend", PROJECTS["pytest"]["pass"])
    put(workspace, {"README.md": "", "docs/index.md": "", "node_modules/x/package.json": "{}"})
    assert line(workspace).project.folder == workspace / "backend"


def test_a_workspace_that_holds_several_is_a_question(workspace):
    put(workspace / "backend", PROJECTS["pytest"]["pass"])
    put(workspace / "tool", PROJECTS["go"]["pass"])
    with pytest.raises(ChecksNotRun, match="backend, tool"):
        line(workspace)


def test_a_workspace_without_tests_says_what_was_looked_for(workspace):
    with pytest.raises(ChecksNotRun, match="No tests were found"):
        line(workspace)


def test_the_kind_may_be_chosen(workspace):
    put(workspace, PROJECTS["pytest"]["pass"] | PROJECTS["go"]["pass"])
    assert shown(workspace) == "pytest"
    assert shown(workspace, type="go") == "go test -count=1 ./..."
    assert shown(workspace, path="shop_test.go") == "go test -count=1 ./."
    assert shown(workspace, path="tests") == "pytest tests"

"""Patterns for the arguments of remembered approvals: what they match, what never matches, what is suggested."""

import pytest

from treadle.core.errors import ApprovalError
from treadle.core.grants import ArgumentPattern
from treadle.guard.argument_patterns import matches_pattern, matches_patterns, parse_patterns, suggest_patterns


def matches(kind: str, pattern: str, value) -> bool:
    return matches_pattern(ArgumentPattern(kind, pattern), value)


@pytest.mark.parametrize("line", ["pytest", "pytest -q", "pytest  a.py::test_b", "pytest --maxfail=1", "pytest -k 'a or b'"])
def test_a_command_prefix_matches_the_command_with_any_options(line):
    assert matches("command", "pytest *", line)


@pytest.mark.parametrize(
    "line",
    [
        "pytest; rm -rf /",
        "pytest && rm x",
        "pytest || rm x",
        "pytest | tee x",
        "pytest & rm x",
        "pytest\nrm x",
        "pytest \\\n rm",
        "pytest $(rm x)",
        "pytest `rm x`",
        'pytest "$(rm x)"',
        "pytest <(rm x)",
        "pytest > x",
        "pytest 2>&1",
        "pytest < x",
        "pytest $HOME",
        "pytest ${HOME}",
        "pytest # comment",
        "(pytest)",
        "X=1 pytest",
        "PATH=. pytest",
        "env pytest",
        "xargs pytest",
        "! pytest",
        "eval pytest",
        "py.test",
        "./pytest",
        "'pytest' 'unclosed",
        "pytest2",
        "echo pytest",
        "",
        "pytest <<x\nrm\nx",
        "p?test",
        "pytest \0",
    ],
)
def test_a_command_prefix_matches_no_line_that_does_anything_else(line):
    assert not matches("command", "pytest *", line)


def test_a_command_without_a_star_matches_exactly_these_words():
    assert matches("command", "git commit -m 'a b'", 'git  commit -m "a b"')
    assert not matches("command", "git status", "git status -s")
    assert not matches("command", "git status -s", "git status")
    assert not matches("command", "git log *", "git -c core.pager=x log")
    assert not matches("command", "git log *", "git l*g")
    assert not matches("command", "pytest *", ["pytest"])


@pytest.mark.parametrize(
    ("pattern", "path"),
    [
        ("src/**", "src/a.py"),
        ("src/**", "./src/a/b.py"),
        ("src/*.py", "src/a.py"),
        ("/work/src/**", "/work/src/a.py"),
        ("~/notes/**", "~/notes/a.md"),
        ("**", "a/b.py"),
        (".github/**", ".github/workflow.yml"),
        ("src/.*", "src/.env"),
        ("/**", "/etc/hosts"),
    ],
)
def test_a_path_pattern_matches(pattern, path):
    assert matches("path", pattern, path)


@pytest.mark.parametrize(
    ("pattern", "path"),
    [
        ("src/**", "src"),
        ("src/**", "src/"),
        ("src/**", "src/../etc/passwd"),
        ("src/**", "srcs/a.py"),
        ("src/**", "/src/a.py"),
        ("src/**", "a/src/b.py"),
        ("src/**", "src//a.py"),
        ("src/**", "src/./a.py"),
        ("src/**", "src\\..\\a.py"),
        ("src/**", "src/a\\b.py"),
        ("src/**", "src/a\0b"),
        ("src/**", "src/.env"),
        ("src/**", "src/.git/config"),
        ("src/*.py", "src/a/b.py"),
        ("src/*", "src/.env"),
        ("**", "/etc/passwd"),
        ("**", "~/x"),
        ("**", "../x"),
        ("**", ""),
        ("*", "~root"),
        ("src/**", 7),
        ("src/**", None),
    ],
)
def test_a_path_pattern_never_leaves_its_folder(pattern, path):
    assert not matches("path", pattern, path)


def test_of_a_list_every_item_has_to_match():
    assert matches("path", "src/**", ["src/a", "src/b"])
    assert not matches("path", "src/**", ["src/a", "etc/b"])
    assert not matches("path", "src/**", [])
    assert matches("glob", "t?n*", "tins")
    assert not matches("glob", "t?n*", 3)


def test_other_values_are_compared_as_a_whole():
    assert matches("equals", "tin", "tin")
    assert not matches("equals", "1", 1)
    assert matches("json", '{"a":1,"b":[true]}', {"b": [True], "a": 1})
    assert not matches("json", "1", True)
    assert matches("json", r'["\ud800"]', ["\ud800"])


def test_an_argument_that_is_named_has_to_be_there():
    where = {"path": ArgumentPattern("path", "src/**")}
    assert matches_patterns(where, {"path": "src/a.py", "text": "x"})
    assert not matches_patterns(where, {"text": "x"})
    assert matches_patterns({}, {"text": "x"})


@pytest.mark.parametrize(
    ("line", "pattern"),
    [
        ("pytest -q tests", "pytest *"),
        ("git commit -m x", "git commit *"),
        ("git status", "git status *"),
        ("npm run build", "npm run build *"),
        ("npm test", "npm test *"),
        ("uv run pytest -q", "uv run pytest *"),
        ("python -m pytest -q", "python -m pytest *"),
        ("python scripts/build.py --all", "python scripts/build.py *"),
        ("ls", "ls *"),
    ],
)
def test_the_command_is_suggested_with_any_options(line, pattern):
    general, exact, anything = suggest_patterns({"command": line, "timeout": 60}, "write")
    assert general == {"command": ArgumentPattern("command", pattern)}
    assert exact == {"command": ArgumentPattern("equals", line), "timeout": ArgumentPattern("json", "60")}
    assert anything == {}


@pytest.mark.parametrize(
    "line",
    [
        "rm -rf build",
        "bash -c 'x'",
        "bash x.sh",
        "python",
        "python -c 'x'",
        "git -c a=b log",
        "git",
        "uv run python x.py",
        "find . -delete",
        "curl x",
        "git push origin main",
        "npm publish",
        "a; b",
        "pytest > x",
        "'my tool' x",
        "sed -i s/a/b/ x",
        "sudo ls",
        "$X",
    ],
)
def test_what_could_do_anything_is_only_suggested_exactly(line):
    assert suggest_patterns({"command": line}, "write") == ({"command": ArgumentPattern("equals", line)}, {})


@pytest.mark.parametrize(
    ("path", "pattern"),
    [("src/app/a.py", "src/**"), ("./src/a.py", "src/**"), ("/work/app/a.py", "/work/app/**"), ("~/notes/a.md", "~/notes/**")],
)
def test_the_folder_of_a_path_is_suggested(path, pattern):
    general, exact, _ = suggest_patterns({"file_path": path, "old": "a", "new": "b"}, "write")
    assert general == {"file_path": ArgumentPattern("path", pattern)}
    assert exact["old"] == ArgumentPattern("equals", "a")


@pytest.mark.parametrize("path", ["README.md", ".github/workflows/ci.yml", "../x/a.py", "src/../a.py", "src/.env", "/a"])
def test_a_file_at_the_top_a_hidden_one_and_one_elsewhere_are_suggested_exactly(path):
    assert suggest_patterns({"path": path, "text": "x"}, "write")[0] == {"path": ArgumentPattern("equals", path)}


def test_without_a_command_or_a_path_exactly_this_call_comes_first():
    exact, anything = suggest_patterns({"item": "tin", "count": 5}, "write")
    assert exact == {"item": ArgumentPattern("equals", "tin"), "count": ArgumentPattern("json", "5")}
    assert anything == {}
    assert suggest_patterns({}, "write") == ({},)
    assert suggest_patterns({"paths": ["a/b"]}, "read")[0] == {"paths": ArgumentPattern("json", '["a/b"]')}


def test_what_destroys_is_only_suggested_exactly():
    assert suggest_patterns({"path": "src/a.py"}, "destroy") == ({"path": ArgumentPattern("equals", "src/a.py")},)


def test_what_a_person_writes_is_a_command_a_path_or_a_glob_by_the_name():
    arguments = {"command": "x", "target_path": "x", "item": "tin", "name": "x", "count": 5, "tags": ["a"], "": "x"}
    said = {"command": "git log *", "target_path": "src/**", "item": "t*", "name": "Ann", "count": "5", "tags": "a", "": "x"}
    kinds = ["command", "path", "glob", "equals", "json", "glob", "equals"]
    assert [pattern.kind for pattern in parse_patterns(said, arguments).values()] == kinds
    own = ArgumentPattern("glob", "py*")
    assert parse_patterns({"command": own}, arguments) == {"command": own}


@pytest.mark.parametrize(
    ("name", "said"),
    [
        ("command", "*"),
        ("command", "pytest * -q"),
        ("command", "a; b *"),
        ("command", "$(x) *"),
        ("command", ""),
        ("path", "src/**/a.py"),
        ("path", "../**"),
        ("path", "src/../x"),
        ("path", "src/"),
        ("other", "x"),
    ],
)
def test_a_pattern_that_could_not_be_meant_is_refused(name, said):
    with pytest.raises(ApprovalError):
        parse_patterns({name: said}, {"command": "x", "path": "x"})

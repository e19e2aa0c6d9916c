"""Examples in docstrings become tests, where they say what a function returns and need nothing else."""

import subprocess
import sys

import pytest

from treadle.assistants.coding.docstring_examples import MAX_EXAMPLES, write_example_tests
from treadle.assistants.coding.project_sources import ProjectSources


def written(docstring: str, name: str = "f") -> str:
    project = ProjectSources({"pkg/__init__.py": "", "pkg/shop.py": f'def {name}(x, y=0):\n    r"""{docstring}"""\n    return x\n'})
    return write_example_tests(project, list(project.module("pkg/shop.py").places.values()))


@pytest.mark.parametrize(
    ("docstring", "check"),
    [
        ("Add.\n\n    >>> f(1, 2)\n    3\n    ", "self.assertEqual(f(1, 2), 3)"),
        (">>> f([1]) == [2]\n", "self.assertTrue(f([1]) == [2])"),
        (">>> f(1) == 2\nTrue", "self.assertEqual(f(1) == 2, True)"),
        (">>> sorted(f({1}))\n[1]", "self.assertEqual(sorted(f({1})), [1])"),
        ("f(1) => 2", "self.assertEqual(f(1), 2)"),
        ("For example:\n    f('a', y=1) ==> 'b'", "self.assertEqual(f('a', y=1), 'b')"),
        ("f(1) -> [2, 3].", "self.assertEqual(f(1), [2, 3])"),
        ("f(1) returns None", "self.assertEqual(f(1), None)"),
        ("* f(1) => 2", "self.assertEqual(f(1), 2)"),
        ("1. f(1) should return 2", "self.assertEqual(f(1), 2)"),
        ("f(19) ->19 - 5 - 6 = 8", "self.assertEqual(f(19), 8)"),
        ("f(1) == 2  # as 1 + 1", "self.assertEqual(f(1), 2)"),
        ("f(1) -> [2] (a list)", "self.assertEqual(f(1), [2])"),
        ("For x = [1,2,3] the output should be 14", "self.assertEqual(f(x=[1, 2, 3]), 14)"),
        ("Input: x = 'a,b', y = {2}\n    Output: 'c'\n\n    Explanation: none", "self.assertEqual(f(x='a,b', y={2}), 'c')"),
        ("Given x = 1, the result is: -1.", "self.assertEqual(f(x=1), -1)"),
    ],
)
def test_an_example_is_a_test(docstring: str, check: str) -> None:
    assert f"    def test_f_1(self):\n        {check}\n" in written(docstring)


@pytest.mark.parametrize(
    "docstring",
    [
        "",
        "Call f(x) to get a value.",
        ">>> f(1)\n",
        ">>> f(1)\nTraceback (most recent call last):\n    ...\nValueError: no\n",
        ">>> f(1)\n<object at 0x7f>",
        ">>> x = f(1)\n>>> x\n1",
        ">>> f(other)\n1",
        ">>> g(1)\n1",
        "f(1) -> the number after it",
        "f(x: int) -> 1",
        "g(1) => 2",
        "For z = 1 the output should be 2",
        "For x = other the output should be 2",
        "For x = 1 the output should be positive",
        "For x = (1 the output should be 2",
        "Input: x = 1\n\nThe output is sorted.",
        ">>> f(1)\n  3\n badly indented >>> f(",
        "  >>>f(1)\n  1",
    ],
)
def test_whatever_else_a_docstring_says_is_none(docstring: str) -> None:
    assert written(docstring) == ""


def test_the_examples_run_with_unittest_and_are_not_many(tmp_path) -> None:
    content = written("".join(f">>> f({number})\n{number}\n" for number in range(20)))
    assert content.count("def test_") == MAX_EXAMPLES
    (tmp_path / "pkg").mkdir()
    (tmp_path / "pkg" / "__init__.py").touch()
    (tmp_path / "pkg" / "shop.py").write_text("def f(x, y=0):\n    return x\n")
    (tmp_path / "test_examples.py").write_text(content)
    ran = subprocess.run([sys.executable, "-m", "unittest"], cwd=tmp_path, capture_output=True, text=True, check=False)
    assert f"Ran {MAX_EXAMPLES} tests" in ran.stderr
    assert ran.returncode == 0

"""Examples in docstrings as tests: doctests, and lines such as `total([1, 2]) => 3`. Pure.

They say more about a function than a few tests do: code that was fitted to these fails them.
"""

import ast
import builtins
import doctest
import re
from collections.abc import Iterator, Sequence

from treadle.assistants.coding.code import parse_python
from treadle.assistants.coding.project_sources import CodePlace, ProjectSources

MAX_EXAMPLES = 8  # of all functions: an outcome lists as many failures
_LINE = re.compile(r"\s*(?P<call>[A-Za-z_]\w*\(.*\))\s*(?:=+>|-+>|==|➞|→|returns)\s*(?P<value>\S.*?)\.?\s*")
_HEADER = '"""What the documentation gives as examples."""\n\nimport unittest\n'


def write_example_tests(project: ProjectSources, places: Sequence[CodePlace]) -> str:
    """Return a test file with the examples in the docstrings of functions; empty if there are none."""
    imports: list[str] = []
    tests: list[str] = []
    for place in places:
        found = list(_find_examples(project.files.get(place.path, ""), place.name))[: MAX_EXAMPLES - len(tests)]
        if found:
            imports.append(f"from {project.module_name(place.path)} import {place.name}\n")
        for call, value in found:
            check = f"self.assertTrue({call})" if value is None else f"self.assertEqual({call}, {value})"
            tests.append(f"    def test_{place.name}_{len(tests) + 1}(self):\n        {check}\n")
    if not tests:
        return ""
    return "\n".join([_HEADER, *imports, "\nclass DocumentedExamples(unittest.TestCase):", "\n".join(tests)])


def _find_examples(source: str, name: str) -> Iterator[tuple[str, str | None]]:
    """Yield the examples of a function: an expression and the value that it should have; None if it should be true."""
    tree = parse_python(source)
    functions = () if tree is None else tree.body
    text = next((ast.get_docstring(node) for node in functions if isinstance(node, ast.FunctionDef) and node.name == name), None)
    try:
        parts = doctest.DocTestParser().parse(text or "")
    except ValueError:  # not laid out as doctests have to be
        parts = [text or ""]
    for part in parts:
        if isinstance(part, doctest.Example):
            yield from _read_example(part.source.strip(), part.want.strip(), name)
            continue
        for line in part.splitlines():
            if match := _LINE.fullmatch(line):
                yield from _read_example(match["call"], match["value"], name)


def _read_example(call: str, value: str, name: str) -> Iterator[tuple[str, str | None]]:
    """Yield an example if it needs nothing but the function, and its value is written as a literal."""
    try:
        expression = ast.parse(call, mode="eval").body
        if value:
            ast.literal_eval(value)
    except (ValueError, SyntaxError, MemoryError, RecursionError):
        return
    names = {node.id for node in ast.walk(expression) if isinstance(node, ast.Name)}
    is_known = name in names and all(each == name or hasattr(builtins, each) for each in names)
    if is_known and (value or isinstance(expression, ast.Compare)):
        yield call, value or None

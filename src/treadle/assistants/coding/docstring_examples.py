"""Examples in docstrings as tests: doctests, lines such as `total([1, 2]) => 3`, and inputs with their output. Pure.

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
_LINE = re.compile(
    r"\s*(?:[-*+•]\s+|\d+[.)]\s+)?(?P<call>[A-Za-z_]\w*\(.*\))\s*(?:=+>|-+>|==|➞|→|(?:should )?returns?)\s*(?P<value>\S.*?)\.?\s*"
)
_INPUT = re.compile(  # `Input: rows = [1, 2], k = 3`, and on the same line or the next one `Output: 6`
    r"\b(?:input|for|given)\b\s*:?\s*(?P<inputs>[a-z_]\w*\s*=[^\n]+?)[,.;]?\s+"
    r"(?:the )?(?:output|result)\b\s*(?:should be|is)?\s*:?\s*(?P<value>[^\n]+)",
    re.IGNORECASE,
)
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
    functions = [node for node in ([] if tree is None else tree.body) if isinstance(node, ast.FunctionDef) and node.name == name]
    if not functions:
        return
    text = ast.get_docstring(functions[0]) or ""
    try:
        parts = doctest.DocTestParser().parse(text)
    except ValueError:  # not laid out as doctests have to be
        parts = [text]
    for part in parts:
        if isinstance(part, doctest.Example):
            yield from _read_example(part.source.strip(), part.want.strip(), name)
            continue
        for line in part.splitlines():
            if match := _LINE.fullmatch(line):
                yield from _read_example(match["call"], _read_literal(match["value"]) or match["value"], name)
        for match in _INPUT.finditer(part):
            if (call := _make_call(functions[0], match["inputs"])) and (value := _read_literal(match["value"])):
                yield from _read_example(call, value, name)


def _read_literal(text: str) -> str:
    """Return the literal in a text, with words after it or a calculation before it (`19 - 6 = 13`); empty if there is none."""
    text = text.strip().rstrip(".")
    for part in (text, re.split(r"\s+\(|;|, (?=[a-z])", text)[0], text.rpartition(" = ")[2]):
        try:
            ast.literal_eval(part.strip())
            return ast.unparse(ast.parse(part.strip(), mode="eval"))  # without a comment
        except (ValueError, SyntaxError, MemoryError, RecursionError):
            continue
    return ""


def _make_call(function: ast.FunctionDef, inputs: str) -> str:
    """Return the call of a function with inputs such as `rows = [1, 2], k = 3`; empty if these aren't its arguments."""
    try:
        made = ast.parse(f"{function.name}({inputs.strip().rstrip('.,;')})", mode="eval").body
    except (ValueError, SyntaxError, MemoryError, RecursionError):
        return ""
    given = [keyword.arg for keyword in made.keywords] if isinstance(made, ast.Call) and not made.args else []
    known = [each.arg for each in (*function.args.posonlyargs, *function.args.args, *function.args.kwonlyargs)]
    return ast.unparse(made) if given and set(given) <= set(known) else ""


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

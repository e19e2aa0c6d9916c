"""The tests that a file has, for checks that pages and tests agree."""

import ast
from pathlib import Path


def names_of_tests(file: Path) -> list[str]:
    """Return the names of the test functions in a file."""
    nodes = ast.walk(ast.parse(file.read_text()))
    return [node.name for node in nodes if isinstance(node, ast.FunctionDef) and node.name.startswith("test_")]

"""How long a program is, by one rule for every library.

A line counts if it has code: not if it is blank, a comment or part of a docstring. An import is one line, however it is
wrapped. What only serves to script the model doesn't count, because a user's program names a model instead: module-level
assignments to `model` or `…_model`, and the imports, functions and assignments that nothing else uses.
"""

import ast
import io
import sys
import tokenize
from collections.abc import Iterator

_NO_CODE = {
    tokenize.COMMENT,
    tokenize.NL,
    tokenize.NEWLINE,
    tokenize.INDENT,
    tokenize.DEDENT,
    tokenize.ENDMARKER,
}


def count_lines(source: str) -> int:
    """Return the number of lines that count."""
    tree = ast.parse(source)
    setup = {line for statement in _model_setup(tree) for line in _lines_of(statement)}
    wrapped = {line for each in tree.body if isinstance(each, ast.Import | ast.ImportFrom) for line in _lines_of(each)[1:]}
    tokens = tokenize.generate_tokens(io.StringIO(source).readline)
    code = {line for token in tokens if token.type not in _NO_CODE for line in range(token.start[0], token.end[0] + 1)}
    return len(code - setup - wrapped - {*_docstring_lines(tree)})


def imported_packages(source: str) -> set[str]:
    """Return the top-level packages that a program imports, without the standard library."""
    nodes = list(ast.walk(ast.parse(source)))
    modules = [name.name for node in nodes if isinstance(node, ast.Import) for name in node.names]
    modules += [node.module for node in nodes if isinstance(node, ast.ImportFrom) and node.module]
    return {module.partition(".")[0] for module in modules} - sys.stdlib_module_names


def _docstring_lines(tree: ast.Module) -> Iterator[int]:
    for node in ast.walk(tree):
        match node:
            case ast.Module() | ast.ClassDef() | ast.FunctionDef() | ast.AsyncFunctionDef() if ast.get_docstring(node) is not None:
                yield from _lines_of(node.body[0])
            case _:
                pass


def _lines_of(statement: ast.stmt) -> range:
    decorators = getattr(statement, "decorator_list", [])
    return range(min([statement.lineno, *[each.lineno for each in decorators]]), (statement.end_lineno or statement.lineno) + 1)


def _model_setup(tree: ast.Module) -> list[ast.stmt]:
    """Return the assignments of models, and then, until there are no more, the statements that only these use."""
    setup: list[ast.stmt] = [
        each for each in tree.body if isinstance(each, ast.Assign) and any(_is_model(name) for name in _bound(each))
    ]
    while True:
        rest = [each for each in tree.body if each not in setup]
        more = [
            each
            for each in rest
            if (bound := _bound(each)) & _used(setup) and not bound & _used([other for other in rest if other is not each])
        ]
        if not more:
            return setup
        setup += more


def _is_model(name: str) -> bool:
    return name == "model" or name.endswith("_model")


def _bound(statement: ast.stmt) -> set[str]:
    match statement:
        case ast.Import() | ast.ImportFrom():
            return {(name.asname or name.name).partition(".")[0] for name in statement.names}
        case ast.FunctionDef() | ast.AsyncFunctionDef() | ast.ClassDef():
            return {statement.name}
        case ast.Assign():
            return {target.id for target in statement.targets if isinstance(target, ast.Name)}
        case _:
            return set()


def _used(statements: list[ast.stmt]) -> set[str]:
    nodes = [node for statement in statements for node in ast.walk(statement)]
    return {node.id for node in nodes if isinstance(node, ast.Name) and isinstance(node.ctx, ast.Load)}

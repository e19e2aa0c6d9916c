"""Changes of Python functions: a harmless one (a local variable is renamed), and mutations of an operator. Pure."""

import ast
from collections.abc import Iterator

from msgspec import Struct

Function = ast.FunctionDef | ast.AsyncFunctionDef
MIN_LINES, MAX_LINES = 6, 40


class Edit(Struct, frozen=True):
    """A piece of a source to replace: its line from 1, its columns, and the new text."""

    line: int
    start: int
    end: int
    text: str


class Mutation(Struct, frozen=True):
    """A defect: the edit that plants it, and what it is."""

    edit: Edit
    kind: str


def apply_edits(source: str, edits: list[Edit]) -> str:
    """Return the source with edits, none of which overlap."""
    rows = source.splitlines()
    for edit in sorted(edits, key=lambda each: (each.line, each.start), reverse=True):
        row = rows[edit.line - 1]
        rows[edit.line - 1] = row[: edit.start] + edit.text + row[edit.end :]
    return "\n".join(rows) + "\n"


def list_functions(source: str) -> list[Function]:
    """Return the functions that are long enough to hide a defect, and short enough to be read."""
    return [
        node
        for node in ast.walk(ast.parse(source))
        if isinstance(node, Function) and MIN_LINES <= (node.end_lineno or 0) - node.lineno <= MAX_LINES and source.isascii()
    ]


def rename_local(function: Function) -> list[Edit]:
    """Return the edits that rename a local variable of a function everywhere; none if it has none that is safe to rename."""
    inner = [node for node in ast.walk(function) if node is not function]
    unsafe = (ast.FunctionDef, ast.AsyncFunctionDef, ast.Lambda, ast.ClassDef, ast.Global, ast.Nonlocal, ast.comprehension)
    if any(isinstance(node, unsafe) for node in inner) or any(_is_call_of(node, ("locals", "eval", "exec")) for node in inner):
        return []
    arguments = {each.arg for each in ast.walk(function.args) if isinstance(each, ast.arg)}
    names = [node for node in inner if isinstance(node, ast.Name)]
    others = {name for node in inner for name in _bound_otherwise(node)}
    stored = sorted({node.id for node in names if isinstance(node.ctx, ast.Store)} - arguments - others)
    known = {node.id for node in names} | arguments
    for name in stored:
        new = f"{name}_value"
        if not name.startswith("_") and new not in known:
            same = [node for node in names if node.id == name]
            return [Edit(node.lineno, node.col_offset, node.col_offset + len(name), new) for node in same]
    return []


def _is_call_of(node: ast.AST, names: tuple[str, ...]) -> bool:
    return isinstance(node, ast.Call) and isinstance(node.func, ast.Name) and node.func.id in names


def _bound_otherwise(node: ast.AST) -> Iterator[str]:
    """Yield names that are bound by something else than a `Name`, or used in a text that is formatted."""
    if isinstance(node, ast.ExceptHandler) and node.name:
        yield node.name
    if isinstance(node, ast.alias):
        yield (node.asname or node.name).partition(".")[0]
    if isinstance(node, ast.JoinedStr):  # its positions aren't exact before Python 3.12
        yield from (each.id for each in ast.walk(node) if isinstance(each, ast.Name))
    if isinstance(node, ast.MatchAs | ast.MatchStar) and node.name:
        yield node.name


_COMPARISONS: dict[type[ast.cmpop], tuple[str, str, str]] = {
    ast.Eq: ("==", "!=", "the comparison is inverted"),
    ast.NotEq: ("!=", "==", "the comparison is inverted"),
    ast.Is: (" is ", " is not ", "the check for None is inverted"),
    ast.IsNot: (" is not ", " is ", "the check for None is inverted"),
    ast.In: (" in ", " not in ", "the membership test is inverted"),
    ast.NotIn: (" not in ", " in ", "the membership test is inverted"),
    ast.Lt: (" < ", " > ", "the comparison goes the wrong way"),
    ast.Gt: (" > ", " < ", "the comparison goes the wrong way"),
}


def list_mutations(source: str, function: Function) -> list[Mutation]:
    """Return the defects that can be planted in a function."""
    rows = source.splitlines()
    found: list[Mutation] = []
    for node in ast.walk(function):
        found += _mutate(node, rows)
    return sorted(found, key=lambda each: (each.edit.line, each.edit.start))


def _mutate(node: ast.AST, rows: list[str]) -> Iterator[Mutation]:
    match node:
        case ast.Compare(left=left, ops=[operator], comparators=[right]) if type(operator) in _COMPARISONS:
            old, new, kind = _COMPARISONS[type(operator)]
            yield from _between(left, right, old, new, kind, rows)
        case ast.BoolOp(op=ast.And(), values=[left, right]):
            yield from _between(left, right, " and ", " or ", "`or` in place of `and`", rows)
        case ast.BinOp(left=left, op=ast.Add(), right=ast.Constant(value=1) as right):
            yield from _between(left, right, "+", "-", "one is subtracted in place of added", rows)
        case ast.BinOp(left=left, op=ast.Sub(), right=ast.Constant(value=1) as right):
            yield from _between(left, right, "-", "+", "one is added in place of subtracted", rows)
        case ast.If(test=ast.UnaryOp(op=ast.Not()) as test) if test.lineno == test.end_lineno:
            if rows[test.lineno - 1][test.col_offset :].startswith("not "):
                yield Mutation(Edit(test.lineno, test.col_offset, test.col_offset + 4, ""), "the condition is inverted")
        case ast.Return(value=ast.Constant(value=bool() as value) as said):
            edit = Edit(said.lineno, said.col_offset, said.end_col_offset or 0, str(not value))
            yield Mutation(edit, "the opposite is returned")
        case _:
            return


def _between(left: ast.expr, right: ast.expr, old: str, new: str, kind: str, rows: list[str]) -> Iterator[Mutation]:
    """Yield a mutation of the operator between two operands on one line."""
    if left.end_lineno != right.lineno or left.end_col_offset is None:
        return
    between = rows[right.lineno - 1][left.end_col_offset : right.col_offset]
    if between.count(old) == 1:
        start = left.end_col_offset + between.index(old)
        yield Mutation(Edit(right.lineno, start, start + len(old), new), kind)

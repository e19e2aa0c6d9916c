"""Extract code from a model's text, and put it into a file: the whole file, or the functions that were rewritten. Pure.

Python is parsed; in other languages only whole files are replaced.
"""

import ast
import re
from textwrap import dedent
from typing import Any, cast

from msgspec import Struct

from treadle.plans import extract_json

_FENCE = re.compile(r"^(?P<ticks>`{3,}|~{3,})[^\n`]*\n(?P<code>.*?)(?:^(?P=ticks)[ \t]*$|\Z)", re.MULTILINE | re.DOTALL)

_NAMES = re.compile(r"#|//|/\*|\*|@|class |import |from |using |package |[)}\]]|else\b|try\b")

Definition = ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef


def extract_code(words: str) -> str:
    """Return the code that a model wrote: the longest of its fenced blocks, else all of its text."""
    blocks = [found["code"] for found in _FENCE.finditer(words)]
    code = max(blocks, key=len) if blocks else words
    return code.strip("\n") + "\n" if code.strip() else ""


class CodeHole(Struct, frozen=True):
    """A piece of code that could be wrong: its position, from `start` to `end`."""

    start: int
    end: int
    line: int


def find_holes(source: str) -> list[CodeHole]:
    """Return the pieces of Python code that decide what it does: conditions, values, iterables. Other languages have lines."""
    tree = parse_python(source)
    if tree is None:
        return _line_holes(source)
    pieces = [piece for node in ast.walk(tree) if (piece := _deciding_node(node)) is not None]
    found = {_to_hole(source, piece) for piece in pieces}
    return sorted(found, key=lambda hole: (hole.start, -hole.end))


def _deciding_node(node: ast.AST) -> ast.expr | ast.stmt | None:
    match node:
        case ast.If(test=piece) | ast.While(test=piece) | ast.For(iter=piece) | ast.Assign(value=piece) | ast.Return(value=piece):
            return piece
        case ast.Expr(value=ast.Constant()):
            return None  # words about the code
        case ast.Expr() | ast.AugAssign():
            return node  # its sign may be what is wrong
        case _:
            return None


def _to_hole(source: str, piece: ast.expr | ast.stmt) -> CodeHole:
    return CodeHole(
        _to_offset(source, piece.lineno, piece.col_offset), _to_offset(source, piece.end_lineno, piece.end_col_offset), piece.lineno
    )


def _to_offset(source: str, line: int | None, column: int | None) -> int:
    """Convert a position that a syntax tree counts in lines and bytes to an offset."""
    assert line is not None, "every node that was parsed has one"
    assert column is not None, "every node that was parsed has one"
    lines = source.splitlines(keepends=True)
    return sum(map(len, lines[: line - 1])) + len(lines[line - 1].encode()[:column].decode())


def _line_holes(source: str) -> list[CodeHole]:
    found: list[CodeHole] = []
    at = 0
    for number, line in enumerate(source.splitlines(keepends=True), 1):
        text = line.strip()
        if text and not _NAMES.match(text):
            start = at + line.index(text)
            found.append(CodeHole(start, start + len(text), number))
        at += len(line)
    return found


def mark_hole(source: str, hole: CodeHole, mark: str) -> str:
    """Return the code with a mark in place of a piece."""
    return source[: hole.start] + mark + source[hole.end :]


def fill_hole(source: str, hole: CodeHole, words: str) -> str:
    """Return the code with a model's text in place of a piece, given as JSON or alone; empty if it wrote nothing.

    Models like to write the whole line: what stands before and after the piece there is removed from their text.
    """
    found = extract_json(words)
    told = str(cast("dict[str, Any]", found).get("code", "")) if isinstance(found, dict) else extract_code(words)
    text = next((line for line in map(str.strip, told.splitlines()) if line), "").strip("`")
    before = source[: hole.start].rpartition("\n")[2].strip()
    if before and text.startswith(before):
        text = text[len(before) :].strip()
    if source[hole.end : hole.end + 1] == ":":
        text = text.partition(":")[0] if text.endswith(":") else text
    return mark_hole(source, hole, text) if text else ""


def is_python_path(path: str) -> bool:
    """Return whether a file is Python, by its name."""
    return path.endswith((".py", ".pyi"))


def parse_python(code: str) -> ast.Module | None:
    """Parse Python to a syntax tree; None if it isn't valid."""
    try:
        return ast.parse(code)
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        return None


def splice_code(source: str, code: str, path: str) -> str:
    """Return the file with the rewritten code in place; empty if the code makes no sense there."""
    if not is_python_path(path):
        return code
    old, new = parse_python(source), parse_python(code)
    if new is None or not new.body:
        return ""
    if old is None:
        return code
    known, written = _find_definitions(old), _find_definitions(new)
    if not written:
        return "" if known else code
    if set(known) <= set(written):
        return _add_missing_imports(source, old, code, new)
    if not set(written) & set(known):
        return ""
    return _replace_definitions(source, old, code, new)


def append_code(source: str, code: str) -> str:
    """Return the file with new definitions at its end, and their imports at its beginning; empty if that isn't valid Python."""
    old, new = parse_python(source), parse_python(code)
    if old is None or new is None or not new.body:
        return ""
    lines = source.splitlines()
    added = [node for node in new.body if not isinstance(node, ast.Import | ast.ImportFrom)]
    for node in added:
        start = _first_line(node) if isinstance(node, Definition) else node.lineno
        lines += ["", "", *_slice_lines(code, start, node.end_lineno or node.lineno).splitlines()]
    at = _count_header_lines(old)
    lines[at:at] = _find_new_imports(old, code, new)
    spliced = "\n".join(lines).strip("\n") + "\n"
    return spliced if added and parse_python(spliced) is not None else ""


def find_relative_imports(source: str) -> list[str]:
    """Return the files that JavaScript code imports from its own project, as they are written there."""
    return re.findall(r"""(?:from|require\(|import)\s*['"](\.{1,2}/[^'"]+)['"]""", source)


def replace_definition(source: str, name: str, first: int, last: int, code: str) -> str:
    """Return the file with the lines of a definition replaced by its namesake in a model's code; empty if there is none.

    Decorators that the model left out are kept, and imports that it added are added.
    """
    code = dedent(code)
    old, new = parse_python(source), parse_python(code)
    fresh = None if new is None else _find_namesake(new, name)
    if old is None or new is None or fresh is None:
        return ""
    known = _find_namesake(old, name, first)
    if isinstance(known, Definition) and isinstance(fresh, Definition) and not fresh.decorator_list:
        first = known.lineno
    lines = source.splitlines()
    indent = lines[first - 1][: len(lines[first - 1]) - len(lines[first - 1].lstrip())]
    start = _first_line(fresh) if isinstance(fresh, Definition) else fresh.lineno
    written = dedent(_slice_lines(code, start, fresh.end_lineno or fresh.lineno)).splitlines()
    lines[first - 1 : last] = [f"{indent}{line}" if line else line for line in written]
    at = _count_header_lines(old)
    lines[at:at] = _find_new_imports(old, code, new)
    spliced = "\n".join(lines) + "\n"
    return spliced if parse_python(spliced) is not None else ""


def _find_namesake(tree: ast.Module, name: str, first: int = 0) -> Definition | ast.Assign | ast.AnnAssign | None:
    """Return the definition of a name, at or after a line; of a method, one in any class."""
    simple = name.rpartition(".")[2]
    for node in ast.walk(tree):
        if isinstance(node, Definition) and node.name == simple and node.lineno >= first:
            return node
        if isinstance(node, ast.Assign | ast.AnnAssign) and node.lineno >= first:
            targets = node.targets if isinstance(node, ast.Assign) else [node.target]
            if any(isinstance(target, ast.Name) and target.id == simple for target in targets):
                return node
    return None


def _find_definitions(tree: ast.Module) -> dict[str, Definition]:
    return {node.name: node for node in tree.body if isinstance(node, Definition)}


def _first_line(node: Definition) -> int:
    return min([node.lineno, *[decorator.lineno for decorator in node.decorator_list]])


def _slice_lines(source: str, first: int, last: int) -> str:
    return "\n".join(source.splitlines()[first - 1 : last]) + "\n"


def _add_missing_imports(source: str, old: ast.Module, code: str, new: ast.Module) -> str:
    """Return a whole file, with the imports that were left out of it."""
    there = {ast.dump(node) for node in new.body}
    missing = [
        _slice_lines(source, node.lineno, node.end_lineno or node.lineno)
        for node in old.body
        if isinstance(node, ast.Import | ast.ImportFrom) and ast.dump(node) not in there
    ]
    return "".join(missing) + ("\n" if missing else "") + code


def _replace_definitions(source: str, old: ast.Module, code: str, new: ast.Module) -> str:
    """Return the file with each rewritten definition in place of its namesake, last first, so that earlier lines don't move."""
    lines, known, written = source.splitlines(), _find_definitions(old), _find_definitions(new)
    for name in sorted(set(known) & set(written), key=lambda name: known[name].lineno, reverse=True):
        node, fresh = known[name], written[name]
        lines[_first_line(node) - 1 : node.end_lineno] = _slice_lines(
            code, _first_line(fresh), fresh.end_lineno or fresh.lineno
        ).splitlines()
    at = _count_header_lines(old)
    lines[at:at] = _find_new_imports(old, code, new)
    return "\n".join(lines) + "\n"


def _find_new_imports(old: ast.Module, code: str, new: ast.Module) -> list[str]:
    there = {ast.dump(node) for node in old.body}
    added = [node for node in new.body if isinstance(node, ast.Import | ast.ImportFrom) and ast.dump(node) not in there]
    return [_slice_lines(code, node.lineno, node.end_lineno or node.lineno).rstrip() for node in added]


def _count_header_lines(tree: ast.Module) -> int:
    """Count the lines before the position of a new import: those of the module docstring and of the imports."""
    last = 0
    for index, node in enumerate(tree.body):
        words = index == 0 and isinstance(node, ast.Expr) and isinstance(node.value, ast.Constant)
        if words or isinstance(node, ast.Import | ast.ImportFrom):
            last = node.end_lineno or node.lineno
    return last

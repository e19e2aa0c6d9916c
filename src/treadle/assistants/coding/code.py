"""Code in a model's words, and its place in a file: the whole file, or the functions in it that were rewritten. Pure.

Python is parsed; of other languages only whole files are taken.
"""

import ast
import re
from typing import Any, cast

from msgspec import Struct

from treadle import json_in

_FENCE = re.compile(r"^(?P<ticks>`{3,}|~{3,})[^\n`]*\n(?P<code>.*?)(?:^(?P=ticks)[ \t]*$|\Z)", re.MULTILINE | re.DOTALL)

_NAMES = re.compile(r"#|//|/\*|\*|@|class |import |from |using |package |[)}\]]|else\b|try\b")

Definition = ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef


def code_in(words: str) -> str:
    """The code a model wrote: the longest of its fenced blocks, else all of its words."""
    blocks = [found["code"] for found in _FENCE.finditer(words)]
    code = max(blocks, key=len) if blocks else words
    return code.strip("\n") + "\n" if code.strip() else ""


class Hole(Struct, frozen=True):
    """A piece of code that could be wrong: where it is, from `start` to `end`."""

    start: int
    end: int
    line: int


def holes(source: str) -> list[Hole]:
    """The pieces of Python code that decide what it does: conditions, values, what is gone through. Other languages have lines."""
    tree = parsed(source)
    if tree is None:
        return _lines_as_holes(source)
    pieces = [piece for node in ast.walk(tree) if (piece := _deciding(node)) is not None]
    found = {_hole(source, piece) for piece in pieces}
    return sorted(found, key=lambda hole: (hole.start, -hole.end))


def _deciding(node: ast.AST) -> ast.expr | ast.stmt | None:
    match node:
        case ast.If(test=piece) | ast.While(test=piece) | ast.For(iter=piece) | ast.Assign(value=piece) | ast.Return(value=piece):
            return piece
        case ast.Expr(value=ast.Constant()):
            return None  # words about the code
        case ast.Expr() | ast.AugAssign():
            return node  # its sign may be what is wrong
        case _:
            return None


def _hole(source: str, piece: ast.expr | ast.stmt) -> Hole:
    return Hole(
        _offset(source, piece.lineno, piece.col_offset), _offset(source, piece.end_lineno, piece.end_col_offset), piece.lineno
    )


def _offset(source: str, line: int | None, column: int | None) -> int:
    """Where a place is that a tree counts in lines and bytes."""
    assert line is not None, "every node that was parsed has one"
    assert column is not None, "every node that was parsed has one"
    lines = source.splitlines(keepends=True)
    return sum(map(len, lines[: line - 1])) + len(lines[line - 1].encode()[:column].decode())


def _lines_as_holes(source: str) -> list[Hole]:
    found: list[Hole] = []
    at = 0
    for number, line in enumerate(source.splitlines(keepends=True), 1):
        text = line.strip()
        if text and not _NAMES.match(text):
            start = at + line.index(text)
            found.append(Hole(start, start + len(text), number))
        at += len(line)
    return found


def with_hole(source: str, hole: Hole, mark: str) -> str:
    """The code with a mark in place of a piece."""
    return source[: hole.start] + mark + source[hole.end :]


def filled(source: str, hole: Hole, words: str) -> str:
    """The code with what a model wrote in place of a piece, as JSON or alone; nothing where it wrote nothing.

    Models like to write the whole line: what stands before and after the piece there is left out of what they wrote.
    """
    found = json_in(words)
    told = str(cast("dict[str, Any]", found).get("code", "")) if isinstance(found, dict) else code_in(words)
    text = next((line for line in map(str.strip, told.splitlines()) if line), "").strip("`")
    before = source[: hole.start].rpartition("\n")[2].strip()
    if before and text.startswith(before):
        text = text[len(before) :].strip()
    if source[hole.end : hole.end + 1] == ":":
        text = text.partition(":")[0] if text.endswith(":") else text
    return with_hole(source, hole, text) if text else ""


def is_python(path: str) -> bool:
    """Whether a file is Python by its name."""
    return path.endswith((".py", ".pyi"))


def parsed(code: str) -> ast.Module | None:
    """Python as a tree; None where it is none."""
    try:
        return ast.parse(code)
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        return None


def put_in(source: str, code: str, path: str) -> str:
    """The file with what was rewritten in its place; nothing where the code makes no sense there."""
    if not is_python(path):
        return code
    old, new = parsed(source), parsed(code)
    if new is None or not new.body:
        return ""
    if old is None:
        return code
    known, written = _definitions(old), _definitions(new)
    if not written:
        return "" if known else code
    if set(known) <= set(written):
        return _with_imports(source, old, code, new)
    if not set(written) & set(known):
        return ""
    return _spliced(source, old, code, new)


def function_at(source: str, line: int) -> str:
    """The source of the outermost function or class that a line is in; nothing where there is none."""
    tree = parsed(source)
    if tree is None:
        return ""
    for node in tree.body:
        if isinstance(node, Definition) and _first(node) <= line <= (node.end_lineno or line):
            return _lines(source, _first(node), node.end_lineno or line)
    return ""


def function_named(source: str, name: str) -> str:
    """The source of a function by its name, wherever in the file it is."""
    tree = parsed(source)
    for node in ast.walk(tree) if tree is not None else ():
        if isinstance(node, Definition) and node.name == name:
            return _lines(source, _first(node), node.end_lineno or node.lineno)
    return ""


def imports_in(source: str) -> list[str]:
    """The modules that Python code imports, as dotted names, in order; those of other languages as they are written."""
    tree = parsed(source)
    if tree is None:
        return re.findall(r"""(?:from|require\(|import)\s*['"](\.{1,2}/[^'"]+)['"]""", source)
    found: list[str] = []
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            found += [alias.name for alias in node.names]
        elif isinstance(node, ast.ImportFrom):
            found += [node.module, *[f"{node.module}.{alias.name}" for alias in node.names]] if node.module else []
    return list(dict.fromkeys(found))


def _definitions(tree: ast.Module) -> dict[str, Definition]:
    return {node.name: node for node in tree.body if isinstance(node, Definition)}


def _first(node: Definition) -> int:
    return min([node.lineno, *[decorator.lineno for decorator in node.decorator_list]])


def _lines(source: str, first: int, last: int) -> str:
    return "\n".join(source.splitlines()[first - 1 : last]) + "\n"


def _with_imports(source: str, old: ast.Module, code: str, new: ast.Module) -> str:
    """A whole file, with the imports that were left out of it."""
    there = {ast.dump(node) for node in new.body}
    missing = [
        _lines(source, node.lineno, node.end_lineno or node.lineno)
        for node in old.body
        if isinstance(node, ast.Import | ast.ImportFrom) and ast.dump(node) not in there
    ]
    return "".join(missing) + ("\n" if missing else "") + code


def _spliced(source: str, old: ast.Module, code: str, new: ast.Module) -> str:
    """The file with each definition that was rewritten in place of its namesake, the last first: lines before it stay."""
    lines, known, written = source.splitlines(), _definitions(old), _definitions(new)
    for name in sorted(set(known) & set(written), key=lambda name: known[name].lineno, reverse=True):
        node, fresh = known[name], written[name]
        lines[_first(node) - 1 : node.end_lineno] = _lines(code, _first(fresh), fresh.end_lineno or fresh.lineno).splitlines()
    at = _after_imports(old)
    lines[at:at] = _new_imports(old, code, new)
    return "\n".join(lines) + "\n"


def _new_imports(old: ast.Module, code: str, new: ast.Module) -> list[str]:
    there = {ast.dump(node) for node in old.body}
    added = [node for node in new.body if isinstance(node, ast.Import | ast.ImportFrom) and ast.dump(node) not in there]
    return [_lines(code, node.lineno, node.end_lineno or node.lineno).rstrip() for node in added]


def _after_imports(tree: ast.Module) -> int:
    """How many lines stand before the place for another import: those of the file's words about itself, and of its imports."""
    last = 0
    for index, node in enumerate(tree.body):
        words = index == 0 and isinstance(node, ast.Expr) and isinstance(node.value, ast.Constant)
        if words or isinstance(node, ast.Import | ast.ImportFrom):
            last = node.end_lineno or node.lineno
    return last

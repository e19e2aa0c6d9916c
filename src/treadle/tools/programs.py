"""What a program that a model wrote says by itself, before it is run. Pure.

The interpreter is `agent.interpreter`; nothing is executed here.
"""

import ast
import re
from collections import Counter
from collections.abc import Mapping, Sequence
from typing import Any, cast

from msgspec import Struct

from treadle.tools.python_signatures import PythonFunction

MAX_PROGRAM = 20_000  # characters
MODULES = ("asyncio", "json", "math", "re")  # may be used without an import: each of these names has one meaning
_FENCE = re.compile(r"^[ \t]*```\w*[ \t]*\n(.*?)\n?^[ \t]*```[ \t]*$", re.DOTALL | re.MULTILINE)

Literals = dict[str, frozenset[tuple[str, str | int | float]]]


class Program(Struct, frozen=True):
    """A program that was read.

    source    what is run: the program as the model wrote it, or where that has one reading only, what it meant
    waits     whether it awaits its calls; otherwise each one returns its value directly
    literals  the values that are written out as arguments of calls, with their parameters' names, by tool
    modules   modules that it uses without having imported them
    left_out  its own definitions of tools that read, which aren't run
    """

    source: str
    waits: bool
    literals: Literals
    modules: tuple[str, ...] = ()
    left_out: tuple[str, ...] = ()


class ProgramError(Struct, frozen=True):
    """Data of a problem with a program: its error in a line."""

    error: str


class ProgramMistake(Exception):
    """A program that can't be read; the message is for the model."""


def read_program(source: str, functions: Mapping[str, PythonFunction]) -> Program:
    """Read a program. Raises `ProgramMistake`."""
    if len(source) > MAX_PROGRAM:
        raise ProgramMistake(f"The program has {len(source):,} characters; at most {MAX_PROGRAM:,} are run. Split it.")
    if "\0" in source:
        raise ProgramMistake("The program contains null characters, which Python doesn't read.")
    source = strip_fence(source)
    source = _leave_out_imports(source, _parse(source), functions)
    source, left_out = _leave_out_definitions(source, _parse(source), functions)
    source = _end_with_value(source, _parse(source))
    tree = _parse(source)
    waits = any(isinstance(node, ast.Await | ast.AsyncFor | ast.AsyncWith | ast.AsyncFunctionDef) for node in ast.walk(tree))
    return Program(source, waits, _find_literals(tree, functions), _find_unimported(tree), left_out)


def _parse(source: str) -> ast.Module:
    try:
        return ast.parse(source)
    except SyntaxError as error:
        line = (error.text or "").strip()
        shown = f"\n    {line}" if line else ""
        raise ProgramMistake(f"Line {error.lineno or 1}: SyntaxError: {error.msg}{shown}") from None
    except (ValueError, RecursionError, MemoryError):
        raise ProgramMistake("The program can't be read: it is nested too deeply.") from None


def _leave_out_imports(source: str, tree: ast.Module, functions: Mapping[str, PythonFunction]) -> str:
    """Return a program without imports of the functions that are tools: they are there without."""
    return _leave_out(source, [node for node in tree.body if isinstance(node, ast.ImportFrom) and _imports_only(node, functions)])


def _imports_only(node: ast.ImportFrom, functions: Mapping[str, PythonFunction]) -> bool:
    return all(alias.name in functions and alias.asname in (None, alias.name) for alias in node.names)


def _leave_out_definitions(source: str, tree: ast.Module, functions: Mapping[str, PythonFunction]) -> tuple[str, tuple[str, ...]]:
    """Return a program without its own versions of tools that read, which would return what the model made up; and their names.

    With one of a tool that changes something, the program may have been meant to change nothing.
    """
    own = [node for node in tree.body if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef) and node.name in functions]
    for node in own:
        if not functions[node.name].reads:
            raise ProgramMistake(f"Line {node.lineno}: {node.name} is defined already: call it without a definition of your own.")
    return _leave_out(source, own), tuple([node.name for node in own])


def _leave_out(source: str, statements: Sequence[ast.FunctionDef | ast.AsyncFunctionDef | ast.ImportFrom]) -> str:
    """Return a program with `pass` in the place of some statements. The other lines keep their numbers."""
    lines = source.encode().split(b"\n")
    for node in reversed(statements):
        decorators = [] if isinstance(node, ast.ImportFrom) else node.decorator_list
        first, last = min([node.lineno, *[each.lineno for each in decorators]]), node.end_lineno or node.lineno
        before, behind = lines[first - 1][: node.col_offset], lines[last - 1][node.end_col_offset :]
        lines[first - 1 : last] = [before + b"pass" + behind, *[b""] * (last - first)]
    return b"\n".join(lines).decode()


def _end_with_value(source: str, tree: ast.Module) -> str:
    """Return a program that ends in the value it has worked out, if it neither prints nor ends in an expression.

    That is what its last statement assigns, or what a function returns that nothing calls. A coroutine at the end is awaited.
    """
    names = {node.id for node in ast.walk(tree) if isinstance(node, ast.Name)}
    coroutines = {node.name for node in tree.body if isinstance(node, ast.AsyncFunctionDef)}
    match tree.body[-1] if tree.body else None:
        case ast.Expr(value=ast.Call(func=ast.Name(id=name))) as last if name in coroutines:
            lines = source.split("\n")
            line = lines[last.lineno - 1].encode()
            lines[last.lineno - 1] = (line[: last.col_offset] + b"await " + line[last.col_offset :]).decode()
            return "\n".join(lines)
        case ast.Assign(targets=[ast.Name(id=name)]) | ast.AugAssign(target=ast.Name(id=name)) if "print" not in names:
            return f"{source}\n{name}"
        case ast.FunctionDef(name=name, args=taken) | ast.AsyncFunctionDef(name=name, args=taken) if name not in names:
            return f"{source}\n{'await ' if name in coroutines else ''}{name}()" if _needs_nothing(taken) else source
        case _:
            return source


def _needs_nothing(taken: ast.arguments) -> bool:
    positional = len(taken.posonlyargs) + len(taken.args)
    return positional == len(taken.defaults) and all(default is not None for default in taken.kw_defaults)


def _find_unimported(tree: ast.Module) -> tuple[str, ...]:
    bound = {name for node in ast.walk(tree) for name in _bound_names(node)}
    used = {node.id for node in ast.walk(tree) if isinstance(node, ast.Name)}
    return tuple([name for name in MODULES if name in used - bound])


def strip_fence(source: str) -> str:
    """Return the inside of the block of code that a program is in, if there is one block. What is said around it isn't Python."""
    blocks = _FENCE.findall(source)
    if len(blocks) != 1:
        return source
    try:
        ast.parse(source)
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        return blocks[0]
    return source


def bind_arguments(function: PythonFunction, args: tuple[Any, ...], kwargs: Mapping[str, Any]) -> dict[str, Any]:
    """Return the arguments of a call by the tool's own names. Raises `TypeError` as a Python function does."""
    names = list(function.parameters.values())
    if len(args) > len(names):
        raise TypeError(f"it takes {len(names)} arguments, and {len(args)} were given")
    bound = dict(zip(names, args, strict=False))
    for name, value in kwargs.items():
        own = function.parameters.get(name, name)
        if own in bound:
            raise TypeError(f"it got more than one value for {name!r}")
        bound[own] = value
    return bound


def to_plain(value: Any) -> Any:
    """Return a program's value as JSON has it. Raises `TypeError` where there is none.

    The items of a set are sorted: their order differs from process to process.
    """
    match value:
        case None | bool() | int() | float() | str():
            return value
        case list() | tuple():
            return [to_plain(item) for item in cast("list[Any]", value)]
        case dict():
            return {str(key): to_plain(item) for key, item in cast("dict[Any, Any]", value).items()}
        case set() | frozenset():
            return sorted([to_plain(item) for item in cast("set[Any]", value)], key=repr)
        case _ if hasattr(value, "isoformat"):
            return value.isoformat()
        case _:
            raise TypeError(f"{type(value).__name__} can't be passed on; use text, numbers, lists and dicts")


def _find_literals(tree: ast.Module, functions: Mapping[str, PythonFunction]) -> Literals:
    constants = _find_constants(tree)
    found: dict[str, set[tuple[str, str | int | float]]] = {}
    for node in ast.walk(tree):
        if isinstance(node, ast.Call) and isinstance(node.func, ast.Name) and node.func.id in functions:
            function = functions[node.func.id]
            names = list(function.parameters.values())
            placed = zip(names, node.args, strict=False)
            named = [(function.parameters.get(each.arg, each.arg), each.value) for each in node.keywords if each.arg]
            for name, argument in (*placed, *named):
                values = _find_values(argument, constants)
                found.setdefault(function.tool, set()).update([(name, value) for value in values])
    return {tool: frozenset(values) for tool, values in found.items()}


def _find_constants(tree: ast.Module) -> dict[str, ast.expr]:
    """Return the names that are bound once in the whole program, by an assignment at its top level."""
    bound = Counter([name for node in ast.walk(tree) for name in _bound_names(node)])
    constants: dict[str, ast.expr] = {}
    for statement in tree.body:
        match statement:
            case ast.Assign(targets=[ast.Name(id=name)], value=value) if bound[name] == 1:
                constants[name] = value
            case _:
                pass
    return constants


def _bound_names(node: ast.AST) -> list[str]:
    """Return the names that one node binds, or makes another scope's."""
    match node:
        case ast.Name(id=name, ctx=ast.Store() | ast.Del()) | ast.arg(arg=name):
            return [name]
        case ast.FunctionDef(name=name) | ast.AsyncFunctionDef(name=name) | ast.ClassDef(name=name):
            return [name]
        case ast.ExceptHandler(name=str(name)) | ast.MatchAs(name=str(name)) | ast.MatchStar(name=str(name)):
            return [name]
        case ast.MatchMapping(rest=str(name)):
            return [name]
        case ast.alias():
            return [node.asname or node.name]
        case _:
            return []


def _find_values(argument: ast.expr, constants: Mapping[str, ast.expr]) -> list[str | int | float]:
    """Return the texts and numbers that are written out in an argument: alone, in lists, or by a name for one of them."""
    match argument:
        case ast.Constant(value=str() | int() | float() as value):
            return [value]
        case ast.UnaryOp(op=ast.USub(), operand=ast.Constant(value=int() | float() as value)):
            return [-value]
        case ast.List(elts=items) | ast.Tuple(elts=items):
            return [value for item in items for value in _find_values(item, constants)]
        case ast.Name(id=name) if name in constants and isinstance(constants[name], ast.Constant | ast.UnaryOp):
            return _find_values(constants[name], {})
        case _:
            return []

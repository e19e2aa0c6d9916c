"""From validated JSON arguments to the call of a Python function: values as its annotations want them, each in its place.

What comes back from the function is `text`; how a single value is made is `readers`.
"""

from collections.abc import Callable
from typing import Any

from treadle.core.context import RunContext
from treadle.core.errors import ToolProblem
from treadle.tools.issues import Issue, word
from treadle.tools.readers import Reader, Readers, attempt
from treadle.tools.schema import Parameter, Signature
from treadle.tools.shapes import NOTHING
from treadle.tools.text import to_text

__all__ = ["Bind", "binder", "to_text"]

Arguments = dict[str, Any]
Placed = tuple[tuple[Any, ...], Arguments]
Bind = Callable[[Arguments, RunContext[Any] | None], Placed]


def binder(signature: Signature) -> Bind:
    """What makes `(args, kwargs)` of the arguments of a call. Raises `ToolProblem` where a value can't be made after all."""
    place = _placing(signature)
    read = _reading(signature)
    if read is None:
        return place
    return lambda arguments, context: place(read(arguments), context)


# Values


def _reading(signature: Signature) -> Callable[[Arguments], Arguments] | None:
    """What turns arguments into Python values; None where they are already."""
    made = Readers()
    told = [each for each in signature.inputs if each.name != signature.context]
    readers = {each.name: reader for each in told if each.kind != "extra" and (reader := _reader(each, made)) is not None}
    extra = next((made.of(each.annotation) for each in told if each.kind == "extra"), None)
    if not readers and extra is None:
        return None
    named = {each.name: readers.get(each.name) for each in told if each.kind != "extra"}
    return lambda arguments: _read(arguments, named, extra, signature.name)


def _reader(parameter: Parameter, made: Readers) -> Reader | None:
    return made.of(list[parameter.annotation] if parameter.kind == "rest" else parameter.annotation)


def _read(arguments: Arguments, named: dict[str, Reader | None], extra: Reader | None, tool_name: str) -> Arguments:
    values: Arguments = {}
    issues: list[Issue] = []
    for name, value in arguments.items():
        reader = named.get(name, extra)
        values[name] = value if reader is None else attempt(reader, value, name, issues)
    if issues:
        raise ToolProblem(word(issues, tool_name))
    return values


# Places


def _placing(signature: Signature) -> Bind:
    if _is_by_name(signature):
        return _by_name(signature)
    return lambda arguments, context: _placed(signature, dict(arguments), context)


def _is_by_name(signature: Signature) -> bool:
    """Whether every argument may be given by its name (the run, if it comes first, by position)."""
    return all(each.kind in ("plain", "keyword") for each in signature.inputs)


def _by_name(signature: Signature) -> Bind:
    name = signature.context
    if name is None:
        return lambda arguments, _: ((), arguments)
    if signature.inputs[0].name == name and signature.inputs[0].kind == "plain":
        return lambda arguments, context: ((context,), arguments)
    return lambda arguments, context: ((), {**arguments, name: context})


def _placed(signature: Signature, values: Arguments, context: RunContext[Any] | None) -> Placed:
    """The general way: positions first, since whatever follows `*args` or `/` can't be told otherwise."""
    if signature.context is not None:
        if signature.context in values:
            issue = Issue(signature.context, "nothing of this name", "a value")
            raise ToolProblem(word([issue], signature.name))
        values[signature.context] = context
    args: list[Any] = []
    for each in _by_position(signature):
        if each.kind == "rest":
            args += values.pop(each.name, ())
        elif each.name in values or each.default is not NOTHING:
            args.append(values.pop(each.name, each.default))
    return tuple(args), values


def _by_position(signature: Signature) -> list[Parameter]:
    has_rest = any(each.kind == "rest" for each in signature.inputs)
    wanted = ("positional", "plain", "rest") if has_rest else ("positional",)
    return [each for each in signature.inputs if each.kind in wanted]

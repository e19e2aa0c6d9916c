"""Converts validated JSON arguments to the call of a Python function: values of the annotated types, each in its position.

Return values are in `text`; the conversion of a single value is in `readers`.
"""

from collections.abc import Callable
from typing import Any

from treadle.core.context import RunContext
from treadle.core.errors import BadArguments
from treadle.tools.issues import ArgumentIssue, format_issues
from treadle.tools.readers import ReaderFactory, ValueReader, read_value_at
from treadle.tools.schema import FunctionParameter, FunctionSignature
from treadle.tools.shapes import NO_DEFAULT
from treadle.tools.text import to_text

__all__ = ["Binder", "make_binder", "to_text"]

Arguments = dict[str, Any]
BoundArguments = tuple[tuple[Any, ...], Arguments]
Binder = Callable[[Arguments, RunContext[Any] | None], BoundArguments]


def make_binder(signature: FunctionSignature) -> Binder:
    """Return a converter from a call's arguments to `(args, kwargs)`. It raises `BadArguments` where a value can't be made."""
    place = _make_placer(signature)
    read = _make_reader(signature)
    if read is None:
        return place
    return lambda arguments, context: place(read(arguments), context)


# Values


def _make_reader(signature: FunctionSignature) -> Callable[[Arguments], Arguments] | None:
    """Return a function that converts arguments to Python values; None where none needs converting."""
    made = ReaderFactory()
    told = [each for each in signature.inputs if each.name != signature.context]
    readers = {each.name: reader for each in told if each.kind != "extra" and (reader := _parameter_reader(each, made)) is not None}
    extra = next((made.of(each.annotation) for each in told if each.kind == "extra"), None)
    if not readers and extra is None:
        return None
    named = {each.name: readers.get(each.name) for each in told if each.kind != "extra"}
    return lambda arguments: _read_arguments(arguments, named, extra, signature.name)


def _parameter_reader(parameter: FunctionParameter, made: ReaderFactory) -> ValueReader | None:
    return made.of(list[parameter.annotation] if parameter.kind == "rest" else parameter.annotation)


def _read_arguments(
    arguments: Arguments, named: dict[str, ValueReader | None], extra: ValueReader | None, tool_name: str
) -> Arguments:
    values: Arguments = {}
    issues: list[ArgumentIssue] = []
    for name, value in arguments.items():
        reader = named.get(name, extra)
        values[name] = value if reader is None else read_value_at(reader, value, name, issues)
    if issues:
        raise BadArguments(format_issues(issues, tool_name))
    return values


# Places


def _make_placer(signature: FunctionSignature) -> Binder:
    if _is_by_name(signature):
        return _place_by_name(signature)
    return lambda arguments, context: _place_arguments(signature, dict(arguments), context)


def _is_by_name(signature: FunctionSignature) -> bool:
    """Return whether every argument may be passed by name (the context, if it comes first, by position)."""
    return all(each.kind in ("plain", "keyword") for each in signature.inputs)


def _place_by_name(signature: FunctionSignature) -> Binder:
    name = signature.context
    if name is None:
        return lambda arguments, _: ((), arguments)
    if signature.inputs[0].name == name and signature.inputs[0].kind == "plain":
        return lambda arguments, context: ((context,), arguments)
    return lambda arguments, context: ((), {**arguments, name: context})


def _place_arguments(signature: FunctionSignature, values: Arguments, context: RunContext[Any] | None) -> BoundArguments:
    """Place the arguments in general: positions first, since what follows `*args` or `/` can't be passed otherwise."""
    if signature.context is not None:
        if signature.context in values:
            issue = ArgumentIssue(signature.context, "nothing of this name", "a value")
            raise BadArguments(format_issues([issue], signature.name))
        values[signature.context] = context
    args: list[Any] = []
    for each in _positional_parameters(signature):
        if each.kind == "rest":
            args += values.pop(each.name, ())
        elif each.name in values or each.default is not NO_DEFAULT:
            args.append(values.pop(each.name, each.default))
    return tuple(args), values


def _positional_parameters(signature: FunctionSignature) -> list[FunctionParameter]:
    has_rest = any(each.kind == "rest" for each in signature.inputs)
    wanted = ("positional", "plain", "rest") if has_rest else ("positional",)
    return [each for each in signature.inputs if each.kind in wanted]

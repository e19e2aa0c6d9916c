"""What a rule asks of a call's arguments: `where={"path": "/tmp/*", "amount": "<= 100", "items.*.kind": ["a", "b"]}`.

A name may be a dotted path into nested values; a `*` in it stands for every item. What is asked of a value is one of

- a glob on its text (JSON's spelling for what is no text: `true`, `null`, `3.5`),
- a comparison with a number: `<= 100`, `< 5`, `>= 0`, `> 1e6`, `== 3`, `!= 0`,
- a list or set of values, or one number, boolean or None: equal to one of them,
- a function of the value.

Sometimes it can't be told: an argument wasn't given and its schema names no default, a function raises, an object meets a glob,
a word meets a comparison, a path goes through `..`. Then a rule that allows doesn't match, and one that asks or denies does.
An argument that is neither given nor in the tool's schema has no value, and no rule about it matches.

Where several values are asked about (a `*`, or a list met by anything but a function), allowing wants all of them to hold and
at least one to be there; for asking and denying one is enough. A glob sees text, not files or hosts: the tool holds real borders.
"""

import operator
import re
from collections.abc import Callable, Collection, Mapping
from typing import Any, cast

from msgspec import Struct

from treadle.core.errors import SettingsError
from treadle.guard.globs import Glob, compile_glob

ConditionValue = str | float | None | Collection[Any] | Callable[[Any], object]
Conditions = Mapping[str, ConditionValue]

_COMPARES: dict[str, Callable[[Any, Any], bool]] = {
    "<=": operator.le,
    ">=": operator.ge,
    "==": operator.eq,
    "!=": operator.ne,
    "<": operator.lt,
    ">": operator.gt,
}


class Condition(Struct, frozen=True):
    """One line of a `where`. `spread` says that a list is asked about item by item."""

    name: str
    path: tuple[str, ...]
    test: Callable[[Any], object]
    spread: bool


class _Undecidable(Exception):
    """The value is of a kind that the test says nothing about."""


def compile_conditions(where: Conditions) -> tuple[Condition, ...]:
    """The lines of a `where`, ready made."""
    return tuple([_compile_condition(name, asked) for name, asked in where.items()])


def conditions_hold(
    wanted: tuple[Condition, ...], arguments: dict[str, Any], parameters: dict[str, Any], *, doubtful: bool
) -> bool:
    """Whether all conditions hold; `doubtful` is the answer for one where it can't be told, and whether one value is enough."""
    for condition in wanted:
        try:
            value = arguments.get(condition.name)
            if value is None or value.__class__ is list or len(condition.path) > 1:
                held = _is_held(condition, arguments, parameters, doubtful=doubtful)
            else:  # nearly every call; the rest is slower
                held = condition.test(value)
        except Exception:  # noqa: BLE001 - foreign code; whatever a predicate raises, it didn't say yes
            held = doubtful
        if not held:
            return False
    return True


def _is_held(condition: Condition, arguments: dict[str, Any], parameters: dict[str, Any], *, doubtful: bool) -> bool:
    values = _find_values(condition, arguments, parameters)
    return any(map(condition.test, values)) if doubtful else bool(values) and all(map(condition.test, values))


def _compile_condition(name: str, asked: ConditionValue) -> Condition:
    path = tuple(name.split("."))
    if isinstance(asked, str):
        return Condition(name, path, _text_test(name, asked), spread=True)
    if asked is None or isinstance(asked, int | float):
        return Condition(name, path, _membership_test((asked,)), spread=True)
    if isinstance(asked, list | tuple | set | frozenset):
        return Condition(name, path, _membership_test(tuple(cast("Collection[Any]", asked))), spread=True)
    if callable(asked):
        return Condition(name, path, asked, spread=False)
    raise SettingsError(
        f"The rule's where for {name!r} is {type(asked).__name__}; use a glob, a comparison, a list of values, or a function."
    )


def _find_values(condition: Condition, arguments: dict[str, Any], parameters: dict[str, Any]) -> list[Any]:
    """The values a condition is about; an error where one is missing."""
    properties: dict[str, Any] = parameters.get("properties") or {}
    path = (condition.name,) if condition.name in properties else condition.path
    root = path[0]
    if root not in arguments and root not in properties:
        return []
    found = [arguments[root] if root in arguments else properties[root]["default"]]
    for step in path[1:]:
        found = [inner for outer in found for inner in _step_into(outer, step)]
    return _spread_lists(found) if condition.spread else found


def _step_into(value: Any, step: str) -> list[Any]:
    match value:
        case dict():
            inner = cast("dict[str, Any]", value)
            return list(inner.values()) if step == "*" else [inner[step]]
        case list():
            items = cast("list[Any]", value)
            return items if step == "*" else [items[int(step)]]
        case _:
            raise _Undecidable


def _spread_lists(values: list[Any]) -> list[Any]:
    while any(isinstance(value, list) for value in values):
        values = [inner for value in values for inner in (cast("list[Any]", value) if isinstance(value, list) else [value])]
    return values


def _text_test(name: str, asked: str) -> Callable[[Any], object]:
    comparison = re.fullmatch(r"\s*([<>]=?|[!=]=)\s*([-+]?\d+(?:\.\d+)?(?:[eE][-+]?\d+)?)\s*", asked)
    if comparison:
        sign, number = comparison.groups()
        return _comparison_test(_COMPARES[sign], int(number) if number.lstrip("+-").isdigit() else float(number))
    if re.match(r"\s*(?:[<>!=]=|[<>]\s*[-+.]?\d)", asked):
        raise SettingsError(f"The rule's where for {name!r} is {asked!r}: after a comparison comes one number, as in '<= 100'.")
    return _glob_test(compile_glob(asked), is_path="/" in asked)


_NUMBERS = (int, float)  # and no booleans


def _comparison_test(compares: Callable[[Any, Any], bool], number: float) -> Callable[[Any], bool]:
    def test(value: Any) -> bool:
        if value.__class__ not in _NUMBERS or value != value:  # only NaN isn't itself
            raise _Undecidable
        return compares(value, number)

    return test


def _glob_test(matches: Glob, *, is_path: bool) -> Callable[[Any], object]:
    sideways = re.compile(r"(?:^|[/\\])\.{1,2}(?:[/\\]|$)|(?<!:)//|\0").search

    def test(value: Any) -> object:
        text = value if isinstance(value, str) else _to_text(value)
        if is_path and sideways(text):
            raise _Undecidable
        return matches(text)

    return test


def _to_text(value: Any) -> str:
    match value:
        case None:
            return "null"
        case bool():
            return "true" if value else "false"
        case int() | float():
            return str(value)
        case _:
            raise _Undecidable


def _membership_test(options: tuple[Any, ...]) -> Callable[[Any], bool]:
    # True is 1 in Python and isn't in JSON
    return lambda value: any(option == value and isinstance(option, bool) == isinstance(value, bool) for option in options)

"""The keywords of JSON Schema that constrain one value: its size, its length, its pattern. Each with its message for the model.

A rule says nothing about values of other types: `minimum` lets text pass. An invalid bound is ignored.
"""

import math
from collections.abc import Callable
from typing import Any, cast

from msgspec import Struct

from treadle.tools.patterns import compile_re2
from treadle.tools.values import freeze, shorten_json_text

Predicate = Callable[[Any], bool]


class SchemaRule(Struct, frozen=True):
    """One keyword: the types it is about, the predicate of its bound, and its message."""

    types: tuple[type, ...]
    test: Callable[[Any], Predicate | None]
    words: Callable[[Any], str]


def compile_schema_rules(schema: dict[str, Any]) -> list[tuple[Predicate, str]]:
    """Return every rule of a schema as a predicate that values of other types pass, with its message."""
    found: list[tuple[Predicate, str]] = []
    for keyword, bound in schema.items():
        rule = _RULES.get(keyword)
        test = None if rule is None else rule.test(bound)
        if rule is not None and test is not None:
            found.append((_for_types(rule.types, test), rule.words(bound)))
    return found


def _for_types(types: tuple[type, ...], test: Predicate) -> Predicate:
    return lambda value: type(value) not in types or test(value)


def _bound_rule(
    compare: Callable[[Any, Any], bool], measure: Callable[[Any], Any] | None = None
) -> Callable[[Any], Predicate | None]:
    def test_of(bound: Any) -> Predicate | None:
        if type(bound) is not int and type(bound) is not float:
            return None
        if measure is None:
            return lambda value: compare(value, bound)
        size = measure
        return lambda value: compare(size(value), bound)

    return test_of


def _multiple_test(step: Any) -> Predicate | None:
    if type(step) is int and step > 0:
        return lambda value: value % step == 0
    if type(step) is float and step > 0:
        return lambda value: _is_multiple(step, value)
    return None


def _is_multiple(step: float, value: float) -> bool:
    try:
        steps = value / step
        return math.isclose(steps, round(steps), rel_tol=1e-9, abs_tol=1e-9)
    except OverflowError:  # a number beyond what a float can hold
        return False


def _pattern_test(source: Any) -> Predicate | None:
    pattern = compile_re2(source)
    return None if pattern is None else pattern.found_in


def _unique_test(wanted: Any) -> Predicate | None:
    return _has_no_repeats if wanted is True else None


def _has_no_repeats(value: list[Any]) -> bool:
    return len({freeze(item) for item in value}) == len(value)


def _length(value: Any) -> int:
    return len(cast("list[Any]", value))


def _at_least(value: Any, bound: Any) -> bool:
    return value >= bound


def _at_most(value: Any, bound: Any) -> bool:
    return value <= bound


def _above(value: Any, bound: Any) -> bool:
    return value > bound


def _below(value: Any, bound: Any) -> bool:
    return value < bound


_NUMBERS = (int, float)

_RULES: dict[str, SchemaRule] = {
    "minimum": SchemaRule(_NUMBERS, _bound_rule(_at_least), "a number of at least {}".format),
    "maximum": SchemaRule(_NUMBERS, _bound_rule(_at_most), "a number of at most {}".format),
    "exclusiveMinimum": SchemaRule(_NUMBERS, _bound_rule(_above), "a number above {}".format),
    "exclusiveMaximum": SchemaRule(_NUMBERS, _bound_rule(_below), "a number below {}".format),
    "multipleOf": SchemaRule(_NUMBERS, _multiple_test, "a multiple of {}".format),
    "minLength": SchemaRule((str,), _bound_rule(_at_least, _length), "text of at least {} characters".format),
    "maxLength": SchemaRule((str,), _bound_rule(_at_most, _length), "text of at most {} characters".format),
    "pattern": SchemaRule((str,), _pattern_test, lambda source: f"text that matches {shorten_json_text(str(source))}"),
    "minItems": SchemaRule((list,), _bound_rule(_at_least, _length), "a list of at least {}".format),
    "maxItems": SchemaRule((list,), _bound_rule(_at_most, _length), "a list of at most {}".format),
    "uniqueItems": SchemaRule((list,), _unique_test, lambda _: "a list without repeats"),
    "minProperties": SchemaRule((dict,), _bound_rule(_at_least, _length), "an object with at least {} fields".format),
    "maxProperties": SchemaRule((dict,), _bound_rule(_at_most, _length), "an object with at most {} fields".format),
}

"""The keywords of JSON Schema that bound one value: how large, how long, of which pattern. Each with its words for the model.

A rule says nothing about values of other types: `minimum` lets text pass. A bound that makes no sense is no rule.
"""

import math
from collections.abc import Callable
from typing import Any, cast

from msgspec import Struct

from treadle.tools.patterns import pattern_of
from treadle.tools.values import freeze, shortened

Test = Callable[[Any], bool]


class Rule(Struct, frozen=True):
    """One keyword: the types it is about, the test it makes of its bound, and what it expects, in words."""

    types: tuple[type, ...]
    test: Callable[[Any], Test | None]
    words: Callable[[Any], str]


def tests(schema: dict[str, Any]) -> list[tuple[Test, str]]:
    """Every rule of a schema as a test that values of other types pass, with what it expects."""
    found: list[tuple[Test, str]] = []
    for keyword, bound in schema.items():
        rule = _RULES.get(keyword)
        test = None if rule is None else rule.test(bound)
        if rule is not None and test is not None:
            found.append((_only_for(rule.types, test), rule.words(bound)))
    return found


def _only_for(types: tuple[type, ...], test: Test) -> Test:
    return lambda value: type(value) not in types or test(value)


def _bounded(compare: Callable[[Any, Any], bool], measure: Callable[[Any], Any] | None = None) -> Callable[[Any], Test | None]:
    def test_of(bound: Any) -> Test | None:
        if type(bound) is not int and type(bound) is not float:
            return None
        if measure is None:
            return lambda value: compare(value, bound)
        size = measure
        return lambda value: compare(size(value), bound)

    return test_of


def _multiple(step: Any) -> Test | None:
    if type(step) is int and step > 0:
        return lambda value: value % step == 0
    if type(step) is float and step > 0:
        return lambda value: _divides(step, value)
    return None


def _divides(step: float, value: float) -> bool:
    try:
        steps = value / step
        return math.isclose(steps, round(steps), rel_tol=1e-9, abs_tol=1e-9)
    except OverflowError:  # a number beyond what a float can hold
        return False


def _pattern(source: Any) -> Test | None:
    pattern = pattern_of(source)
    return None if pattern is None else pattern.found_in


def _unique(wanted: Any) -> Test | None:
    return _has_no_repeats if wanted is True else None


def _has_no_repeats(value: list[Any]) -> bool:
    return len({freeze(item) for item in value}) == len(value)


def _size(value: Any) -> int:
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

_RULES: dict[str, Rule] = {
    "minimum": Rule(_NUMBERS, _bounded(_at_least), "a number of at least {}".format),
    "maximum": Rule(_NUMBERS, _bounded(_at_most), "a number of at most {}".format),
    "exclusiveMinimum": Rule(_NUMBERS, _bounded(_above), "a number above {}".format),
    "exclusiveMaximum": Rule(_NUMBERS, _bounded(_below), "a number below {}".format),
    "multipleOf": Rule(_NUMBERS, _multiple, "a multiple of {}".format),
    "minLength": Rule((str,), _bounded(_at_least, _size), "text of at least {} characters".format),
    "maxLength": Rule((str,), _bounded(_at_most, _size), "text of at most {} characters".format),
    "pattern": Rule((str,), _pattern, lambda source: f"text that matches {shortened(str(source))}"),
    "minItems": Rule((list,), _bounded(_at_least, _size), "a list of at least {}".format),
    "maxItems": Rule((list,), _bounded(_at_most, _size), "a list of at most {}".format),
    "uniqueItems": Rule((list,), _unique, lambda _: "a list without repeats"),
    "minProperties": Rule((dict,), _bounded(_at_least, _size), "an object with at least {} fields".format),
    "maxProperties": Rule((dict,), _bounded(_at_most, _size), "an object with at most {} fields".format),
}

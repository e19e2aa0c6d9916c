"""The tools that cases offer: plain functions with types, from simple to awkward. `bind` writes down what they were called with."""

import dataclasses
import functools
import inspect
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from enum import Enum
from typing import Any, Literal


async def weather(city: str) -> str:
    """The weather in a city."""
    return f"{city}: 21 degrees"


async def stock(item: str, size: int = 40) -> str:
    """How many pieces of an item are in stock."""
    return f"{item} in {size}: 7 pieces"


async def today() -> str:
    """What day it is."""
    return "Monday, 16 November"


async def keep(text: str) -> str:
    """Keep a text."""
    return f"kept {len(text)} characters"


class Color(Enum):
    RED = "red"
    BLUE = "blue"


async def paint(color: Color, finish: Literal["matt", "gloss"] = "matt") -> str:
    """Paint it."""
    return f"painted {getattr(color, 'value', color)}, {finish}"


@dataclass
class Stop:
    place: str
    nights: int = 1


@dataclass
class Trip:
    """A trip with its stops."""

    stops: list[Stop]
    contact: str | None = None
    last: Stop | None = None


async def book(trip: Trip, back: Stop | None = None) -> str:
    """Book a trip."""
    return f"booked {len(trip.stops)} stops"


async def measure(value: int | str | list[float]) -> str:
    """Write down a value: a number, a text or several numbers."""
    return f"measured {value}"


@dataclass
class Rule:
    """A rule, or rules of which one has to be true."""

    name: str
    equals: str | None = None
    any_of: "list[Rule]" = field(default_factory=list)


async def search(rule: Rule) -> str:
    """Search by a rule."""
    return f"found by {rule.name}"


async def label(labels: dict[str, str], weights: dict[str, float] | None = None) -> str:
    """Label it."""
    return f"labelled {', '.join(sorted(labels))}"


@dataclass
class City:
    """An answer about a city."""

    name: str
    population: int
    rivers: list[str]


TOOLS: dict[str, Callable[..., Any]] = {
    made.__name__: made for made in (weather, stock, today, keep, paint, book, measure, search, label)
}

Done = tuple[str, Any, str]


def bind(names: Sequence[str], done: list[Done]) -> list[Callable[..., Any]]:
    """The tools, each of which notes in `done` its name, arguments and result when it is called."""
    return [_noting(TOOLS[name], done) for name in names]


def _noting(tool: Callable[..., Any], done: list[Done]) -> Callable[..., Any]:
    signature = inspect.signature(tool)

    @functools.wraps(tool)
    async def noting(*args: Any, **kwargs: Any) -> str:
        bound = signature.bind(*args, **kwargs)
        bound.apply_defaults()
        result = await tool(*args, **kwargs)
        done.append((tool.__name__, data_of(dict(bound.arguments)), result))
        return result

    return noting


def data_of(value: Any) -> Any:
    """A value as JSON data."""
    if isinstance(value, Enum):
        return value.value
    if dataclasses.is_dataclass(value) and not isinstance(value, type):
        return {field.name: data_of(getattr(value, field.name)) for field in dataclasses.fields(value)}
    if isinstance(value, dict):
        return {key: data_of(item) for key, item in value.items()}
    return [data_of(item) for item in value] if isinstance(value, list | tuple) else value


def covers(full: Any, given: Any) -> bool:
    """Whether a value is the given one, perhaps with defaults filled in."""
    if isinstance(full, dict) and isinstance(given, dict):
        return all(key in full and covers(full[key], item) for key, item in given.items())
    if isinstance(full, list) and isinstance(given, list):
        return len(full) == len(given) and all(map(covers, full, given))
    return full == given

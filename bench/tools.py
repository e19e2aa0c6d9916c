"""The five small typed tools of the task, and the tally that proves they were called.

Plain functions: each contender wraps them in its own way. The tally rides in a context variable,
so a run is charged for its own calls however many runs share the process.
"""

import time
from collections.abc import Awaitable, Callable
from contextvars import ContextVar
from dataclasses import dataclass, field
from typing import Any


@dataclass(slots=True)
class Tally:
    """What one run did: calls made and, if wanted, the process's CPU time at each."""

    wants_marks: bool = False
    made: int = 0
    marks: list[float] = field(default_factory=list)


# A call whose context was lost lands here, and its run then shows as short.
STRAY = Tally()
tally: ContextVar[Tally] = ContextVar("tally", default=STRAY)


def _note() -> None:
    mine = tally.get()
    mine.made += 1
    if mine.wants_marks:
        mine.marks.append(time.process_time())


async def add(a: int, b: int) -> int:
    """Add two whole numbers.

    :param a: first number
    :param b: second number
    """
    _note()
    return a + b


async def scale(value: float, factor: float) -> float:
    """Multiply a measured value by a factor.

    :param value: the measured value
    :param factor: what to multiply it by
    """
    _note()
    return value * factor


async def weather(city: str, metric: bool) -> str:
    """Look up today's weather in a city.

    :param city: name of the city
    :param metric: degrees Celsius rather than Fahrenheit
    """
    _note()
    return f"{city}: sunny, {21 if metric else 70} degrees"


async def join(words: list[str], separator: str) -> str:
    """Join words into one line.

    :param words: the words, in order
    :param separator: what to put between them
    """
    _note()
    return separator.join(words)


async def price(item: str, pieces: int, express: bool) -> str:
    """Quote a price for an order.

    :param item: article number
    :param pieces: how many pieces
    :param express: deliver tomorrow
    """
    _note()
    return f"{item}: {pieces * 3 + (9 if express else 0)} EUR"


Function = Callable[..., Awaitable[Any]]

TOOLS: tuple[Function, ...] = (add, scale, weather, join, price)


def arguments(name: str, number: int) -> dict[str, Any]:
    """What the mock model asks for; never the same twice, so that no cache or loop guard bites."""
    match name:
        case "add":
            return {"a": number, "b": number + 17}
        case "scale":
            return {"value": number + 0.5, "factor": 1.25}
        case "weather":
            return {"city": f"Springfield-{number}", "metric": True}
        case "join":
            return {"words": ["alpha", "beta", f"item{number}"], "separator": "-"}
        case "price":
            return {"item": f"A-{number:05d}", "pieces": 3, "express": False}
        case unknown:
            raise ValueError(f"no tool called {unknown}")

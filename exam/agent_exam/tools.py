"""The tools of the exam, and the record of what they did: a file that survives the process. Here a process can be killed, too."""

import json
import os
import signal
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

HUGE = 3_000_000  # characters of a result that no model reads


@dataclass(frozen=True)
class Act:
    """A call that a tool carried out."""

    tool: str
    arguments: dict[str, Any]
    result: str


@dataclass(frozen=True)
class World:
    """The record of all processes of one case."""

    path: Path

    def append(self, act: Act) -> None:
        with self.path.open("ab", buffering=0) as file:
            file.write(json.dumps([act.tool, act.arguments, act.result]).encode() + b"\n")

    def acts(self) -> list[Act]:
        return [Act(*json.loads(line)) for line in self.path.read_bytes().splitlines()] if self.path.exists() else []

    def payments(self) -> list[str]:
        """The effects, as cases name them."""
        return sorted(f"{act.arguments['order']} {act.arguments['amount']}" for act in self.acts() if act.tool == "pay")


class Tools:
    """The tools of one process. `kill` is where it is killed: `before A1` or `after A1`, around the payment of that order."""

    def __init__(self, world: World, kill: str = "") -> None:
        self._world = world
        self._kill = kill

    def functions(self, names: tuple[str, ...]) -> tuple[Callable[..., str], ...]:
        made: dict[str, Callable[..., str]] = {function.__name__: function for function in self._all()}
        return tuple(made[name] for name in names)

    def checks(self) -> dict[str, Callable[..., str | None]]:
        """For `pay`, whether a payment has happened."""

        def has_paid(order: str, amount: int) -> str | None:
            done = [act for act in self._world.acts() if act.tool == "pay" and act.arguments["order"] == order]
            return _paid(order, amount) if done else None

        return {"pay": has_paid}

    def _done(self, tool: str, result: str, **arguments: Any) -> str:
        self._world.append(Act(tool, arguments, result))
        return result

    def _die_at(self, point: str) -> None:
        if point == self._kill:
            os.kill(os.getpid(), signal.SIGKILL)

    def _all(self) -> list[Callable[..., str]]:
        done, die_at = self._done, self._die_at

        def pay(order: str, amount: int) -> str:
            """Pay an order.

            Args:
                order: The number of the order.
                amount: The amount in euros.
            """
            die_at(f"before {order}")
            done("pay", _paid(order, amount), order=order, amount=amount)
            die_at(f"after {order}")
            return _paid(order, amount)

        def look_up(order: str) -> str:
            """Look up what an order costs.

            Args:
                order: The number of the order.
            """
            return done("look_up", f"{order} costs 5 euros.", order=order)

        def ship(order: str) -> str:
            """Ship an order.

            Args:
                order: The number of the order.
            """
            raise RuntimeError(f"The carrier refused {order}.")

        def export(order: str) -> str:
            """Export the history of an order.

            Args:
                order: The number of the order.
            """
            done("export", "", order=order)
            return "shipped, returned, " * (HUGE // 19)

        def weather(city: str) -> str:
            """The weather in a city.

            Args:
                city: The name of the city.
            """
            return done("weather", f"{city}: 21 degrees", city=city)

        def stock(item: str, size: int = 40) -> str:
            """How many pieces of an item are in stock.

            Args:
                item: The item.
                size: Its size.
            """
            return done("stock", f"{item} in {size}: 7 pieces", item=item, size=size)

        def keep(text: str) -> str:
            """Keep a text.

            Args:
                text: The text.
            """
            return done("keep", f"kept {len(text)} characters", text=text)

        def today() -> str:
            """What day it is."""
            return done("today", "Monday, 16 November")

        return [pay, look_up, ship, export, weather, stock, keep, today]


def _paid(order: str, amount: int) -> str:
    return f"Paid {amount} euros for {order}."

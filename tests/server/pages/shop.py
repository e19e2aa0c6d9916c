"""A shop for the pages to show: tools that read, fail, and order things, which a person has to approve. All of it is real."""

import asyncio
import json
import threading
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

from server.running import assistant, panel
from treadle import FunctionToolset, ToolProblem, ask, tool
from treadle.assistant import Assistant
from treadle.core.requests import Delta, ReplyEnded, TextDelta, Usage
from treadle.testing import Scripted, calls

BAD = "<img src=x onerror=window.taken=1>"
QUESTIONS = ("How many lamps are there?", "Order ten lamps.")
LAMPS = "There are **3 lamps**, at $12.00 each.\n\n| Item | Stock |\n|---|--:|\n| lamp | 3 |"
ORDER = {"item": "lamp", "amount": 10}
LOOK = calls(
    ("count_items", {"item": "lamp"}), ("price_of", {"item": "lamp"}), ("next_delivery", {"item": "lamp"}), text="Let me *look*."
)


class Shop:
    """What is ordered is in `ordered`."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.ordered: list[tuple[str, int]] = []

    @property
    def assistant(self) -> Assistant:
        """Whoever sees to it."""
        return assistant(
            "shop",
            summary="Knows what is on the shelves, and orders what isn't.",
            questions=QUESTIONS,
            toolsets=lambda host: [FunctionToolset(self._tools())],
            policy=[ask("order_items", reason="Orders cost money.")],
            panel=panel(self.folder / "shop", "Shop", panel_js='import "/static/treadle.js";'),
        )

    def _tools(self) -> list[Any]:
        @tool(effect="read")
        async def count_items(item: str) -> int:
            """How many there are."""
            await asyncio.sleep(0.2)
            return 3

        @tool(effect="read")
        async def price_of(item: str) -> str:
            """What one costs."""
            await asyncio.sleep(0.05)
            return f"$12.00 {BAD}"

        @tool(effect="read")
        def next_delivery(item: str) -> str:
            """When more come."""
            raise ToolProblem(f"There is no delivery on file. {BAD}")

        @tool(effect="write", preview=self._effect)
        def order_items(item: str, amount: int) -> str:
            """Order some."""
            self.ordered.append((item, amount))
            return f"{amount} ordered"

        @tool(effect="read")
        def list_items() -> list[Any]:
            """All that there is."""
            items = [{"item": f"lamp {number}", "stock": number, "tags": ["new", BAD]} for number in range(60)]
            return [*items, "and 3 more"]

        return [count_items, price_of, next_delivery, list_items, order_items]

    def _effect(self, item: str, amount: int) -> str:
        return f'Orders {amount} of {item}.\n--- orders.json\n+++ orders.json\n@@ -1,1 +1,2 @@\n {{\n+  "{item}": {amount}\n'


def courses(folder: Path) -> Assistant:
    """Another one to choose."""
    return assistant("courses", summary="Answers questions from course material.", panel=panel(folder / "courses", "Courses"))


class Held:
    """A reply that goes on only as far as a test lets it: `free` lets the next piece out, and `words` are all of them."""

    def __init__(self, *pieces: str) -> None:
        self.words = "".join(pieces)
        self._pieces = pieces
        self._gates = [threading.Event() for _ in pieces]
        self._out = 0

    def free(self) -> None:
        self._gates[self._out].set()
        self._out += 1

    async def __aiter__(self) -> AsyncIterator[Delta]:
        for piece, gate in zip(self._pieces, self._gates, strict=True):
            while not gate.is_set():  # noqa: ASYNC110 - it is set in another thread
                await asyncio.sleep(0.01)
            yield TextDelta(piece)
        yield ReplyEnded("done", Usage(requests=1, input_tokens=10, output_tokens=5))


def script_file(path: Path, *replies: Any) -> str:
    """The name of a model that says this, for settings."""
    path.write_text(json.dumps(replies))
    return f"scripted:{path}"


def clerk(*replies: Any) -> Scripted:
    """A model with these replies, in small pieces."""
    return Scripted(*replies, name="scripted:clerk", chunk=5)

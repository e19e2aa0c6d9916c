"""A conversation that an assistant's command holds at a terminal: the face shows and keeps it, the assistant adds its own.

How lines are read and answers shown is the face's business.
"""

from collections.abc import Awaitable, Callable, Mapping
from typing import TYPE_CHECKING, Any, Protocol

from msgspec import Struct

if TYPE_CHECKING:
    from treadle.engine.result import RunResult


_CODES = {"answered": 0, "limit": 0, "failed": 1, "waiting": 3, "cancelled": 130}


def exit_code(result: "RunResult[Any]") -> int:
    """The exit code of a command that ran this."""
    return _CODES[result.stopped]


class Slash(Struct, frozen=True):
    """What can be typed with a slash, such as `/save FILE`.

    summary  what it does, in a few words
    run      does it, with what was typed after it; at once or as an awaitable
    takes    what stands after it, for help: `FILE`
    """

    summary: str
    run: Callable[[str], object]
    takes: str = ""


class Talk(Protocol):
    """A conversation with an assistant: one run until it is begun afresh, or one for each message where it keeps conversations."""

    @property
    def run_id(self) -> str:
        """The run it is kept in."""
        ...

    async def ask(self, prompt: str) -> "RunResult[Any]":
        """Say something, and show what comes of it as it comes."""
        ...

    async def call(self, name: str, arguments: Mapping[str, Any], message: str) -> int:
        """Have the one call made that the agent's model makes (`one_call`), show what it brings, and give the exit code."""
        ...

    def start_afresh(self, context: Mapping[str, Any] | None = None) -> None:
        """Go on in a new run, which knows nothing of this one; in another context, where one is given."""
        ...

    async def converse(
        self, slashes: Mapping[str, Slash] = {}, after: "Callable[[RunResult[Any]], Awaitable[None]] | None" = None
    ) -> int:
        """Answer lines until there are no more, and give the exit code. `after` hears of each answer."""
        ...

"""A conversation that an assistant's command holds at a terminal: the host shows and stores it, the assistant extends it.

How lines are read and answers shown is up to the host.
"""

from collections.abc import Awaitable, Callable, Mapping
from typing import TYPE_CHECKING, Any, Protocol

from msgspec import Struct

if TYPE_CHECKING:
    from treadle.engine.result import RunResult


_EXIT_CODES = {"answered": 0, "limit": 0, "failed": 1, "waiting": 3, "cancelled": 130}


def exit_code(result: "RunResult[Any]") -> int:
    """Return a command's exit code for this result."""
    return _EXIT_CODES[result.stopped]


class SlashCommand(Struct, frozen=True):
    """A slash command, such as `/save FILE`.

    summary  what it does, in a few words
    run      executes it with the text typed after it; directly or as an awaitable
    takes    the argument, for help: `FILE`
    """

    summary: str
    run: Callable[[str], object]
    takes: str = ""


class AssistantChat(Protocol):
    """A conversation with an assistant.

    It is one run until it is restarted, or one per message where the assistant stores conversations.
    """

    @property
    def run_id(self) -> str:
        """The id of the current run."""
        ...

    async def ask(self, prompt: str) -> "RunResult[Any]":
        """Send a message, and show the answer as it arrives."""
        ...

    async def call(self, name: str, arguments: Mapping[str, Any], message: str) -> int:
        """Make the one call that the agent's model makes (`one_call`), show its result, and return the exit code."""
        ...

    def start_afresh(self, context: Mapping[str, Any] | None = None) -> None:
        """Continue in a new run without history; in another context, where one is given."""
        ...

    async def converse(
        self, slashes: Mapping[str, SlashCommand] = {}, after: "Callable[[RunResult[Any]], Awaitable[None]] | None" = None
    ) -> int:
        """Answer lines until there are no more, and return the exit code. `after` is called with each result."""
        ...

"""A conversation that an assistant's command holds at a terminal: the host shows and stores it, the assistant extends it.

How lines are read and answers shown is up to the host.
"""

from collections.abc import Awaitable, Callable, Mapping, Sequence
from typing import TYPE_CHECKING, Any, Protocol

from msgspec import Struct

if TYPE_CHECKING:
    from treadle.core.media import Attachment
    from treadle.core.messages import Quote
    from treadle.engine.result import RunResult
    from treadle.engine.setup import Approval
    from treadle.plugins.prompts import TypedPrompt


_EXIT_CODES = {"answered": 0, "limit": 0, "failed": 1, "waiting": 3, "cancelled": 130}


def exit_code(result: "RunResult[Any]") -> int:
    """Return a command's exit code for this result."""
    return _EXIT_CODES[result.stopped]


class SlashCommand(Struct, frozen=True):
    """A slash command, such as `/save FILE`.

    summary  what it does, in a few words
    run      executes it with the text typed after it; directly or as an awaitable. A text that it returns is
             sent to the model as if it had been typed; a `TypedPrompt`, as it is
    takes    the argument, for help: `FILE`
    """

    summary: str
    run: Callable[[str], object]
    takes: str = ""


class ApprovalChoice(Struct, frozen=True):
    """A further answer to approvals, which approves the call.

    key      the letter that is typed
    label    what it does, with the letter in brackets
    applies  whether it is offered for an approval
    choose   is called before the call runs
    """

    key: str
    label: str
    applies: "Callable[[Approval], bool]"
    choose: Callable[[], object]


def _plain_prompt() -> str:
    return "> "


class ChatExtension(Struct, frozen=True):
    """What an assistant adds to a conversation at a terminal besides slash commands.

    first    a message that is sent before any is read
    expand   returns what is sent for a message: typed text, whose mentions it expands, or a `TypedPrompt` that is complete
    shell    runs a line that begins with `!`, which isn't sent to the model; None where such a line is a message
    prompt   returns the text before the line that is typed
    keys     callbacks by the name of a key, such as `s-tab` for Shift-Tab, where there is a line editor
    choices  further answers to approvals
    """

    first: "TypedPrompt | None" = None
    expand: "Callable[[str | TypedPrompt], Awaitable[TypedPrompt]] | None" = None
    shell: Callable[[str], Awaitable[None]] | None = None
    prompt: Callable[[], str] = _plain_prompt
    keys: Mapping[str, Callable[[], object]] = {}
    choices: tuple[ApprovalChoice, ...] = ()


class AssistantChat(Protocol):
    """A conversation with an assistant.

    It is one run until it is restarted, or one per message where the assistant stores conversations.
    """

    @property
    def run_id(self) -> str:
        """The id of the current run."""
        ...

    @property
    def is_interactive(self) -> bool:
        """Whether a person is at a terminal: messages are typed, and approvals are answered at once."""
        ...

    async def ask(self, prompt: str, attached: "Sequence[Attachment | Quote]" = ()) -> "RunResult[Any]":
        """Send a message, and show the answer as it arrives."""
        ...

    async def go_on(self, run_id: str) -> "RunResult[Any] | None":
        """Continue a stored run with the next message. An unfinished turn of it is resumed first, and its result returned."""
        ...

    async def call(self, name: str, arguments: Mapping[str, Any], message: str) -> int:
        """Make the one call that the agent's model makes (`one_call`), show its result, and return the exit code."""
        ...

    def start_afresh(self, context: Mapping[str, Any] | None = None) -> None:
        """Continue in a new run without history; in another context, where one is given."""
        ...

    async def converse(
        self,
        slashes: Mapping[str, SlashCommand] = {},
        after: "Callable[[RunResult[Any]], Awaitable[None]] | None" = None,
        extension: ChatExtension = ChatExtension(),  # noqa: B008 - frozen
    ) -> int:
        """Answer lines until there are no more, and return the exit code. `after` is called with each result."""
        ...

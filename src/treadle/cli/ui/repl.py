"""The chat loop: sends messages to the model, and runs slash commands."""

import asyncio
import re
from collections.abc import Awaitable, Callable, Mapping

from treadle.agent.talk import ChatExtension, SlashCommand
from treadle.cli.conversation import Conversation
from treadle.cli.exit_codes import FAILED, OK, WAITING
from treadle.cli.turn import TurnInterrupted, TurnResult
from treadle.cli.ui.display import Display
from treadle.cli.ui.interrupts import exit_if_terminated, on_interrupt
from treadle.cli.ui.run_status import RunStatus
from treadle.cli.ui.slash_commands import QUIT, SlashCommands
from treadle.cli.ui.stdin import LineReader, make_line_reader
from treadle.cli.ui.turn_input import TurnInput
from treadle.core.errors import BadMedia, BadPrompt, TreadleError
from treadle.home import home_folder
from treadle.plugins.prompts import TypedPrompt, expand_mentions

HISTORY_FILE = "chat-history.jsonl"
SHELL = "!"  # before a command line of the person's own
_SLASH = re.compile(r"/[A-Za-z][\w-]*(?: .*)?")  # one line, and no path such as /usr/bin

AfterTurn = Callable[[TurnResult], Awaitable[None]]


async def run_repl(
    conversation: Conversation,
    face: Display,
    read: LineReader | None = None,
    slashes: Mapping[str, SlashCommand] = {},
    after: AfterTurn | None = None,
    extension: ChatExtension = ChatExtension(),  # noqa: B008 - frozen
) -> int:
    """Read messages and answer them until there are no more. Without a terminal, the exit code reports failures."""
    code, commands = OK, SlashCommands(conversation, face, slashes)
    history = home_folder() / HISTORY_FILE if conversation.is_kept else None
    typed = face.open_turn_input(lambda text: _is_command(text, extension))
    if face.person is not None:
        face.person.choices = extension.choices
    if read is None:
        read = make_line_reader(face.is_interactive, history, commands.names, typed, extension.prompt, extension.keys)
    face.goes_on = face.is_interactive
    first, said = extension.first, "…"
    if first is not None and await _answer(conversation, face, first, after, extension) == "waiting":
        return WAITING
    while (line := await _next_line(read, typed, face, separated=bool(said))) and (said := line.strip()) not in QUIT:
        message: str | TypedPrompt = said
        if _SLASH.fullmatch(said):
            message = await commands.run(said)
        elif extension.shell is not None and said.startswith(SHELL):
            message = await _run_shell_line(extension.shell, said.removeprefix(SHELL).strip(), face)
        if message:
            stopped = await _answer(conversation, face, message, after, extension)
            if stopped == "waiting":
                return WAITING
            if stopped == "failed" and not face.is_interactive:
                code = FAILED
    conversation.leave()
    return code


def _is_command(text: str, extension: ChatExtension) -> bool:
    return _SLASH.fullmatch(text) is not None or (extension.shell is not None and text.startswith(SHELL))


async def _run_shell_line(shell: Callable[[str], Awaitable[None]], line: str, face: Display) -> str:
    """Run a command line of the person's own until it ends or is interrupted; nothing is sent to the model."""
    task = asyncio.ensure_future(shell(line))
    try:
        with on_interrupt(task.cancel) as received, face.screen.status.showing(RunStatus(idle="Running").describe):
            await asyncio.wait([task])
        exit_if_terminated(received)
        if task.cancelled():
            face.screen.tell("treadle: interrupted.", "yellow")
        else:
            task.result()
    except TreadleError as error:
        face.screen.prose(f"treadle: {error}", "red")
    return ""


async def _next_line(read: LineReader, typed: TurnInput | None, face: Display, *, separated: bool) -> str:
    """Return the next message: one that was entered too late for the last turn, or else the next that is typed.

    At a terminal it is `separated` from what was shown before by a blank line.
    """
    if separated and face.is_interactive:
        face.screen.note("")
    if typed is None or not typed.queued:
        return await read()
    line = typed.queued.pop(0)
    face.screen.tell(f"> {line}", "bold")
    return f"{line}\n"


async def _answer(
    conversation: Conversation, face: Display, said: str | TypedPrompt, after: AfterTurn | None, extension: ChatExtension
) -> str:
    try:
        prompt = await _expand(said, face, extension)
        result = await conversation.ask(prompt.text, prompt.attachments)
    except TurnInterrupted:
        return "cancelled"
    except (BadPrompt, BadMedia) as error:
        face.screen.prose(f"treadle: {error}", "red")
        return "failed"
    if after is not None:
        await after(result)
    return result.stopped


async def _expand(said: str | TypedPrompt, face: Display, extension: ChatExtension) -> TypedPrompt:
    """Return a message with the files that it mentions, which only typed text does."""
    if extension.expand is not None and face.is_interactive:
        return await extension.expand(said)
    if isinstance(said, TypedPrompt):
        return said
    return expand_mentions(said) if face.is_interactive else TypedPrompt(said)

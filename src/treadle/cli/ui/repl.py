"""The chat loop: sends lines to the model, and runs slash commands."""

from collections.abc import Awaitable, Callable, Mapping
from inspect import isawaitable

from treadle.agent.talk import SlashCommand
from treadle.cli.conversation import Conversation
from treadle.cli.exit_codes import FAILED, OK, WAITING
from treadle.cli.turn import TurnInterrupted, TurnResult
from treadle.cli.ui.display import Display
from treadle.cli.ui.render import format_count, format_table
from treadle.cli.ui.report import format_usage
from treadle.cli.ui.stdin import LineReader

COMMANDS_HELP = {
    "/help": "this",
    "/tools": "what the model can call",
    "/usage": "what the conversation has used so far",
    "/new": "begin another conversation (so does /clear)",
}
QUIT_HELP = "leave (so do /exit, Ctrl-D, and Ctrl-C at the prompt)"

AfterTurn = Callable[[TurnResult], Awaitable[None]]


async def run_repl(
    conversation: Conversation,
    face: Display,
    read: LineReader,
    slashes: Mapping[str, SlashCommand] = {},
    after: AfterTurn | None = None,
) -> int:
    """Read lines and answer them until there are no more. Without a terminal, the exit code reports failures."""
    code = OK
    while (line := read()) and (said := line.strip()) not in ("/quit", "/exit"):
        if said.startswith("/"):
            await _run_slash(said, conversation, face, slashes)
        elif said:
            stopped = await _answer(conversation, said, after)
            if stopped == "waiting":
                return WAITING
            if stopped == "failed" and not face.is_interactive:
                code = FAILED
    return code


async def _answer(conversation: Conversation, said: str, after: AfterTurn | None) -> str:
    try:
        result = await conversation.ask(said)
    except TurnInterrupted:
        return "cancelled"
    if after is not None:
        await after(result)
    return result.stopped


async def _run_slash(said: str, conversation: Conversation, face: Display, slashes: Mapping[str, SlashCommand]) -> None:
    """Run a slash command, which isn't sent to the model."""
    command, _, rest = said.partition(" ")
    if command in slashes:
        done = slashes[command].run(rest.strip())
        if isawaitable(done):
            await done
    else:
        _run_builtin_slash(command, conversation, face, slashes)


def _format_help(slashes: Mapping[str, SlashCommand]) -> str:
    added = {f"{name} {slash.takes}".strip(): slash.summary for name, slash in slashes.items()}
    return "\n".join(format_table([*COMMANDS_HELP.items(), *added.items(), ("/quit", QUIT_HELP)]))


def _run_builtin_slash(command: str, conversation: Conversation, face: Display, slashes: Mapping[str, SlashCommand]) -> None:
    screen = face.screen
    match command:
        case "/help":
            screen.tell(_format_help(slashes))
        case "/tools":
            tools = conversation.agent.setup.toolset.tools()
            rows = [(tool.name, tool.effect, tool.spec.description) for tool in tools]
            screen.tell("\n".join(format_table(rows, screen.note_width)) or "There are no tools; --tools offers some.")
        case "/usage":
            screen.tell(
                f"{format_usage(conversation.usage)} in {format_count(conversation.turns, 'turn')} of run {conversation.run_id}"
            )
        case "/new" | "/clear":
            conversation.start_afresh()
            screen.tell(f"A new conversation: run {conversation.run_id}")
        case _:
            screen.tell(f"There is no {command}; /help lists what there is.")

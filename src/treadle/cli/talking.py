"""A conversation, line by line: what is for the model and what, with a slash, is for us."""

from collections.abc import Awaitable, Callable, Mapping
from inspect import isawaitable

from treadle.app.talk import Slash
from treadle.cli.codes import FAILED, FINE, WAITING
from treadle.cli.conversation import Conversation
from treadle.cli.face import Face
from treadle.cli.lines import Lines
from treadle.cli.render import counted, table
from treadle.cli.report import usage_words
from treadle.cli.turn import Interrupted, Result

HELP = {
    "/help": "this",
    "/tools": "what the model can call",
    "/usage": "what the conversation has used so far",
    "/new": "begin another conversation (so does /clear)",
}
QUIT = "leave (so do /exit, Ctrl-D, and Ctrl-C at the prompt)"

After = Callable[[Result], Awaitable[None]]


async def converse(
    conversation: Conversation, face: Face, read: Lines, slashes: Mapping[str, Slash] = {}, after: After | None = None
) -> int:
    """Take lines and answer them, until there are no more. Where nobody watches, the exit code tells of failures."""
    code = FINE
    while (line := read()) and (said := line.strip()) not in ("/quit", "/exit"):
        if said.startswith("/"):
            await _obey(said, conversation, face, slashes)
        elif said:
            stopped = await _answered(conversation, said, after)
            if stopped == "waiting":
                return WAITING
            if stopped == "failed" and not face.is_interactive:
                code = FAILED
    return code


async def _answered(conversation: Conversation, said: str, after: After | None) -> str:
    try:
        result = await conversation.ask(said)
    except Interrupted:
        return "cancelled"
    if after is not None:
        await after(result)
    return result.stopped


async def _obey(said: str, conversation: Conversation, face: Face, slashes: Mapping[str, Slash]) -> None:
    """What begins with a slash is for us, not for the model."""
    command, _, rest = said.partition(" ")
    if command in slashes:
        done = slashes[command].run(rest.strip())
        if isawaitable(done):
            await done
    else:
        _obey_own(command, conversation, face, slashes)


def _help(slashes: Mapping[str, Slash]) -> str:
    added = {f"{name} {slash.takes}".strip(): slash.summary for name, slash in slashes.items()}
    return "\n".join(table([*HELP.items(), *added.items(), ("/quit", QUIT)]))


def _obey_own(command: str, conversation: Conversation, face: Face, slashes: Mapping[str, Slash]) -> None:
    screen = face.screen
    match command:
        case "/help":
            screen.tell(_help(slashes))
        case "/tools":
            tools = conversation.agent.setup.toolset.tools()
            rows = [(tool.name, tool.effect, tool.spec.description) for tool in tools]
            screen.tell("\n".join(table(rows, screen.note_width)) or "There are no tools; --tools offers some.")
        case "/usage":
            screen.tell(f"{usage_words(conversation.usage)} in {counted(conversation.turns, 'turn')} of run {conversation.run_id}")
        case "/new" | "/clear":
            conversation.start_afresh()
            screen.tell(f"A new conversation: run {conversation.run_id}")
        case _:
            screen.tell(f"There is no {command}; /help lists what there is.")

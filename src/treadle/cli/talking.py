"""A conversation, line by line: what is for the model and what, with a slash, is for us."""

from treadle.cli.codes import FAILED, FINE, WAITING
from treadle.cli.conversation import Conversation
from treadle.cli.face import Face
from treadle.cli.lines import Lines
from treadle.cli.render import counted, table
from treadle.cli.report import usage_words
from treadle.cli.turn import Interrupted

HELP = """\
/help   this
/tools  what the model can call
/usage  what the conversation has used so far
/new    begin another conversation
/quit   leave (so do Ctrl-D, and Ctrl-C at the prompt)"""


async def converse(conversation: Conversation, face: Face, read: Lines) -> int:
    """Take lines and answer them, until there are no more. Where nobody watches, the exit code tells of failures."""
    code = FINE
    while (line := read()) and (said := line.strip()) != "/quit":
        if said.startswith("/"):
            _obey(said, conversation, face)
        elif said:
            stopped = await _answered(conversation, said)
            if stopped == "waiting":
                return WAITING
            if stopped == "failed" and not face.is_interactive:
                code = FAILED
    return code


async def _answered(conversation: Conversation, said: str) -> str:
    try:
        return (await conversation.ask(said)).stopped
    except Interrupted:
        return "cancelled"


def _obey(command: str, conversation: Conversation, face: Face) -> None:
    """What begins with a slash is for us, not for the model."""
    screen = face.screen
    match command:
        case "/help":
            screen.tell(HELP)
        case "/tools":
            tools = conversation.agent.setup.toolset.tools()
            rows = [(tool.name, tool.effect, tool.spec.description) for tool in tools]
            screen.tell("\n".join(table(rows, screen.note_width)) or "There are no tools; --tools offers some.")
        case "/usage":
            screen.tell(f"{usage_words(conversation.usage)} in {counted(conversation.turns, 'turn')} of run {conversation.run_id}")
        case "/new":
            conversation.start_afresh()
            screen.tell(f"A new conversation: run {conversation.run_id}")
        case _:
            screen.tell(f"There is no {command.split()[0]}; /help lists what there is.")

"""Slash commands of a conversation: Treadle's own, and those that an assistant adds or replaces. None is sent to the model."""

import os
import shlex
import subprocess
from collections.abc import Mapping, Sequence
from inspect import isawaitable
from pathlib import Path
from shutil import which
from tempfile import TemporaryDirectory

from treadle.agent.talk import SlashCommand
from treadle.cli.conversation import Conversation
from treadle.cli.ui.display import Display
from treadle.cli.ui.render import format_call, format_count, format_table
from treadle.cli.ui.report import format_usage
from treadle.core.entries import Entry, Judged, Replied, Said
from treadle.core.errors import SettingsError, TreadleError
from treadle.core.messages import Text
from treadle.guard.redaction import Redactor
from treadle.plugins.prompts import TypedPrompt

QUIT = ("/quit", "/exit")
QUIT_HELP = "leave (so do /exit, Ctrl-D, and Ctrl-C at the prompt)"
KEYS_HELP = 'Alt-Enter, \\ at the end of a line, or """ begins another line; @FILE adds a file; Tab completes commands and files.'
TURN_HELP = "While the model works, what you type is a message to it, and Esc stops it."
ALIASES = {"/clear": "/new", "/cost": "/usage"}
EDITORS = ("editor", "nano", "vi")  # where $VISUAL and $EDITOR aren't set


class SlashCommands:
    """The slash commands of one conversation."""

    def __init__(self, conversation: Conversation, face: Display, added: Mapping[str, SlashCommand] = {}) -> None:
        self._conversation = conversation
        self._face = face
        self._screen = face.screen
        self._commands = {
            "/help": SlashCommand("this", self._help),
            "/tools": SlashCommand("what the model can call", self._list_tools),
            "/usage": SlashCommand("what the conversation has used so far (so does /cost)", self._show_usage),
            "/model": SlashCommand("show the model, or go on with another one", self._use_model, "[NAME]"),
            "/edit": SlashCommand("write a message in your editor ($EDITOR), and send it", self._edit, "[TEXT]"),
            "/undo": SlashCommand("drop the last turn: the model no longer reads it", self._undo),
            "/save": SlashCommand("write the conversation into a file, as Markdown", self._save, "FILE"),
            "/compact": SlashCommand("have a summary stand for the conversation so far, to make room", self._compact),
            "/new": SlashCommand("begin another conversation (so does /clear)", self._start_afresh),
            **added,
        }

    @property
    def names(self) -> Sequence[str]:
        """The names that can be typed."""
        return [*self._commands, *ALIASES, *QUIT]

    async def run(self, said: str) -> str | TypedPrompt:
        """Run a command; return the message to send then, if there is one."""
        name, _, rest = said.partition(" ")
        command = self._commands.get(name) or self._commands.get(ALIASES.get(name, ""))
        try:
            if command is None:
                self._screen.tell(f"There is no {name}; /help lists what there is.")
                return ""
            done = command.run(rest.strip())
            message = await done if isawaitable(done) else done
            return message if isinstance(message, str | TypedPrompt) else ""
        except TreadleError as error:
            self._screen.prose(f"treadle: {error}", "red")
        return ""

    def _help(self, _: str) -> None:
        rows = [(f"{name} {command.takes}".strip(), command.summary) for name, command in self._commands.items()]
        self._screen.tell("\n".join(format_table([*rows, (QUIT[0], QUIT_HELP)], self._screen.note_width)))
        if self._face.is_interactive:
            self._screen.prose(f"{KEYS_HELP} {TURN_HELP}" if self._face.turn_input is not None else KEYS_HELP)

    def _list_tools(self, _: str) -> None:
        tools = self._conversation.agent.setup.toolset.tools()
        calls_others = any(tool.composite for tool in tools)  # programs call tools that aren't offered themselves
        rows = [(tool.name, tool.effect, tool.spec.description) for tool in tools if tool.offered or calls_others]
        self._screen.tell("\n".join(format_table(rows, self._screen.note_width)) or "There are no tools; --tools offers some.")

    def _show_usage(self, _: str) -> None:
        conversation = self._conversation
        turns = format_count(conversation.turns, "turn")
        self._screen.tell(f"{format_usage(conversation.usage)} in {turns} of run {conversation.run_id}")

    def _use_model(self, name: str) -> None:
        if name:
            self._conversation.use_model(name)
        self._screen.tell(f"Talking to {self._conversation.agent.setup.model.name}.")

    async def _compact(self, _: str) -> None:
        compacted = await self._conversation.compact()
        self._screen.tell("The conversation was compacted." if compacted else "There is nothing to compact yet.")

    def _start_afresh(self, _: str) -> None:
        self._conversation.start_afresh()
        self._screen.tell(f"A new conversation: run {self._conversation.run_id}")

    async def _undo(self, _: str) -> None:
        if await self._conversation.undo():
            self._screen.prose(f"The last turn is dropped; what its tools did stays done. Run {self._conversation.run_id} goes on.")
        else:
            self._screen.tell("There is no turn to drop.")

    async def _save(self, name: str) -> None:
        if not name:
            raise SettingsError("Say where: /save FILE")
        write_new_file(name, to_markdown(await self._conversation.entries()))
        self._screen.tell(f"Written to {name}.")

    def _edit(self, text: str) -> str:
        if not self._face.is_interactive:
            raise SettingsError("/edit needs a terminal.")
        return edit_in_editor(text).strip()


def write_new_file(name: str, text: str) -> None:
    """Write a file that the person names, and that isn't there yet."""
    try:
        with Path(name).expanduser().open("x", encoding="utf-8") as file:
            file.write(text)
    except FileExistsError as error:
        raise SettingsError(f"{name} is there already; choose another name.") from error
    except (OSError, RuntimeError) as error:
        raise SettingsError(f"{name} can't be written: {getattr(error, 'strerror', None) or error}.") from error


def edit_in_editor(text: str) -> str:
    """Return the text as it is when the person's editor ends; nothing where that fails."""
    chosen = os.environ.get("VISUAL") or os.environ.get("EDITOR") or next(filter(which, EDITORS), "")
    if not chosen:
        raise SettingsError("There is no editor; set EDITOR.")
    with TemporaryDirectory(prefix="treadle-") as folder:  # which no other user may enter
        path = Path(folder, "message.md")
        path.write_text(text, encoding="utf-8")
        try:
            ended = subprocess.run([*shlex.split(chosen), str(path)], check=False)  # noqa: S603 - what the person has set
        except (OSError, ValueError) as error:
            raise SettingsError(f"The editor {chosen} can't be started: {error}. Set EDITOR.") from error
        return path.read_text(encoding="utf-8", errors="replace") if ended.returncode == 0 else ""


def to_markdown(entries: Sequence[Entry]) -> str:
    """Return a conversation as Markdown: what was said, what was called and what was answered. Secrets in calls are masked."""
    redactor, parts = Redactor(), list[str]()
    for entry in entries:
        match entry:
            case Said():
                parts.append(f"## You\n\n{entry.text}")
            case Replied():
                text = "".join([part.text for part in entry.parts if isinstance(part, Text)]).strip()
                parts += [f"## Model\n\n{text}"] if text else []
            case Judged():
                parts.append(f"    {format_call(entry.call.name, redactor.value(entry.call.arguments))}")
            case _:
                pass
    return "\n\n".join(parts) + "\n"

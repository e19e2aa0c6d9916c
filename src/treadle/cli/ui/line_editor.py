"""Line editor for a capable terminal, by prompt_toolkit: a paste is one message, messages of several lines, history, completion.

Imported with the first line that is typed; `stdin` reads lines everywhere else. What is typed as an answer to an approval is
edited here too, and is no part of the history.
"""

import os
from collections.abc import Callable, Iterable, Mapping, Sequence
from contextlib import suppress
from pathlib import Path
from typing import Any

import msgspec
from prompt_toolkit import PromptSession
from prompt_toolkit.completion import CompleteEvent, Completer, Completion
from prompt_toolkit.document import Document
from prompt_toolkit.history import History, InMemoryHistory
from prompt_toolkit.input import Input
from prompt_toolkit.key_binding import KeyBindings
from prompt_toolkit.key_binding.key_processor import KeyPressEvent
from prompt_toolkit.lexers import SimpleLexer
from prompt_toolkit.output import Output, create_output

from treadle.cli.ui.stdin import is_unfinished
from treadle.guard.redaction import Redactor

MAX_ENTRIES = 1000  # that a history file keeps
MAX_HISTORY_BYTES = 1_000_000  # after which the oldest are dropped
MAX_ENTRY_CHARACTERS = 20_000  # of a message that is kept
MAX_COMPLETIONS = 200  # names of files that are offered


class LineEditor:
    """Reads messages at a terminal. `history` is the file of earlier ones; without it they are remembered in memory.

    `draft` returns what was typed already before a message could be read, `prompt` the text before the line. `keys` are callbacks
    by the name of a key; the prompt is drawn anew after each. `style` is that of a message and of the prompt before it.
    """

    def __init__(
        self,
        *,
        history: Path | None = None,
        commands: Sequence[str] = (),
        draft: Callable[[], str] | None = None,
        prompt: Callable[[], str] = lambda: "> ",
        keys: Mapping[str, Callable[[], object]] = {},
        style: str = "",
        source: Input | None = None,
        output: Output | None = None,
    ) -> None:
        self._draft = draft
        self._prompt = prompt
        self._style = style
        self._session: PromptSession[str] = PromptSession(
            history=InMemoryHistory() if history is None else HistoryFile(history),
            completer=PromptCompleter(commands),
            complete_while_typing=False,
            multiline=True,
            prompt_continuation="  ",
            key_bindings=_message_keys(keys),
            lexer=SimpleLexer(style),
            enable_suspend=True,
            input=source,
            output=output or make_output(),
        )

    async def read(self) -> str:
        """Read a message. Raises `EOFError` for Ctrl-D and `KeyboardInterrupt` for Ctrl-C."""
        return await self._session.prompt_async(
            lambda: [(self._style, self._prompt())], default="" if self._draft is None else self._draft()
        )

    def remember(self, message: str) -> None:
        """Add a message to the history that wasn't read here."""
        self._session.history.append_string(message)


async def edit_in_place(text: str, *, source: Input | None = None, output: Output | None = None) -> str:
    """Return the text as edited in place."""
    session: PromptSession[str] = PromptSession(history=InMemoryHistory(), input=source, output=output or make_output())
    return await session.prompt_async("> ", default=text)


def make_output() -> Output:
    """Return the terminal as output. Its cursor isn't asked for its position: nothing here is drawn that needs it."""
    output: Any = create_output()
    output.enable_cpr = False
    return output


def _message_keys(added: Mapping[str, Callable[[], object]]) -> KeyBindings:
    keys = KeyBindings()
    for name, callback in added.items():
        keys.add(name)(_make_key_handler(callback))

    @keys.add("enter")
    def _finish(event: KeyPressEvent) -> None:
        """Send the message, or begin another line of it."""
        buffer = event.current_buffer
        if buffer.complete_state is not None and buffer.complete_state.current_completion is not None:
            buffer.complete_state = None  # the choice is made; another Enter sends
        elif buffer.document.text_before_cursor.endswith("\\"):
            buffer.delete_before_cursor()
            buffer.insert_text("\n")
        elif is_unfinished(buffer.text):
            buffer.insert_text("\n")
        else:
            buffer.validate_and_handle()

    @keys.add("escape", "enter")
    @keys.add("escape", "c-j")
    def _break_line(event: KeyPressEvent) -> None:
        """Begin another line (Alt-Enter)."""
        event.current_buffer.insert_text("\n")

    return keys


def _make_key_handler(callback: Callable[[], object]) -> Callable[[KeyPressEvent], None]:
    def handle(event: KeyPressEvent) -> None:
        callback()
        event.app.invalidate()

    return handle


class PromptCompleter(Completer):
    """Completes slash commands at the beginning of a message, and the names of files after `@` and after `/save`."""

    def __init__(self, commands: Sequence[str]) -> None:
        self._commands = sorted(commands)

    def get_completions(self, document: Document, complete_event: CompleteEvent) -> Iterable[Completion]:
        """Yield what the word before the cursor may become."""
        before = document.text_before_cursor
        word = before.rpartition(" ")[2].rpartition("\n")[2]
        if before == word and word.startswith("/"):
            yield from [Completion(name, -len(word)) for name in self._commands if name.startswith(word)]
        elif word.startswith("@"):
            yield from [Completion(name, 1 - len(word)) for name in _list_files(word[1:])]


def _list_files(typed: str) -> list[str]:
    """Return the files and folders whose path begins as typed; hidden ones only where a dot was typed."""
    folder, _, start = typed.rpartition("/")
    if typed.startswith("/") or ".." in folder.split("/"):
        return []  # a mention finds nothing outside of this folder
    try:
        with os.scandir(folder or ".") as found:
            entries = [each for each in found if each.name.startswith(start) and (start or not each.name.startswith("."))]
            names = [f"{each.name}/" if each.is_dir() else each.name for each in entries]
    except OSError:
        return []
    return [f"{folder}/{name}" if folder else name for name in sorted(names)[:MAX_COMPLETIONS]]


class HistoryFile(History):
    """The messages of earlier conversations, one JSON string a line, in a file that only its owner can read.

    A message in which a secret is found is remembered until the process ends, and is never written. A file that can't be read or
    written is done without: it must not keep a user from typing.
    """

    def __init__(self, path: Path) -> None:
        super().__init__()
        self._path = path

    def load_history_strings(self) -> list[str]:
        """Return the messages, the newest first. Drops the oldest where the file has grown too large."""
        lines = self._read_lines()
        if len(lines) > MAX_ENTRIES or sum(map(len, lines)) > MAX_HISTORY_BYTES:
            lines = self._drop_oldest(lines)
        entries: list[str] = []
        for line in reversed(lines):
            with suppress(msgspec.DecodeError):
                entries.append(msgspec.json.decode(line, type=str))
        return entries

    def store_string(self, string: str) -> None:
        """Append a message to the file."""
        if not string.strip() or len(string) > MAX_ENTRY_CHARACTERS or Redactor().text(string) != string:
            return
        with suppress(OSError):
            self._path.parent.mkdir(parents=True, exist_ok=True, mode=0o700)
            flags = os.O_APPEND | os.O_CREAT | os.O_WRONLY | os.O_NOFOLLOW | os.O_CLOEXEC
            descriptor = os.open(self._path, flags, 0o600)
            with os.fdopen(descriptor, "ab", buffering=0) as file:
                file.write(msgspec.json.encode(string) + b"\n")  # one write: conversations at other terminals append too

    def _read_lines(self) -> list[bytes]:
        from treadle.files.named_files import head_of  # a regular file, and no link

        return head_of(self._path, 16 * MAX_HISTORY_BYTES).splitlines()

    def _drop_oldest(self, lines: list[bytes]) -> list[bytes]:
        kept = lines[-MAX_ENTRIES // 2 :]
        while sum(map(len, kept)) > MAX_HISTORY_BYTES // 2:
            kept = kept[1:]
        part = self._path.with_name(f"{self._path.name}.{os.getpid()}.part")
        with suppress(OSError):
            with os.fdopen(os.open(part, os.O_CREAT | os.O_EXCL | os.O_WRONLY, 0o600), "wb") as file:
                file.writelines([line + b"\n" for line in kept])
            part.replace(self._path)
        return kept

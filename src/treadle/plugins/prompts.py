"""Prompts of commands: the typed text, joined with what is piped to stdin and with the files that it mentions as `@FILE`.

Piped text becomes a part of the prompt; the text of a mentioned file is quoted, since the user needn't have written it; an image,
a recording or a PDF is attached. Only typed text has mentions: piped text may be a stranger's, and is never a reason to open a
file.
"""

import os
import re
import select
import stat
import sys
from collections.abc import Sequence
from pathlib import Path

from msgspec import Struct

from treadle.core.errors import BadMedia, BadPrompt
from treadle.core.media import Attachment, attachment_from_bytes
from treadle.core.messages import Quote

MAX_TEXT_BYTES = 1_000_000  # of stdin, or of a text file that is mentioned
MAX_BYTES = 32 * 1024 * 1024  # of media; each kind has a limit of its own below that
PIPE_SECONDS = 5.0  # after which a pipe on which nothing arrived counts as unused
STDIN = "-"  # the word that stands for stdin
_MENTION = re.compile(r'(?<!\S)(?P<escape>\\?)@(?:"(?P<quoted>[^"\n]+)"|(?P<plain>[^\s@"\\]\S*))')
_PATH = re.compile(r"/|\.\w+$")  # what a mention of a file has, unlike a user's name
_PUNCTUATION = ".,;:!?)]}'\""  # which may follow a mention


class TypedPrompt(Struct, frozen=True):
    """A prompt as it was typed and piped: its text, and the media and quoted files that go with it."""

    text: str
    attachments: tuple[Attachment | Quote, ...] = ()


def read_typed_prompt(words: Sequence[str], *, required: bool = True) -> TypedPrompt:
    """Return the prompt of a command. Raises `BadPrompt` where it is empty and `required`.

    `-` stands for stdin. Without it, piped input follows the words, or is the prompt where there are none.
    """
    waits = STDIN in words or (required and not words and not sys.stdin.isatty())
    piped = _make_prompt("stdin", _read_stdin() if waits else _read_pipe())
    if STDIN in words or not words:
        parts = [piped if word == STDIN else expand_mentions(word) for word in words or [STDIN]]
        text = " ".join([part.text for part in parts])
    else:
        parts = [expand_mentions(" ".join(words)), piped]
        text = f"{parts[0].text}{format_block('stdin', piped.text)}"
    attachments = tuple([each for part in parts for each in part.attachments])
    if required and not text.strip():
        raise BadPrompt("The prompt is empty: type it, or pipe it to the command.")
    return TypedPrompt(text.strip(), attachments)


def prompt_from_words(words: Sequence[str], *, required: bool = True) -> str:
    """Return the text typed after a command, with what is piped to it and the text files it mentions as `@FILE`.

    Raises `BadPrompt` where it is empty and `required`, and `BadMedia` where it is not text alone.
    """
    return _require_text(read_typed_prompt(words, required=required))


def read_piped_text() -> str:
    """Return the text that is piped to the command; empty where there is none. Raises `BadMedia` where it is not text."""
    return _require_text(_make_prompt("stdin", _read_pipe())).strip()


def expand_mentions(text: str) -> TypedPrompt:
    r"""Return the text with the files that it mentions: `@notes.txt`, `@"my notes.txt"`. `\@` is no mention.

    Files are looked for in the current folder, and never outside of it.
    """
    found: dict[str, TypedPrompt] = {}
    for mention in _MENTION.finditer(text):
        name = "" if mention["escape"] else _find_file(mention["plain"] or "", mention["quoted"] or "")
        if name and name not in found:
            found[name] = _make_prompt(name, _read_mentioned(name))
    shown = _MENTION.sub(lambda mention: mention[0].removeprefix("\\"), text)
    quotes = [Quote(name, part.text) for name, part in found.items() if part.text.strip()]
    return TypedPrompt(shown, (*quotes, *[each for part in found.values() for each in part.attachments]))


def format_block(tag: str, text: str, name: str = "") -> str:
    """Return a text as a part of a prompt, between marks that say what it is; empty where it is blank."""
    about = f' name="{name}"' if name else ""
    return f"\n\n<{tag}{about}>\n{text.rstrip()}\n</{tag}>" if text.strip() else ""


def _make_prompt(name: str, data: bytes) -> TypedPrompt:
    """Return the content of stdin or of a file: as text, or as an attachment."""
    attachment = _make_attachment(name, data)
    if attachment is not None:
        return TypedPrompt("", (attachment,))
    if len(data) > MAX_TEXT_BYTES:
        raise BadPrompt(f"{name} has more than {MAX_TEXT_BYTES:,} bytes, the most that a prompt takes; send the part that matters.")
    return TypedPrompt(data.decode(errors="replace"))


def _make_attachment(name: str, data: bytes) -> Attachment | None:
    """Return media as an attachment; None for text, also where some bytes of it are in another encoding."""
    if not data.strip():
        return None
    try:
        attachment = attachment_from_bytes(data, name=Path(name).name)
    except BadMedia:
        if b"\0" in data[:MAX_TEXT_BYTES]:
            raise
        return None
    return None if attachment.media_type.startswith("text/") else attachment


def _require_text(prompt: TypedPrompt) -> str:
    for attachment in prompt.attachments:
        if isinstance(attachment, Attachment):
            raise BadMedia(f"This command takes text, and {attachment.name} is {attachment.media_type}; `treadle ask` takes it.")
    blocks = [format_block("file", each.text, each.source) for each in prompt.attachments if isinstance(each, Quote)]
    return prompt.text + "".join(blocks)


def _find_file(plain: str, quoted: str) -> str:
    """Return the name of the mentioned file, without the punctuation after it; empty where the mention names no file."""
    names = [quoted] if quoted else [plain, plain.rstrip(_PUNCTUATION)]
    there = next((name for name in names if Path(name).is_file()), "")
    return there or (names[-1] if quoted or _PATH.search(names[-1]) else "")


def _read_mentioned(name: str) -> bytes:
    from treadle.files.problems import MissingPath, OutsideWorkspace, WorkspaceProblem  # most prompts mention no file
    from treadle.files.workspace import Workspace

    try:
        return Workspace(Path.cwd()).read_bytes(name, MAX_BYTES)
    except MissingPath as error:
        raise BadPrompt(rf"There is no file {name}. If @{name} isn't meant to be one, write \@{name}.") from error
    except OutsideWorkspace as error:
        raise BadPrompt(f"{name} is outside of this folder, where @ finds files; `treadle ask -f` takes any file.") from error
    except WorkspaceProblem as error:
        raise BadPrompt(str(error)) from error


# stdin


def _is_pipe() -> bool:
    """Whether stdin is a pipe or a file.

    A device such as /dev/null has nothing to say, and a socket is what a service has for a stdin without a writer.
    """
    try:
        mode = os.fstat(sys.stdin.fileno()).st_mode
    except (OSError, ValueError):  # closed, or not a file at all
        return False
    return stat.S_ISFIFO(mode) or stat.S_ISREG(mode)


def _read_pipe() -> bytes:
    """Return what is piped to a command that has a prompt already. A pipe that stays silent is not waited for."""
    if not _is_pipe():
        return b""
    try:
        ready = select.select([sys.stdin], [], [], PIPE_SECONDS)[0]
    except (OSError, ValueError):  # a system that can't wait for a pipe
        return _read_stdin()
    if not ready:
        silence = f"treadle: stdin is a pipe on which nothing arrived in {PIPE_SECONDS:.0f} s, so it isn't read; - waits for it."
        print(silence, file=sys.stderr)
        return b""
    return _read_stdin()


def _read_stdin() -> bytes:
    """Return stdin up to its end; at most a little more than a prompt takes."""
    buffer = getattr(sys.stdin, "buffer", None)
    return sys.stdin.read(MAX_BYTES + 1).encode() if buffer is None else buffer.read(MAX_BYTES + 1)

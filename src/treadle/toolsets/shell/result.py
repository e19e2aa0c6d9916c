"""Results of commands as text that a model can act on. Pure."""

import re

from msgspec import Struct

from treadle.sandbox.disarm import GIT_TOOL, format_disarmed
from treadle.sandbox.values import Bounds, CommandResult

_BACKGROUND = re.compile(r"(?<![&|<>\\])&(?![&>])|\b(?:nohup|setsid|disown)\b")
_QUOTED = re.compile(r"'[^']*'|\"(?:[^\"\\]|\\.)*\"")
_NO_NETWORK = re.compile(
    r"could not resolve host|network is unreachable|temporary failure in name resolution|name or service not known"
    r"|ENOTFOUND|EAI_AGAIN|no address associated with hostname",
    re.IGNORECASE,
)
_READ_ONLY = re.compile(r"\.git/\S*: Read-only file system")
_CODES = {
    126: "It is no program that can be run.",
    127: "There is no such command here. Use another, or a path to the program in the workspace.",
    137: "It was killed, most likely because it took too much memory.",
    139: "It crashed.",
    143: "It was ended by a signal.",
}
_GIB = 1 << 30


class CommandData(Struct, frozen=True):
    """How a command ended: the data of its result. `killed_for` is the limit that it exceeded, and then it has no exit code."""

    exit_code: int | None
    killed_for: str
    seconds: float


def to_command_data(ran: CommandResult) -> CommandData:
    """Return how a command ended, for programs."""
    return CommandData(None if ran.killed_for else ran.code, ran.killed_for, round(ran.seconds, 3))


def format_command_result(line: str, ran: CommandResult, bounds: Bounds, *, longest: float, network: bool) -> str:
    """Format a result: the first line says how it ended, then comes the output, then notes."""
    return "\n".join(
        [_format_ending(ran, bounds, longest), ran.output.rstrip("\n") or "[no output]", *_format_notes(line, ran, network=network)]
    )


def _format_ending(ran: CommandResult, bounds: Bounds, longest: float) -> str:
    match ran.killed_for:
        case "":
            meaning = _CODES.get(ran.code or 0, "")
            return f"Exit code {ran.code}, after {ran.seconds:.1f} s.{' ' * bool(meaning)}{meaning}"
        case "time":
            longer = f", or give it a longer timeout, at most {longest:g}" if longest > bounds.seconds else ""
            return (
                f"Ended after {bounds.seconds:g} s, because its time was over, without an exit code. What it wrote is below. "
                f"Do less in one call{longer}. It gets no input, so it must not wait for any."
            )
        case "memory":
            return (
                f"Ended after {ran.seconds:.1f} s, because its processes together took more than {bounds.memory / _GIB:.1f} GiB of "
                "memory. Work on less at a time, or with fewer processes side by side."
            )
        case "disk":
            return (
                f"Ended after {ran.seconds:.1f} s, because it wrote more than {bounds.disk / _GIB:.1f} GiB, or all that the disk "
                "has room for. Delete what isn't needed, and write less."
            )
        case other:
            return (
                f"Ended after {ran.seconds:.1f} s, because it took too many {other}: at most {bounds.processes} are allowed. "
                "Start fewer side by side."
            )


def _format_notes(line: str, ran: CommandResult, *, network: bool) -> list[str]:
    notes: list[str] = []
    if ran.truncated:
        notes.append("[The middle of the output is left out. Narrow it, as with grep, head or tail, to see what you need.]")
    if not network and ran.code and _NO_NETWORK.search(ran.output):
        notes.append("[There is no network here, and that can't be changed by a command.]")
    if _READ_ONLY.search(ran.output):
        notes.append(f"[What git keeps in .git is read-only to commands. {GIT_TOOL}]")
    notes += [f"[{sentence}]" for sentence in format_disarmed(ran)]
    if _BACKGROUND.search(_QUOTED.sub("", line)):
        notes.append(
            "[Nothing goes on in the background: what was started there ended with this call. Start it in the call that needs it.]"
        )
    return notes

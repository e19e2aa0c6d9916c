"""The tool that runs shell lines in a workspace: `bash`, or `run_command` where tools are flat. `sandbox` contains it.

Every call is a new shell: it begins in the workspace's folder, keeps no state for the next, and leaves no process behind.

Some commands are refused without trying them, with what to use instead: a convenience, the sandbox is the boundary.
"""

import re
from collections.abc import Callable, Collection, Mapping
from pathlib import Path
from posixpath import basename
from typing import Any

from msgspec import Struct
from msgspec.structs import replace

from treadle.core.context import RunContext
from treadle.core.errors import ToolProblem
from treadle.core.tool import ToolResult
from treadle.guard.shell_parser import UnclearCommand, check_commands, parse_commands
from treadle.sandbox.disarm import GIT_TOOL, format_disarmed
from treadle.sandbox.environments import build_path_environment, find_base_pythons
from treadle.sandbox.runner import run_command
from treadle.sandbox.values import Bounds, CommandResult, SandboxMissing, SandboxSpec
from treadle.tools.tool import tool
from treadle.toolsets.functions import FunctionToolset

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
NO_ROOT = "There is no root user here: run the command without it, in the workspace."
NO_NETWORK = "There is no network here: work with what is installed and with the files of the workspace."
ONLY_HTTP = "Only HTTP and HTTPS reach the network from here, through the proxy that the environment names."
NO_SYSTEM = "The system can't be changed from here; only the workspace can."
NO_SCREEN = "There is no screen to type at: use the tools that read and edit files."

NEVER_RUN: Mapping[str, str] = {
    **dict.fromkeys(("sudo", "su", "doas", "runuser"), NO_ROOT),
    **dict.fromkeys(("mount", "umount", "systemctl", "service", "reboot", "shutdown", "docker", "podman"), NO_SYSTEM),
    **dict.fromkeys(("vi", "vim", "nvim", "nano", "emacs", "top", "htop"), NO_SCREEN),
}
REMOTE_COMMANDS = ("ssh", "scp", "sftp", "telnet", "ftp")

_COMMAND_POSITION = re.compile(r"(?:^|[;&|(\n`])\s*(?:\w+=\S*\s+)*([\w./+-]+)")


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


def explain_command_refusal(
    line: str, allow: Collection[str] | None, forbid: Collection[str] = (), *, network: bool = False
) -> str:
    """Return why a line isn't run, and what to do instead; empty where it may be."""
    never = {**NEVER_RUN, **dict.fromkeys(REMOTE_COMMANDS, ONLY_HTTP if network else NO_NETWORK)}
    senseless = {name: why for name, why in never.items() if name not in (allow or ())}
    for name in _find_commands(line):
        if basename(name) in forbid:
            return f"The command {name} is forbidden here. Do it with another command or another tool, or ask the person."
        if basename(name) in senseless:
            return f"The command {name} makes no sense here. {senseless[basename(name)]}"
    if allow is None:
        return ""  # what can't be judged is left to the sandbox
    said = check_commands(line, allow, forbid)
    return f"{said} Allowed are: {', '.join(sorted(allow)) or 'none'}. Use those, in plain words, or another tool." if said else ""


def _find_commands(line: str) -> list[str]:
    """Return the commands of a line; where it can't be parsed with certainty, whatever stands in a command's position."""
    try:
        return parse_commands(line)
    except UnclearCommand:
        return _COMMAND_POSITION.findall(line)


TOOLSET = "shell"
DESCRIPTION = "Run a shell command in the workspace. Nothing stays between calls but files."
BACKGROUND = "start_command"
BACKGROUND_DESCRIPTION = "Start a shell command in the workspace and go on meanwhile: a server to try, or a long build."
OFFLINE, ONLINE = "There is no network.", "Of the network only HTTP and HTTPS."
MAX_SHOWN = 8_000  # characters of output
MAX_PROGRESS = 20  # lines of a piece
SHELLS = ("/bin/bash", "/usr/bin/bash", "/bin/sh")
MAX_UNFINISHED = 2_000  # characters of a line that has no end yet


def shell_tools(
    folder: str | Path,
    *,
    flat: bool = False,
    allow: Collection[str] | None = None,
    forbid: Collection[str] = (),
    bounds: Bounds = Bounds(),  # noqa: B008 - frozen
    network: bool = False,
    hide: tuple[str, ...] = (),
    project: Path | None = None,
    unsafe: bool = False,
    background: bool = False,
) -> FunctionToolset:
    """Return the toolset of a folder.

    flat        the tool is called `run_command`
    allow       the only commands that may be used; without it, the sandbox alone decides
    forbid      commands that are refused, besides those that make no sense in a sandbox
    bounds      time, memory, processes and file size of one call
    network     lets commands reach public hosts by HTTP and HTTPS
    hide        files of the workspace that commands can't see
    project     the folder that this one is a private copy of: commands see the copy at its path, with its environments
    unsafe      runs commands also where there is no sandbox; they can then do everything that the user can
    background  offers `start_command` too, whose command runs while the model goes on
    """
    place = SandboxSpec(Path(folder).resolve(), network=network, hide=hide, project=project)
    shell = ShellToolset(place, bounds, lambda line: explain_command_refusal(line, allow, forbid, network=network), unsafe=unsafe)
    name, words = "run_command" if flat else "bash", f"{DESCRIPTION} {ONLINE if network else OFFLINE}"
    tools = [tool(shell.command, name=name, description=words, effect="write", retry="once", sequential=True)]
    if background:
        words = f"{BACKGROUND_DESCRIPTION} {ONLINE if network else OFFLINE}"
        tools.append(tool(shell.command, name=BACKGROUND, description=words, effect="write", retry="once", background=True))
    return FunctionToolset(tools, TOOLSET)


class ShellToolset:
    """Shell lines in one workspace."""

    def __init__(self, place: SandboxSpec, bounds: Bounds, refuses: Callable[[str], str], *, unsafe: bool = False) -> None:
        self._place = place
        self._bounds = replace(bounds, output=min(bounds.output, MAX_SHOWN))
        self._refuses = refuses
        self._unsafe = unsafe

    async def command(self, ctx: RunContext[Any], command: str, timeout: float | None = None) -> ToolResult:  # noqa: ASYNC109 - the model's word
        """Run a shell line.

        :param command: the shell line
        :param timeout: seconds until it is ended
        """
        if not command.strip():
            raise ToolProblem("The command is empty. Give a shell line to run.")
        if why := self._refuses(command):
            raise ToolProblem(why)
        return await self._run(ctx, command, self._limit_time(timeout))

    async def _run(self, ctx: RunContext[Any], command: str, bounds: Bounds) -> ToolResult:
        home = self._place.project or self._place.workspace
        place = replace(self._place, extra_read=find_base_pythons(home))
        shell = [_find_shell(), "-c", command]
        lines, env = ProgressLines(ctx.progress), build_path_environment(home)
        try:
            ran = await run_command(shell, place, bounds, env=env, on_output=lines.feed, unsafe=self._unsafe)
        except SandboxMissing as missing:
            raise ToolProblem(f"The command was not run: {missing} Go on without commands, and tell the person.") from missing
        words = format_command_result(command, ran, bounds, longest=self._bounds.seconds, network=place.network)
        return ToolResult(words, to_command_data(ran))

    def _limit_time(self, seconds: float | None) -> Bounds:
        """Return the bounds with the requested time limit, up to the maximum."""
        if seconds is None:
            return self._bounds
        if seconds <= 0:
            raise ToolProblem("The timeout must be above 0 seconds. Leave it out to have as long as a command may take.")
        return replace(self._bounds, seconds=min(seconds, self._bounds.seconds))


class ProgressLines:
    """Output for progress callbacks: whole lines, and of many at once only the last."""

    def __init__(self, tell: Callable[[str], None]) -> None:
        self._tell = tell
        self._rest = ""

    def feed(self, text: str) -> None:
        """Add a chunk of output."""
        *lines, rest = (self._rest + text).split("\n")
        self._rest = rest[-MAX_UNFINISHED:]
        if lines:
            self._tell("\n".join([line[-MAX_UNFINISHED:] for line in lines[-MAX_PROGRESS:]]))


def _find_shell() -> str:
    """Return bash if available: models write for it, whatever the system's own shell is."""
    return next((path for path in SHELLS if Path(path).exists()), SHELLS[-1])

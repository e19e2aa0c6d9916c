"""The tool that runs shell lines in a workspace: `bash`, or `run_command` where tools are flat. What holds it is `sandbox`.

Every call is a shell of its own: it begins in the workspace's folder, keeps nothing for the next, and leaves no process behind.
"""

from collections.abc import Callable, Collection
from pathlib import Path
from typing import Any

from msgspec.structs import replace

from treadle.core.context import RunContext
from treadle.core.errors import ToolProblem
from treadle.core.tool import ToolResult
from treadle.tools.tool import tool
from treadle.toolsets.python import Functions
from treadle.toolsets.sandbox.bubblewrap import ENVIRONMENT
from treadle.toolsets.sandbox.pythons import ENVIRONMENTS, python_of
from treadle.toolsets.sandbox.run import run
from treadle.toolsets.sandbox.values import Bounds, Place, SandboxMissing
from treadle.toolsets.shell.refusal import refusal
from treadle.toolsets.shell.told import data_of, told

TOOLSET = "shell"
WORDS = "Run a shell command in the workspace. Nothing stays between calls but files."
OFFLINE, ONLINE = "There is no network.", "Of the network only HTTP and HTTPS."
MOST_SHOWN = 8_000  # characters of output
MOST_PROGRESS = 20  # lines of a piece
SHELLS = ("/bin/bash", "/usr/bin/bash", "/bin/sh")
BEGUN = 2_000  # characters of a line that has no end yet


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
) -> Functions:
    """The toolset of a folder.

    flat     the tool is called `run_command`
    allow    the only commands that may be used; without it, the sandbox alone decides
    forbid   commands that are refused, besides those that make no sense in a sandbox
    bounds   time, memory, processes and file size of one call
    network  lets commands reach public hosts by HTTP and HTTPS
    hide     files of the workspace that commands can't see
    project  the folder that this one is a private copy of: commands see the copy at its path, with its environments
    unsafe   runs commands also where there is no sandbox; they can then do all that the person can
    """
    place = Place(Path(folder).resolve(), network=network, hide=hide, project=project)
    shell = Shell(place, bounds, lambda line: refusal(line, allow, forbid, network=network), unsafe=unsafe)
    name, words = "run_command" if flat else "bash", f"{WORDS} {ONLINE if network else OFFLINE}"
    return Functions([tool(shell.command, name=name, description=words, effect="write", retry="once", sequential=True)], TOOLSET)


class Shell:
    """Shell lines in one place."""

    def __init__(self, place: Place, bounds: Bounds, refuses: Callable[[str], str], *, unsafe: bool = False) -> None:
        self._place = place
        self._bounds = replace(bounds, output=min(bounds.output, MOST_SHOWN))
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
        return await self._run(ctx, command, self._within(timeout))

    async def _run(self, ctx: RunContext[Any], command: str, bounds: Bounds) -> ToolResult:
        home = self._place.project or self._place.workspace
        place = replace(self._place, extra_read=python_of(home))
        shell = [_shell(), "-c", command]
        lines = Lines(ctx.progress)
        try:
            ran = await run(shell, place, bounds, env=_environment(home), on_output=lines.feed, unsafe=self._unsafe)
        except SandboxMissing as missing:
            raise ToolProblem(f"The command was not run: {missing} Go on without commands, and tell the person.") from missing
        words = told(command, ran, bounds, longest=self._bounds.seconds, network=place.network)
        return ToolResult(words, data_of(ran))

    def _within(self, seconds: float | None) -> Bounds:
        """The bounds, with as much time as was asked for, where that isn't too much."""
        if seconds is None:
            return self._bounds
        if seconds <= 0:
            raise ToolProblem("The timeout must be above 0 seconds. Leave it out to have as long as a command may take.")
        return replace(self._bounds, seconds=min(seconds, self._bounds.seconds))


class Lines:
    """Output on its way to whoever watches: whole lines, and of many at once only the last."""

    def __init__(self, tell: Callable[[str], None]) -> None:
        self._tell = tell
        self._rest = ""

    def feed(self, text: str) -> None:
        """A piece of output."""
        *lines, rest = (self._rest + text).split("\n")
        self._rest = rest[-BEGUN:]
        if lines:
            self._tell("\n".join([line[-BEGUN:] for line in lines[-MOST_PROGRESS:]]))


def _shell() -> str:
    """Models write for bash, whatever the system's own shell is."""
    return next((path for path in SHELLS if Path(path).exists()), SHELLS[-1])


def _environment(workspace: Path) -> dict[str, str]:
    """The workspace's own programs come first, as after activating its environment."""
    folders = [workspace / name / "bin" for name in ENVIRONMENTS] + [workspace / "node_modules" / ".bin"]
    there = [str(folder) for folder in folders if folder.is_dir()]
    return {"PATH": ":".join([*there, ENVIRONMENT["PATH"]])}

"""Programs that run outside of the sandbox, with the user's own settings and keys: git for a push, gh for a pull request.

They never run in the workspace and never come from it: folders of the workspace are removed from the search path, and
everything that could lead git to a repository is removed from the environment.
"""

import asyncio
import os
import shutil
from collections.abc import Mapping
from pathlib import Path
from subprocess import DEVNULL
from time import monotonic
from typing import BinaryIO

from treadle.guard.redaction import Redactor
from treadle.sandbox.bubblewrap import is_within
from treadle.sandbox.launch import start_process
from treadle.sandbox.output import CommandOutput
from treadle.sandbox.process import end_process, read_output
from treadle.sandbox.values import CommandResult
from treadle.toolsets.git.commit import TREADLE, Identity
from treadle.toolsets.git.sandboxed import SandboxedGit

LOCAL = frozenset({
    *("GIT_DIR", "GIT_WORK_TREE", "GIT_INDEX_FILE", "GIT_COMMON_DIR", "GIT_OBJECT_DIRECTORY", "GIT_ALTERNATE_OBJECT_DIRECTORIES"),
    *("GIT_NAMESPACE", "GIT_PREFIX", "GIT_CEILING_DIRECTORIES", "GIT_EXEC_PATH", "GIT_TEMPLATE_DIR", "GIT_CONFIG"),
    *("GIT_SHALLOW_FILE", "GIT_QUARANTINE_PATH", "GIT_TRACE", "GIT_CURL_VERBOSE", "GIT_TRACE_CURL", "GH_REPO", "GH_FORCE_TTY"),
    "GH_DEBUG",
})  # fmt: skip
SILENT = {
    "LC_ALL": "C",
    "GIT_TERMINAL_PROMPT": "0",
    "GCM_INTERACTIVE": "never",
    "SSH_ASKPASS_REQUIRE": "never",
    "GIT_PAGER": "cat",
    "GH_PAGER": "cat",
    "GH_PROMPT_DISABLED": "1",
    "GH_NO_UPDATE_NOTIFIER": "1",
    "NO_COLOR": "1",
}
OUTPUT = 20_000
_IDENTITY = ("--get-regexp", r"^user\.(name|email)$")


class HostPrograms:
    """The user's programs, kept away from one workspace."""

    def __init__(self, workspace: Path, environment: Mapping[str, str] | None = None) -> None:
        own = os.environ if environment is None else environment
        self._workspace = workspace.resolve()
        self._env = {name: value for name, value in own.items() if name not in LOCAL} | SILENT
        self._env["PATH"] = os.pathsep.join(filter(self._is_outside_workspace, own.get("PATH", os.defpath).split(os.pathsep)))

    def program(self, name: str) -> str | None:
        """Return the path of a program, if it lies outside the workspace."""
        found = shutil.which(name, path=self._env["PATH"])
        return found if found and self._is_outside_workspace(found) else None

    async def run(
        self,
        *line: str,
        cwd: Path,
        env: Mapping[str, str] | None = None,
        stdin: BinaryIO | None = None,
        seconds: float = 300,
        output: int = OUTPUT,
    ) -> CommandResult:
        """Run a program and return its result. It has no terminal, so it can't prompt."""
        kept, begun, late = CommandOutput(output), monotonic(), False
        source = DEVNULL if stdin is None else stdin.fileno()
        process = start_process(line, env={**self._env, **(env or {})}, cwd=cwd, stdin=source)
        reading = asyncio.create_task(read_output(process, kept, None))
        try:
            async with asyncio.timeout(seconds):
                await process.wait()
        except TimeoutError:
            late = True
        finally:
            await end_process(process, reading)
        code = None if late else process.returncode
        return CommandResult(code, Redactor().text(kept.text), kept.truncated, monotonic() - begun, late, "time" if late else "")

    async def identity(self, git_here: SandboxedGit | None = None) -> Identity:
        """Return the user's identity: from the repository's settings, of which only these two are read, else from their own."""
        here = None if git_here is None else _parse_identity(await git_here.try_read("config", "--local", *_IDENTITY))
        if here is not None:
            return here
        git = self.program("git")
        own = await self.run(git, "config", "--global", *_IDENTITY, cwd=Path("/"), seconds=10) if git else None
        return (None if own is None else _parse_identity(own)) or TREADLE

    def _is_outside_workspace(self, path: str) -> bool:
        return Path(path).is_absolute() and not is_within(Path(path).resolve(), self._workspace)


def _parse_identity(ran: CommandResult) -> Identity | None:
    """Return the identity in the settings that git listed; None where a part of it is missing."""
    listed = {key: value for key, _, value in (line.partition(" ") for line in ran.output.splitlines())} if ran.code == 0 else {}
    name, email = [listed.get(key, "").strip() for key in ("user.name", "user.email")]
    return Identity(name, email) if name and email else None

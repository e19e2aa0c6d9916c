"""Programs that run outside of the sandbox, with the person's own settings and keys: git for a push, gh for a pull request.

They never run in the workspace and never come from it: folders of the workspace are taken off the search path, and everything
that could lead git to a repository is taken out of the environment.
"""

import asyncio
import os
import shutil
from collections.abc import Mapping
from pathlib import Path
from time import monotonic
from typing import BinaryIO

from treadle.guard.redaction import Redactor
from treadle.toolsets.git.commit import TREADLE, Identity
from treadle.toolsets.git.inside import Git
from treadle.toolsets.sandbox.bubblewrap import within
from treadle.toolsets.sandbox.output import Kept
from treadle.toolsets.sandbox.process import ended, read
from treadle.toolsets.sandbox.values import Ran

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


class Outside:
    """Programs of the person, kept away from one workspace."""

    def __init__(self, workspace: Path, environment: Mapping[str, str] | None = None) -> None:
        own = os.environ if environment is None else environment
        self._workspace = workspace.resolve()
        self._env = {name: value for name, value in own.items() if name not in LOCAL} | SILENT
        self._env["PATH"] = os.pathsep.join(filter(self._apart, own.get("PATH", os.defpath).split(os.pathsep)))

    def program(self, name: str) -> str | None:
        """Where a program is, if it is one that the workspace has nothing to do with."""
        found = shutil.which(name, path=self._env["PATH"])
        return found if found and self._apart(found) else None

    async def run(
        self, *line: str, cwd: Path, env: Mapping[str, str] | None = None, stdin: BinaryIO | None = None, seconds: float = 300
    ) -> Ran:
        """What came of a program. It has no terminal, so it can't ask."""
        kept, begun, late = Kept(OUTPUT), monotonic(), False
        process = await asyncio.create_subprocess_exec(
            *line,
            stdin=stdin or asyncio.subprocess.DEVNULL,
            stdout=asyncio.subprocess.PIPE,
            stderr=asyncio.subprocess.STDOUT,
            start_new_session=True,
            env={**self._env, **(env or {})},
            cwd=cwd,
        )
        reading = asyncio.create_task(read(process, kept, "", None))
        try:
            async with asyncio.timeout(seconds):
                await process.wait()
        except TimeoutError:
            late = True
        finally:
            await ended(process, reading)
        code = None if late else process.returncode
        return Ran(code, Redactor().text(kept.text), kept.truncated, monotonic() - begun, late, "time" if late else "")

    async def identity(self, git_here: Git | None = None) -> Identity:
        """Who the person is: by the repository's settings, of which only these two are asked for, else by their own."""
        if git_here is not None:
            here = [(await git_here.tried("config", "--local", "--get", key)).output.strip() for key in ("user.name", "user.email")]
            if all(here):
                return Identity(*here)
        git = self.program("git")
        name, email = [await self._setting(git, key) for key in ("user.name", "user.email")] if git else ("", "")
        return Identity(name, email) if name and email else TREADLE

    async def _setting(self, git: str, key: str) -> str:
        ran = await self.run(git, "config", "--global", "--get", key, cwd=Path("/"), seconds=10)
        return ran.output.strip() if ran.code == 0 else ""

    def _apart(self, path: str) -> bool:
        return Path(path).is_absolute() and not within(Path(path).resolve(), self._workspace)

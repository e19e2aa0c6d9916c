"""Git inside the sandbox, with its errors: what a repository's settings, filters or hooks start, they start there.

Reading commands see the workspace read-only. Settings that would start programs are overridden besides, so that the output
is git's own; the sandbox is the boundary. Hooks never run.

GitProblem
├── NoRepository   no repository here that the tools can use
├── NoGit          git isn't installed, or there is no sandbox to run it in
├── GitRefused     against a rule: a protected branch, a secret, a merge in progress
└── GitFailed      git failed, with its own message

Each is both a `TreadleError`, for programs, and a `ToolProblem`, for models: a sentence that says what to do.
"""

import re
from collections.abc import Mapping
from pathlib import Path

from treadle.core.errors import ToolProblem, TreadleError
from treadle.sandbox.runner import run_command
from treadle.sandbox.values import GIB, Bounds, CommandResult, SandboxMissing, SandboxSpec

MAX_OUTPUT = 800
_NOISE = re.compile(r"^(?:hint: .*|\s*)$\n?", re.MULTILINE)
_LABEL = re.compile(r"^(?:fatal|error): ", re.MULTILINE)
_ADVICE = (
    (
        re.compile(r"Unable to create '.*?([^/']+)\.lock'|cannot lock ref|Unable to lock"),
        "Another git is at work, or one that was ended left its lock file in .git. Try again; if it stays, tell the person.",
    ),
    (re.compile(r"would be overwritten by"), "Commit what is changed first, then repeat this."),
    (re.compile(r"unable to find alternate|not our ref|missing (?:blob|tree|commit)|promisor"), "The repository isn't whole here."),
)
SETTINGS = {
    "safe.directory": "*",
    "core.hooksPath": "/dev/null",
    "core.fsmonitor": "false",
    "core.pager": "cat",
    "core.editor": ":",
    "core.sshCommand": "false",
    "core.quotePath": "true",
    "credential.helper": "",
    "color.ui": "false",
    "diff.noprefix": "false",
    "diff.mnemonicPrefix": "false",
    "gc.auto": "0",
    "log.showSignature": "false",
    "submodule.recurse": "false",
}
ENVIRONMENT = {
    "LC_ALL": "C",
    "GIT_TERMINAL_PROMPT": "0",
    "GIT_PAGER": "cat",
    "GIT_EDITOR": ":",
    "GIT_LITERAL_PATHSPECS": "1",
    "GIT_CONFIG_NOSYSTEM": "1",
    "GIT_CONFIG_GLOBAL": "/dev/null",
    "GIT_CONFIG_COUNT": str(len(SETTINGS)),
    **{f"GIT_CONFIG_KEY_{number}": key for number, key in enumerate(SETTINGS)},
    **{f"GIT_CONFIG_VALUE_{number}": value for number, value in enumerate(SETTINGS.values())},
}
# Warnings are dropped, since they would be taken for a part of the answer; what a failure says is not.
QUIET_SCRIPT = 'exec 3>&1; said=$("$@" 2>&1 >&3 3>&-); code=$?; [ $code = 0 ] || printf "%s\\n" "$said"; exit $code'
OUTPUT = 8_000_000
OPERATIONS = {
    "MERGE_HEAD": "A merge",
    "CHERRY_PICK_HEAD": "A cherry-pick",
    "REVERT_HEAD": "A revert",
    "rebase-merge": "A rebase",
    "rebase-apply": "A rebase",
    "BISECT_LOG": "A bisection",
}


class GitProblem(TreadleError, ToolProblem):
    """The base class. A tool may let it through: the model then reads the sentence."""


class NoRepository(GitProblem):
    """No repository here that the tools can use."""


class NoGit(GitProblem):
    """Git isn't installed, or there is no sandbox to run it in."""


class GitRefused(GitProblem):
    """Against a rule."""


class GitFailed(GitProblem):
    """A git command failed."""


def git_failure(what: str, ran: CommandResult) -> GitProblem:
    """Build the problem from git's output; `what` names the attempted command."""
    if ran.killed_for:
        return GitFailed(
            f"{what} was ended after {ran.seconds:.0f} s because it took too much {ran.killed_for}. Do less at a time."
        )
    if ran.code == 127 and "not found" in ran.output:
        return NoGit("Git isn't installed where commands run. Go on without it, and tell the person.")
    return GitFailed(
        f"{what} failed: {shorten_git_output(ran.output) or f'git ended with code {ran.code} and said nothing.'}"
        f"{_find_advice(ran.output)}"
    )


def shorten_git_output(output: str) -> str:
    """Return git's own message, without hints and shortened."""
    text = _LABEL.sub("", _NOISE.sub("", output)).strip()
    return text if len(text) <= MAX_OUTPUT else f"{text[:MAX_OUTPUT]} [{len(text) - MAX_OUTPUT} more characters]"


def _find_advice(output: str) -> str:
    return next((f"\n{advice}" for pattern, advice in _ADVICE if pattern.search(output)), "")


class SandboxedGit:
    """Git in one folder, which must be the root of a repository. It may read other repositories at `reads`."""

    def __init__(
        self, folder: str | Path, *, unsafe: bool = False, env: Mapping[str, str] | None = None, reads: tuple[Path, ...] = ()
    ) -> None:
        self.folder = Path(folder).resolve()
        self._reads = reads
        self.unsafe = unsafe
        self._env = {**ENVIRONMENT, **(env or {})}

    async def read(self, *words: str) -> str:
        """Return the output of a read-only command."""
        return _check_result(words[0], await self.try_read(*words))

    async def change(self, *words: str) -> str:
        """Return the output of a command that changes the repository."""
        return _check_result(words[0], await self.script(QUIET_SCRIPT, "git", *words))

    async def try_read(self, *words: str) -> CommandResult:
        """Return the result of a read-only command that may fail."""
        return await self.script(QUIET_SCRIPT, "git", *words, writable=False)

    async def script(
        self,
        text: str,
        *words: str,
        stdin: str = "",
        env: Mapping[str, str] | None = None,
        seconds: float = 120,
        disk: int = Bounds().disk,
        writable: bool = True,
    ) -> CommandResult:
        """Return the result of a shell script with `$1` and so on."""
        check_repository_root(self.folder)
        locks = {} if writable else {"GIT_OPTIONAL_LOCKS": "0"}
        command = ["/bin/sh", "-c", text, "sh", *words]
        bounds = Bounds(seconds=seconds, output=OUTPUT, file_size=8 * GIB, disk=disk)
        place = SandboxSpec(self.folder, writable=writable, extra_read=self._reads, sockets=False, repository=True)
        try:
            return await run_command(
                command, place, bounds, stdin=stdin, env={**self._env, **locks, **(env or {})}, unsafe=self.unsafe
            )
        except SandboxMissing as missing:
            raise NoGit(f"Git was not run: {missing} Go on without it, and tell the person.") from missing

    def under_way(self) -> str:
        """Return the operation in progress, such as a merge; empty where there is none."""
        return next((what for name, what in OPERATIONS.items() if (self.folder / ".git" / name).exists()), "")


def _check_result(what: str, ran: CommandResult) -> str:
    if ran.code != 0:
        raise git_failure(f"git {what}", ran)
    return ran.output


def check_repository_root(folder: Path) -> None:
    """Raise `NoRepository`, which says what the folder is instead, unless it is the root of a repository."""
    repository = folder / ".git"
    if (repository / "commondir").exists():
        raise NoRepository(
            f"There is a file commondir in {repository}, which leads git to the settings of another repository and doesn't belong "
            "there. Go on without git, and tell the person to find out who put it there before they use git themselves."
        )
    if repository.is_dir() and not repository.is_symlink():
        return
    if repository.is_symlink() or repository.exists():
        raise NoRepository(
            f"The repository of {folder} lies elsewhere, since this is a linked worktree, a submodule or a link. "
            "The tools can't see it there. Go on without git, and tell the person to name the folder that has it as the workspace."
        )
    above = next((parent for parent in folder.parents if (parent / ".git").exists()), None)
    if above is not None:
        raise NoRepository(
            f"The workspace {folder} is only a part of the repository {above}, whose .git the tools can't see. "
            f"Go on without git, and tell the person to name {above} as the workspace if git is needed."
        )
    raise NoRepository(f"{folder} is no git repository. Go on without git, or ask the person to run git init there.")

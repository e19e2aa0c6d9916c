"""Git inside the sandbox: whatever a repository's settings, filters or hooks start, they start it there.

Reading commands see the workspace read-only. Settings that would start programs are overridden besides, so that the output
is git's own; the sandbox is the boundary. Hooks never run.
"""

from collections.abc import Mapping
from pathlib import Path

from treadle.sandbox.runner import run_command
from treadle.sandbox.values import GIB, Bounds, CommandResult, SandboxMissing, SandboxSpec
from treadle.toolsets.git.problems import NoGit, NoRepository, git_failure

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
        return _check_result(words[0], await self.tried(*words))

    async def change(self, *words: str) -> str:
        """Return the output of a command that changes the repository."""
        return _check_result(words[0], await self.script(QUIET_SCRIPT, "git", *words))

    async def tried(self, *words: str) -> CommandResult:
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

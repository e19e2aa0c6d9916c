"""The tools of a repository: `git` with an `action`, or flat ones, one for each action. `actions` implements them.

Interrupted calls are safe to repeat: a commit detects that it was made, everything else is idempotent.
"""

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, Literal, TypeVar, assert_never

from treadle.core.calls import Effect
from treadle.core.context import RunContext
from treadle.tools.tool import tool
from treadle.toolsets.functions import FunctionToolset
from treadle.toolsets.git.actions import GitActions, GitRules
from treadle.toolsets.git.commit import Identity
from treadle.toolsets.git.host_programs import HostPrograms
from treadle.toolsets.git.sandboxed import GitRefused, SandboxedGit

TOOLSET = "git"
_T = TypeVar("_T")

Action = Literal["status", "diff", "log", "branch", "add", "commit", "create_branch", "checkout", "push", "create_pr"]
_EFFECTS: Mapping[str, Effect] = {
    "status": "read",
    "diff": "read",
    "log": "read",
    "branch": "read",
    "add": "write",
    "commit": "write",
    "create_branch": "write",
    "checkout": "write",
    "push": "write",
    "create_pr": "write",
}


def git_tools(
    folder: str | Path,
    *,
    flat: bool = False,
    identity: Identity | None = None,
    remote: str = "origin",
    draft: bool = False,
    prefix: str = "treadle/",
    protected: Sequence[str] = ("main", "master"),
    project: Path | None = None,
    unsafe: bool = False,
) -> FunctionToolset:
    """Return the toolset of a repository, whose root is the folder.

    flat       one tool for each action, for models that choose a tool better than an argument
    identity   who commits; without it, the user's global git identity
    remote     where pushes and pull requests go
    draft      pull requests are drafts, unless the model says otherwise
    prefix     what the name of every new branch begins with
    protected  branches that are neither committed on nor pushed
    project    the repository that this one is a private copy of: a branch is fetched into it before it is pushed from there
    unsafe     runs git also where there is no sandbox; the repository's own settings then run programs as the user
    """
    rules = GitRules(remote, draft, prefix, tuple(protected))
    origin = None if project is None else SandboxedGit(project, unsafe=unsafe)
    actions = GitActions(SandboxedGit(folder, unsafe=unsafe), HostPrograms(project or Path(folder)), rules, identity, origin)
    return FunctionToolset(_build_flat(actions) if flat else [_build_grouped(actions)], TOOLSET)


def _build_flat(actions: GitActions) -> list[Any]:
    one = FlatGitTools(actions)
    making = tool(one.git_commit, effect=_EFFECTS["commit"], retry="checkable", sequential=True, reconcile=one.find_commit)
    changing = [one.git_add, making, one.git_create_branch, one.git_checkout, one.git_push, one.create_pr]
    return [one.git_status, one.git_diff, one.git_log, *changing]


def _build_grouped(actions: GitActions) -> Any:
    all_of_it = GroupedGitTools(actions)
    return tool(all_of_it.git, effects=_EFFECTS, retry="checkable", sequential=True, reconcile=all_of_it.reconcile)


class FlatGitTools:
    """One tool for each action."""

    def __init__(self, actions: GitActions) -> None:
        self._actions = actions

    @tool(effect=_EFFECTS["status"])
    async def git_status(self) -> str:
        """The branch, and which files are staged, changed and untracked."""
        return await self._actions.status()

    @tool(effect=_EFFECTS["diff"])
    async def git_diff(self, base: str = "", branch: str = "", files: list[str] | None = None) -> str:
        """What isn't committed yet; or, with base, what a branch adds to it.

        :param base: the branch or commit to compare with
        :param branch: the branch to look at, if not the current one
        :param files: only these files
        """
        return await self._actions.diff(base, branch, files or [])

    @tool(effect=_EFFECTS["log"])
    async def git_log(self, max_count: int = 20, path: str = "") -> str:
        """The last commits, a line each.

        :param max_count: how many at most
        :param path: only those that changed this file or folder
        """
        return await self._actions.log(max_count, path)

    @tool(effect=_EFFECTS["add"], retry="idempotent", sequential=True)
    async def git_add(self, files: list[str]) -> str:
        """Stage files for the next commit.

        :param files: the files of the change, each by its path
        """
        return await self._actions.add(files)

    async def git_commit(self, ctx: RunContext[Any], message: str) -> str:
        """Commit what is staged.

        :param message: what the change does
        """
        return await self._actions.commit(ctx.key, message)

    async def find_commit(self, ctx: RunContext[Any], message: str) -> str | None:
        """Return the result of an interrupted commit."""
        return await self._actions.find_commit(ctx.key)

    @tool(effect=_EFFECTS["create_branch"], retry="idempotent", sequential=True)
    async def git_create_branch(self, branch: str) -> str:
        """Create a branch from where you are, and switch to it.

        :param branch: its name
        """
        return await self._actions.create_branch(branch)

    @tool(effect=_EFFECTS["checkout"], retry="idempotent", sequential=True)
    async def git_checkout(self, branch: str) -> str:
        """Switch to a branch that exists.

        :param branch: its name
        """
        return await self._actions.checkout(branch)

    @tool(effect=_EFFECTS["push"], retry="idempotent", sequential=True)
    async def git_push(self, branch: str = "", remote: str = "") -> str:
        """Push a branch to the remote. This leaves the machine: others can see it.

        :param branch: the branch, if not the current one
        :param remote: the name of the remote, if not the usual one
        """
        return await self._actions.push(branch, remote)

    @tool(effect=_EFFECTS["create_pr"], retry="idempotent", sequential=True)
    async def create_pr(self, title: str, body: str = "", base: str = "", draft: bool | None = None) -> str:
        """Open a pull request of the current branch, which must be pushed. This leaves the machine: others can see it.

        :param title: what the change does, in one line
        :param body: the description, in Markdown
        :param base: the branch it should go into, if not the usual one
        :param draft: whether it is only a draft
        """
        return await self._actions.create_pr(title, body, base, draft)


class GroupedGitTools:
    """All actions as one tool."""

    def __init__(self, actions: GitActions) -> None:
        self._actions = actions

    async def git(
        self,
        ctx: RunContext[Any],
        action: Action,
        files: list[str] | None = None,
        message: str | None = None,
        branch: str = "",
        base: str = "",
        path: str = "",
        max_count: int = 20,
        remote: str = "",
        title: str | None = None,
        body: str = "",
        draft: bool | None = None,
    ) -> str:
        """Look at the repository, stage files, commit, and work on branches. push and create_pr leave the machine.

        :param action: what to do; branch lists the branches, diff shows what isn't committed or what a branch adds
        :param files: for add: the files of the change, each by its path; for diff: only these files
        :param message: for commit: what the change does
        :param branch: for create_branch, checkout, push and diff: the branch
        :param base: for diff: the branch or commit to compare with; for create_pr: the branch it should go into
        :param path: for log: only commits that changed this file or folder
        :param max_count: for log: how many commits at most
        :param remote: for push: the name of the remote, if not the usual one
        :param title: for create_pr: what the change does, in one line
        :param body: for create_pr: the description, in Markdown
        :param draft: for create_pr: whether it is only a draft
        """
        do = self._actions
        match action:
            case "status":
                return await do.status()
            case "diff":
                return await do.diff(base, branch, files or [])
            case "log":
                return await do.log(max_count, path)
            case "branch":
                return await do.branches()
            case "commit":
                return await do.commit(ctx.key, _require_argument(message, "message", action))
            case "create_pr":
                return await do.create_pr(_require_argument(title, "title", action), body, base, draft)
            case "push":
                return await do.push(branch, remote)
            case "add":
                return await do.add(_require_argument(files, "files", action))
            case _:
                return await self._change_branch(action, branch)

    async def _change_branch(self, action: Literal["create_branch", "checkout"], branch: str) -> str:
        name = _require_argument(branch or None, "branch", action)
        match action:
            case "create_branch":
                return await self._actions.create_branch(name)
            case "checkout":
                return await self._actions.checkout(name)
            case _:
                assert_never(action)

    async def reconcile(self, ctx: RunContext[Any], action: Action, **_: Any) -> str | None:
        """Return the result of an interrupted call; only a commit needs this."""
        return await self._actions.find_commit(ctx.key) if action == "commit" else None


def _require_argument(value: _T | None, name: str, action: str) -> _T:
    """Return an argument that this action needs."""
    if value is None:
        raise GitRefused(f"The action {action} needs the argument {name}. Repeat the call with it.")
    return value

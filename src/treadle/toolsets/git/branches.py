"""Branches: list, create and switch. Uncommitted changes come along, or git refuses."""

from treadle.toolsets.git.names import normalize_branch
from treadle.toolsets.git.problems import GitRefused
from treadle.toolsets.git.sandboxed import SandboxedGit
from treadle.toolsets.git.working_tree import STATUS_QUERY, GitState, parse_status

MAX_LISTED = 50
_FORMAT = "%(HEAD) %(refname:short) %(objectname:short) %(contents:subject)"


async def format_branches(git: SandboxedGit) -> str:
    """Return branches with their last commits, newest first."""
    lines = (await git.read("for-each-ref", "--sort=-committerdate", f"--format={_FORMAT}", "refs/heads")).splitlines()
    more = [f"[{len(lines) - MAX_LISTED} more branches]"] if len(lines) > MAX_LISTED else []
    return (
        "\n".join([*[line[:200] for line in lines[:MAX_LISTED]], *more]) or "There are no branches yet, since there is no commit."
    )


async def create_branch(git: SandboxedGit, name: str, prefix: str = "") -> str:
    """Create a branch from the current commit and switch to it; return its full name. Does nothing if it is checked out already."""
    branch, state = normalize_branch(name, prefix), await _read_state(git)
    if branch == state.branch:
        return branch
    there = await commit_of(git, f"refs/heads/{branch}")
    if there and there != state.head:
        raise GitRefused(f"There is a branch {branch} already, with other commits. Check it out, or choose another name.")
    await git.change("switch", "--no-guess", *((branch,) if there else ("--no-track", "-c", branch)))
    return branch


async def switch_branch(git: SandboxedGit, name: str, prefix: str = "", remote: str = "origin") -> str:
    """Switch to an existing branch, local or as last fetched from the remote; return its full name."""
    candidates = list(dict.fromkeys([normalize_branch(name), normalize_branch(name, prefix)]))
    state = await _read_state(git)
    for branch in candidates:
        if branch == state.branch:
            return branch
        if await commit_of(git, f"refs/heads/{branch}"):
            await git.change("switch", "--no-guess", branch)
            return branch
        if await commit_of(git, f"refs/remotes/{remote}/{branch}"):
            await git.change("switch", "--no-track", "-c", branch, f"refs/remotes/{remote}/{branch}")
            return branch
    raise GitRefused(f"There is no branch {candidates[0]}. List the branches to see which there are, or create it.")


async def commit_of(git: SandboxedGit, name: str) -> str:
    """Return the hash of a commit; empty where there is none by that name."""
    return (await git.tried("rev-parse", "--verify", "--quiet", f"{name}^{{commit}}")).output.strip()


async def _read_state(git: SandboxedGit) -> GitState:
    return parse_status(await git.read(*STATUS_QUERY, "--untracked-files=no"))

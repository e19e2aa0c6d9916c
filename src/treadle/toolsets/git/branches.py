"""Branches: listed, made and switched to. What is changed and not committed comes along, or git refuses."""

from treadle.toolsets.git.inside import Git
from treadle.toolsets.git.names import branch_named
from treadle.toolsets.git.problems import Refused
from treadle.toolsets.git.state import QUERY, State, state_of

MOST_LISTED = 50
_FORMAT = "%(HEAD) %(refname:short) %(objectname:short) %(contents:subject)"


async def listed(git: Git) -> str:
    """Branches with their last commits, the newest first."""
    lines = (await git.read("for-each-ref", "--sort=-committerdate", f"--format={_FORMAT}", "refs/heads")).splitlines()
    more = [f"[{len(lines) - MOST_LISTED} more branches]"] if len(lines) > MOST_LISTED else []
    return (
        "\n".join([*[line[:200] for line in lines[:MOST_LISTED]], *more]) or "There are no branches yet, since there is no commit."
    )


async def create(git: Git, name: str, prefix: str = "") -> str:
    """Make a branch from where we are and switch to it; its whole name. Nothing happens where we are on it already."""
    branch, state = branch_named(name, prefix), await _state(git)
    if branch == state.branch:
        return branch
    there = await commit_of(git, f"refs/heads/{branch}")
    if there and there != state.head:
        raise Refused(f"There is a branch {branch} already, with other commits. Check it out, or choose another name.")
    await git.change("switch", "--no-guess", *((branch,) if there else ("--no-track", "-c", branch)))
    return branch


async def switch(git: Git, name: str, prefix: str = "", remote: str = "origin") -> str:
    """Switch to a branch that is there, here or as it was last seen at the remote; its whole name."""
    candidates = list(dict.fromkeys([branch_named(name), branch_named(name, prefix)]))
    state = await _state(git)
    for branch in candidates:
        if branch == state.branch:
            return branch
        if await commit_of(git, f"refs/heads/{branch}"):
            await git.change("switch", "--no-guess", branch)
            return branch
        if await commit_of(git, f"refs/remotes/{remote}/{branch}"):
            await git.change("switch", "--no-track", "-c", branch, f"refs/remotes/{remote}/{branch}")
            return branch
    raise Refused(f"There is no branch {candidates[0]}. List the branches to see which there are, or create it.")


async def commit_of(git: Git, name: str) -> str:
    """The hash of a commit; nothing where there is none by that name."""
    return (await git.tried("rev-parse", "--verify", "--quiet", f"{name}^{{commit}}")).output.strip()


async def _state(git: Git) -> State:
    return state_of(await git.read(*QUERY, "--untracked-files=no"))

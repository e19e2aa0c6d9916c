"""Branches: list, create, switch, and merge one into another. Uncommitted changes come along, or git refuses.

The merge is computed outside the working tree, so a conflict touches nothing. No remote is contacted, and no hook runs.
"""

from collections.abc import Sequence
from pathlib import Path

from msgspec import Struct

from treadle.files.problems import printable_name
from treadle.toolsets.git.host_programs import HostPrograms
from treadle.toolsets.git.sandboxed import QUIET_SCRIPT, GitRefused, SandboxedGit, git_failure
from treadle.toolsets.git.working_tree import STATUS_QUERY, GitState, is_sha, normalize_branch, parse_status, unquote_path

MAX_LISTED = 50
_FORMAT = "%(HEAD) %(refname:short) %(objectname:short) %(contents:subject)"
MAX_NAMED = 5
CONFLICT = 1  # the exit code of `git merge-tree`


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
    return (await git.try_read("rev-parse", "--verify", "--quiet", f"{name}^{{commit}}")).output.strip()


async def _read_state(git: SandboxedGit) -> GitState:
    return parse_status(await git.read(*STATUS_QUERY, "--untracked-files=no"))


class MergeResult(Struct, frozen=True):
    """The new commit of `into`. `is_new` is false where it had all commits of the branch before."""

    into: str
    commit: str
    is_new: bool = True


async def merge_branch(
    folder: str | Path, branch: str, into: str, message: str, *, files: Sequence[str] = (), unsafe: bool = False
) -> MergeResult:
    """Merge a branch: a fast-forward, or a commit with this message.

    The folder is on `into` afterwards, unless it is on a third branch, where it stays. Refused on a conflict, and where `files`
    or those that the merge changes have uncommitted changes in the folder.
    """
    git = SandboxedGit(folder, unsafe=unsafe)
    if what := git.under_way():
        raise GitRefused(f"{what} is under way in the repository, so nothing was merged. Finish or abort it first.")
    state = parse_status(await git.read(*STATUS_QUERY, "--untracked-files=all"))
    theirs, ours = await _find_tip(git, branch), await _find_tip(git, into)
    has_all = await _contains(git, ours, theirs)
    commit = ours if has_all else await _make_commit(git, branch, into, ours, theirs, message)
    if state.branch in (branch, into):
        changed = {*files, *await _changed_paths(git, f"{ours}...{theirs}"), *await _changed_paths(git, f"{state.head}..{commit}")}
        _check_clean([change.path for change in state.changes if change.path in changed])
    if not has_all or state.branch == branch:
        await _move_branch(git, state.branch, branch, into, ours, commit)
    return MergeResult(into, commit, not has_all)


async def _find_tip(git: SandboxedGit, branch: str) -> str:
    found = await commit_of(git, f"refs/heads/{normalize_branch(branch)}")
    if not found:
        raise GitRefused(f"There is no branch {branch}, so nothing was merged.")
    return found


async def _contains(git: SandboxedGit, whole: str, part: str) -> bool:
    return (await git.try_read("merge-base", "--is-ancestor", part, whole)).code == 0


async def _make_commit(git: SandboxedGit, branch: str, into: str, ours: str, theirs: str, message: str) -> str:
    """Return the new commit of `into`: the branch's own for a fast-forward, else one that has both as parents."""
    if await _contains(git, theirs, ours):
        return theirs
    ran = await git.script(QUIET_SCRIPT, "git", "merge-tree", "--write-tree", "--name-only", "--no-messages", ours, theirs)
    tree, *conflicts = ran.output.splitlines() or [""]
    if ran.code == CONFLICT and is_sha(tree):
        raise GitRefused(f"Nothing was merged: {branch} and {into} both change {_join_paths(list(map(unquote_path, conflicts)))}.")
    if ran.code != 0 or not is_sha(tree):
        raise git_failure("git merge-tree", ran)
    identity = await HostPrograms(git.folder).identity(git)
    words = ("commit-tree", tree, "-p", ours, "-p", theirs, "-m", message)
    ran = await git.script(QUIET_SCRIPT, "git", *words, env=identity.variables())
    if ran.code != 0 or not is_sha(ran.output.strip()):
        raise git_failure("git commit-tree", ran)
    return ran.output.strip()


async def _changed_paths(git: SandboxedGit, span: str) -> list[str]:
    return [unquote_path(line) for line in (await git.read("diff", "--name-only", "--no-renames", span, "--")).splitlines()]


def _check_clean(paths: list[str]) -> None:
    if paths:
        raise GitRefused(f"Nothing was merged: your changes of {_join_paths(paths)} aren't committed. Commit or stash them first.")


def _join_paths(paths: list[str]) -> str:
    more = f" and {len(paths) - MAX_NAMED} more" if len(paths) > MAX_NAMED else ""
    return f"{', '.join(map(printable_name, paths[:MAX_NAMED]))}{more}"


async def _move_branch(git: SandboxedGit, now: str | None, branch: str, into: str, ours: str, commit: str) -> None:
    """Move `into` to the commit, and the folder with it. Git itself changes all of it, or refuses and changes nothing."""
    if now == into:
        await git.change("merge", "--quiet", "--ff-only", "--no-autostash", commit)
    elif now == branch:
        await git.change("switch", "--quiet", "--no-track", "-C", into, commit)
    else:
        await git.change("update-ref", "-m", f"merge {branch}: by treadle", f"refs/heads/{into}", commit, ours)

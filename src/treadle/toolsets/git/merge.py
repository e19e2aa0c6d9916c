"""A branch merged into another one, in the repository here: all of it, or nothing where files are in the way or in conflict.

The merge is computed beside the working tree, so a conflict touches nothing. No remote is asked or told, and no hook runs.
"""

from collections.abc import Sequence
from pathlib import Path

from msgspec import Struct

from treadle.files.problems import shown
from treadle.toolsets.git.branches import commit_of
from treadle.toolsets.git.inside import QUIETLY, Git
from treadle.toolsets.git.names import branch_named, is_sha, unquoted
from treadle.toolsets.git.outside import Outside
from treadle.toolsets.git.problems import Refused, failed
from treadle.toolsets.git.state import QUERY, state_of

MOST_NAMED = 5
CONFLICT = 1  # the exit code of `git merge-tree`


class Merged(Struct, frozen=True):
    """What `into` is at now. `is_new` is false where it had all commits of the branch before."""

    into: str
    commit: str
    is_new: bool = True


async def merge_branch(
    folder: str | Path, branch: str, into: str, message: str, *, files: Sequence[str] = (), unsafe: bool = False
) -> Merged:
    """Merge a branch: a fast-forward, or a commit with this message.

    The folder is on `into` afterwards, unless it is on a third branch, where it stays. Refused on a conflict, and where `files` or
    those that the merge changes have changes in the folder that aren't committed.
    """
    git = Git(folder, unsafe=unsafe)
    if what := git.under_way():
        raise Refused(f"{what} is under way in the repository, so nothing was merged. Finish or abort it first.")
    state = state_of(await git.read(*QUERY, "--untracked-files=all"))
    theirs, ours = await _tip(git, branch), await _tip(git, into)
    has_all = await _contains(git, ours, theirs)
    commit = ours if has_all else await _made(git, branch, into, ours, theirs, message)
    if state.branch in (branch, into):
        changed = {*files, *await _paths(git, f"{ours}...{theirs}"), *await _paths(git, f"{state.head}..{commit}")}
        _check_clean([change.path for change in state.changes if change.path in changed])
    if not has_all or state.branch == branch:
        await _move(git, state.branch, branch, into, ours, commit)
    return Merged(into, commit, not has_all)


async def _tip(git: Git, branch: str) -> str:
    found = await commit_of(git, f"refs/heads/{branch_named(branch)}")
    if not found:
        raise Refused(f"There is no branch {branch}, so nothing was merged.")
    return found


async def _contains(git: Git, whole: str, part: str) -> bool:
    return (await git.tried("merge-base", "--is-ancestor", part, whole)).code == 0


async def _made(git: Git, branch: str, into: str, ours: str, theirs: str, message: str) -> str:
    """The commit that `into` gets: the branch's own where it only goes on from there, else one that has both as parents."""
    if await _contains(git, theirs, ours):
        return theirs
    ran = await git.script(QUIETLY, "git", "merge-tree", "--write-tree", "--name-only", "--no-messages", ours, theirs)
    tree, *conflicts = ran.output.splitlines() or [""]
    if ran.code == CONFLICT and is_sha(tree):
        raise Refused(f"Nothing was merged: {branch} and {into} both change {_named(list(map(unquoted, conflicts)))}.")
    if ran.code != 0 or not is_sha(tree):
        raise failed("git merge-tree", ran)
    identity = await Outside(git.folder).identity(git)
    words = ("commit-tree", tree, "-p", ours, "-p", theirs, "-m", message)
    ran = await git.script(QUIETLY, "git", *words, env=identity.variables())
    if ran.code != 0 or not is_sha(ran.output.strip()):
        raise failed("git commit-tree", ran)
    return ran.output.strip()


async def _paths(git: Git, span: str) -> list[str]:
    return [unquoted(line) for line in (await git.read("diff", "--name-only", "--no-renames", span, "--")).splitlines()]


def _check_clean(paths: list[str]) -> None:
    if paths:
        raise Refused(f"Nothing was merged: your changes of {_named(paths)} aren't committed. Commit or stash them first.")


def _named(paths: list[str]) -> str:
    more = f" and {len(paths) - MOST_NAMED} more" if len(paths) > MOST_NAMED else ""
    return f"{', '.join(map(shown, paths[:MOST_NAMED]))}{more}"


async def _move(git: Git, now: str | None, branch: str, into: str, ours: str, commit: str) -> None:
    """Have `into` at the commit, and the folder with it. Git itself changes all of it, or refuses and changes nothing."""
    if now == into:
        await git.change("merge", "--quiet", "--ff-only", "--no-autostash", commit)
    elif now == branch:
        await git.change("switch", "--quiet", "--no-track", "-C", into, commit)
    else:
        await git.change("update-ref", "-m", f"merge {branch}: by treadle", f"refs/heads/{into}", commit, ours)

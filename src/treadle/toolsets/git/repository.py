"""Git for the assistant itself, without a model: the state of a folder, commits, the diff to review, push and pull request.

As everywhere, git runs inside the sandbox; errors are a `GitProblem`, whose message is a sentence.
"""

from collections.abc import Sequence
from pathlib import Path

from msgspec import Struct

from treadle.toolsets.git.actions import GitActions, GitRules
from treadle.toolsets.git.commit import Identity, commit_only
from treadle.toolsets.git.history import DIFF, resolve_commit
from treadle.toolsets.git.host_programs import HostPrograms
from treadle.toolsets.git.pull_requests import find_base_branch
from treadle.toolsets.git.push import strip_credentials
from treadle.toolsets.git.sandboxed import NoRepository, SandboxedGit
from treadle.toolsets.git.staging import plan_staging
from treadle.toolsets.git.working_tree import STATUS_QUERY, GitState, parse_status


class Repository(Struct, frozen=True):
    """State of a repository. `branch` is None where none is checked out, `head` where there is no commit yet.

    `dirty` are all paths with uncommitted changes, including untracked ones; `remote` has no password in it.
    """

    root: Path
    branch: str | None
    head: str | None
    dirty: tuple[str, ...]
    remote: str | None


async def read_repository(folder: str | Path, *, remote: str = "origin", unsafe: bool = False) -> Repository | None:
    """Read the repository of a folder; None where there is no usable one (`check_repository_root` says why)."""
    git = SandboxedGit(folder, unsafe=unsafe)
    try:
        state = parse_status(await git.read(*STATUS_QUERY, "--untracked-files=all"))
    except NoRepository:
        return None
    url = await git.try_read("remote", "get-url", "--push", "--", remote)
    return Repository(
        git.folder,
        state.branch,
        state.head,
        tuple(change.path for change in state.changes),
        strip_credentials(url.output.strip()) if url.code == 0 else None,
    )


async def commit_paths(
    folder: str | Path, paths: Sequence[str], message: str, key: str, identity: Identity | None = None, *, unsafe: bool = False
) -> str | None:
    """Commit exactly these paths and return the commit's hash; None where they have nothing to commit.

    A repeat with the same key returns the same commit. Paths that don't belong in a repository are left out; see
    `find_unsuitable`.
    """
    git = SandboxedGit(folder, unsafe=unsafe)
    return await commit_only(git, paths, message, key, identity or await HostPrograms(git.folder).identity(git))


async def find_unsuitable(folder: str | Path, paths: Sequence[str], *, unsafe: bool = False) -> dict[str, str]:
    """Return the paths that `commit_paths` would leave out, with the reasons: secrets, ignored paths, no changes."""
    return dict((await plan_staging(SandboxedGit(folder, unsafe=unsafe), paths)).refused)


async def diff_branch(folder: str | Path, base: str, branch: str, *, unsafe: bool = False) -> str:
    """Return what a branch adds to where it left `base`, as a unified diff."""
    git = SandboxedGit(folder, unsafe=unsafe)
    return await git.read(*DIFF, f"{await resolve_commit(git, base)}...{await resolve_commit(git, branch)}", "--")


MAX_NEW = 50  # files that aren't tracked yet


async def review_diff(
    folder: str | Path,
    base: str = "",
    branch: str = "",
    *,
    since: str = "",
    rules: GitRules = GitRules(),  # noqa: B008 - frozen
    unsafe: bool = False,
) -> str:
    """Return the diff to review: a branch against its base; without either, uncommitted changes, else what this branch adds.

    `since` is a commit: then it is everything that differs from it now, committed or not.
    """
    git = SandboxedGit(folder, unsafe=unsafe)
    state = parse_status(await git.read(*STATUS_QUERY, "--untracked-files=all"))
    if since:
        return await _diff_uncommitted(git, state, await resolve_commit(git, since))
    if not branch and not base:
        changed = await _diff_uncommitted(git, state)
        if changed.strip() or not state.head:
            return changed
    into = base or await find_base_branch(git, rules.remote, rules.protected)
    return await diff_branch(folder, into, branch or "HEAD", unsafe=unsafe)


async def _diff_uncommitted(git: SandboxedGit, state: GitState, since: str = "") -> str:
    """Return the changes since a commit, by default uncommitted ones, including untracked files."""
    base = since or ("HEAD" if state.head else "--cached")
    tracked = await git.read(*DIFF, base, "--") if state.changes or since else ""
    new = [change.path for change in state.changes if change.untracked][:MAX_NEW]
    diffs = [(await git.try_read(*DIFF, "--no-index", "--", "/dev/null", path)).output for path in new]
    return "".join([tracked, *diffs])


async def publish(
    folder: str | Path,
    title: str,
    body: str,
    *,
    rules: GitRules,
    pull_request: bool,
    branch: str = "",
    base: str = "",
    unsafe: bool = False,
) -> dict[str, str]:
    """Push a branch (by default the current one), with a pull request if requested; return what was done, as sentences."""
    actions = GitActions(SandboxedGit(folder, unsafe=unsafe), HostPrograms(Path(folder)), rules)
    done = {"pushed": await actions.push(branch, rules.remote)}
    if pull_request:
        done["pull_request"] = await actions.create_pr(title, body, base, None, branch)
    return done

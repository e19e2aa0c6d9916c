"""Git for the assistant itself, without a model: what a folder is like, and commits of what was changed.

As everywhere, git runs inside the sandbox; what goes wrong is a `GitProblem`, which says it in a sentence.
"""

from collections.abc import Sequence
from pathlib import Path

from msgspec import Struct

from treadle.toolsets.git.address import public
from treadle.toolsets.git.commit import Identity, commit_only
from treadle.toolsets.git.inside import Git
from treadle.toolsets.git.looks import DIFF, known
from treadle.toolsets.git.outside import Outside
from treadle.toolsets.git.problems import NoRepository
from treadle.toolsets.git.staging import chosen
from treadle.toolsets.git.state import QUERY, state_of


class Repository(Struct, frozen=True):
    """What a folder is like. `branch` is None where none is checked out, `head` where there is no commit yet.

    `dirty` are all paths with changes that aren't committed, also untracked ones; `remote` has no password in it.
    """

    root: Path
    branch: str | None
    head: str | None
    dirty: tuple[str, ...]
    remote: str | None


async def facts(folder: str | Path, *, remote: str = "origin", unsafe: bool = False) -> Repository | None:
    """What is known of the repository of a folder; None where there is none that can be used (`inside.located` says why)."""
    git = Git(folder, unsafe=unsafe)
    try:
        state = state_of(await git.read(*QUERY, "--untracked-files=all"))
    except NoRepository:
        return None
    url = await git.tried("remote", "get-url", "--push", "--", remote)
    return Repository(
        git.folder,
        state.branch,
        state.head,
        tuple(change.path for change in state.changes),
        public(url.output.strip()) if url.code == 0 else None,
    )


async def commit_paths(
    folder: str | Path, paths: Sequence[str], message: str, key: str, identity: Identity | None = None, *, unsafe: bool = False
) -> str | None:
    """Commit exactly these paths and give the commit's hash; None where they have nothing to commit.

    A repeat with the same key gives the same commit. Paths that don't belong in a repository are left out; `unsuitable` tells them.
    """
    git = Git(folder, unsafe=unsafe)
    return await commit_only(git, paths, message, key, identity or await Outside(git.folder).identity(git))


async def unsuitable(folder: str | Path, paths: Sequence[str], *, unsafe: bool = False) -> dict[str, str]:
    """The paths that `commit_paths` would leave out, each with the reason: secrets, ignored ones, those without changes."""
    return dict((await chosen(Git(folder, unsafe=unsafe), paths)).refused)


async def branch_diff(folder: str | Path, base: str, branch: str, *, unsafe: bool = False) -> str:
    """What a branch adds to where it left `base`, as a unified diff."""
    git = Git(folder, unsafe=unsafe)
    return await git.read(*DIFF, f"{await known(git, base)}...{await known(git, branch)}", "--")

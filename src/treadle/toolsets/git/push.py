"""A push: the commits are taken out of the sandbox as a pack, put into a repository of our own, and pushed from there.

So nothing of the repository's settings has a say outside: no hook, no ssh command, no credential helper, no other protocol. The
person's own settings and keys count. Never by force.
"""

import re
from asyncio import to_thread
from contextlib import suppress
from pathlib import Path
from secrets import token_hex
from tempfile import TemporaryDirectory
from typing import BinaryIO

from msgspec import Struct

from treadle.files.problems import WorkspaceProblem, shown
from treadle.files.workspace import Workspace
from treadle.toolsets.git.address import PROTOCOLS, Address, address
from treadle.toolsets.git.branches import commit_of
from treadle.toolsets.git.inside import Git
from treadle.toolsets.git.names import is_sha
from treadle.toolsets.git.outside import Outside
from treadle.toolsets.git.problems import Failed, GitProblem, NoGit, Refused, failed, said
from treadle.toolsets.sandbox.values import Ran

SECONDS = 600.0
EXPORT = """
exec 2>&1
mkdir -p .git/treadle || exit 1
find .git/treadle -name 'push-*.pack' -mmin +60 -delete
git pack-objects --revs --stdout --delta-base-offset -q > ".git/treadle/$1"
"""
_REMOTE = re.compile(r"[A-Za-z0-9][\w.-]*(?:/[A-Za-z0-9][\w.-]*)*")
_NO_ACCESS = re.compile(
    r"could not read (?:Username|Password)|Authentication failed|Permission denied|Host key verification|\berror: 40[13]\b"
)
_NO_WAY = re.compile(
    r"Could not resolve host|unable to access|Connection (?:refused|timed out)|Network is unreachable|Temporary failure"
)


class Pushed(Struct, frozen=True):
    """What came of a push. `new` is False where the remote had it already."""

    branch: str
    commit: str
    address: Address
    new: bool


async def push(git: Git, outside: Outside, branch: str, remote: str) -> Pushed:
    """Push a branch to the branch of its name at the remote."""
    program = outside.program("git")
    if program is None:
        raise NoGit("Git isn't installed outside of the sandbox, so nothing can be pushed. Tell the person.")
    where = await address_of(git, remote)
    commit = await commit_of(git, f"refs/heads/{branch}")
    if not is_sha(commit):
        raise Refused(f"There is no branch {branch} with a commit to push. Commit something on it first.")
    with TemporaryDirectory(prefix="treadle-push-") as folder:
        bare = Bare(Path(folder), outside, program)
        await _filled(git, bare, commit)
        new = await bare.push(where, commit, branch)
    with suppress(GitProblem):  # it is only a memory of what is there now
        await git.change("update-ref", f"refs/remotes/{remote}/{branch}", commit)
    return Pushed(branch, commit, where, new)


async def address_of(git: Git, remote: str) -> Address:
    """Where a remote is, as the repository has it."""
    if not _REMOTE.fullmatch(remote):
        raise Refused(
            f"{shown(remote)!r} is no name of a remote. Use one that is set up, as a rule origin; addresses are not taken."
        )
    ran = await git.tried("remote", "get-url", "--push", "--", remote)
    if ran.code != 0:
        raise Refused(f"There is no remote {remote} in this repository. Ask the person to set it up.")
    return address(ran.output.strip(), git.folder)


async def _filled(git: Git, bare: "Bare", commit: str) -> None:
    """The commit and all before it, put into the repository of our own."""
    name = f"push-{token_hex(8)}.pack"
    await bare.begin(commit, await to_thread(_shallow, git.folder))
    try:
        ran = await git.script(EXPORT, name, stdin=f"{commit}\n", seconds=SECONDS)
        if ran.code != 0:
            raise failed("Packing the commits", ran)
        await bare.take(git.folder, f".git/treadle/{name}")
    finally:
        await git.script('rm -f ".git/treadle/$1"', name)


def _shallow(folder: Path) -> str:
    """Where the history of a shallow clone begins."""
    try:
        text = Workspace(folder, links=False).read_bytes(".git/shallow").decode("ascii", "replace")
    except WorkspaceProblem:
        return ""
    return "".join([f"{line}\n" for line in text.split() if is_sha(line)])


class Bare:
    """A repository of our own, for one push."""

    def __init__(self, folder: Path, outside: Outside, program: str) -> None:
        self._folder = folder
        self._outside = outside
        self._git = program

    async def begin(self, commit: str, shallow: str) -> None:
        """An empty one, for commits of this kind."""
        kind = "sha1" if len(commit) == 40 else "sha256"
        ran = await self._outside.run(
            self._git, "init", "--quiet", "--bare", "--template=", f"--object-format={kind}", str(self._folder), cwd=self._folder
        )
        if ran.code != 0:
            raise failed("Preparing the push", ran)
        if shallow:
            await to_thread((self._folder / "shallow").write_text, shallow)

    async def take(self, folder: Path, path: str) -> None:
        """Put a pack of the workspace into it."""
        with await to_thread(Workspace(folder, links=False).open_read, path) as pack:
            ran = await self._run("index-pack", "--stdin", stdin=pack)
        if ran.code != 0:
            raise failed("Taking the commits out of the sandbox", ran)

    async def push(self, where: Address, commit: str, branch: str) -> bool:
        """Push; whether the remote got anything new."""
        words = ("push", "--porcelain", "--no-follow-tags", "--recurse-submodules=no", "--no-signed")
        ran = await self._run(*words, "--", where.url, f"{commit}:refs/heads/{branch}")
        if ran.code == 0:
            return not re.search(r"^=\t", ran.output, re.MULTILINE)
        raise _rejected(ran, where, branch)

    async def _run(self, *words: str, stdin: BinaryIO | None = None) -> Ran:
        env = {"GIT_DIR": str(self._folder), "GIT_ALLOW_PROTOCOL": PROTOCOLS}
        return await self._outside.run(self._git, *words, cwd=self._folder, env=env, stdin=stdin, seconds=SECONDS)


def _rejected(ran: Ran, where: Address, branch: str) -> GitProblem:
    if re.search(r"\((?:fetch first|non-fast-forward)\)", ran.output):
        return Refused(
            f"Nothing was pushed: the branch {branch} at {where.shown} has commits that this one doesn't have, and they are never "
            "overwritten. Create another branch and push that, or ask the person to bring the two together."
        )
    if _NO_ACCESS.search(ran.output):
        return Failed(
            f"Nothing was pushed: {where.shown} refused access. {said(ran.output)}\nTell the person; the commits are kept here."
        )
    if _NO_WAY.search(ran.output):
        return Failed(
            f"Nothing was pushed: {where.shown} can't be reached. {said(ran.output)}\nTell the person; the commits are kept here."
        )
    return failed(f"The push to {where.shown}", ran)

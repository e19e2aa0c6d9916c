"""Push of a branch: the commits are taken out of the sandbox as a pack, put into our own repository, and pushed from there.

So the repository's settings have no effect outside: no hook, no ssh command, no credential helper, no other protocol. The
user's own settings and keys apply. Never by force.

A remote's address comes from the repository's settings and isn't trusted: some kinds start programs. A folder of this machine
is accepted only outside of the workspace, because a push to it runs the hooks that lie there.
"""

import re
from asyncio import to_thread
from contextlib import suppress
from pathlib import Path
from secrets import token_hex
from tempfile import TemporaryDirectory
from typing import BinaryIO

from msgspec import Struct

from treadle.files.problems import WorkspaceProblem, printable_name
from treadle.files.workspace import Workspace
from treadle.sandbox.bubblewrap import is_within
from treadle.sandbox.values import CommandResult
from treadle.toolsets.git.branches import commit_of
from treadle.toolsets.git.host_programs import HostPrograms
from treadle.toolsets.git.sandboxed import GitFailed, GitProblem, GitRefused, NoGit, SandboxedGit, git_failure, shorten_git_output
from treadle.toolsets.git.working_tree import is_sha

PROTOCOLS = "https:ssh:file"
_HOST = r"[A-Za-z0-9][A-Za-z0-9.-]*"
_USER = r"(?:[A-Za-z0-9_][^\s/@]*@)?"
_HTTPS = re.compile(rf"https://{_USER}(?P<host>{_HOST})(?::\d+)?/(?P<path>[^\s]+)")
_SSH = re.compile(rf"(?:ssh|git\+ssh|ssh\+git)://{_USER}(?P<host>{_HOST})(?::\d+)?/(?P<path>[^\s-][^\s]*)")
_SCP = re.compile(rf"(?:[A-Za-z0-9_][\w.-]*@)?(?P<host>{_HOST}):(?P<path>(?![:-])(?!//)[^\s:][^\s]*)")
_REPOSITORY = re.compile(r"/?(?P<owner>[\w.-]+)/(?P<name>[\w.-]+?)(?:\.git)?/?")
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
_UNREACHABLE = re.compile(
    r"Could not resolve host|unable to access|Connection (?:refused|timed out)|Network is unreachable|Temporary failure"
)


class RemoteAddress(Struct, frozen=True):
    """Where a push goes. `shown` has no password in it; `github` is the repository's name for `gh`, if it is one of GitHub's."""

    url: str
    shown: str
    github: str = ""


def parse_address(url: str, workspace: Path) -> RemoteAddress:
    """Return the address to push to. Raises `GitRefused` for one that isn't accepted."""
    for pattern in (_HTTPS, _SSH, _SCP):
        found = pattern.fullmatch(url)
        if found is not None:
            return RemoteAddress(url, strip_credentials(url), github_repository(found["host"], found["path"]))
    if "://" not in url.removeprefix("file://") and "::" not in url:
        return _parse_local(url, workspace)
    raise GitRefused(
        f"The remote's address {strip_credentials(url)[:200]!r} isn't one that is pushed to: "
        "only https, ssh and bare repositories outside of "
        "the workspace are. Ask the person to correct it."
    )


def strip_credentials(url: str) -> str:
    """Return an address without the user name and password that may be in it."""
    return re.sub(r"(?<=://)[^\s/@]*@", "", url)


def _parse_local(url: str, workspace: Path) -> RemoteAddress:
    path = (workspace / url.removeprefix("file://")).resolve()
    if is_within(path, workspace.resolve()):
        raise GitRefused(
            "The remote is a folder in the workspace, where a push would run what lies there. Ask the person to correct it."
        )
    if not ((path / "HEAD").is_file() and (path / "objects").is_dir() and (path / "refs").is_dir()):
        raise GitRefused(
            f"The remote {str(path)!r} is no bare repository, so nothing can be pushed there. Ask the person to correct it."
        )
    return RemoteAddress(str(path), str(path))


def github_repository(host: str, path: str) -> str:
    """Return the name of a repository for `gh`; empty if the host isn't one of GitHub's."""
    host = host.lower().removeprefix("ssh.").removeprefix("www.")
    found = _REPOSITORY.fullmatch(path)
    if found is None or not (host == "github.com" or host.startswith("github.") or host.endswith(".ghe.com")):
        return ""
    return f"{'' if host == 'github.com' else f'{host}/'}{found['owner']}/{found['name']}"


class PushResult(Struct, frozen=True):
    """Result of a push. `new` is False where the remote had it already."""

    branch: str
    commit: str
    address: RemoteAddress
    new: bool


async def push_branch(git: SandboxedGit, outside: HostPrograms, branch: str, remote: str) -> PushResult:
    """Push a branch to the branch of the same name at the remote."""
    program = outside.program("git")
    if program is None:
        raise NoGit("Git isn't installed outside of the sandbox, so nothing can be pushed. Tell the person.")
    where = await read_remote_address(git, remote)
    commit = await commit_of(git, f"refs/heads/{branch}")
    if not is_sha(commit):
        raise GitRefused(f"There is no branch {branch} with a commit to push. Commit something on it first.")
    with TemporaryDirectory(prefix="treadle-push-") as folder:
        bare = BareRepository(Path(folder), outside, program)
        await _fill_repository(git, bare, commit)
        new = await bare.push(where, commit, branch)
    with suppress(GitProblem):  # it is only a memory of what is there now
        await git.change("update-ref", f"refs/remotes/{remote}/{branch}", commit)
    return PushResult(branch, commit, where, new)


async def read_remote_address(git: SandboxedGit, remote: str) -> RemoteAddress:
    """Return the address of a remote, as the repository has it."""
    if not _REMOTE.fullmatch(remote):
        raise GitRefused(
            f"{printable_name(remote)!r} is no name of a remote. Use one that is set up, as a rule origin; addresses are not taken."
        )
    ran = await git.try_read("remote", "get-url", "--push", "--", remote)
    if ran.code != 0:
        raise GitRefused(f"There is no remote {remote} in this repository. Ask the person to set it up.")
    return parse_address(ran.output.strip(), git.folder)


async def _fill_repository(git: SandboxedGit, bare: "BareRepository", commit: str) -> None:
    """Put the commit and all its ancestors into our own repository."""
    name = f"push-{token_hex(8)}.pack"
    await bare.begin(commit, await to_thread(_read_shallow, git.folder))
    try:
        ran = await git.script(EXPORT, name, stdin=f"{commit}\n", seconds=SECONDS)
        if ran.code != 0:
            raise git_failure("Packing the commits", ran)
        await bare.take(git.folder, f".git/treadle/{name}")
    finally:
        await git.script('rm -f ".git/treadle/$1"', name)


def _read_shallow(folder: Path) -> str:
    """Return where the history of a shallow clone begins."""
    try:
        text = Workspace(folder, links=False).read_bytes(".git/shallow").decode("ascii", "replace")
    except WorkspaceProblem:
        return ""
    return "".join([f"{line}\n" for line in text.split() if is_sha(line)])


class BareRepository:
    """Our own bare repository, for one push."""

    def __init__(self, folder: Path, outside: HostPrograms, program: str) -> None:
        self._folder = folder
        self._outside = outside
        self._git = program

    async def begin(self, commit: str, shallow: str) -> None:
        """Create it empty, with the object format of this commit."""
        kind = "sha1" if len(commit) == 40 else "sha256"
        ran = await self._outside.run(
            self._git, "init", "--quiet", "--bare", "--template=", f"--object-format={kind}", str(self._folder), cwd=self._folder
        )
        if ran.code != 0:
            raise git_failure("Preparing the push", ran)
        if shallow:
            await to_thread((self._folder / "shallow").write_text, shallow)

    async def take(self, folder: Path, path: str) -> None:
        """Import a pack from the workspace."""
        with await to_thread(Workspace(folder, links=False).open_read, path) as pack:
            ran = await self._run("index-pack", "--stdin", stdin=pack)
        if ran.code != 0:
            raise git_failure("Taking the commits out of the sandbox", ran)

    async def push(self, where: RemoteAddress, commit: str, branch: str) -> bool:
        """Push; return whether the remote got anything new."""
        words = ("push", "--porcelain", "--no-follow-tags", "--recurse-submodules=no", "--no-signed")
        ran = await self._run(*words, "--", where.url, f"{commit}:refs/heads/{branch}")
        if ran.code == 0:
            return not re.search(r"^=\t", ran.output, re.MULTILINE)
        raise _rejection(ran, where, branch)

    async def _run(self, *words: str, stdin: BinaryIO | None = None) -> CommandResult:
        env = {"GIT_DIR": str(self._folder), "GIT_ALLOW_PROTOCOL": PROTOCOLS}
        return await self._outside.run(self._git, *words, cwd=self._folder, env=env, stdin=stdin, seconds=SECONDS)


def _rejection(ran: CommandResult, where: RemoteAddress, branch: str) -> GitProblem:
    if re.search(r"\((?:fetch first|non-fast-forward)\)", ran.output):
        return GitRefused(
            f"Nothing was pushed: the branch {branch} at {where.shown} has commits that this one doesn't have, and they are never "
            "overwritten. Create another branch and push that, or ask the person to bring the two together."
        )
    if _NO_ACCESS.search(ran.output):
        return GitFailed(
            f"Nothing was pushed: {where.shown} refused access. {shorten_git_output(ran.output)}\n"
            "Tell the person; the commits are kept here."
        )
    if _UNREACHABLE.search(ran.output):
        return GitFailed(
            f"Nothing was pushed: {where.shown} can't be reached. {shorten_git_output(ran.output)}\n"
            "Tell the person; the commits are kept here."
        )
    return git_failure(f"The push to {where.shown}", ran)

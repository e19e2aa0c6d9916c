"""Pull requests: opened with GitHub's `gh` if that is installed and the remote is GitHub's, else written to a file.

`gh` runs outside, in an empty folder, with explicit arguments; the repository has no influence. A repeated request opens one.
"""

import re
from collections.abc import Sequence
from pathlib import Path
from tempfile import TemporaryDirectory

import msgspec
from msgspec import Struct

from treadle.toolsets.git.branches import commit_of
from treadle.toolsets.git.host_programs import HostPrograms
from treadle.toolsets.git.push import RemoteAddress, read_remote_address
from treadle.toolsets.git.sandboxed import GitFailed, GitProblem, GitRefused, SandboxedGit, git_failure, shorten_git_output

MAX_COMMITS = 50
SAVE = 'exec 2>&1; mkdir -p .git/treadle && cat > ".git/treadle/$1"'


class PullRequest(Struct, frozen=True):
    """A pull request to open."""

    title: str
    body: str
    branch: str
    base: str
    remote: str
    draft: bool


class _OpenPullRequest(Struct):
    url: str


async def open_pull_request(git: SandboxedGit, outside: HostPrograms, wish: PullRequest) -> str:
    """Open the pull request, or write it to a file; return what was done."""
    commit = await commit_of(git, f"refs/heads/{wish.branch}")
    if not commit:
        raise GitRefused(f"There is no branch {wish.branch} with a commit. Commit something on a branch first.")
    pushed = await commit_of(git, f"refs/remotes/{wish.remote}/{wish.branch}") == commit
    try:
        where = await read_remote_address(git, wish.remote)
    except GitProblem:
        where = None
    gh = outside.program("gh")
    if where is None or not where.github or gh is None:
        return await _write_description(git, wish, where, pushed=pushed)
    if not pushed:
        raise GitRefused(f"The branch {wish.branch} isn't pushed as it is now. Push it first, then repeat this.")
    return await _open_with_gh(outside, gh, wish, where.github)


async def find_base_branch(git: SandboxedGit, remote: str, candidates: Sequence[str]) -> str:
    """Return the default base branch of a pull request: the remote's own, else the first candidate that exists."""
    ran = await git.try_read("symbolic-ref", "--quiet", "--short", f"refs/remotes/{remote}/HEAD")
    if ran.code == 0:
        return ran.output.strip().removeprefix(f"{remote}/")
    for name in candidates:
        if await commit_of(git, f"refs/remotes/{remote}/{name}") or await commit_of(git, f"refs/heads/{name}"):
            return name
    return ""


async def _open_with_gh(outside: HostPrograms, gh: str, wish: PullRequest, repository: str) -> str:
    with TemporaryDirectory(prefix="treadle-pr-") as name:
        folder = Path(name)
        there = await outside.run(gh, *_list_arguments(repository, wish), cwd=folder, seconds=60)
        if there.code != 0:
            raise _gh_failure(there.output)
        if found := _parse_first_url(there.output):
            return f"There is a pull request for {wish.branch} already: {found}"
        body = folder / "body.md"
        body.write_text(wish.body, encoding="utf-8", errors="replace")
        made = await outside.run(gh, *_create_arguments(repository, wish, body), cwd=folder, seconds=120)
    if made.code != 0:
        raise _gh_failure(made.output)
    link = re.search(r"https://\S+", made.output)
    return f"Opened {'a draft of ' if wish.draft else ''}a pull request: {link[0] if link else shorten_git_output(made.output)}"


def _list_arguments(repository: str, wish: PullRequest) -> list[str]:
    return ["pr", "list", "--repo", repository, "--head", wish.branch, "--state", "open", "--json", "url", "--limit", "1"]


def _create_arguments(repository: str, wish: PullRequest, body: Path) -> list[str]:
    base = ["--base", wish.base] if wish.base else []
    draft = ["--draft"] if wish.draft else []
    words = ["pr", "create", "--repo", repository, "--head", wish.branch, *base, "--title", wish.title]
    return [*words, "--body-file", str(body), *draft]


def _parse_first_url(output: str) -> str:
    """Return the URL of the first pull request in a list."""
    try:
        found = msgspec.json.decode(output, type=list[_OpenPullRequest])
    except msgspec.DecodeError as error:
        raise GitFailed(f"gh gave a list that can't be read: {shorten_git_output(output)}") from error
    return found[0].url if found else ""


def _gh_failure(output: str) -> GitFailed:
    return GitFailed(f"gh didn't open a pull request: {shorten_git_output(output)}\nThe branch stays pushed; tell the person.")


async def _write_description(git: SandboxedGit, wish: PullRequest, where: RemoteAddress | None, *, pushed: bool) -> str:
    text = await _to_markdown(git, wish)
    name = f"PR-{re.sub(r'[^A-Za-z0-9._-]+', '-', wish.branch)}.md"
    ran = await git.script(SAVE, name, stdin=text)
    if ran.code != 0:
        raise git_failure("Saving the description", ran)
    place = where.shown if where else f"the remote {wish.remote}, which isn't set up"
    state = f"The branch {wish.branch} is {'pushed to' if pushed else 'not pushed yet to'} {place}."
    return f"{state} The user must open the pull request. Its description is saved as .git/treadle/{name}:\n\n{text}"


async def _to_markdown(git: SandboxedGit, wish: PullRequest) -> str:
    """Return the description, ready to be pasted."""
    base = wish.base and (await commit_of(git, f"refs/remotes/{wish.remote}/{wish.base}") or await commit_of(git, wish.base))
    span = [f"{base}..refs/heads/{wish.branch}"] if base else [f"refs/heads/{wish.branch}"]
    commits = await git.read("log", f"--max-count={MAX_COMMITS}", "--reverse", "--no-notes", "--format=- %h %s", *span, "--")
    into = f"`{wish.branch}` into `{wish.base}`" if wish.base else f"`{wish.branch}`"
    parts = [f"# {wish.title}", f"{into}{' (draft)' if wish.draft else ''}", wish.body.strip(), f"## Commits\n\n{commits.strip()}"]
    return "\n\n".join([part for part in parts if part]) + "\n"

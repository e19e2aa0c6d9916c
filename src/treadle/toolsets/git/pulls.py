"""A pull request: opened with GitHub's `gh` where that is installed and the remote is GitHub's, else written down for a person.

`gh` runs outside, in an empty folder, and is told everything; the repository has no say. Asking twice opens one.
"""

import re
from collections.abc import Sequence
from pathlib import Path
from tempfile import TemporaryDirectory

import msgspec
from msgspec import Struct

from treadle.toolsets.git.address import Address
from treadle.toolsets.git.branches import commit_of
from treadle.toolsets.git.inside import Git
from treadle.toolsets.git.outside import Outside
from treadle.toolsets.git.problems import Failed, GitProblem, Refused, failed, said
from treadle.toolsets.git.push import address_of

MOST_COMMITS = 50
SAVE = 'exec 2>&1; mkdir -p .git/treadle && cat > ".git/treadle/$1"'


class Wish(Struct, frozen=True):
    """A pull request as it is wanted."""

    title: str
    body: str
    branch: str
    base: str
    remote: str
    draft: bool


class _Open(Struct):
    url: str


async def request(git: Git, outside: Outside, wish: Wish) -> str:
    """Open it, or write it down; what became of it."""
    commit = await commit_of(git, f"refs/heads/{wish.branch}")
    if not commit:
        raise Refused(f"There is no branch {wish.branch} with a commit. Commit something on a branch first.")
    pushed = await commit_of(git, f"refs/remotes/{wish.remote}/{wish.branch}") == commit
    try:
        where = await address_of(git, wish.remote)
    except GitProblem:
        where = None
    gh = outside.program("gh")
    if where is None or not where.github or gh is None:
        return await _written(git, wish, where, pushed=pushed)
    if not pushed:
        raise Refused(f"The branch {wish.branch} isn't pushed as it is now. Push it first, then repeat this.")
    return await _opened(outside, gh, wish, where.github)


async def base_of(git: Git, remote: str, candidates: Sequence[str]) -> str:
    """The branch that a pull request goes to, where nobody says: the remote's own, else the first that there is."""
    ran = await git.tried("symbolic-ref", "--quiet", "--short", f"refs/remotes/{remote}/HEAD")
    if ran.code == 0:
        return ran.output.strip().removeprefix(f"{remote}/")
    for name in candidates:
        if await commit_of(git, f"refs/remotes/{remote}/{name}") or await commit_of(git, f"refs/heads/{name}"):
            return name
    return ""


async def _opened(outside: Outside, gh: str, wish: Wish, repository: str) -> str:
    with TemporaryDirectory(prefix="treadle-pr-") as name:
        folder = Path(name)
        there = await outside.run(gh, *_listing(repository, wish), cwd=folder, seconds=60)
        if there.code != 0:
            raise _refused(there.output)
        if found := _first(there.output):
            return f"There is a pull request for {wish.branch} already: {found}"
        body = folder / "body.md"
        body.write_text(wish.body, encoding="utf-8", errors="replace")
        made = await outside.run(gh, *_making(repository, wish, body), cwd=folder, seconds=120)
    if made.code != 0:
        raise _refused(made.output)
    link = re.search(r"https://\S+", made.output)
    return f"Opened {'a draft of ' if wish.draft else ''}a pull request: {link[0] if link else said(made.output)}"


def _listing(repository: str, wish: Wish) -> list[str]:
    return ["pr", "list", "--repo", repository, "--head", wish.branch, "--state", "open", "--json", "url", "--limit", "1"]


def _making(repository: str, wish: Wish, body: Path) -> list[str]:
    base = ["--base", wish.base] if wish.base else []
    draft = ["--draft"] if wish.draft else []
    words = ["pr", "create", "--repo", repository, "--head", wish.branch, *base, "--title", wish.title]
    return [*words, "--body-file", str(body), *draft]


def _first(output: str) -> str:
    """The address of the first pull request in a list."""
    try:
        found = msgspec.json.decode(output, type=list[_Open])
    except msgspec.DecodeError as error:
        raise Failed(f"gh gave a list that can't be read: {said(output)}") from error
    return found[0].url if found else ""


def _refused(output: str) -> Failed:
    return Failed(f"gh didn't open a pull request: {said(output)}\nThe branch stays pushed; tell the person.")


async def _written(git: Git, wish: Wish, where: Address | None, *, pushed: bool) -> str:
    text = await _markdown(git, wish)
    name = f"PR-{re.sub(r'[^A-Za-z0-9._-]+', '-', wish.branch)}.md"
    ran = await git.script(SAVE, name, stdin=text)
    if ran.code != 0:
        raise failed("Saving the description", ran)
    place = where.shown if where else f"the remote {wish.remote}, which isn't set up"
    state = f"The branch {wish.branch} is {'pushed to' if pushed else 'not pushed yet to'} {place}."
    return f"{state} A person has to open the pull request. Its description is saved as .git/treadle/{name}:\n\n{text}"


async def _markdown(git: Git, wish: Wish) -> str:
    """The description, ready to be pasted."""
    base = wish.base and (await commit_of(git, f"refs/remotes/{wish.remote}/{wish.base}") or await commit_of(git, wish.base))
    span = [f"{base}..refs/heads/{wish.branch}"] if base else [f"refs/heads/{wish.branch}"]
    commits = await git.read("log", f"--max-count={MOST_COMMITS}", "--reverse", "--no-notes", "--format=- %h %s", *span, "--")
    into = f"`{wish.branch}` into `{wish.base}`" if wish.base else f"`{wish.branch}`"
    parts = [f"# {wish.title}", f"{into}{' (draft)' if wish.draft else ''}", wish.body.strip(), f"## Commits\n\n{commits.strip()}"]
    return "\n\n".join([part for part in parts if part]) + "\n"

"""GitHub through the user's `gh`: issues and pull requests are read, and a review with line comments is posted.

`gh` runs outside of the sandbox, with the user's own credentials, in an empty folder and with explicit arguments: the repository
has no influence. What it returns was written by others.
"""

import re
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import TypeVar

import msgspec
from msgspec import Struct

from treadle.toolsets.git.host_programs import HostPrograms
from treadle.toolsets.git.push import github_repository, read_remote_address
from treadle.toolsets.git.sandboxed import GitFailed, GitProblem, GitRefused, SandboxedGit, shorten_git_output

MAX_OUTPUT = 4_000_000  # characters of a diff or an issue
_SIGNED_OUT = 4  # what gh ends with if it isn't signed in
_NUMBER = re.compile(r"#?(\d{1,9})")
_URL = re.compile(r"https://(?P<host>[\w.-]+)/(?P<path>[\w.-]+/[\w.-]+)/(?:issues|pull)/(?P<number>\d{1,9})(?:[/?#].*)?")
_T = TypeVar("_T")
_REVIEWS = ".[] | {html_url: .html_url, body: .body}"


class GitHubReference(Struct, frozen=True):
    """An issue or a pull request: its repository, as `gh` takes it, and its number."""

    repository: str
    number: int


class GitHubAuthor(Struct, frozen=True):
    """Who wrote something."""

    login: str = ""


class GitHubComment(Struct, frozen=True):
    """A comment on an issue."""

    body: str = ""
    author: GitHubAuthor | None = None


class GitHubIssue(Struct, frozen=True):
    """An issue, with its comments."""

    title: str
    url: str
    body: str = ""
    author: GitHubAuthor | None = None
    comments: tuple[GitHubComment, ...] = ()

    @property
    def text(self) -> str:
        """All of it as text."""
        said = [f"{_login(each.author)} commented:\n{each.body.strip()}" for each in self.comments]
        return "\n\n".join([self.title, f"{_login(self.author)} wrote:\n{self.body.strip()}", *said])


class GitHubPullRequest(Struct, frozen=True, rename="camel"):
    """A pull request and the commit at its head."""

    title: str
    url: str
    head_ref_oid: str


class GitHubReviewComment(Struct, frozen=True, omit_defaults=True):
    """A comment at a line of the new file, or at the lines from `start_line` to `line`."""

    path: str
    line: int
    body: str
    side: str = ""
    start_line: int = 0
    start_side: str = ""


class _PostedReview(Struct, frozen=True):
    html_url: str = ""
    body: str | None = None


def is_github_reference(text: str) -> bool:
    """Return whether a text is a number, or the address of an issue or a pull request."""
    return bool(_NUMBER.fullmatch(text) or _URL.fullmatch(text))


class GitHub:
    """GitHub, for the repository in a folder, with the user's `gh`."""

    def __init__(self, folder: str | Path, *, remote: str = "origin", unsafe: bool = False) -> None:
        self._folder = Path(folder)
        self._programs = HostPrograms(self._folder)
        self._remote = remote
        self._unsafe = unsafe

    async def find(self, reference: str) -> GitHubReference:
        """Return what a number or an address names; a number is one of the repository that this folder pushes to."""
        if found := _URL.fullmatch(reference):
            repository = github_repository(found["host"], found["path"])
            if repository:
                return GitHubReference(repository, int(found["number"]))
        number = _NUMBER.fullmatch(reference)
        if number is None:
            raise GitRefused(f"{reference[:200]!r} is neither a number nor the address of an issue or pull request of GitHub.")
        try:
            where = await read_remote_address(SandboxedGit(self._folder, unsafe=self._unsafe), self._remote)
        except GitProblem as problem:
            raise GitRefused(f"A number needs the repository it belongs to: give the address instead. {problem}") from problem
        if not where.github:
            raise GitRefused(f"The remote {self._remote} ({where.shown}) isn't GitHub's: give the address instead of a number.")
        return GitHubReference(where.github, int(number[1]))

    async def read_issue(self, reference: GitHubReference) -> GitHubIssue:
        """Return an issue."""
        words = ("issue", "view", str(reference.number), "--repo", reference.repository)
        return _decode(await self._run(*words, "--json", "title,body,url,author,comments"), GitHubIssue)

    async def read_pull_request(self, reference: GitHubReference) -> tuple[GitHubPullRequest, str]:
        """Return a pull request and its diff."""
        words = (str(reference.number), "--repo", reference.repository)
        pull = _decode(await self._run("pr", "view", *words, "--json", "title,url,headRefOid"), GitHubPullRequest)
        return pull, await self._run("pr", "diff", *words, "--color", "never")

    async def find_review(self, reference: GitHubReference, mark: str) -> str:
        """Return the address of a review whose text has a mark; empty if there is none."""
        listed = await self._run("api", *_review_path(reference), "--method", "GET", "--paginate", "--jq", _REVIEWS)
        reviews = [_decode(line, _PostedReview) for line in listed.splitlines() if line.strip()]
        return next((review.html_url for review in reviews if mark in (review.body or "")), "")

    async def post_review(
        self, reference: GitHubReference, commit: str, body: str, comments: tuple[GitHubReviewComment, ...]
    ) -> str:
        """Post a review that neither approves nor requests changes, and return its address."""
        payload = {"commit_id": commit, "event": "COMMENT", "body": body, "comments": comments}
        with TemporaryDirectory(prefix="treadle-review-") as name:
            file = Path(name) / "review.json"
            file.write_bytes(msgspec.json.encode(payload))
            made = await self._run("api", *_review_path(reference), "--method", "POST", "--input", str(file))
        return _decode(made, _PostedReview).html_url

    async def _run(self, *words: str) -> str:
        gh = self._programs.program("gh")
        if gh is None:
            raise GitRefused("GitHub's program gh isn't installed: install it (https://cli.github.com), then run `gh auth login`.")
        with TemporaryDirectory(prefix="treadle-gh-") as name:
            ran = await self._programs.run(gh, *words, cwd=Path(name), seconds=120, output=MAX_OUTPUT)
        if ran.code == _SIGNED_OUT or (ran.code != 0 and "gh auth login" in ran.output):
            raise GitRefused("gh isn't signed in to GitHub: run `gh auth login`, then repeat this.")
        if ran.code != 0:
            raise GitFailed(f"gh {words[0]} failed: {shorten_git_output(ran.output) or 'it took too long.'}")
        if ran.truncated:
            raise GitFailed(f"gh {words[0]} returned more than {MAX_OUTPUT:,} characters, which is too much.")
        return ran.output


def _review_path(reference: GitHubReference) -> tuple[str, ...]:
    """Return the path of the API, and the option for a host that isn't github.com."""
    *host, owner, name = reference.repository.split("/")
    return (f"repos/{owner}/{name}/pulls/{reference.number}/reviews", *(("--hostname", host[0]) if host else ()))


def _login(author: GitHubAuthor | None) -> str:
    return f"@{author.login}" if author is not None and author.login else "Somebody"


def _decode(text: str, kind: type[_T]) -> _T:
    try:
        return msgspec.json.decode(text, type=kind)
    except msgspec.DecodeError as error:
        raise GitFailed(f"gh returned something that can't be read: {shorten_git_output(text)}") from error

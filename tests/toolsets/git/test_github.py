"""GitHub through `gh`, which is a stand-in here that takes exactly the commands that are documented."""

import asyncio
from pathlib import Path

import pytest

from assistants.coding.stage import git, needs_git, project
from github import ISSUE, PULL, StandInGh, install_gh
from treadle.toolsets.git.github import GitHub, GitHubReference, GitHubReviewComment, is_github_reference
from treadle.toolsets.git.sandboxed import GitFailed, GitRefused

WIDGET_ISSUE = GitHubReference("acme/widget", 12)
WIDGET_PULL = GitHubReference("acme/widget", 5)


@pytest.fixture
def gh(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> StandInGh:
    return install_gh(tmp_path / "bin", monkeypatch)


@pytest.fixture
def github(tmp_path: Path, gh: StandInGh) -> GitHub:
    (tmp_path / "work").mkdir()
    return GitHub(tmp_path / "work")


@pytest.mark.parametrize(
    ("text", "expected"),
    [("12", True), ("#12", True), (ISSUE, True), (f"{PULL}/files", True), ("twelve", False), ("12 bugs", False), ("", False)],
)
def test_a_number_or_an_address_is_a_reference(text: str, expected: bool) -> None:
    assert is_github_reference(text) is expected


def test_an_address_names_its_repository_on_any_host_of_github(github: GitHub) -> None:
    assert asyncio.run(github.find(ISSUE)) == WIDGET_ISSUE
    found = asyncio.run(github.find("https://github.acme.org/a/b/pull/7?x=1"))
    assert found == GitHubReference("github.acme.org/a/b", 7)
    for other in ("https://example.org/a/b/pull/7", "--repo", "7; rm"):
        with pytest.raises(GitRefused, match="neither a number nor the address"):
            asyncio.run(github.find(other))


@needs_git
def test_a_number_belongs_to_the_repository_that_the_folder_pushes_to(tmp_path: Path) -> None:
    folder = project(tmp_path)
    here = GitHub(folder, unsafe=True)
    with pytest.raises(GitRefused, match=r"isn't GitHub's: give the address instead of a number"):
        asyncio.run(here.find("12"))
    git(folder, "remote", "set-url", "origin", "git@github.com:acme/widget.git")
    assert asyncio.run(here.find("#12")) == WIDGET_ISSUE
    with pytest.raises(GitRefused, match="A number needs the repository it belongs to: give the address instead"):
        asyncio.run(GitHub(tmp_path, unsafe=True).find("12"))


def test_an_issue_is_read_with_its_comments(github: GitHub, gh: StandInGh) -> None:
    comments = [{"body": "Here too.", "author": {"login": "ben"}}, {"body": "Gone.", "author": None}]
    gh.returns("issue", {"title": "Off", "body": "By one.", "url": ISSUE, "author": {"login": "ann"}, "comments": comments, "x": 1})
    issue = asyncio.run(github.read_issue(WIDGET_ISSUE))
    assert issue.text == "Off\n\n@ann wrote:\nBy one.\n\n@ben commented:\nHere too.\n\nSomebody commented:\nGone."


def test_a_review_is_posted_with_its_comments_and_found_again(github: GitHub, gh: StandInGh) -> None:
    comments = (GitHubReviewComment("a.py", 7, "Wrong.", "RIGHT", 5, "RIGHT"), GitHubReviewComment("a.py", 9, "So.", "RIGHT"))
    url = asyncio.run(github.post_review(WIDGET_PULL, "abc", "Body <!-- mark -->", comments))
    assert url == f"{PULL}#pullrequestreview-1"
    assert gh.posted == [
        {
            "commit_id": "abc",
            "event": "COMMENT",
            "body": "Body <!-- mark -->",
            "comments": [
                {"path": "a.py", "line": 7, "body": "Wrong.", "side": "RIGHT", "start_line": 5, "start_side": "RIGHT"},
                {"path": "a.py", "line": 9, "body": "So.", "side": "RIGHT"},
            ],
        }
    ]
    gh.returns("reviews", '{"html_url": "https://x", "body": null}\n{"html_url": "https://y", "body": "B <!-- mark -->"}\n')
    assert asyncio.run(github.find_review(WIDGET_PULL, "<!-- mark -->")) == "https://y"
    assert asyncio.run(github.find_review(WIDGET_PULL, "<!-- other -->")) == ""


def test_what_gh_says_is_told(github: GitHub, gh: StandInGh) -> None:
    with pytest.raises(GitFailed, match=r"gh issue failed: unknown command: issue view 13"):
        asyncio.run(github.read_issue(GitHubReference("acme/widget", 13)))
    gh.returns("issue", "no JSON")
    with pytest.raises(GitFailed, match="can't be read: no JSON"):
        asyncio.run(github.read_issue(WIDGET_ISSUE))
    gh.sign_out()
    with pytest.raises(GitRefused, match="run `gh auth login`, then repeat this"):
        asyncio.run(github.read_issue(WIDGET_ISSUE))


def test_without_gh_the_refusal_says_what_to_do(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PATH", str(tmp_path))
    with pytest.raises(GitRefused, match=r"gh isn't installed: install it \(https://cli.github.com\), then run `gh auth login`"):
        asyncio.run(GitHub(tmp_path).read_issue(WIDGET_ISSUE))


def test_a_gh_in_the_workspace_is_never_run(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    gh = install_gh(tmp_path / "work" / "bin", monkeypatch)
    monkeypatch.setenv("PATH", str(gh.place))
    with pytest.raises(GitRefused, match="isn't installed"):
        asyncio.run(GitHub(tmp_path / "work").read_issue(WIDGET_ISSUE))
    assert gh.asked == []

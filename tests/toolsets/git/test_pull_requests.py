"""Pull requests: with a `gh` that writes down what it was told, and without one."""

import json

import pytest

from treadle.toolsets.git.sandboxed import GitFailed, GitRefused

GH = """#!/bin/sh
for word in "$@"; do printf '%s\\n' "$word"; done > "$HOME/gh-$2"
pwd > "$HOME/gh-where"
env > "$HOME/gh-env"
while [ $# -gt 0 ]; do [ "$1" = --body-file ] && cat "$2" > "$HOME/gh-body"; shift; done
if [ "$(sed -n 2p "$HOME/gh-list")" = list ] && [ ! -e "$HOME/gh-create" ]; then cat "$HOME/answer-list"; exit; fi
cat "$HOME/answer-create"; exit $(cat "$HOME/code")
"""


class Gh:
    """A `gh` on the person's path."""

    def __init__(self, home):
        self.home = home
        self.answers()

    def answers(self, listed="[]", created="https://github.com/acme/widget/pull/7", code=0):
        (self.home / "answer-list").write_text(listed)
        (self.home / "answer-create").write_text(created)
        (self.home / "code").write_text(str(code))

    def told(self, what):
        path = self.home / f"gh-{what}"
        return path.read_text().rstrip("\n").split("\n") if path.exists() else None


@pytest.fixture
def gh(person, monkeypatch):
    (person / "bin").mkdir()
    (person / "bin" / "gh").write_text(GH)
    (person / "bin" / "gh").chmod(0o755)
    monkeypatch.setenv("PATH", f"{person}/bin:/usr/local/bin:/usr/bin:/bin")
    return Gh(person)


@pytest.fixture
def pushed(room):
    """A branch that GitHub has, as far as the repository knows."""
    room.put("b.txt")
    room.call("add", files=["b.txt"])
    room.call("commit", message="Add b")
    room.git("config", "remote.origin.url", "git@github.com:acme/widget.git")
    room.git("update-ref", "refs/remotes/origin/treadle/work", "HEAD")
    return room


def test_a_pull_request_is_opened_with_exactly_what_was_asked_for(pushed, gh):
    told = pushed.call("create_pr", title='-x "quoted" $(id)', body="Line one\n\n`code`", base="main", draft=True)
    assert told == "Opened a draft of a pull request: https://github.com/acme/widget/pull/7"
    assert gh.told("list") == [
        "pr",
        "list",
        "--repo",
        "acme/widget",
        "--head",
        "treadle/work",
        "--state",
        "open",
        "--json",
        "url",
        "--limit",
        "1",
    ]
    words = gh.told("create")
    assert words[:10] == [
        "pr",
        "create",
        "--repo",
        "acme/widget",
        "--head",
        "treadle/work",
        "--base",
        "main",
        "--title",
        '-x "quoted" $(id)',
    ]
    assert words[10] == "--body-file"
    assert words[12:] == ["--draft"]
    assert gh.told("body") == ["Line one", "", "`code`"]
    assert str(pushed.folder) not in gh.told("where")[0]
    assert "GH_PROMPT_DISABLED=1" in gh.told("env")


def test_one_that_is_open_already_is_not_opened_again(pushed, gh):
    gh.answers(listed=json.dumps([{"url": "https://github.com/acme/widget/pull/3"}]))
    assert pushed.call("create_pr", title="x").endswith("already: https://github.com/acme/widget/pull/3")
    assert gh.told("create") is None


def test_the_base_is_the_remotes_own_or_a_protected_branch(pushed, gh):
    pushed.call("create_pr", title="x")
    assert "main" in gh.told("create")
    pushed.git("update-ref", "refs/remotes/origin/develop", "HEAD")
    pushed.git("symbolic-ref", "refs/remotes/origin/HEAD", "refs/remotes/origin/develop")
    (gh.home / "gh-create").unlink()
    pushed.call("create_pr", title="x")
    assert gh.told("create")[6:8] == ["--base", "develop"]
    (gh.home / "gh-create").unlink()
    pushed.git("symbolic-ref", "-d", "refs/remotes/origin/HEAD")
    pushed.with_(protected=()).call("create_pr", title="x")
    assert "--base" not in gh.told("create")


def test_drafts_can_be_the_rule(pushed, gh):
    pushed.with_(draft=True).call("create_pr", title="x")
    assert gh.told("create")[-1] == "--draft"
    (gh.home / "gh-create").unlink()
    pushed.with_(draft=True).call("create_pr", title="x", draft=False)
    assert "--draft" not in gh.told("create")


def test_what_gh_says_is_a_problem_in_its_words(pushed, gh):
    gh.answers(created="GraphQL: No commits between main and treadle/work", code=1)
    with pytest.raises(GitFailed, match="gh didn't open a pull request: GraphQL: No commits between"):
        pushed.call("create_pr", title="x")
    (gh.home / "gh-create").unlink()
    gh.answers(listed="<html>")
    with pytest.raises(GitFailed, match="gh gave a list that can't be read"):
        pushed.call("create_pr", title="x")


def test_an_answer_without_an_address_is_passed_on(pushed, gh):
    gh.answers(created="created, somewhere")
    assert pushed.call("create_pr", title="x") == "Opened a pull request: created, somewhere"


def test_a_gh_that_is_not_signed_in_is_a_problem(pushed, gh):
    (gh.home / "bin" / "gh").write_text("#!/bin/sh\necho 'To get started with GitHub CLI, please run:  gh auth login'\nexit 4\n")
    with pytest.raises(GitFailed, match="gh auth login"):
        pushed.call("create_pr", title="x")


def test_a_branch_that_is_not_pushed_as_it_is_now_has_to_be(pushed, gh):
    pushed.put("c.txt")
    pushed.call("add", files=["c.txt"])
    pushed.call("commit", message="more")
    with pytest.raises(GitRefused, match=r"isn't pushed as it is now\. Push it first"):
        pushed.call("create_pr", title="x")
    assert gh.told("list") is None


def test_elsewhere_than_at_github_a_description_is_written(room, remote, gh):
    room.put("b.txt")
    room.call("add", files=["b.txt"])
    room.call("commit", message="Add b")
    told = room.call("create_pr", title="Better", body="Because.", draft=True)
    assert told.startswith(f"The branch treadle/work is not pushed yet to {remote}. The user must open the pull request.")
    assert "saved as .git/treadle/PR-treadle-work.md" in told
    text = (room.folder / ".git" / "treadle" / "PR-treadle-work.md").read_text()
    commit = room.git("rev-parse", "--short", "HEAD")
    assert text == f"# Better\n\n`treadle/work` into `main` (draft)\n\nBecause.\n\n## Commits\n\n- {commit} Add b\n"
    assert told.endswith(text)
    room.call("push")
    assert f"The branch treadle/work is pushed to {remote}." in room.call("create_pr", title="Better")
    assert gh.told("list") is None


def test_without_a_remote_or_a_base_a_description_is_written_too(empty):
    empty.call("create_branch", branch="new")
    with pytest.raises(GitRefused, match="There is no branch treadle/new with a commit"):
        empty.call("create_pr", title="x")
    empty.put("a.txt")
    empty.call("add", files=["a.txt"])
    empty.call("commit", message="begin")
    told = empty.call("create_pr", title="x")
    assert "not pushed yet to the remote origin, which isn't set up" in told
    assert "# x\n\n`treadle/new`\n\n## Commits\n\n- " in told


@pytest.mark.parametrize(
    ("arguments", "why"),
    [
        ({"title": " "}, "title of one line"),
        ({"title": "a\nb"}, "title of one line"),
        ({"title": "x", "base": "treadle/work"}, "into itself"),
    ],
)
def test_a_pull_request_that_makes_no_sense_is_a_problem(arguments, why, room):
    with pytest.raises(GitRefused, match=why):
        room.call("create_pr", **arguments)


def test_a_description_is_not_written_through_a_link_out_of_the_workspace(room, tmp_path):
    (tmp_path / "elsewhere").mkdir()
    (room.folder / ".git" / "treadle").symlink_to(tmp_path / "elsewhere")
    with pytest.raises(GitFailed, match="Saving the description failed"):
        room.call("create_pr", title="x")
    assert [*(tmp_path / "elsewhere").iterdir()] == []

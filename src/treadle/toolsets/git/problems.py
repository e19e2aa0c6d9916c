"""Git errors; each message is a sentence for the model that says what to do.

GitProblem
├── NoRepository   no repository here that the tools can use
├── NoGit          git isn't installed, or there is no sandbox to run it in
├── GitRefused     against a rule: a protected branch, a secret, a merge in progress
└── GitFailed      git failed, with its own message

Each is both a `TreadleError`, for programs, and a `ToolProblem`, for models.
"""

import re

from treadle.core.errors import ToolProblem, TreadleError
from treadle.sandbox.values import CommandResult

MAX_OUTPUT = 800
_NOISE = re.compile(r"^(?:hint: .*|\s*)$\n?", re.MULTILINE)
_LABEL = re.compile(r"^(?:fatal|error): ", re.MULTILINE)
_ADVICE = (
    (
        re.compile(r"Unable to create '.*?([^/']+)\.lock'|cannot lock ref|Unable to lock"),
        "Another git is at work, or one that was ended left its lock file in .git. Try again; if it stays, tell the person.",
    ),
    (re.compile(r"would be overwritten by"), "Commit what is changed first, then repeat this."),
    (re.compile(r"unable to find alternate|not our ref|missing (?:blob|tree|commit)|promisor"), "The repository isn't whole here."),
)


class GitProblem(TreadleError, ToolProblem):
    """The base class. A tool may let it through: the model then reads the sentence."""


class NoRepository(GitProblem):
    """No repository here that the tools can use."""


class NoGit(GitProblem):
    """Git isn't installed, or there is no sandbox to run it in."""


class GitRefused(GitProblem):
    """Against a rule."""


class GitFailed(GitProblem):
    """A git command failed."""


def git_failure(what: str, ran: CommandResult) -> GitProblem:
    """Build the problem from git's output; `what` names the attempted command."""
    if ran.killed_for:
        return GitFailed(
            f"{what} was ended after {ran.seconds:.0f} s because it took too much {ran.killed_for}. Do less at a time."
        )
    if ran.code == 127 and "not found" in ran.output:
        return NoGit("Git isn't installed where commands run. Go on without it, and tell the person.")
    return GitFailed(
        f"{what} failed: {shorten_git_output(ran.output) or f'git ended with code {ran.code} and said nothing.'}"
        f"{_find_advice(ran.output)}"
    )


def shorten_git_output(output: str) -> str:
    """Return git's own message, without hints and shortened."""
    text = _LABEL.sub("", _NOISE.sub("", output)).strip()
    return text if len(text) <= MAX_OUTPUT else f"{text[:MAX_OUTPUT]} [{len(text) - MAX_OUTPUT} more characters]"


def _find_advice(output: str) -> str:
    return next((f"\n{advice}" for pattern, advice in _ADVICE if pattern.search(output)), "")

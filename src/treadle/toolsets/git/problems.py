"""What can go wrong with git; each message is a sentence for the model that says what to do.

GitProblem
├── NoRepository   no repository here that the tools can use
├── NoGit          git isn't installed, or there is no sandbox to run it in
├── Refused        against a rule: a protected branch, a secret, a merge under way
└── Failed         git said no, in its own words

Each is both a `TreadleError`, for programs, and a `ToolProblem`, for models.
"""

import re

from treadle.core.errors import ToolProblem, TreadleError
from treadle.toolsets.sandbox.values import Ran

MOST_SAID = 800
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
    """The root of the tree. A tool may let it through: the model then reads the sentence."""


class NoRepository(GitProblem):
    """No repository here that the tools can use."""


class NoGit(GitProblem):
    """Git isn't installed, or there is no sandbox to run it in."""


class Refused(GitProblem):
    """Against a rule."""


class Failed(GitProblem):
    """Git said no."""


def failed(what: str, ran: Ran) -> GitProblem:
    """What git said, as a problem; `what` names what was tried."""
    if ran.killed_for:
        return Failed(f"{what} was ended after {ran.seconds:.0f} s because it took too much {ran.killed_for}. Do less at a time.")
    if ran.code == 127 and "not found" in ran.output:
        return NoGit("Git isn't installed where commands run. Go on without it, and tell the person.")
    return Failed(f"{what} failed: {said(ran.output) or f'git ended with code {ran.code} and said nothing.'}{_advice(ran.output)}")


def said(output: str) -> str:
    """Git's own words, without hints, and not too many of them."""
    text = _LABEL.sub("", _NOISE.sub("", output)).strip()
    return text if len(text) <= MOST_SAID else f"{text[:MOST_SAID]} [{len(text) - MOST_SAID} more characters]"


def _advice(output: str) -> str:
    return next((f"\n{advice}" for pattern, advice in _ADVICE if pattern.search(output)), "")

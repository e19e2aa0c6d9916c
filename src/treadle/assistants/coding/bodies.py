"""What is sent to the coding assistant over HTTP, and what comes back besides its jobs. Values only."""

from typing import Annotated, Literal

from msgspec import Meta, Struct
from starlette.responses import Response

from treadle.assistants.coding.given import Build, Debug, Given, Review, Triage
from treadle.assistants.coding.places import Place
from treadle.routes import Decision, Problem, Returns

PATCH = "text/x-diff"
Words = Annotated[str, Meta(max_length=20_000)]
Log = Annotated[str, Meta(max_length=200_000)]
Name = Annotated[str, Meta(max_length=250)]
PatchFile = Annotated[Response, Returns(200, "the patch", PATCH, str)]


class NewJob(Struct, frozen=True, forbid_unknown_fields=True):
    """A job to begin. `what` is to be built, is wrong, or is what a change is for; `branch` is to be reviewed."""

    kind: Literal["build", "debug", "review", "triage"]
    workspace: Annotated[str, Meta(max_length=4_096)]
    what: Words = ""
    log: Log = ""
    branch: Name = ""
    base: Name = ""

    def given(self) -> Given:
        """As the work takes it."""
        match self.kind:
            case "build":
                return Build(self.what.strip())
            case "debug":
                return Debug(self.what.strip(), self.log)
            case "review":
                return Review(self.branch.strip(), self.base.strip(), description=self.what.strip())
            case "triage":
                return Triage(self.what.strip(), self.log)


class Undo(Struct, frozen=True, forbid_unknown_fields=True):
    """What to take back: the last `steps` changes, or everything where there is no number."""

    steps: Annotated[int, Meta(ge=1, le=10_000)] | None = None
    force: bool = False


class FollowUp(Struct, frozen=True, forbid_unknown_fields=True):
    """What is still to be done."""

    what: Words


class CallDecision(Decision, frozen=True, forbid_unknown_fields=True, kw_only=True):
    """What the person says about a call that waits."""

    reason: Annotated[str, Meta(max_length=500)] = ""


class Workspaces(Struct, frozen=True):
    """The folders that may be worked in; `any` says that others may be named, `problem` what is wrong with the settings."""

    workspaces: list[Place]
    missing: list[str]
    any: bool
    problem: str


class TakenBackTold(Struct, frozen=True):
    """What was taken back, in lines for people."""

    lines: list[str]


class UndoRefused(Problem, frozen=True, kw_only=True):
    """Why nothing was taken back; `changed` are files that the person has changed since."""

    changed: tuple[str, ...] = ()


class MergeTold(Struct, frozen=True):
    """What came of a merge: the branch, the commit that it is at now, and lines for people."""

    into: str
    commit: str
    lines: list[str]

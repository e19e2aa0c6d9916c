"""Request and response bodies of the coding assistant's HTTP API, besides its jobs. Values only."""

from typing import Annotated, Literal

from msgspec import Meta, Struct
from starlette.responses import Response

from treadle.assistants.coding.inputs import BuildInputs, DebugInputs, JobInputs, ReviewInputs, TriageInputs
from treadle.assistants.coding.workspaces import CodingWorkspace
from treadle.routes import Decision, Problem, Returns

PATCH_MEDIA_TYPE = "text/x-diff"
LongText = Annotated[str, Meta(max_length=20_000)]
LogText = Annotated[str, Meta(max_length=200_000)]
BranchName = Annotated[str, Meta(max_length=250)]
PatchFile = Annotated[Response, Returns(200, "the patch", PATCH_MEDIA_TYPE, str)]


class NewCodingJob(Struct, frozen=True, forbid_unknown_fields=True):
    """A job to create. `what` is what to build, what is wrong, or what a change is for; `branch` is the branch to review."""

    kind: Literal["build", "debug", "review", "triage"]
    workspace: Annotated[str, Meta(max_length=4_096)]
    what: LongText = ""
    log: LogText = ""
    branch: BranchName = ""
    base: BranchName = ""

    def given(self) -> JobInputs:
        """Return the job's inputs."""
        match self.kind:
            case "build":
                return BuildInputs(self.what.strip())
            case "debug":
                return DebugInputs(self.what.strip(), self.log)
            case "review":
                return ReviewInputs(self.branch.strip(), self.base.strip(), description=self.what.strip())
            case "triage":
                return TriageInputs(self.what.strip(), self.log)


class UndoRequest(Struct, frozen=True, forbid_unknown_fields=True):
    """What to undo: the last `steps` changes, or everything if there is no number."""

    steps: Annotated[int, Meta(ge=1, le=10_000)] | None = None
    force: bool = False


class FollowUpRequest(Struct, frozen=True, forbid_unknown_fields=True):
    """What is still to be done."""

    what: LongText


class CodingCallDecision(Decision, frozen=True, forbid_unknown_fields=True, kw_only=True):
    """The person's decision about a call that waits."""

    reason: Annotated[str, Meta(max_length=500)] = ""


class WorkspaceList(Struct, frozen=True):
    """The allowed workspaces; `any` says that others may be named, `problem` what is wrong with the settings."""

    workspaces: list[CodingWorkspace]
    missing: list[str]
    any: bool
    problem: str


class UndoResult(Struct, frozen=True):
    """What was undone, in lines for people."""

    lines: list[str]


class UndoRefused(Problem, frozen=True, kw_only=True):
    """Why nothing was undone; `changed` are files that the person has changed since."""

    changed: tuple[str, ...] = ()


class JobMergeResult(Struct, frozen=True):
    """The result of a merge: the branch, the commit that it is at now, and lines for people."""

    into: str
    commit: str
    lines: list[str]

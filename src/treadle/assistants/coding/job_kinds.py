"""The four job kinds in one table: their arguments, their inputs, and the function that runs them."""

from argparse import ArgumentParser, Namespace
from collections.abc import Callable

from msgspec import Struct

from treadle.assistant import JobKind
from treadle.assistants.coding import command, jobs, review
from treadle.assistants.coding.inputs import BuildInputs, DebugInputs, JobInputs, ReviewInputs, TriageInputs


class CodingJobKind(Struct, frozen=True):
    """One job kind, and its command line."""

    work: JobKind
    arguments: Callable[[ArgumentParser], None]
    given: Callable[[Namespace], JobInputs]


PUBLISH_FIELDS = ("push", "pr")
CODING_JOB_KINDS = (
    CodingJobKind(
        JobKind("build", "build something, tests included", BuildInputs, jobs.run_build, leaving=PUBLISH_FIELDS),
        command.add_build_arguments,
        command.build_inputs,
    ),
    CodingJobKind(
        JobKind("debug", "find and fix a bug", DebugInputs, jobs.run_debug, leaving=PUBLISH_FIELDS),
        command.add_debug_arguments,
        command.debug_inputs,
    ),
    CodingJobKind(
        JobKind("review", "review a change", ReviewInputs, review.run_review, reads=True, leaving=("pr", "post")),
        command.add_review_arguments,
        command.review_inputs,
    ),
    CodingJobKind(
        JobKind("triage", "find out why something goes wrong", TriageInputs, jobs.run_triage, reads=True),
        command.add_triage_arguments,
        command.triage_inputs,
    ),
)
JOB_KINDS = tuple([each.work for each in CODING_JOB_KINDS])


def find_coding_job_kind(name: str) -> CodingJobKind:
    """Return the job kind of this name."""
    return next(each for each in CODING_JOB_KINDS if each.work.name == name)

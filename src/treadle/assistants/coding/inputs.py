"""Inputs of each job kind, and how they are described to a model. Values and text only."""

from typing import assert_never

from msgspec import Struct

MAX_CHARACTERS = 12_000  # characters of one thing that was given; of a longer one the beginning and the end are told


class IssueText(Struct, frozen=True, forbid_unknown_fields=True):
    """An issue of GitHub that a job is about: its address, and its text, which others have written."""

    url: str
    text: str


class BuildInputs(Struct, frozen=True, forbid_unknown_fields=True):
    """Something to build. `push` and `pr` let it leave the machine; `free` lets a small model choose its tools itself.

    `follows` is the id of a job that it goes on from. `check` is the command that checks the work where there are no tests.
    """

    description: str
    issue: str = ""
    criteria: tuple[str, ...] = ()
    push: bool = False
    pr: bool = False
    free: bool = False
    keep_context: bool = False
    follows: str = ""
    github_issue: IssueText | None = None
    check: str = ""


class DebugInputs(Struct, frozen=True, forbid_unknown_fields=True):
    """Something to fix. `keep_test` keeps a test that is written for a symptom which no other test shows."""

    description: str = ""
    error_log: str = ""
    stack_trace: str = ""
    failing_test: str = ""
    reproduction_steps: str = ""
    push: bool = False
    pr: bool = False
    free: bool = False
    keep_context: bool = False
    follows: str = ""
    keep_test: bool = False
    github_issue: IssueText | None = None
    check: str = ""


class ReviewInputs(Struct, frozen=True, forbid_unknown_fields=True):
    """Changes to look at: a branch against its base, everything since a commit, or a diff as it is.

    Without any of these, what isn't committed yet. `pr` is a pull request of GitHub, and `post` posts the review there.
    """

    branch: str = ""
    base: str = ""
    diff: str = ""
    description: str = ""
    keep_context: bool = False
    since: str = ""
    free: bool = False
    pr: str = ""
    post: bool = False


class TriageInputs(Struct, frozen=True, forbid_unknown_fields=True):
    """Something that went wrong, to be understood and not fixed."""

    description: str = ""
    error_log: str = ""
    stack_trace: str = ""
    logs: str = ""
    reproduction_steps: str = ""
    keep_context: bool = False
    free: bool = False
    github_issue: IssueText | None = None


JobInputs = BuildInputs | DebugInputs | ReviewInputs | TriageInputs


def job_title(given: JobInputs) -> str:
    """Return the job's title."""
    match given:
        case BuildInputs():
            return given.description or given.issue or _issue_url(given)
        case DebugInputs():
            said = _last_line(given.error_log or given.stack_trace)
            return given.description or given.failing_test or said or _issue_url(given) or "failing tests"
        case ReviewInputs():
            named = given.branch or (f"pull request {given.pr}" if given.pr else "")
            return given.description or named or (f"changes since {given.since}" if given.since else "changes")
        case TriageInputs():
            return given.description or _last_line(given.error_log or given.stack_trace or given.logs) or _issue_url(given)
        case _:
            assert_never(given)


def symptom_of(given: DebugInputs) -> str:
    """Return what the user reported of a bug; empty if it is only that tests fail."""
    parts = (given.description, given.stack_trace, given.error_log, given.reproduction_steps, issue_text(given))
    return "\n\n".join(truncate_middle(part) for part in parts if part.strip())


def issue_text(given: BuildInputs | DebugInputs | TriageInputs) -> str:
    """Return the text of the issue that a job is about."""
    return "" if given.github_issue is None else given.github_issue.text


def _issue_url(given: BuildInputs | DebugInputs | TriageInputs) -> str:
    return "" if given.github_issue is None else given.github_issue.url


def find_missing_input(given: JobInputs) -> str:
    """Return what is missing, as a sentence; empty if the job can start."""
    if isinstance(given, BuildInputs | TriageInputs) and not job_title(given).strip():
        return "There is nothing to go by: say what is wanted, or give a log or a stack trace."
    return ""


def to_task_prompt(given: BuildInputs | DebugInputs | TriageInputs) -> str:
    """Return the task as text, each input under its name."""
    match given:
        case BuildInputs():
            criteria = "\n".join(f"- {one}" for one in given.criteria)
            parts = {"Build this": given.description, "The issue": given.issue, "It is done when": criteria}
            parts |= _refer_to_issue(given)
        case DebugInputs():
            parts = {
                "Find and fix this bug": given.description or ("" if given.github_issue else "Tests fail."),
                **_refer_to_issue(given),
                "Failing test": given.failing_test,
                "Stack trace": given.stack_trace,
                "Log": given.error_log,
                "To reproduce": given.reproduction_steps,
            }
        case TriageInputs():
            parts = {
                "Find out what is wrong here": given.description or "See below.",
                **_refer_to_issue(given),
                "Stack trace": given.stack_trace,
                "Error log": given.error_log,
                "Logs": given.logs,
                "To reproduce": given.reproduction_steps,
            }
        case _:
            assert_never(given)
    return "\n\n".join(f"{name}:\n{truncate_middle(text)}" for name, text in parts.items() if text.strip())


def _refer_to_issue(given: BuildInputs | DebugInputs | TriageInputs) -> dict[str, str]:
    """Return where the issue is: its text is context that others have written, and isn't part of the user's words."""
    return {"It is about this issue, whose text is above": _issue_url(given)}


def truncate_middle(text: str, most: int = MAX_CHARACTERS) -> str:
    """Return the text, or its beginning and end: what a log is about stands at its end."""
    text = text.strip()
    if len(text) <= most:
        return text
    head, tail = most // 4, most - most // 4
    return f"{text[:head]}\n[… {len(text) - most:,} characters left out …]\n{text[-tail:]}"


def _last_line(text: str) -> str:
    lines = [line.strip() for line in text.splitlines() if line.strip()]
    return lines[-1] if lines else ""

"""What each kind of work is given, and how it is told to a model. Values and words only."""

from typing import assert_never

from msgspec import Struct

MOST = 12_000  # characters of one thing that was given; of a longer one the beginning and the end are told


class Build(Struct, frozen=True, forbid_unknown_fields=True):
    """Something to build. `push` and `pr` let it leave the machine; `free` lets a small model choose its tools itself.

    `follows` is the id of a job that it goes on from.
    """

    description: str
    issue: str = ""
    criteria: tuple[str, ...] = ()
    push: bool = False
    pr: bool = False
    free: bool = False
    keep_context: bool = False
    follows: str = ""


class Debug(Struct, frozen=True, forbid_unknown_fields=True):
    """Something to mend."""

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


class Review(Struct, frozen=True, forbid_unknown_fields=True):
    """Changes to look at: a branch against its base, or a diff as it is. Without either, what isn't committed yet."""

    branch: str = ""
    base: str = ""
    diff: str = ""
    description: str = ""
    keep_context: bool = False


class Triage(Struct, frozen=True, forbid_unknown_fields=True):
    """Something that went wrong, to be understood and not mended."""

    description: str = ""
    error_log: str = ""
    stack_trace: str = ""
    logs: str = ""
    reproduction_steps: str = ""
    keep_context: bool = False


Given = Build | Debug | Review | Triage


def title_of(given: Given) -> str:
    """The job in a few words."""
    match given:
        case Build():
            return given.description or given.issue
        case Debug():
            return given.description or given.failing_test or _last_line(given.error_log or given.stack_trace) or "failing tests"
        case Review():
            return given.description or given.branch or "changes"
        case Triage():
            return given.description or _last_line(given.error_log or given.stack_trace or given.logs)
        case _:
            assert_never(given)


def is_enough(given: Given) -> str:
    """What is missing, as a sentence; nothing where it can begin."""
    if isinstance(given, Build | Triage) and not title_of(given).strip():
        return "There is nothing to go by: say what is wanted, or give a log or a stack trace."
    return ""


def told(given: Build | Debug | Triage) -> str:
    """The task in words, each thing that was given under its name."""
    match given:
        case Build():
            criteria = "\n".join(f"- {one}" for one in given.criteria)
            parts = {"Build this": given.description, "The issue": given.issue, "It is done when": criteria}
        case Debug():
            parts = {
                "Find and mend this bug": given.description or "Tests fail.",
                "Failing test": given.failing_test,
                "Stack trace": given.stack_trace,
                "Log": given.error_log,
                "To reproduce": given.reproduction_steps,
            }
        case Triage():
            parts = {
                "Find out what is wrong here": given.description or "See below.",
                "Stack trace": given.stack_trace,
                "Error log": given.error_log,
                "Logs": given.logs,
                "To reproduce": given.reproduction_steps,
            }
        case _:
            assert_never(given)
    return "\n\n".join(f"{name}:\n{shortened(text)}" for name, text in parts.items() if text.strip())


def shortened(text: str, most: int = MOST) -> str:
    """The text, or its beginning and end: what a log is about stands at its end."""
    text = text.strip()
    if len(text) <= most:
        return text
    head, tail = most // 4, most - most // 4
    return f"{text[:head]}\n[… {len(text) - most:,} characters left out …]\n{text[-tail:]}"


def _last_line(text: str) -> str:
    lines = [line.strip() for line in text.splitlines() if line.strip()]
    return lines[-1] if lines else ""

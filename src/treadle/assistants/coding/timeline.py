"""Timeline of a job for the web page: steps with their outcomes, and the current activity. Pure.

Entries are plain values without secrets. The debug plan's view of a run is `transcript`.
"""

from collections.abc import Mapping, Sequence
from typing import Any, Literal

import msgspec
from msgspec import Struct
from msgspec.structs import replace

from treadle.assistant import Job
from treadle.assistants.coding.prompts import ONCE_MORE
from treadle.workspace import CheckOutcome, CommandData, format_counts, format_outcome

MAX_STEPS = 400
MAX_TEXT = 6_000  # characters of what came back
MAX_ARGUMENT = 2_000  # characters of one argument

StepState = Literal["running", "waiting", "done", "failed", "denied", "stopped"]
StepKind = Literal["task", "words", "call", "back"]
EntryJson = Mapping[str, Any]

_WRITE_ACTIONS = ("write", "replace", "append", "delete", "edit_lines", "insert_at_line", "delete_lines")
_WRITE_TOOLS = ("write_file", "replace_text", "edit_lines", "insert_lines", "delete_lines", "delete_file")
_VERBS = {
    "read": "Read",
    "read_file": "Read",
    "get_lines": "Read",
    "write": "Wrote",
    "write_file": "Wrote",
    "delete": "Deleted",
    "delete_file": "Deleted",
    "get_file_outline": "Looked at the outline of",
    "outline_file": "Looked at the outline of",
    "find_imports": "Looked at the imports of",
}
_SEARCH_TOOLS = ("grep", "find_files", "find_in_file", "find_definition", "find_references", "search")
_TEST_TOOLS = ("test", "run_tests")
_SHELL_TOOLS = ("bash", "run_command")


class TimelineStep(Struct, frozen=True):
    """One step of a job.

    title    what it is, in a few words
    text     the text of a message, or of a result
    outcome  a word or two: `2 passed`, `exit code 1`; `good` says whether that is as it should be
    files    those that it changed
    """

    id: str
    what: StepKind
    title: str
    state: StepState = "done"
    text: str = ""
    tool: str = ""
    arguments: dict[str, Any] = {}
    outcome: str = ""
    good: bool | None = None
    files: tuple[str, ...] = ()
    seconds: float = 0.0
    at: float = 0.0


class _ChangedFiles(Struct):
    """The part of any result's data that names the files changed by the call."""

    files: tuple[str, ...] = ()


def build_timeline(job: Job, entries: Sequence[EntryJson]) -> list[TimelineStep]:
    """Return the steps in order; only the newest if there are many."""
    before = initial_tests_step(job)
    steps = {} if before is None else {before.id: before}
    begun = 0
    for position, entry in enumerate(entries):
        match entry["kind"]:
            case "said":
                begun += 1
                steps |= _turn_steps(position, entry, is_first=begun == 1)
            case "replied":
                steps |= _reply_steps(position, entry)
            case "judged":
                steps |= _call_steps(entry)
            case "approved" | "refused" if entry["call_id"] in steps:
                state: StepState = "running" if entry["kind"] == "approved" else "denied"
                steps[entry["call_id"]] = replace(steps[entry["call_id"]], state=state)
            case "unclear" if entry["call_id"] in steps:
                steps[entry["call_id"]] = replace(steps[entry["call_id"]], state="waiting")
            case "settled" if entry["call_id"] in steps:
                steps[entry["call_id"]] = _settle_step(steps[entry["call_id"]], entry)
            case "returned" if entry["result"]["call_id"] in steps:
                steps[entry["result"]["call_id"]] = _finish_step(steps[entry["result"]["call_id"]], entry)
            case _:
                pass
    return [_stop_if_over(job, step) for step in [*steps.values()][-MAX_STEPS:]]


def _turn_steps(position: int, entry: EntryJson, *, is_first: bool) -> dict[str, TimelineStep]:
    """Return the step of a turn: the model's first instructions, or that its claim was sent back."""
    text, step_id, at = truncate_step_text(entry["text"]), f"said-{position}", entry.get("at", 0.0)
    if is_first:
        return {step_id: TimelineStep(step_id, "task", "What the model was told", text=text, at=at)}
    title = "Tried once more" if entry["text"] == ONCE_MORE else "Sent back: the tests say otherwise"
    return {step_id: TimelineStep(step_id, "back", title, text=text, at=at)}


def initial_tests_step(job: Job) -> TimelineStep | None:
    """Return the step with the test results before the first change."""
    said = job.facts.get("tests_before")
    if said is None:
        return None
    outcome = msgspec.convert(said, CheckOutcome)
    title, words = "Ran the tests before the first change", truncate_step_text(format_outcome(outcome))
    return TimelineStep("tests-before", "call", title, text=words, seconds=outcome.seconds, tool="test", **_tests_outcome(outcome))


def _reply_steps(position: int, entry: EntryJson) -> dict[str, TimelineStep]:
    """Return the steps of the model's text, and of the calls it wrote, which wait for their turn."""
    found: dict[str, TimelineStep] = {}
    for number, part in enumerate(entry.get("parts", ())):
        if part["part"] == "text" and part["text"].strip():
            step_id = f"words-{position}-{number}"
            found[step_id] = TimelineStep(step_id, "words", "", text=truncate_step_text(part["text"]), at=entry.get("at", 0.0))
        elif part["part"] == "written":
            found[part["id"]] = TimelineStep(
                part["id"], "call", part["name"], "running", tool=part["name"], at=entry.get("at", 0.0)
            )
    return found


def _call_steps(entry: EntryJson) -> dict[str, TimelineStep]:
    call, verdict = entry["call"], entry["verdict"]
    states: dict[str, StepState] = {"allow": "running", "ask": "waiting", "deny": "denied"}
    arguments = {name: _shorten_argument(value) for name, value in call.get("arguments", {}).items()}
    title = call_title(call["name"], call.get("arguments", {}))
    return {
        call["id"]: TimelineStep(
            call["id"],
            "call",
            title,
            states[verdict["verdict"]],
            text=verdict.get("reason", "") if verdict["verdict"] == "deny" else "",
            tool=call["name"],
            arguments=arguments,
            at=entry.get("at", 0.0),
        )
    }


def _settle_step(step: TimelineStep, entry: EntryJson) -> TimelineStep:
    """Return the step of a call that was running when its process ended, with the outcome that a person settled."""
    states: dict[str, StepState] = {"happened": "done", "not_happened": "failed", "again": "running"}
    words = {"happened": "It happened", "not_happened": "It did not happen", "again": "It is tried again"}[entry["said"]]
    said = entry.get("words", "")
    return replace(step, state=states[entry["said"]], text=truncate_step_text(f"{words}: {said}" if said else f"{words}."))


def _finish_step(step: TimelineStep, entry: EntryJson) -> TimelineStep:
    result = entry["result"]
    problem, content = result.get("problem"), result.get("content", "")
    states: dict[str | None, StepState] = {None: "done", "denied": "denied", "cancelled": "stopped"}
    state = states.get(problem, "failed")
    data: Any = result.get("data")
    files = msgspec.convert(data, _ChangedFiles).files if isinstance(data, dict) else ()
    if state == "done" and not files and _is_change(step):
        files = (str(step.arguments["path"]),)
    came = _outcome_fields(step.tool, data) if problem is None else {"outcome": "", "good": False}
    return replace(step, state=state, text=truncate_step_text(content), files=files, seconds=entry.get("seconds", 0.0), **came)


def _is_change(step: TimelineStep) -> bool:
    return "path" in step.arguments and (step.tool in _WRITE_TOOLS or step.arguments.get("action") in _WRITE_ACTIONS)


def _outcome_fields(tool: str, data: Any) -> dict[str, Any]:
    """Return the outcome of a command or of tests in a word or two; empty if a result has no data."""
    if tool in _SHELL_TOOLS and data is not None:
        return _command_outcome(msgspec.convert(data, CommandData))
    if tool in _TEST_TOOLS and data is not None:
        return _tests_outcome(msgspec.convert(data, CheckOutcome))
    return {"outcome": "", "good": None}


def _command_outcome(command: CommandData) -> dict[str, Any]:
    if command.killed_for:
        return {"outcome": "took too long" if command.killed_for == "time" else "took too much", "good": False}
    return {"outcome": f"exit code {command.exit_code}", "good": command.exit_code == 0}


def _tests_outcome(outcome: CheckOutcome) -> dict[str, Any]:
    good = None if outcome.state == "not run" else outcome.state == "passed"
    return {"outcome": format_counts(outcome) or outcome.state, "good": good}


def _stop_if_over(job: Job, step: TimelineStep) -> TimelineStep:
    """Mark a call as stopped if it was running when the job ended."""
    return replace(step, state="stopped") if step.state == "running" and job.state not in ("running", "pending") else step


def call_title(tool: str, arguments: Mapping[str, Any]) -> str:
    """Describe a call in a few words."""
    action, path = str(arguments.get("action", "")), str(arguments.get("path", ""))
    if tool in _SHELL_TOOLS:
        return _to_one_line(arguments.get("command", ""))
    if tool in _TEST_TOOLS:
        only = arguments.get("run") or arguments.get("name") or path or arguments.get("module") or arguments.get("package")
        return f"Ran the tests: {_to_one_line(only)}" if only else "Ran the tests"
    if tool == "give_answer":
        return "Reported"
    if (tool in _WRITE_TOOLS or action in _WRITE_ACTIONS) and path:
        return f"{_VERBS.get(action or tool, 'Changed')} {path}"
    if (action or tool) in _VERBS and path:
        return f"{_VERBS[action or tool]} {path}"
    if tool in _SEARCH_TOOLS:
        return f"Searched for {_to_one_line(arguments.get('pattern') or arguments.get('name') or '…')}"
    if tool in ("navigate", "list_folder"):
        return f"Looked into {arguments.get('directory') or '.'}"
    if tool == "git" or tool.startswith("git_") or tool == "create_pr":
        return f"git {(action or tool.removeprefix('git_')).replace('_', ' ')}{_git_suffix(arguments)}"
    return tool.replace("_", " ")


def _git_suffix(arguments: Mapping[str, Any]) -> str:
    said = arguments.get("message") or arguments.get("title") or arguments.get("branch") or ""
    return f": {_to_one_line(said)}" if said else ""


def _to_one_line(value: Any) -> str:
    words = " ".join(str(value).split())
    return words if len(words) <= 120 else f"{words[:119]}…"


def _shorten_argument(value: Any) -> Any:
    return truncate_step_text(value, MAX_ARGUMENT) if isinstance(value, str) else value


def truncate_step_text(text: str, most: int = MAX_TEXT) -> str:
    """Truncate a text to `most` characters."""
    return text if len(text) <= most else f"{text[:most]}\n… and {len(text) - most:,} characters more."


def current_activity(job: Job, steps: Sequence[TimelineStep]) -> str:
    """Describe what a job is doing right now in a few words; empty if it is doing nothing."""
    if job.state == "pending":
        return "About to begin"
    if job.state != "running":
        return ""
    under_way = [step for step in steps if step.state == "running"]
    if under_way:
        return under_way[0].title if len(under_way) == 1 else f"{under_way[0].title}, and {len(under_way) - 1} more"
    if all(step.id == "tests-before" for step in steps):
        return _initial_activity(job)
    if steps[-1].title == "Reported":
        return "Running the tests, to see whether that holds"
    return "The model is thinking"


def _initial_activity(job: Job) -> str:
    if job.kind in ("review", "triage"):
        return "The model is reading"
    if "before" not in job.facts:
        return "Keeping the folder as it is"
    if "tests_before" not in job.facts:
        return "Running the tests before the first change"
    return "The model is thinking"

"""What has happened in a job so far, as a page shows it: steps with what came of each, and what it does right now. Pure.

Entries come as plain values, without secrets. What a plan makes of them is `story`.
"""

from collections.abc import Mapping, Sequence
from typing import Any, Literal

import msgspec
from msgspec import Struct
from msgspec.structs import replace

from treadle import Job
from treadle.assistants.coding.prompts import ONCE_MORE
from treadle.workspace import CommandData, Outcome, outcome_counts, outcome_words

MOST_STEPS = 400
MOST_TEXT = 6_000  # characters of what came back
MOST_ARGUMENT = 2_000  # characters of one argument

State = Literal["running", "waiting", "done", "failed", "denied", "stopped"]
What = Literal["task", "words", "call", "back"]
Entry = Mapping[str, Any]

_WRITES = ("write", "replace", "append", "delete", "edit_lines", "insert_at_line", "delete_lines")
_WRITERS = ("write_file", "replace_text", "edit_lines", "insert_lines", "delete_lines", "delete_file")
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
_LOOKING = ("grep", "find_files", "find_in_file", "find_definition", "search")
_TESTING = ("test", "run_tests")
_SHELLS = ("bash", "run_command")


class Step(Struct, frozen=True):
    """One thing that happened.

    title    what it is, in a few words
    text     the words that were said, or what came back
    outcome  what came of it in a word or two: `2 passed`, `exit code 1`; `good` says whether that is as it should be
    files    those that it changed
    """

    id: str
    what: What
    title: str
    state: State = "done"
    text: str = ""
    tool: str = ""
    arguments: dict[str, Any] = {}
    outcome: str = ""
    good: bool | None = None
    files: tuple[str, ...] = ()
    seconds: float = 0.0
    at: float = 0.0


class _Changed(Struct):
    """Of the data of any result: the files that the call changed."""

    files: tuple[str, ...] = ()


def steps_of(job: Job, entries: Sequence[Entry]) -> list[Step]:
    """The steps, in order, the newest of them where there are many."""
    before = tests_before(job)
    steps = {} if before is None else {before.id: before}
    begun = 0
    for position, entry in enumerate(entries):
        match entry["kind"]:
            case "said":
                begun += 1
                steps |= _begun(position, entry, is_first=begun == 1)
            case "replied":
                steps |= _replied(position, entry)
            case "judged":
                steps |= _judged(entry)
            case "approved" | "refused" if entry["call_id"] in steps:
                state: State = "running" if entry["kind"] == "approved" else "denied"
                steps[entry["call_id"]] = replace(steps[entry["call_id"]], state=state)
            case "unclear" if entry["call_id"] in steps:
                steps[entry["call_id"]] = replace(steps[entry["call_id"]], state="waiting")
            case "settled" if entry["call_id"] in steps:
                steps[entry["call_id"]] = _became(steps[entry["call_id"]], entry)
            case "returned" if entry["result"]["call_id"] in steps:
                steps[entry["result"]["call_id"]] = _returned(steps[entry["result"]["call_id"]], entry)
            case _:
                pass
    return [_settled(job, step) for step in [*steps.values()][-MOST_STEPS:]]


def _begun(position: int, entry: Entry, *, is_first: bool) -> dict[str, Step]:
    """A turn: what the model was told first, or that its claim was sent back."""
    text, step_id, at = shortened(entry["text"]), f"said-{position}", entry.get("at", 0.0)
    if is_first:
        return {step_id: Step(step_id, "task", "What the model was told", text=text, at=at)}
    title = "Tried once more" if entry["text"] == ONCE_MORE else "Sent back: the tests say otherwise"
    return {step_id: Step(step_id, "back", title, text=text, at=at)}


def tests_before(job: Job) -> Step | None:
    """What the tests said before the first change."""
    said = job.facts.get("tests_before")
    if said is None:
        return None
    outcome = msgspec.convert(said, Outcome)
    title, words = "Ran the tests before the first change", shortened(outcome_words(outcome))
    return Step("tests-before", "call", title, text=words, seconds=outcome.seconds, tool="test", **_tested(outcome))


def _replied(position: int, entry: Entry) -> dict[str, Step]:
    """What the model said, and the calls it wrote, which wait for their turn."""
    found: dict[str, Step] = {}
    for number, part in enumerate(entry.get("parts", ())):
        if part["part"] == "text" and part["text"].strip():
            step_id = f"words-{position}-{number}"
            found[step_id] = Step(step_id, "words", "", text=shortened(part["text"]), at=entry.get("at", 0.0))
        elif part["part"] == "written":
            found[part["id"]] = Step(part["id"], "call", part["name"], "running", tool=part["name"], at=entry.get("at", 0.0))
    return found


def _judged(entry: Entry) -> dict[str, Step]:
    call, verdict = entry["call"], entry["verdict"]
    states: dict[str, State] = {"allow": "running", "ask": "waiting", "deny": "denied"}
    arguments = {name: _argument(value) for name, value in call.get("arguments", {}).items()}
    title = title_of(call["name"], call.get("arguments", {}))
    return {
        call["id"]: Step(
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


def _became(step: Step, entry: Entry) -> Step:
    """What a person says became of a call that was running when its process ended."""
    states: dict[str, State] = {"happened": "done", "not_happened": "failed", "again": "running"}
    words = {"happened": "It happened", "not_happened": "It did not happen", "again": "It is tried again"}[entry["said"]]
    said = entry.get("words", "")
    return replace(step, state=states[entry["said"]], text=shortened(f"{words}: {said}" if said else f"{words}."))


def _returned(step: Step, entry: Entry) -> Step:
    result = entry["result"]
    problem, content = result.get("problem"), result.get("content", "")
    states: dict[str | None, State] = {None: "done", "denied": "denied", "cancelled": "stopped"}
    state = states.get(problem, "failed")
    data: Any = result.get("data")
    files = msgspec.convert(data, _Changed).files if isinstance(data, dict) else ()
    if state == "done" and not files and _changes(step):
        files = (str(step.arguments["path"]),)
    came = _came_of(step.tool, data) if problem is None else {"outcome": "", "good": False}
    return replace(step, state=state, text=shortened(content), files=files, seconds=entry.get("seconds", 0.0), **came)


def _changes(step: Step) -> bool:
    return "path" in step.arguments and (step.tool in _WRITERS or step.arguments.get("action") in _WRITES)


def _came_of(tool: str, data: Any) -> dict[str, Any]:
    """What came of a command or of tests, in a word or two; nothing where a result has no data."""
    if tool in _SHELLS and data is not None:
        return _ended(msgspec.convert(data, CommandData))
    if tool in _TESTING and data is not None:
        return _tested(msgspec.convert(data, Outcome))
    return {"outcome": "", "good": None}


def _ended(command: CommandData) -> dict[str, Any]:
    if command.killed_for:
        return {"outcome": "took too long" if command.killed_for == "time" else "took too much", "good": False}
    return {"outcome": f"exit code {command.exit_code}", "good": command.exit_code == 0}


def _tested(outcome: Outcome) -> dict[str, Any]:
    good = None if outcome.state == "not run" else outcome.state == "passed"
    return {"outcome": outcome_counts(outcome) or outcome.state, "good": good}


def _settled(job: Job, step: Step) -> Step:
    """A call of which nothing more will be heard isn't under way."""
    return replace(step, state="stopped") if step.state == "running" and job.state not in ("running", "pending") else step


def title_of(tool: str, arguments: Mapping[str, Any]) -> str:
    """What a call does, in a few words."""
    action, path = str(arguments.get("action", "")), str(arguments.get("path", ""))
    if tool in _SHELLS:
        return _line(arguments.get("command", ""))
    if tool in _TESTING:
        only = arguments.get("run") or arguments.get("name") or path or arguments.get("module") or arguments.get("package")
        return f"Ran the tests: {_line(only)}" if only else "Ran the tests"
    if tool == "give_answer":
        return "Reported"
    if (tool in _WRITERS or action in _WRITES) and path:
        return f"{_VERBS.get(action or tool, 'Changed')} {path}"
    if (action or tool) in _VERBS and path:
        return f"{_VERBS[action or tool]} {path}"
    if tool in _LOOKING:
        return f"Searched for {_line(arguments.get('pattern') or arguments.get('name') or '…')}"
    if tool in ("navigate", "list_folder"):
        return f"Looked into {arguments.get('directory') or '.'}"
    if tool == "git" or tool.startswith("git_") or tool == "create_pr":
        return f"git {(action or tool.removeprefix('git_')).replace('_', ' ')}{_about_git(arguments)}"
    return tool.replace("_", " ")


def _about_git(arguments: Mapping[str, Any]) -> str:
    said = arguments.get("message") or arguments.get("title") or arguments.get("branch") or ""
    return f": {_line(said)}" if said else ""


def _line(value: Any) -> str:
    words = " ".join(str(value).split())
    return words if len(words) <= 120 else f"{words[:119]}…"


def _argument(value: Any) -> Any:
    return shortened(value, MOST_ARGUMENT) if isinstance(value, str) else value


def shortened(text: str, most: int = MOST_TEXT) -> str:
    """As much of a text as there is room for."""
    return text if len(text) <= most else f"{text[:most]}\n… and {len(text) - most:,} characters more."


def doing(job: Job, steps: Sequence[Step]) -> str:
    """What a job does right now, in a few words; nothing where it does nothing."""
    if job.state == "pending":
        return "About to begin"
    if job.state != "running":
        return ""
    under_way = [step for step in steps if step.state == "running"]
    if under_way:
        return under_way[0].title if len(under_way) == 1 else f"{under_way[0].title}, and {len(under_way) - 1} more"
    if all(step.id == "tests-before" for step in steps):
        return _before(job)
    if steps[-1].title == "Reported":
        return "Running the tests, to see whether that holds"
    return "The model is thinking"


def _before(job: Job) -> str:
    if job.kind in ("review", "triage"):
        return "The model is reading"
    if "before" not in job.facts:
        return "Keeping the folder as it is"
    if "tests_before" not in job.facts:
        return "Running the tests before the first change"
    return "The model is thinking"

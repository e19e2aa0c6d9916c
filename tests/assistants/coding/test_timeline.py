"""What happened in a job is told in steps, each with its result, and what it does now in a few words."""

from typing import Any

import msgspec
import pytest

from treadle.assistant import Job
from treadle.assistants.coding import timeline
from treadle.assistants.coding.prompts import ONCE_MORE
from treadle.assistants.coding.timeline import TimelineStep, build_timeline, call_title, current_activity
from treadle.assistants.coding.views import CodingJobSnapshot, diff_snapshots
from treadle.workspace import CheckOutcome, CommandData


def job(state: str = "running", kind: str = "debug", **facts: Any) -> Job:
    return Job("job-1", "coding", kind, "Fix it", state=state, facts=facts)  # pyright: ignore[reportArgumentType]


def judged(name: str, arguments: dict[str, Any], verdict: str = "allow", **more: Any) -> dict[str, Any]:
    return {"kind": "judged", "call": {"id": "c1", "name": name, "arguments": arguments}, "verdict": {"verdict": verdict, **more}}


def returned(content: str, problem: str | None = None, data: Any = None) -> dict[str, Any]:
    result = {"call_id": "c1", "name": "x", "content": content, "problem": problem, **({} if data is None else {"data": data})}
    return {"kind": "returned", "result": result, "seconds": 1.5}


def one(*entries: dict[str, Any], state: str = "running") -> TimelineStep:
    (step,) = build_timeline(job(state), entries)
    return step


@pytest.mark.parametrize(
    ("tool", "arguments", "title"),
    [
        ("file", {"action": "read", "path": "a.py"}, "Read a.py"),
        ("code_edit", {"action": "get_lines", "path": "a.py"}, "Read a.py"),
        ("code_edit", {"action": "edit_lines", "path": "a.py"}, "Changed a.py"),
        ("file", {"action": "delete", "path": "a.py"}, "Deleted a.py"),
        ("write_file", {"path": "a.py"}, "Wrote a.py"),
        ("replace_text", {"path": "a.py"}, "Changed a.py"),
        ("read_file", {"path": "a.py"}, "Read a.py"),
        ("outline_file", {"path": "a.py"}, "Looked at the outline of a.py"),
        ("navigate", {"action": "get_file_outline", "path": "a.py"}, "Looked at the outline of a.py"),
        ("navigate", {"action": "list_directory", "directory": "src"}, "Looked into src"),
        ("list_folder", {}, "Looked into ."),
        ("search", {"action": "grep", "pattern": "x  y"}, "Searched for x y"),
        ("find_definition", {"name": "price"}, "Searched for price"),
        ("grep", {}, "Searched for …"),
        ("bash", {"command": "ls\n -l"}, "ls -l"),
        ("run_command", {"command": "x" * 200}, f"{'x' * 119}…"),
        ("test", {}, "Ran the tests"),
        ("run_tests", {"name": "test_a"}, "Ran the tests: test_a"),
        ("git", {"action": "create_pr", "title": "Mend"}, "git create pr: Mend"),
        ("git_push", {"branch": "b"}, "git push: b"),
        ("git_status", {}, "git status"),
        ("give_answer", {}, "Reported"),
        ("other_tool", {}, "other tool"),
    ],
)
def test_a_call_has_a_title_in_a_few_words(tool: str, arguments: dict[str, Any], title: str) -> None:
    assert call_title(tool, arguments) == title


def ended(code: int | None, killed_for: str = "") -> dict[str, Any]:
    return msgspec.to_builtins(CommandData(code, killed_for, 0.1))


def outcome(state: str, **counts: int) -> dict[str, Any]:
    numbers = [counts.get(name, 0) for name in ("passed", "failed", "skipped", "errors")]
    return msgspec.to_builtins(CheckOutcome("pytest", "pytest", *numbers, (), state, "", 0.1))


@pytest.mark.parametrize(
    ("tool", "data", "outcome", "good"),
    [
        ("bash", ended(0), "exit code 0", True),
        ("run_command", ended(127), "exit code 127", False),
        ("bash", ended(None, "time"), "took too long", False),
        ("bash", ended(None, "processes"), "took too much", False),
        ("bash", ended(None, "memory"), "took too much", False),
        ("bash", None, "", None),
        ("test", outcome("passed", passed=2), "2 passed", True),
        ("run_tests", outcome("failed", passed=1, failed=2), "1 passed, 2 failed", False),
        ("test", outcome("no tests"), "no tests", False),
        ("test", outcome("timed out"), "timed out", False),
        ("file", ended(3), "", None),
    ],
)
def test_what_came_of_a_command_or_of_tests_is_told(tool: str, data: Any, outcome: str, good: bool | None) -> None:
    step = one(judged(tool, {}), returned("Exit code 5, after 1 s.: Passed: 9 passed (", data=data))
    assert (step.state, step.outcome, step.good, step.seconds) == ("done", outcome, good, 1.5)


def test_files_that_a_call_changed_are_named() -> None:
    assert one(judged("file", {"action": "write", "path": "a"}), returned("Wrote a.")).files == ("a",)
    assert one(judged("file", {"action": "read", "path": "a"}), returned("1|x")).files == ()
    assert one(judged("write_file", {"path": "a"}), returned("No.", "raised")).files == ()
    assert one(judged("bash", {"command": "x"}), returned("", data={**ended(0), "files": ["a", "b, c"]})).files == ("a", "b, c")


@pytest.mark.parametrize(
    ("entries", "state"),
    [
        ([judged("bash", {})], "running"),
        ([judged("bash", {}, "ask")], "waiting"),
        ([judged("bash", {}, "ask"), {"kind": "approved", "call_id": "c1"}], "running"),
        ([judged("bash", {}, "ask"), {"kind": "refused", "call_id": "c1"}], "denied"),
        ([judged("bash", {}, "deny", reason="No.")], "denied"),
        ([judged("bash", {}), returned("No.", "denied")], "denied"),
        ([judged("bash", {}), returned("No.", "raised")], "failed"),
        ([judged("bash", {}), returned("No.", "cancelled")], "stopped"),
    ],
)
def test_a_call_stands_as_its_last_entry_says(entries: list[dict[str, Any]], state: str) -> None:
    assert one(*entries).state == state


def test_a_call_that_nobody_carries_out_any_more_is_no_longer_under_way() -> None:
    assert one(judged("bash", {}), state="failed").state == "stopped"


def test_a_call_is_there_as_soon_as_it_is_written_and_strangers_are_left_out() -> None:
    parts = [{"part": "text", "text": "Hm."}, {"part": "thinking", "text": "x"}, {"part": "text", "text": " "}]
    reply = {"kind": "replied", "parts": [*parts, {"part": "written", "id": "c1", "name": "bash", "text": "{}"}]}
    stray = [{"kind": "approved", "call_id": "c9"}, {"kind": "resumed"}, {**returned("x"), "result": {"call_id": "c9"}}]
    words, call = build_timeline(job(), [reply, *stray])
    assert (words.what, words.text, call.title, call.state) == ("words", "Hm.", "bash", "running")


def test_turns_are_told_as_what_they_are() -> None:
    said = [{"kind": "said", "text": text} for text in ("Fix it.", "but the tests say otherwise", ONCE_MORE)]
    assert [(step.what, step.title) for step in build_timeline(job(), said)] == [
        ("task", "What the model was told"),
        ("back", "Sent back: the tests say otherwise"),
        ("back", "Tried once more"),
    ]


def test_much_is_told_in_part() -> None:
    said = [{"kind": "said", "text": "x" * 10_000} for _ in range(timeline.MAX_STEPS + 5)]
    steps = build_timeline(job(), said)
    assert (len(steps), steps[0].id) == (timeline.MAX_STEPS, "said-5")
    assert steps[0].text.endswith("… and 4,000 characters more.")
    argument = one(judged("file", {"action": "write", "path": "a", "content": "y" * 5_000, "n": 1})).arguments
    assert (len(argument["content"]) < 2_100, argument["n"]) == (True, 1)


BEFORE = {"runner": "pytest", "command": "pytest", "passed": 1, "failed": 1, "skipped": 0, "errors": 0, "failures": []}
TESTED = {**BEFORE, "state": "failed", "output": "", "seconds": 2.0}


@pytest.mark.parametrize(
    ("made", "entries", "words"),
    [
        (job("pending"), [], "About to begin"),
        (job("completed"), [], ""),
        (job(), [], "Keeping the folder as it is"),
        (job(before="x"), [], "Running the tests before the first change"),
        (job(before="x", tests_before=TESTED), [], "The model is thinking"),
        (job(kind="review"), [], "The model is reading"),
        (job(), [{"kind": "said", "text": "x"}], "The model is thinking"),
        (job(), [judged("bash", {"command": "ls"})], "ls"),
        (job(), [judged("give_answer", {}), returned("ok")], "Running the tests, to see whether that holds"),
    ],
)
def test_what_it_does_now_is_told_in_a_few_words(made: Job, entries: list[dict[str, Any]], words: str) -> None:
    assert current_activity(made, build_timeline(made, entries)) == words


def test_several_calls_at_once_are_counted() -> None:
    other = {**judged("bash", {"command": "pwd"}), "call": {"id": "c2", "name": "bash", "arguments": {"command": "pwd"}}}
    assert current_activity(job(), build_timeline(job(), [judged("bash", {"command": "ls"}), other])) == "ls, and 1 more"


def test_news_is_what_is_new() -> None:
    first, second = TimelineStep("a", "words", "", text="x"), TimelineStep("b", "words", "", text="y")
    known = CodingJobSnapshot({"id": "job-1"}, [first], "1")
    assert [event["event"] for event in diff_snapshots(None, known)] == ["job", "steps"]
    assert diff_snapshots(known, known) == []
    assert diff_snapshots(known, CodingJobSnapshot({"id": "job-1"}, [first, second], "1")) == [{"event": "step", "step": second}]
    assert [event["event"] for event in diff_snapshots(known, CodingJobSnapshot({"id": "job-1"}, [first], "2"))] == ["job"]

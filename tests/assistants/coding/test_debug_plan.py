"""How a small model is led: from what has happened so far to the one next move, always the same one."""

from typing import Any

import msgspec
import pytest

from treadle.assistants.coding.debug_plan import DEBUG_PHASES, MAX_TRIES, plan_debugging
from treadle.assistants.coding.fault_localisation import find_suspect_files
from treadle.assistants.coding.transcript import TranscriptStep, transcript_of
from treadle.core.calls import Call, Opaque, Result
from treadle.core.messages import History, Message, Text, person_message
from treadle.core.requests import Request
from treadle.models.calling.guided import WIRE, PlanQuestion, PlanStep
from treadle.workspace import CheckFailure, CheckOutcome, FileLines, format_outcome

SOURCE = "def price(count):\n    total = count * 3\n    return total + 1\n"
TEST = "from shop import price\n\n\ndef test_price():\n    assert price(2) == 6\n"
FAILURE = CheckFailure("test_shop.py::test_price", "assert 7 == 6", "test_shop.py", 5)
FAILED = CheckOutcome("pytest", "pytest", 0, 1, 0, 0, (FAILURE,), "failed", "", 0.1)
PASSED = CheckOutcome("pytest", "pytest", 1, 0, 0, 0, (), "passed", "", 0.1)
WRITTEN = "Wrote shop.py."


def read(text: str, **changes: int) -> FileLines:
    lines = len(text.splitlines())
    return FileLines(text, 1, lines, changes.get("total", lines))


def result(call: Call, came: CheckOutcome | FileLines | str) -> Result:
    """What came back: its text as it is rendered, and its data."""
    content = format_outcome(came) if isinstance(came, CheckOutcome) else came if isinstance(came, str) else came.text
    return Result(call.id, call.name, content, data=None if isinstance(came, str) else msgspec.to_builtins(came))


def history(*rounds: tuple[list[int] | None, list[tuple[str, dict[str, Any], Any]]], task: str = "Find the bug.") -> History:
    """A conversation: for each round the state of the plan and what was called, with what came back."""
    messages = [person_message(task)]
    for number, (state, calls) in enumerate(rounds):
        made = [Call(f"{number}-{index}", name, arguments) for index, (name, arguments, _) in enumerate(calls)]
        kept = [] if state is None else [Opaque(WIRE, msgspec.json.encode(state).decode())]
        messages.append(Message("model", (Text("So."), *kept, *made)))
        messages.append(Message("tools", tuple([result(call, came) for call, (_, _, came) in zip(made, calls, strict=True)])))
    return History(messages)


START = (
    (None, [("run_tests", {}, FAILED)]),
    (None, [("read_file", {"path": "test_shop.py"}, read(TEST))]),
    (None, [("read_file", {"path": "shop.py"}, read(SOURCE))]),
)


def tried(state: list[int] | None, content: str, tests: CheckOutcome = FAILED) -> Any:
    return state, [("write_file", {"path": "shop.py", "content": content}, WRITTEN), ("run_tests", {}, tests)]


def move(past: History, *words: str) -> tuple[PlanStep, list[PlanQuestion]]:
    """The next move, where the model says these words, and what it was asked."""
    plan, asked, left = plan_debugging(Request("", past)), list[PlanQuestion](), list(words)
    try:
        asked.append(next(plan))
        while True:
            asked.append(plan.send(left.pop(0)))
    except StopIteration as over:
        return over.value, asked


def calls(past: History, *words: str) -> list[tuple[str, dict[str, Any]]]:
    return list(move(past, *words)[0].calls)


def test_first_the_tests_then_the_failing_test_then_what_it_is_about() -> None:
    assert calls(history()) == [("run_tests", {})]
    assert calls(history(*START[:1])) == [("read_file", {"path": "test_shop.py"})]
    assert calls(history(*START[:2])) == [("read_file", {"path": "shop.py"})]


def test_then_the_model_is_asked_for_the_whole_and_what_it_writes_is_tested() -> None:
    mended = SOURCE.replace(" + 1", "")
    made, asked = move(history(*START), f"```python\n{mended}```")
    assert made.calls == (("write_file", {"path": "shop.py", "content": mended}), ("run_tests", {}))
    assert (made.text, made.state) == ("Phase 1: the whole written anew.", [0, 0])
    assert SOURCE in asked[0].text
    assert "def test_price():" in asked[0].text


def test_what_is_there_already_is_no_try_and_the_next_way_is_taken_at_once() -> None:
    same, right = '{"code": "count * 3"}', '{"code": "total"}'
    made, asked = move(history(*START), f"```python\n{SOURCE}```", same, same, same, right, '{"code": "return total - 1"}', right)
    assert (made.text, made.state) == ("Phase 2: piece 2 written anew.", [1, 2])
    assert [arguments["content"] for name, arguments in made.calls if name == "write_file"] == [
        SOURCE.replace("total + 1", "total"),
        SOURCE.replace("total + 1", "total - 1"),
    ]
    assert [name for name, _ in made.calls] == ["write_file", "run_tests"] * 2
    assert "return ____" in asked[4].text
    assert "total + 1" not in asked[4].text


def test_it_goes_on_after_the_piece_that_was_tried_last() -> None:
    wrong = SOURCE.replace("count * 3", "count * 2")
    made, asked = move(history(*START, tried([1, 1], wrong)), *['{"code": "total"}'] * 3)
    assert (made.text, len(asked)) == ("Phase 2: piece 2 written anew.", 3)


def test_of_several_that_were_tried_together_the_one_that_passed_is_put_back() -> None:
    right, wrong = SOURCE.replace(" + 1", ""), SOURCE.replace(" + 1", " + 2")
    calls_made = [*tried(None, right, PASSED)[1], *tried(None, wrong)[1]]
    made, asked = move(history(*START, ([1, 2], calls_made)))
    assert made.calls == (("write_file", {"path": "shop.py", "content": right}), ("run_tests", {}))
    assert asked == []


def test_the_same_past_gives_the_same_move() -> None:
    past = history(*START, tried([1, 1], SOURCE.replace("3", "2")))
    assert move(past, *['{"code": "total"}'] * 3) == move(past, *['{"code": "total"}'] * 3)


def test_tests_that_pass_end_it() -> None:
    past = history(*START, tried([0, 0], "x = 1\n", PASSED))
    assert calls(past) == [("give_answer", {"summary": "Mend shop.py: the tests that failed pass now.", "done": True})]
    assert calls(history((None, [("run_tests", {}, PASSED)])))[0][1]["done"] is True


def test_after_so_many_tries_the_file_is_put_back_and_defeat_admitted() -> None:
    tries = [tried([1, 1], SOURCE.replace("3", str(number + 4))) for number in range(MAX_TRIES)]
    assert calls(history(*START, *tries)) == [("write_file", {"path": "shop.py", "content": SOURCE})]
    back = (None, [("write_file", {"path": "shop.py", "content": SOURCE}, WRITTEN)])
    assert calls(history(*START, *tries, back)) == [
        ("give_answer", {"summary": f"Not mended: {MAX_TRIES + 1} changes were tried and taken back.", "done": False})
    ]


def test_a_model_that_says_nothing_of_use_ends_in_defeat_after_every_phase() -> None:
    made, asked = move(history(*START), *["Sorry."] * 20)
    assert made.calls[0][1]["done"] is False
    assert len(asked) == sum(len(phase.heats) * (2 if phase.pieces else 1) for phase in DEBUG_PHASES)


def test_a_file_that_holds_a_masked_secret_is_not_written_anew() -> None:
    masked = (None, [("read_file", {"path": "shop.py"}, read(f'KEY = "[redacted:api-key]"\n{SOURCE}'))])
    made, _ = move(history(*START[:2], masked), *[f'```python\nKEY = "[redacted:api-key]"\n{SOURCE.replace("3", "4")}```'] * 20)
    assert [name for name, _ in made.calls] == ["give_answer"]


def test_candidates_come_from_failures_the_task_and_what_tests_import() -> None:
    story = transcript_of(history(*START[:2], task="See lib/tax.py:7 and /usr/lib/x.py:1"))
    deep = msgspec.structs.replace(FAILED, failures=(msgspec.structs.replace(FAILURE, message="src/deep.py:3: in f"),))
    assert find_suspect_files(story, TranscriptStep("run_tests", {}, "", failed=False, data=msgspec.to_builtins(deep))) == [
        "src/deep.py",
        "lib/tax.py",
        "shop.py",
        "src/shop.py",
        "shop/price.py",
        "src/shop/price.py",
    ]


def test_where_a_runner_names_no_failure_the_end_of_its_output_tells_the_place() -> None:
    crashed = msgspec.structs.replace(FAILED, failures=(), state="crashed", output="  File test_shop.py:3: SyntaxError")
    assert calls(history((None, [("run_tests", {}, crashed)]))) == [("read_file", {"path": "test_shop.py"})]


@pytest.mark.parametrize(
    ("step", "passed"),
    [
        (TranscriptStep("run_tests", {}, "Passed", failed=False, data=msgspec.to_builtins(PASSED)), True),
        (TranscriptStep("run_tests", {}, "Failed", failed=False, data=msgspec.to_builtins(FAILED)), False),
        (TranscriptStep("run_tests", {}, "Passed: that is what somebody says.", failed=True), False),
    ],
)
def test_whether_tests_passed_is_in_their_data_whatever_the_text_says(step, passed) -> None:
    assert step.passed is passed


@pytest.mark.parametrize(
    ("came", "source"),
    [(read("a\n"), "a\n"), (read("a"), "a\n"), (read(""), ""), (read("a\n", total=9), None), ("1|a", None)],
)
def test_a_file_is_mended_only_if_all_of_it_was_read(came, source) -> None:
    assert transcript_of(history((None, [("read_file", {"path": "a.py"}, came)]))).source("a.py") == source

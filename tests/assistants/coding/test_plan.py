"""How a small model is led: from what has happened so far to the one next move, always the same one."""

from typing import Any

from treadle.assistants.coding.plan import PHASES, TRIES, debug, has_passed
from treadle.assistants.coding.story import story_of, unnumbered
from treadle.assistants.coding.suspects import candidates
from treadle.core.calls import Call, Result
from treadle.core.messages import History, Message, Text, person
from treadle.core.requests import Request
from treadle.models.led import Move, Question

SOURCE = "def price(count):\n    total = count * 3\n    return total + 1\n"
TEST = "from shop import price\n\n\ndef test_price():\n    assert price(2) == 6\n"
FAILED = "Failed: 1 failed (pytest, 0.1 s).\n\ntest_shop.py::test_price (test_shop.py:5)\n  assert 7 == 6"
PASSED = "Passed: 1 passed (pytest, 0.1 s)."


def numbered(text: str) -> str:
    return "\n".join(f"{number}|{line}" for number, line in enumerate(text.splitlines(), 1))


def history(*rounds: tuple[str, list[tuple[str, dict[str, Any], str]]], task: str = "Find the bug.") -> History:
    """A conversation: for each round what was said and called, with what came back."""
    messages = [person(task)]
    for number, (said, calls) in enumerate(rounds):
        made = [Call(f"{number}-{index}", name, arguments) for index, (name, arguments, _) in enumerate(calls)]
        messages.append(Message("model", (*([Text(said)] if said else []), *made)))
        results = [Result(call.id, call.name, content) for call, (_, _, content) in zip(made, calls, strict=True)]
        messages.append(Message("tools", tuple(results)))
    return History(messages)


START = (
    ("", [("run_tests", {}, FAILED)]),
    ("", [("read_file", {"path": "test_shop.py"}, numbered(TEST))]),
    ("", [("read_file", {"path": "shop.py"}, numbered(SOURCE))]),
)


def tried(said: str, content: str, tests: str = FAILED) -> Any:
    return said, [("write_file", {"path": "shop.py", "content": content}, "Wrote shop.py."), ("run_tests", {}, tests)]


def move(past: History, *words: str) -> tuple[Move, list[Question]]:
    """The next move, where the model says these words, and what it was asked."""
    plan, asked, left = debug(Request("", past)), list[Question](), list(words)
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
    assert made.text == "Phase 1: the whole written anew."
    assert SOURCE in asked[0].text
    assert "def test_price():" in asked[0].text


def test_what_is_there_already_is_no_try_and_the_next_way_is_taken_at_once() -> None:
    same, right = '{"code": "count * 3"}', '{"code": "total"}'
    made, asked = move(history(*START), f"```python\n{SOURCE}```", same, same, same, right, '{"code": "return total - 1"}', right)
    assert made.text == "Phase 2: piece 2 written anew."
    assert [arguments["content"] for name, arguments in made.calls if name == "write_file"] == [
        SOURCE.replace("total + 1", "total"),
        SOURCE.replace("total + 1", "total - 1"),
    ]
    assert [name for name, _ in made.calls] == ["write_file", "run_tests"] * 2
    assert "return ____" in asked[4].text
    assert "total + 1" not in asked[4].text


def test_it_goes_on_after_the_piece_that_was_tried_last() -> None:
    wrong = SOURCE.replace("count * 3", "count * 2")
    made, asked = move(history(*START, tried("Phase 2: piece 1 written anew.", wrong)), *['{"code": "total"}'] * 3)
    assert (made.text, len(asked)) == ("Phase 2: piece 2 written anew.", 3)


def test_of_several_that_were_tried_together_the_one_that_passed_is_put_back() -> None:
    right, wrong = SOURCE.replace(" + 1", ""), SOURCE.replace(" + 1", " + 2")
    calls_made = [*tried("", right, PASSED)[1], *tried("", wrong)[1]]
    made, asked = move(history(*START, ("Phase 2: piece 2 written anew.", calls_made)))
    assert made.calls == (("write_file", {"path": "shop.py", "content": right}), ("run_tests", {}))
    assert asked == []


def test_the_same_past_gives_the_same_move() -> None:
    past = history(*START, tried("Phase 2: piece 1 written anew.", SOURCE.replace("3", "2")))
    assert move(past, *['{"code": "total"}'] * 3) == move(past, *['{"code": "total"}'] * 3)


def test_tests_that_pass_end_it() -> None:
    past = history(*START, tried("Phase 1: the whole written anew.", "x = 1\n", PASSED))
    assert calls(past) == [("give_answer", {"summary": "Mend shop.py: the tests that failed pass now.", "done": True})]
    assert calls(history(("", [("run_tests", {}, PASSED)])))[0][1]["done"] is True


def test_after_so_many_tries_the_file_is_put_back_and_defeat_admitted() -> None:
    tries = [tried("Phase 2: piece 1 written anew.", SOURCE.replace("3", str(number + 4))) for number in range(TRIES)]
    assert calls(history(*START, *tries)) == [("write_file", {"path": "shop.py", "content": SOURCE})]
    back = ("", [("write_file", {"path": "shop.py", "content": SOURCE}, "Wrote shop.py.")])
    assert calls(history(*START, *tries, back)) == [
        ("give_answer", {"summary": f"Not mended: {TRIES + 1} changes were tried and taken back.", "done": False})
    ]


def test_a_model_that_says_nothing_of_use_ends_in_defeat_after_every_phase() -> None:
    made, asked = move(history(*START), *["Sorry."] * 20)
    assert made.calls[0][1]["done"] is False
    assert len(asked) == sum(len(phase.heats) * (2 if phase.pieces else 1) for phase in PHASES)


def test_a_file_that_holds_a_masked_secret_is_not_written_anew() -> None:
    masked = ("", [("read_file", {"path": "shop.py"}, numbered(f'KEY = "[redacted:api-key]"\n{SOURCE}'))])
    made, _ = move(history(*START[:2], masked), *[f'```python\nKEY = "[redacted:api-key]"\n{SOURCE.replace("3", "4")}```'] * 20)
    assert [name for name, _ in made.calls] == ["give_answer"]


def test_candidates_come_from_failures_the_task_and_what_tests_import() -> None:
    story = story_of(history(*START[:2], task="See lib/tax.py:7 and /usr/lib/x.py:1"))
    assert candidates(story, f"{FAILED}\nsrc/deep.py:3: in f") == [
        "src/deep.py",
        "lib/tax.py",
        "shop.py",
        "src/shop.py",
        "shop/price.py",
        "src/shop/price.py",
    ]


def test_passing_is_told_by_the_first_word_alone() -> None:
    assert has_passed(PASSED)
    assert not has_passed(FAILED)
    assert not has_passed("No tests ran: no results.")


def test_lines_lose_their_numbers_and_notes() -> None:
    assert unnumbered("1|a\n2|  b|c\n[Lines 1 to 2 of 9. Go on with start_line=3.]") == "a\n  b|c\n"

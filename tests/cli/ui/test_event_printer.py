"""A run's events on the screen: what was decided about calling, and what no tool result has."""

import asyncio
import io

import msgspec
import pytest

from treadle import Agent, tool
from treadle.cli.ui.event_printer import EventPrinter, summarize_result
from treadle.cli.ui.report import print_report, result_to_json
from treadle.cli.ui.screen import Screen
from treadle.core.calls import Allow, Ask, Call, Deny, Result
from treadle.core.entries import UngroundedValue
from treadle.core.events import (
    AnswerUngrounded,
    ApprovalNeeded,
    CallJudged,
    CallProgressed,
    CallReturned,
    CallStarted,
    ModelAsked,
    NoToolFit,
    RunStarted,
)
from treadle.testing import Scripted, calls
from treadle.toolsets.workspace.files import FileLines
from treadle.toolsets.workspace.search import FileNames, GrepResult, LineHit

HITS = (LineHit("a.py", 1, "a"), LineHit("a.py", 2, "a"), LineHit("b.py", 1, "a"))


@tool(effect="read")
def stock(item: str) -> int:
    """How many of an item there are."""
    return 40


class Face:
    """What a report needs of a display."""

    def __init__(self, form="text"):
        self.out, self.err = io.StringIO(), io.StringIO()
        self.screen, self.form = Screen(out=self.out, err=self.err), form


def test_the_screen_says_that_no_tool_seemed_to_fit_and_what_overrides_that():
    face = Face()
    printer = EventPrinter(face.screen)
    printer(RunStarted(run_id="r"))
    printer(NoToolFit(run_id="r", probability=0.3412))
    assert face.err.getvalue() == "No tool seemed to fit (34 %); use --call to have one called.\n"


def test_the_screen_says_why_an_answer_is_asked_for_again():
    face = Face()
    printer = EventPrinter(face.screen)
    printer(RunStarted(run_id="r"))
    printer(AnswerUngrounded(run_id="r", values=(UngroundedValue(0, 2, "17", "number"), UngroundedValue(6, 10, "Rome", "name"))))
    assert face.err.getvalue() == "Asked again: no tool result has «17», «Rome».\n"


def test_the_outcome_of_a_call_is_seen_beside_long_arguments(monkeypatch):
    monkeypatch.setenv("COLUMNS", "80")
    face = Face()
    printer = EventPrinter(face.screen)
    printer(RunStarted(run_id="r"))
    call = Call("c", "write", {"path": "notes.md", "content": "x" * 80, "and": "y" * 80})
    printer(CallJudged(run_id="r", call=call, verdict=Allow("default")))
    printer(CallJudged(run_id="r", call=call, verdict=Ask()))
    printer(CallProgressed(run_id="r", call_id="c", text="halfway"))
    written = "Written: notes.md has 1 line.\nIt was empty\nbefore that."
    printer(CallReturned(run_id="r", result=Result("c", "write", written), seconds=2))
    printer(CallReturned(run_id="r", result=Result("c", "write", "No.\nIt is there."), seconds=2))
    assert face.err.getvalue().splitlines() == [
        f'→ write(path="notes.md", content="{"x" * 37}…", and=…',
        f'→ write(path="notes.md", content="{"x" * 30}… needs approval',
        f'… write(path="notes.md", content="{"x" * 36}…: halfway',
        '← write(path="notes.md", co… 2.0 s: Written: notes.md has 1 line. [2 more lines]',
        f'← write(path="notes.md", content="{"x" * 20}… 2.0 s: No. [1 more line]',
    ]


class Terminal(io.StringIO):
    def isatty(self):
        return True


BY_RULE = Allow('allow("*", effect="read")')
READ_A, READ_B = Call("1", "read", {"path": "a.py"}), Call("2", "read", {"path": "b.py"})


def judged(call, verdict=BY_RULE, run_id="r"):
    return CallJudged(run_id=run_id, call=call, verdict=verdict)


def returned(call, content, problem=None, run_id="r", **more):
    return CallReturned(run_id=run_id, result=Result(call.id, call.name, content, problem, **more), seconds=0.003)


@pytest.fixture
def told(monkeypatch):
    """Returns what a terminal shows of events, and of other notes between them."""

    async def show(events, columns, how):
        monkeypatch.setenv("COLUMNS", str(columns))
        err = Terminal()
        screen = Screen(out=io.StringIO(), err=err)
        printer = EventPrinter(screen, **how)
        printer(RunStarted(run_id="r"))
        with screen.status.showing(lambda: "busy"):
            for event in events:
                screen.note(event) if isinstance(event, str) else printer(event)
            printer(ModelAsked(run_id="r", round=2, model="m"))
        return err.getvalue().splitlines()

    monkeypatch.setenv("NO_COLOR", "1")
    monkeypatch.setenv("TERM", "xterm")
    return lambda *events, columns=80, **how: asyncio.run(show(events, columns, how))


def test_a_call_and_its_result_are_one_line_at_a_terminal_without_the_rule(told):
    assert told(judged(READ_A), judged(READ_B), returned(READ_B, "two"), returned(READ_A, "one")) == [
        '→ read(path="b.py") ← 3 ms: two',
        '→ read(path="a.py") ← 3 ms: one',
    ]


def test_the_rule_is_shown_where_that_is_wanted(told):
    assert told(judged(READ_A), returned(READ_A, "one"), verbose=True) == [
        '→ read(path="a.py") allowed by allow("*", effect="read")',
        '← read(path="a.py") 3 ms: one',
    ]


def test_a_terminal_without_a_status_line_shows_a_call_when_it_begins(told, monkeypatch):
    monkeypatch.setenv("TERM", "dumb")
    assert told(judged(READ_A), returned(READ_A, "one")) == ['→ read(path="a.py")', "← 3 ms: one"]
    shown = told(judged(READ_A), judged(READ_B), returned(READ_A, "one"), returned(READ_B, "two"))
    assert shown[2:] == ['← read(path="a.py") 3 ms: one', "← read 3 ms: two"]


def test_a_result_that_does_not_fit_beside_the_call_is_below_it(told):
    call = Call("1", "write", {"path": "notes.md", "content": "x" * 80})
    assert told(judged(call), returned(call, "Written: notes.md.\n+x")) == [
        f'→ write(path="notes.md", content="{"x" * 37}…")',
        "← 3 ms: Written: notes.md. [1 more line]",
    ]


def test_what_comes_between_a_call_and_its_result_is_between_their_lines(told):
    assert told(judged(READ_A), "-a\n+b", returned(READ_A, "one")) == ['→ read(path="a.py")', "-a", "+b", "← read 3 ms: one"]


def test_output_is_not_named_again_unless_several_calls_have_some(told):
    def lines(call, *texts):
        return [CallProgressed(run_id="r", call_id=call.id, text=text) for text in texts]

    assert told(judged(READ_A), *lines(READ_A, "one", "two"), returned(READ_A, "done")) == [
        '→ read(path="a.py")',
        "… one",
        "… two",
        "← 3 ms: done",
    ]
    both = told(judged(READ_A), judged(READ_B), *lines(READ_A, "one"), *lines(READ_B, "two"), returned(READ_A, "done"))
    assert both == [
        '→ read(path="a.py")',
        "… one",
        '→ read(path="b.py")',
        "… two",
        '← read(path="a.py") 3 ms: done',
    ]


def test_a_call_inside_of_another_is_below_it_and_indented(told):
    outer = Call("1", "helper", {"prompt": "go"})
    inside = [judged(READ_A, run_id="r.1"), returned(READ_A, "one", run_id="r.1")]
    assert told(judged(outer), *inside, returned(outer, "It is one.")) == [
        '→ helper(prompt="go")',
        '  → read(path="a.py") ← 3 ms: one',
        "← helper 3 ms: It is one.",
    ]


def test_a_call_that_is_asked_about_is_shown_by_the_question_alone(told):
    asks = [judged(READ_A, Ask()), ApprovalNeeded(run_id="r", call=READ_A, reason="", digest="")]
    assert told(*asks, "(the question)", CallStarted(run_id="r", call=READ_A), returned(READ_A, "one"), asks=True) == [
        "(the question)",
        "← read 3 ms: one",
    ]
    assert told(*asks, returned(READ_A, "one")) == ['→ read(path="a.py") needs approval', "← 3 ms: one"]


def test_a_call_that_was_allowed_before_it_could_be_asked_about_has_its_line(told):
    assert told(judged(READ_A, Ask()), returned(READ_A, "one"), asks=True) == ['→ read(path="a.py") ← 3 ms: one']


def test_arguments_that_a_person_has_changed_are_shown(told):
    changed = CallStarted(run_id="r", call=Call("1", "read", {"path": "c.py"}))
    assert told(judged(READ_A, Ask()), changed, returned(READ_A, "one"), asks=True) == ['→ read(path="c.py") ← 3 ms: one']


def test_why_a_call_is_not_run_is_shown_in_full(told):
    why = "The arguments don't fit read, so it was not run:\n- pth: expected nothing of this name\n- path: expected text"
    refused = judged(Call("1", "read", {}), Deny("reading", why, "invalid"))
    assert told(refused) == [
        "→ read() invalid: The arguments don't fit read, so it was not run:",
        "  - pth: expected nothing of this name",
        "  - path: expected text",
    ]
    assert told(refused, columns=48)[:3] == ["→ read()", "  invalid: The arguments don't fit read, so it ", "    was not run:"]
    assert told(judged(READ_A, Deny('deny("read")', "", "denied"))) == ['→ read(path="a.py") denied by deny("read")']
    assert told(judged(READ_A, Deny("reading", "a\n" * 20, "cut_off")))[-2:] == ["  a", "  [12 more lines]"]


def test_why_a_call_is_not_run_is_shown_in_full_in_a_log_too():
    face = Face()
    EventPrinter(face.screen)(
        judged(Call("1", "read", {}), Deny("reading", "So it was not run:\n- path: expected text", "invalid"))
    )
    assert face.err.getvalue() == "→ read() invalid by reading: So it was not run:\n  - path: expected text\n"


def test_a_problem_is_below_its_call_and_not_cut(told):
    problem = "There is no a.py in the workspace. List the folder or search for the file to find its path."
    assert told(judged(READ_A), returned(READ_A, problem, "raised")) == [
        '→ read(path="a.py")',
        "← 3 ms: raised: There is no a.py in the workspace. List the folder or search ",
        "  for the file to find its path.",
    ]


def test_a_call_that_never_returned_is_shown(told):
    assert told(judged(READ_A)) == ['→ read(path="a.py")']


def test_values_that_no_result_has_are_marked_in_what_is_printed():
    agent = Agent(Scripted(calls(("stock", {"item": "A"})), "There are 17.", "There are 17."), tools=[stock], grounded=True)
    result = agent.run_sync("How many A?")
    face = Face()
    print_report(face, result, "", 0.0)
    assert face.out.getvalue() == "There are 17 [?].\n"
    assert "No tool result has what is marked with [?].\n" in face.err.getvalue()
    assert list(result_to_json(result)["ungrounded"]) == [{"start": 10, "end": 12, "text": "17", "kind": "number"}]


@pytest.mark.parametrize(
    ("data", "words"),
    [
        (FileLines("a\n", 1, 1, 1), "1 line"),
        (FileLines("a\nb\n", 1, 2, 2), "2 lines"),
        (FileLines("a\nb\n", 3, 4, 1200), "lines 3 to 4 of 1,200"),
        (FileLines("", 1, 0, 0), "the text"),
        (GrepResult(HITS), "3 matches in 2 files"),
        (GrepResult(HITS[:1]), "1 match in 1 file"),
        (GrepResult(HITS, more=True), "3 or more matches in 2 files"),
        (GrepResult(()), "the text"),
        (FileNames(("a.py",)), "1 file"),
        (FileNames(("a.py", "b.py"), more=True), "2 or more files"),
        (FileNames(()), "the text"),
        ({"hits": 3}, "the text"),
        (None, "the text"),
    ],
)
def test_a_result_is_summed_up_by_its_data_where_there_is_some(data, words):
    assert summarize_result(Result("c", "look", "the text", data=msgspec.to_builtins(data))) == words

"""A run's events on the screen: what was decided about calling, and what no tool result has."""

import io

from treadle import Agent, tool
from treadle.cli.ui.event_printer import EventPrinter
from treadle.cli.ui.report import print_report, result_to_json
from treadle.cli.ui.screen import Screen
from treadle.core.calls import Allow, Ask, Call, Result
from treadle.core.entries import UngroundedValue
from treadle.core.events import AnswerUngrounded, CallJudged, CallProgressed, CallReturned, NoToolFit, RunStarted
from treadle.testing import Scripted, calls


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


def test_values_that_no_result_has_are_marked_in_what_is_printed():
    agent = Agent(Scripted(calls(("stock", {"item": "A"})), "There are 17.", "There are 17."), tools=[stock], grounded=True)
    result = agent.run_sync("How many A?")
    face = Face()
    print_report(face, result, "", 0.0)
    assert face.out.getvalue() == "There are 17 [?].\n"
    assert "No tool result has what is marked with [?].\n" in face.err.getvalue()
    assert list(result_to_json(result)["ungrounded"]) == [{"start": 10, "end": 12, "text": "17", "kind": "number"}]

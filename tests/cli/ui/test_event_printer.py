"""A run's events on the screen: what was decided about calling, and what no tool result has."""

import io

from treadle import Agent, tool
from treadle.cli.ui.event_printer import EventPrinter
from treadle.cli.ui.report import print_report, result_to_json
from treadle.cli.ui.screen import Screen
from treadle.core.entries import UngroundedValue
from treadle.core.events import AnswerUngrounded, NoToolFit, RunStarted
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


def test_values_that_no_result_has_are_marked_in_what_is_printed():
    agent = Agent(Scripted(calls(("stock", {"item": "A"})), "There are 17.", "There are 17."), tools=[stock], grounded=True)
    result = agent.run_sync("How many A?")
    face = Face()
    print_report(face, result, "", 0.0)
    assert face.out.getvalue() == "There are 17 [?].\n"
    assert "No tool result has what is marked with [?].\n" in face.err.getvalue()
    assert list(result_to_json(result)["ungrounded"]) == [{"start": 10, "end": 12, "text": "17", "kind": "number"}]

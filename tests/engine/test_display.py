"""Runs in notebooks and at a Python prompt."""

import subprocess
import sys

from msgspec import Struct

from treadle import Agent, Limits, tool
from treadle.core.requests import Usage
from treadle.events import print_progress
from treadle.models.scripted import ScriptedReply, calls
from treadle.testing import Scripted


class Report(Struct):
    """A report."""

    title: str


@tool(effect="read")
async def look(place: str) -> str:
    """Look."""
    if place == "moon":
        raise ConnectionError("far <away>")
    return "a | b"


@tool
async def order(item: str) -> str:
    """Order."""
    return item


def test_a_notebook_shows_the_answer_the_calls_and_the_usage():
    asked = ScriptedReply(
        calls=calls(("look", {"place": "here"}), ("look", {"place": "moon"})).calls, usage=Usage(1, 0, 1_000, 200)
    )
    result = Agent(Scripted(asked, "Found it."), tools=[look]).run_sync("Go.", run_id="r1")
    assert result._repr_markdown_().splitlines() == [
        "Found it.",
        "",
        "| | Call | Result |",
        "|--:|---|---|",
        "| 1 | `look(place='here')` | a \\| b |",
        "| 2 | `look(place='moon')` | raised: ConnectionError: far &lt;away> |",
        "",
        "<small>answered · 2 requests · 2 calls · 1,200 tokens · run `r1`</small>",
    ]


def test_structured_output_is_shown_as_json_and_a_run_that_waits_says_so():
    typed = Agent(Scripted(calls(("give_answer", {"title": "Tides"}))), output_type=Report).run_sync("Go.")
    assert '```json\n{\n  "title": "Tides"\n}\n```' in typed._repr_markdown_()
    waiting = Agent(Scripted(calls(("order", {"item": "x" * 999}))), tools=[order]).run_sync("Go.")
    shown = waiting._repr_markdown_()
    assert "| waits |" in shown
    assert "approve" in shown
    assert len(shown) < 900


def test_progress_is_printed_as_it_comes(capsys):
    agent = Agent(Scripted(calls(("look", {"place": "here"}), ("order", {"item": "a"})), "Done."), tools=[look, order])
    result = agent.run_sync("Go.", watchers=[print_progress], limits=Limits(rounds=3))
    said = capsys.readouterr().out
    assert result.stopped == "waiting"
    assert "[scripted, round 1]" in said
    assert "[look …]" in said
    assert "[look: done in" in said
    assert "[order waits for approval:" in said
    Agent(Scripted("Words.")).run_sync("Go.", watchers=[print_progress])
    assert "Words.\n" in capsys.readouterr().out


def test_a_prompt_with_await_at_the_top_runs_an_agent():
    typed = """from treadle import Agent
from treadle.testing import Scripted
result = await Agent(Scripted("Good morning.")).run("Hello")
print("said:", result.output)
"""
    done = subprocess.run([sys.executable, "-m", "asyncio"], input=typed, capture_output=True, text=True, check=True, timeout=120)
    assert "said: Good morning." in done.stdout

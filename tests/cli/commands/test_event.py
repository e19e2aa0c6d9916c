"""`treadle event`: an event for a call that waits, whose run then goes on."""

import json

import pytest

from cli.running import script, treadle

WATCHING = '''
from treadle import RunContext, tool

@tool(effect="read")
async def watch(ctx: RunContext) -> str:
    """Wait for the flood."""
    return f"flood: {await ctx.wait_for_event('flood', 'Rhine')}"
'''


@pytest.fixture
def waiting(home):
    """A data folder whose run waits for an event."""
    tools = home / "watching.py"
    tools.write_text(WATCHING)
    call = {"calls": [{"name": "watch", "arguments": {}, "id": "c1"}]}
    asked = treadle(home, "ask", "x", "-m", script(home, call), "--tools", str(tools), "--run-id", "r")
    assert asked.code == 3
    assert "The run waits for the event 'flood' of 'Rhine'. To go on then: treadle resume r" in asked.err
    script(home, "Run!")
    return home


def test_it_is_sent_to_the_call_that_waits_and_resume_continues(waiting):
    none = treadle(waiting, "event", "flood", "9", "--key", "Elbe")
    assert none.code != 0
    assert "No run waits for the event 'flood' of 'Elbe'" in none.err
    assert "waiting: The run waits" in treadle(waiting, "show", "r").out
    sent = treadle(waiting, "event", "flood", '{"metres": 9}', "--key", "Rhine", "--sender", "gauge", "--json")
    assert json.loads(sent.out) == {"run_ids": ["r"]}
    assert treadle(waiting, "resume", "r").out.strip() == "Run!"
    shown = treadle(waiting, "show", "r").out
    assert "for the event 'flood' of 'Rhine'" in shown
    assert "flood: {'metres': 9}" in shown


def test_a_text_is_a_value_too_and_where_nothing_is_stored_none_waits(waiting, tmp_path):
    assert treadle(waiting, "event", "flood", "high water", "--key", "Rhine", "--from-user").out == "Sent to 1 run: r\n"
    nothing = treadle(tmp_path / "nothing", "event", "flood")
    assert nothing.code != 0
    assert "No run waits here" in nothing.err

"""Results too large for a conversation."""

from treadle import Agent, ResultOptions, tool
from treadle.core.errors import ModelUnavailable
from treadle.core.requests import Usage
from treadle.models.scripted import ScriptedReply, calls
from treadle.testing import Scripted

TEXT = "0123456789" * 1000


@tool(effect="read")
async def dump() -> str:
    """Everything."""
    return TEXT


def ask(*replies, **settings):
    return Agent(Scripted(*replies), tools=[dump], **settings).run_sync("Go.")


def read(**arguments):
    return calls(("read_result", arguments))


def test_the_whole_can_be_read_piece_by_piece():
    result = ask(calls(("dump", {})), read(id="result_call_1_1", start=9_990), "ok", results=ResultOptions(limit=100))
    shown, part = [record.result.content for record in result.calls]
    assert "9901 of 10000 characters left out" in shown
    assert part == "[characters 9990 to 10000 of 10000]\n0123456789"


def test_a_piece_is_no_longer_than_a_result_may_be():
    result = ask(calls(("dump", {})), read(id="result_call_1_1", start=-5, end=9000), "ok", results=ResultOptions(limit=100))
    assert result.calls[1].result.content.startswith("[characters 0 to 100 of 10000]")


def test_a_result_that_is_not_there_or_not_so_long_is_a_problem():
    result = ask(
        calls(("dump", {})), read(id="nothing"), read(id="result_call_1_1", start=99_999), "ok", results=ResultOptions(limit=100)
    )
    assert [record.problem for record in result.calls] == [None, "invalid", "invalid"]


def test_a_cheaper_model_may_sum_it_up_and_what_that_costs_is_counted():
    cheap = Scripted(ScriptedReply("Ten digits, over and over.", usage=Usage(1, 0, 500, 9)))
    result = ask(calls(("dump", {})), "ok", results=ResultOptions(limit=100, summarizer=cheap))
    assert result.calls[0].result.content.startswith("Ten digits, over and over.")
    assert "read_result" in result.calls[0].result.content
    assert result.usage.input_tokens == 500
    assert cheap.requests[0].history[0].parts[0].text.startswith("0123")


def test_without_its_help_head_and_tail_must_do():
    result = ask(calls(("dump", {})), "ok", results=ResultOptions(limit=100, summarizer=Scripted(ModelUnavailable("gone"))))
    assert "left out" in result.calls[0].result.content


def test_without_a_place_to_keep_it_the_rest_is_gone_and_the_model_is_told():
    import asyncio

    from treadle.engine.setup import Services
    from treadle.stores.memory import MemoryJournal

    agent = Agent(Scripted(calls(("dump", {})), read(id="result_call_1_1"), "ok"), tools=[dump], results=ResultOptions(limit=100))
    result = asyncio.run(agent.run("Go.", journal=Services(MemoryJournal())))
    assert "not kept" in result.calls[0].result.content
    assert result.calls[1].problem == "invalid"

"""A session of `bench.long_sessions`, in this process: what was said early is known late."""

import asyncio

from bench.long_sessions.server import WINDOW, MockModel, find_code, reply, serve, summarize
from bench.long_sessions.session import make_session
from bench.long_sessions.worker import hold


def test_every_planted_fact_is_known_at_the_end_of_a_session_beyond_the_window():
    model = MockModel()
    with serve(model) as url:
        found = asyncio.run(hold("treadle", 60, url, "key"))
    counts = model.counts["key"]
    assert (found["right"], dict(found["failures"])) == (found["asked"], {})
    assert sum(found["asked"].values()) == 12
    assert (counts.summaries > 0, counts.refused) == (True, 0)


def test_a_session_has_facts_before_questions():
    session = make_session(50)
    kinds = [turn.kind for turn in session]
    assert (len(session), kinds.count("question"), kinds.count("record"), kinds.count("correction")) == (50, 10, 5, 2)
    assert max(at for at, kind in enumerate(kinds) if kind in ("fact", "record")) < kinds.index("question")


def test_the_mock_knows_only_what_it_is_sent():
    asked = [{"role": "user", "content": "[turn 9] What is the access code of depot KELVIN?"}]
    assert reply(asked, [])["content"] == "I don't know."
    told = {"role": "user", "content": "[turn 1] The access code of depot KELVIN is 123456."}
    assert reply([told, *asked], [])["content"] == "It is 123456."
    tools = [{"function": {"name": "search_conversation"}}]
    assert reply(asked, tools)["tool_calls"][0]["function"]["name"] == "search_conversation"
    assert find_code("KELVIN", "code of depot KELVIN") == ""


def test_the_mock_refuses_what_is_beyond_its_window():
    body = {"model": "mock", "messages": [{"role": "user", "content": "x" * WINDOW * 5}]}
    status, answer = MockModel().answer("key", body)
    assert (status, answer["error"]["code"]) == (400, "context_length_exceeded")


def test_a_summary_has_the_most_telling_sentences_in_their_order():
    said = "Good morning to you. Shipment 48213 left. The access code of depot KELVIN is 123456. It was a fine day."
    assert summarize([{"role": "user", "content": said}]) == "Shipment 48213 left.\nThe access code of depot KELVIN is 123456."

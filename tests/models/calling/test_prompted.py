"""A model without native calling is told of tools in words, and its words are heard as calls."""

from treadle.core.calls import Call, Result, Written
from treadle.core.messages import History, Message, Text, person_message
from treadle.core.requests import CallDone, ReplyEnded, Request, TextDelta, ThinkingDelta, ToolSpec, Traits
from treadle.dialects import get_dialect
from treadle.models.calling.prompted import PromptedModel
from treadle.models.scripted import Scripted, ScriptedReply
from wire import ask

STOCK = ToolSpec("stock", "How many are there.", {"type": "object", "properties": {"item": {"type": "string"}}})
CALL = '<tool_call>{"name": "stock", "arguments": {"item": "A-113"}}</tool_call>'


def asked(*messages, tools=(STOCK,), instructions="Be brief."):
    return Request(instructions, History(messages or [person_message("How many?")]), tools)


def spoken(*replies, chunk=None, thinks=False):
    inner = Scripted(*replies, chunk=chunk, traits=Traits(native_calls=False, thinks=thinks))
    return PromptedModel(inner, get_dialect("hermes")), inner


def test_tools_are_explained_in_the_instructions_and_not_sent_as_tools():
    model, inner = spoken("None.")
    ask(model, asked())
    (request,) = inner.requests
    assert request.tools == ()
    assert request.instructions.startswith("Be brief.\n\n")
    assert "stock(item?: string)" in request.instructions


def test_calls_are_taken_out_of_the_words():
    model, _ = spoken(f"Let me see. {CALL}", chunk=5)
    deltas = ask(model, asked())
    assert "".join(delta.text for delta in deltas if isinstance(delta, TextDelta)).strip() == "Let me see."
    assert [delta.call for delta in deltas if isinstance(delta, CallDone)] == [Written("", "stock", '{"item":"A-113"}')]
    assert deltas[-1].finish == "calls"


def test_a_reply_without_calls_is_passed_on():
    model, _ = spoken(ScriptedReply("We have 40.", thinking="Easy."))
    deltas = ask(model, asked())
    assert deltas[:-1] == [ThinkingDelta("Easy."), TextDelta("We have 40.")]
    assert deltas[-1].finish == "done"


def test_a_reply_that_was_cut_off_stays_one_that_was_cut_off():
    model, _ = spoken(ScriptedReply(f"{CALL} and", finish="length"))
    assert ask(model, asked())[-1].finish == "length"


def test_what_was_called_and_what_came_back_is_told_in_the_spelling_of_the_dialect():
    model, inner = spoken("We have 40.")
    called = Message("model", (Text("Let me see."), Call("c1", "stock", {"item": "A-113"})))
    back = Message("tools", (Result("c1", "stock", "40"), Result("c2", "price", "no such item", problem="raised")))
    ask(model, asked(person_message("How many?"), called, back))
    told = inner.requests[0].history
    assert [message.role for message in told] == ["person", "model", "person"]
    assert told[1].parts[0].text.startswith("Let me see.\n<tool_call>")
    assert "A-113" in told[1].parts[0].text
    assert told[2].parts[0].text == "Result of stock:\n40\n\nProblem with price:\nno such item"


def test_the_last_request_keeps_the_explanation_so_that_the_server_has_read_it_already():
    model, inner = spoken(CALL, "We have 40.")
    ask(model, asked())
    ask(model, asked(tools=()))
    assert inner.requests[1].instructions == inner.requests[0].instructions


def test_without_tools_there_is_nothing_to_explain():
    model, inner = spoken("Hello.")
    ask(model, asked(tools=()))
    assert inner.requests[0].instructions == "Be brief."


def test_more_can_be_heard_than_was_taught():
    inner = Scripted('```json\n{"name": "stock", "arguments": {"item": "A-113"}}\n```')
    model = PromptedModel(inner, get_dialect("hermes"), heard=get_dialect("auto"))
    assert [delta.call.name for delta in ask(model, asked()) if isinstance(delta, CallDone)] == ["stock"]


def test_a_model_whose_prompt_opens_a_thought_begins_thinking():
    model, _ = spoken(f"I should look.</think>{CALL}", thinks=True)
    deltas = ask(model, asked())
    assert deltas[0] == ThinkingDelta("I should look.")
    assert isinstance(deltas[-1], ReplyEnded)

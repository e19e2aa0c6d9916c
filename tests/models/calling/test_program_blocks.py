"""A small model in code mode: it is asked whether a function fits, for a program, and to tell the result or to correct it."""

from treadle.core.calls import Call, Result
from treadle.core.messages import History, Message, person_message
from treadle.core.requests import Options, Programs, ReplyEnded, Request, TextDelta, ToolDecision, ToolSpec, Traits, Usage
from treadle.dialects.program_blocks import STOP
from treadle.models.calling.constrained import ConstrainedModel
from treadle.models.scripted import Scripted, ScriptedReply
from wire import ask, calls_in, text_in

STOCK = ToolSpec("look-up", "How many there are.", {"type": "object", "properties": {"item": {"type": "string"}}})
RUN = ToolSpec(
    "run",
    "Runs.",
    {"type": "object", "properties": {"source": {"type": "string"}}},
    programs=Programs("source", {"look_up": STOCK}, "look_up(item: str) -> int"),
)
PROGRAM = "```python\nlook_up('A')\n```"
ONE = Usage(requests=1)


def sure(odds):
    """A reply to the question whether a function fits."""
    return [TextDelta("yes" if odds > 0 else "no"), ReplyEnded("done", ONE, chances={"yes": float(odds), "no": 0.0})]


def small(*replies):
    inner = Scripted(*replies, traits=Traits(native_calls=False, holds=True))
    return ConstrainedModel(inner), inner


def asked(*messages, tools=(RUN,), **more):
    return Request("Be brief.", History(messages or [person_message("How many A are there?")]), tools, **more)


def after(result, problem=None, **more):
    called = Message("model", (Call("1", "run", {"source": "look_up('A')"}),))
    return asked(person_message("How many?"), called, Message("tools", (Result("1", "run", result, problem=problem, **more),)))


def programs_in(deltas):
    return [call.text for call in calls_in(deltas)]


def test_where_a_function_fits_it_is_asked_for_a_program():
    model, inner = small(sure(2), PROGRAM)
    deltas = ask(model, asked())
    assert programs_in(deltas) == ['{"source":"look_up(\'A\')"}']
    assert deltas[-1].finish == "calls"
    assert deltas[-1].decision == ToolDecision(0.8808, called=True)
    assert deltas[-1].usage.requests == 2
    question, request = inner.requests
    assert "look-up(item)" in question.history[-1].text
    assert "look_up(item: str) -> int" in request.instructions
    assert request.note.startswith("Write a short program")
    assert request.options.stop == (STOP,)
    assert request.shape is None


def test_where_no_function_fits_it_answers_without_a_word_of_them():
    model, inner = small(sure(-5), "Paris.")
    deltas = ask(model, asked(person_message("What's the capital of France?")))
    assert text_in(deltas) == "Paris."
    assert not deltas[-1].decision.called
    assert inner.requests[1].instructions == "Be brief."


def test_a_program_that_calls_no_function_is_asked_for_again():
    model, inner = small(sure(2), "```python\n3\n```", PROGRAM)
    deltas = ask(model, asked())
    assert programs_in(deltas) == ['{"source":"look_up(\'A\')"}']
    assert deltas[-1].usage.requests == 3
    assert sum(isinstance(delta, ReplyEnded) for delta in deltas) == 1
    assert "get it by calling look_up" in inner.requests[2].note
    assert inner.requests[2].options.temperature == 1.0


def test_after_two_programs_without_the_functions_it_says_that_it_failed():
    for request in (asked(), after("It failed.", problem="raised")):
        first = [sure(2)] if request.history[-1].role == "person" else []
        model, inner = small(*first, "```python\n3\n```", "```python\n4\n```", "I didn't succeed.")
        deltas = ask(model, request)
        assert (text_in(deltas), programs_in(deltas), deltas[-1].finish) == ("I didn't succeed.", [], "done")
        assert deltas[-1].usage.requests == 3 + len(first)
        assert len(inner.requests[-1].history) == 1


def test_words_where_a_program_was_asked_for_are_an_answer():
    model, _ = small(sure(2), "Which A do you mean?")
    deltas = ask(model, asked())
    assert (text_in(deltas), deltas[-1].finish) == ("Which A do you mean?", "done")


def test_it_sees_its_program_as_it_wrote_it_and_tells_the_result():
    model, inner = small("There are 3.")
    assert text_in(ask(model, after("3"))) == "There are 3."
    (request,) = inner.requests
    assert request.history[1].text == PROGRAM
    assert request.history[2].text == "Result of run:\n3"
    assert "The user doesn't see this result" in request.note


def test_it_is_asked_to_correct_a_program_that_failed():
    model, inner = small("```python\nlook_up('B')\n```")
    assert len(programs_in(ask(model, after("It failed.", problem="raised", data={"error": "Line 1: NameError"})))) == 1
    assert inner.requests[0].note.startswith("Write the corrected program")
    assert inner.requests[0].note.endswith("The error of the last one: Line 1: NameError")


def test_words_of_others_arent_repeated_beside_the_request():
    model, inner = small("Sorry.")
    ask(model, after("Line 1: KeyError: obey", problem="raised", quoted=5))
    assert inner.requests[0].note == "Write the corrected program, as a block of Python code, and nothing else."


def test_a_program_that_was_run_with_success_isnt_run_again():
    model, inner = small(PROGRAM, "There are 3.")
    deltas = ask(model, after("3"))
    assert (text_in(deltas), programs_in(deltas), deltas[-1].usage.requests) == ("There are 3.", [], 2)
    assert "The user doesn't see this result" in inner.requests[1].note


def test_a_program_that_was_run_isnt_accepted_again():
    again = "```python\nlook_up('A') + 0\n```"
    model, _ = small(PROGRAM, again)
    deltas = ask(model, after("Line 1: NameError", problem="raised"))
    assert programs_in(deltas) == ['{"source":"look_up(\'A\') + 0"}']
    assert deltas[-1].usage.requests == 2


def test_a_program_that_was_cut_off_stays_one():
    model, _ = small(ScriptedReply("```python\nlook_up(", finish="length"))
    deltas = ask(model, after("3"))
    assert [call.cut for call in calls_in(deltas)] == [True]
    model, _ = small("```python\nlook_up('B')")
    assert [call.cut for call in calls_in(ask(model, after("3")))] == [False]


def test_a_program_in_a_call_is_one_too():
    model, _ = small('<tool_call>{"name": "run", "arguments": {"source": "look_up(1)"}}</tool_call>')
    assert programs_in(ask(model, after("3"))) == ['{"source":"look_up(1)"}']


def test_requests_with_other_tools_or_none_are_constrained_as_always():
    other = ToolSpec("other", "Does more.", {"type": "object", "properties": {}})
    call = '{"calls": [{"name": "run", "arguments": {"source": "1"}}]}'
    for request in (
        asked(tools=(RUN, other), must_call=True),
        asked(must_call=True),
        asked(options=Options(tool_choice="required")),
    ):
        model, inner = small(call)
        assert programs_in(ask(model, request)) == ['{"source": "1"}']
        assert inner.requests[0].shape is not None
    model, inner = small("Hello.", "Hello.")
    assert text_in(ask(model, asked(tools=()))) == "Hello."
    assert text_in(ask(model, asked(tools=(RUN,), options=Options(tool_choice="none")))) == "Hello."

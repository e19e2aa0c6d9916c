"""Whether what was found holds the answer: which questions are checked, what is asked, and what an answer becomes."""

import pytest

from treadle.core.calls import Call, Result
from treadle.core.messages import History, Message, person_message
from treadle.core.requests import Notice, ReplyEnded, Request, TextDelta, ToolSpec, Traits, Usage
from treadle.models.calling.constrained import ConstrainedModel
from treadle.models.calling.findings_check import MAX_FOUND, asks_for_fact, is_checkable
from treadle.models.calling.guided import FindingsQuestion, GuidedModel, PlanQuestion, PlanStep
from treadle.models.scripted import Scripted, ScriptedReply
from wire import ask, calls_in, text_in

ONE = Usage(requests=1)
PLANTS = ToolSpec("plants", "List plants.", {"type": "object", "properties": {"room": {"type": "string"}}})
FERN = [{"name": "fern", "water_every_days": 3}]


def judged(odds: float) -> list[TextDelta | ReplyEnded]:
    return [TextDelta("yes" if odds > 0 else "no"), ReplyEnded("done", ONE, chances={"yes": odds, "no": 0.0})]


@pytest.mark.parametrize(
    "message",
    [
        "Who is the headteacher?",
        "how much money is there",
        "What does it cost?",
        "In which room is the repair café?",
        "and when does it begin",
        "Can you tell me where Marit lives?",
        "until when may we work",
    ],
)
def test_a_question_for_a_fact_is_checked(message: str) -> None:
    assert asks_for_fact(message)


@pytest.mark.parametrize(
    "message",
    ["Is there an app named x?", "are you open on sunday", "List my plants", "Show me what failed", "What about March?", "thanks"],
)
def test_what_is_answered_by_what_is_not_there_is_not_checked(message: str) -> None:
    assert not asks_for_fact(message)


def test_nothing_and_too_much_are_not_checked() -> None:
    found = ["", "x" * MAX_FOUND, "x" * (MAX_FOUND + 1)]
    assert [is_checkable("Who?", each) for each in found] == [False, True, False]


# After results


def after(
    *replies: object, message: str = "How tall is the fern?", result: Result | None = None, reads: str = "plants", tools=(PLANTS,)
):
    result = Result("1", "plants", "fern", data=FERN) if result is None else result
    inner = Scripted(*replies, traits=Traits(native_calls=False, holds=True))
    history = History([person_message(message), Message("model", (Call("1", "plants", {}),)), Message("tools", (result,))])
    request = Request("", history, tools, read_only=frozenset((reads,)))
    return ask(ConstrainedModel(inner), request), inner


ANSWER = ScriptedReply('{"answer": "3 metres."}')


def test_where_the_answer_was_found_it_is_asked_for_and_nothing_more_is_looked_up() -> None:
    deltas, inner = after(judged(2), "3 metres.")
    assert text_in(deltas) == "3 metres."
    assert inner.requests[1].shape is None
    assert "name: fern; water_every_days: 3" in inner.requests[0].history[-1].text
    assert deltas[-1].usage.requests == 2


def test_where_it_is_not_sure_the_model_chooses() -> None:
    deltas, inner = after(judged(0.5), ANSWER)
    assert (text_in(deltas), inner.requests[1].note) == ("3 metres.", "")


def test_an_answer_that_was_not_found_is_replaced_without_a_word_of_what_was() -> None:
    deltas, inner = after(judged(-2), ANSWER, "I didn't find how tall it is.")
    assert text_in(deltas) == "I didn't find how tall it is."
    assert [each.text for each in inner.requests[2].history] == ["How tall is the fern?"]
    assert deltas[-1].usage.requests == 3
    (notice,) = [each.text for each in deltas if isinstance(each, Notice)]
    assert notice == "As far as the model can tell, what was looked up doesn't have the answer (probability 12%)."


def test_where_the_answer_was_not_found_another_lookup_may_be_made() -> None:
    deltas, inner = after(judged(-2), '{"calls": [{"name": "plants", "arguments": {"room": "the fern\'s"}}]}')
    assert [call.name for call in calls_in(deltas)] == ["plants"]
    assert "Call another tool" in inner.requests[1].note


def test_a_lookup_of_something_made_up_is_none() -> None:
    made_up = '{"calls": [{"name": "find", "arguments": {"name": "Xaver"}}]}'
    find = ToolSpec("find", "Find.", {"type": "object", "properties": {"name": {"type": "string"}}, "required": ["name"]})
    deltas, _ = after(judged(-2), made_up, "Hm.", "I didn't find it.", tools=(PLANTS, find))
    assert (calls_in(deltas), text_in(deltas)) == ([], "I didn't find it.")
    deltas, _ = after(judged(0.5), made_up, tools=(PLANTS, find))
    assert [call.name for call in calls_in(deltas)] == ["find"]


@pytest.mark.parametrize(
    "more",
    [
        {"message": "Is the fern tall?"},
        {"result": Result("1", "plants", "nothing", data=[])},
        {"result": Result("1", "plants", "a text")},
        {"result": Result("1", "plants", "no such room", "raised", data=FERN)},
        {"reads": "another"},  # it acted: what came back is no lookup
    ],
)
def test_what_cannot_be_told_is_not_asked(more: dict[str, object]) -> None:
    deltas, inner = after(ANSWER, **more)
    assert (text_in(deltas), len(inner.requests)) == ("3 metres.", 1)


def test_after_a_lookup_that_failed_another_one_is_suggested() -> None:
    failed = Result("1", "plants", "There is no plant named drill.", "raised")
    deltas, inner = after('{"answer": "There is none."}', result=failed)
    assert (text_in(deltas), "Call another tool" in inner.requests[0].note) == ("There is none.", True)


@pytest.mark.parametrize(
    ("message", "other"),
    [
        ("What's on on 20 March?", True),
        ("What's on on 12 March?", False),
        ("What's on on 12 March 2025?", True),
        ("What did I do before 20 March?", False),  # 12 March is
        ("What's on in March?", False),
    ],
)
def test_records_of_other_days_do_not_have_the_answer(message: str, other: bool) -> None:
    result = Result("1", "plants", "", data=[{"date": "2026-03-12", "title": "parents' evening"}])
    deltas, inner = after(*([ANSWER, "Nothing."] if other else [judged(0.5), ANSWER]), message=message, result=result)
    assert text_in(deltas) == ("Nothing." if other else "3 metres.")
    assert len(inner.requests) == 2


# In a plan


def guided(*replies: object, message: str = "Who is the cook?"):
    def plan(_: Request):
        found = yield FindingsQuestion(message, "cook: none")
        words = yield PlanQuestion("Say it.")
        return PlanStep(text=f"{found}: {words}")

    inner = Scripted(*replies)
    return ask(GuidedModel(inner, plan), Request("", History([person_message(message)])))


def test_a_plan_gets_yes_or_no() -> None:
    deltas = guided(judged(1), "Ann.")
    assert (text_in(deltas), deltas[-1].usage.requests) == ("yes: Ann.", 2)
    assert not any(isinstance(each, Notice) for each in deltas)
    deltas = guided(judged(-0.1), "Ann.")
    assert (text_in(deltas), "probability 48%" in deltas[0].text) == ("no: Ann.", True)
    assert text_in(guided("no", "Ann.")) == "no: Ann."  # from a server that gives no probabilities


def test_where_it_cannot_be_told_a_plan_goes_on() -> None:
    deltas = guided("Ann.", message="Is there a cook?")
    assert (text_in(deltas), deltas[-1].usage.requests) == ("yes: Ann.", 1)

"""What the model reads of what a person said."""

import pytest

from treadle.core.entries import Refused, Settled
from treadle.loop.answers import refusal_result, settlement_result


def test_a_refusal_says_whose_it_is_and_why():
    assert refusal_result("c1", "pay", Refused(call_id="c1")).content == "A person refused this call."
    assert refusal_result("c1", "pay", Refused(call_id="c1", by="Ann", reason="No.")).content == "Ann refused this call: No."
    assert refusal_result("c1", "pay", Refused(call_id="c1")).problem == "denied"


@pytest.mark.parametrize(
    ("said", "problem", "words"),
    [("happened", None, "Ann says that it took effect"), ("not_happened", "interrupted", "Ann says that it did not take effect")],
)
def test_what_became_of_a_call_is_told_by_whose_word_it_is(said, problem, words):
    result = settlement_result("c1", "pay", Settled(call_id="c1", said=said, by="Ann", words="I looked."))
    assert (result.call_id, result.name, result.problem) == ("c1", "pay", problem)
    assert words in result.content
    assert result.content.endswith("Their words: I looked.")
    assert "A person says" in settlement_result("c1", "pay", Settled(call_id="c1", said=said)).content


def test_one_that_is_tried_again_has_no_result_yet():
    assert settlement_result("c1", "pay", Settled(call_id="c1", said="again")) is None

import pytest

from dialects.hearing import TOOLS
from treadle.core.calls import Written
from treadle.dialects.forms import Found, Offer
from treadle.dialects.mend import CutOff, Unreadable, read_object
from treadle.dialects.shapes import calls_in, calls_in_cut, framed_calls

OFFER = Offer(TOOLS)


@pytest.mark.parametrize(
    "value",
    [None, True, 3, "ls", [], {}, [3], {"name": None}, {"name": "ls", "arguments": {}, "description": "", "parameters": {}}],
)
def test_other_values_are_no_calls(value: object) -> None:
    assert calls_in(value, OFFER, bare=True) is None
    assert calls_in(value, OFFER, bare=False) is None


def test_arguments_that_are_no_object_are_passed_on_as_they_are() -> None:
    assert calls_in({"name": "ls", "arguments": "so"}, OFFER, bare=True) == Found((Written("", "ls", "so"),))
    assert calls_in({"name": "ls", "arguments": [1]}, OFFER, bare=True) == Found((Written("", "ls", "[1]"),))


def test_a_call_whose_text_makes_no_sense_can_never_be_read_as_arguments() -> None:
    for raw in ('{"name": "ls" "path": "."}', '{"name": "ls", "arguments": {}}}', '{"name": "ls", "arguments": {}'):
        found = framed_calls(raw, OFFER)
        assert found is not None
        assert isinstance(read_object(found.calls[0].text), Unreadable | CutOff)


def test_a_call_that_is_cut_off_is_marked_and_has_what_there_is_of_its_arguments() -> None:
    assert calls_in_cut('{"name": "ls", "arguments": {"pa', OFFER) == Found((Written("", "ls", '{"pa', cut=True),))
    assert calls_in_cut('{"name": "ls", "argu', OFFER) == Found((Written("", "ls", "", cut=True),))
    assert calls_in_cut('{"name": "rm", "argu', OFFER) is None


def test_the_tools_on_offer_say_which_names_count() -> None:
    assert OFFER.heeds(["rm", "ls"])
    assert not OFFER.heeds(["rm"])
    assert Offer((), forward=True).heeds(["rm"])
    assert OFFER.properties("rm") == {}

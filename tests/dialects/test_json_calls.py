import pytest

from dialects.parsing import TOOLS, tool
from treadle.core.calls import Written
from treadle.dialects.forms import CallMatch, OfferedTools
from treadle.dialects.json_calls import calls_in, calls_in_cut, calls_in_text
from treadle.dialects.json_repair import JsonCutOff, JsonUnreadable, read_object

OFFER = OfferedTools(TOOLS)


@pytest.mark.parametrize(
    "value",
    [None, True, 3, "ls", [], {}, [3], {"name": None}, {"name": "ls", "arguments": {}, "description": "", "parameters": {}}],
)
def test_other_values_are_no_calls(value: object) -> None:
    assert calls_in(value, OFFER, "bare") is None
    assert calls_in(value, OFFER, "framed") is None


def test_arguments_that_are_no_object_are_passed_on_as_they_are() -> None:
    assert calls_in({"name": "ls", "arguments": "so"}, OFFER, "bare") == CallMatch((Written("", "ls", "so"),))
    assert calls_in({"name": "ls", "arguments": [1]}, OFFER, "bare") == CallMatch((Written("", "ls", "[1]"),))


def test_a_call_whose_text_makes_no_sense_can_never_be_read_as_arguments() -> None:
    for raw in ('{"name": "ls" "path": "."}', '{"name": "ls", "arguments": {}}}', '{"name": "ls", "arguments": {}'):
        found = calls_in_text(raw, OFFER)
        assert found is not None
        assert isinstance(read_object(found.calls[0].text), JsonUnreadable | JsonCutOff)


def test_a_call_that_is_cut_off_is_marked_and_has_what_there_is_of_its_arguments() -> None:
    assert calls_in_cut('{"name": "ls", "arguments": {"pa', OFFER) == CallMatch((Written("", "ls", '{"pa', cut=True),))
    assert calls_in_cut('{"name": "ls", "argu', OFFER) == CallMatch((Written("", "ls", "", cut=True),))
    assert calls_in_cut('{"name": "rm", "argu', OFFER) is None


def test_the_tools_on_offer_say_which_names_count() -> None:
    assert OFFER.heeds(["rm", "ls"])
    assert not OFFER.heeds(["rm"])
    assert OfferedTools((), forward=True).heeds(["rm"])
    assert OFFER.properties("rm") == {}


def test_a_call_lacks_nothing_but_the_brace_around_it_where_its_arguments_were_closed() -> None:
    ls = CallMatch((Written("", "ls", '{"path":"."}'),))
    assert calls_in_cut('{"name": "ls", "arguments": {"path": "."}', OFFER) == ls
    assert calls_in_cut('[{"arguments": {"path": "."}, "name": "ls", "tags": {}', OFFER) == ls
    assert calls_in_cut('{"function": {"name": "ls", "arguments": {"path": "."}}\n', OFFER) == ls
    assert calls_in_cut('[{"ls": {"path": "."}', OFFER, "keyed") == ls


@pytest.mark.parametrize(
    "raw",
    [
        '{"name": "ls", "arguments": {"path": {}',
        '{"name": "ls", "arguments": {"path": "}',
        '{"name": "ls", "path": {}',
        '{"type": "function", "function": {"name": "ls", "arguments": {}',
    ],
)
def test_a_call_that_may_go_on_is_cut_off(raw: str) -> None:
    found = calls_in_cut(raw, OFFER)
    assert found is not None
    assert found.cut


def test_the_name_may_be_the_only_key() -> None:
    assert calls_in([{"ls": {"path": "."}}], OFFER, "keyed") == CallMatch((Written("", "ls", '{"path":"."}'),))
    assert calls_in([{"name": "ls", "arguments": {}}], OFFER, "keyed") == CallMatch((Written("", "ls", "{}"),))
    assert calls_in([{"rm": {}}], OFFER, "keyed") is None
    assert calls_in_text('[{"ls": {"path" "."}}]', OFFER, "keyed") == CallMatch((Written("", "ls", '[{"ls": {"path" "."}}]'),))
    assert calls_in_cut('[{"ls": {}}, {"grep": {"pa', OFFER, "keyed") == CallMatch(
        (Written("", "ls", "{}"), Written("", "grep", '{"pa', cut=True))
    )


def test_a_bare_name_is_a_call_of_a_tool_that_takes_no_arguments() -> None:
    offer = OfferedTools((tool("now"), *TOOLS))
    assert calls_in({"name": "now"}, offer, "bare") == CallMatch((Written("", "now", "{}"),))
    assert calls_in({"name": "ls"}, offer, "bare") is None
    assert calls_in({"name": "later"}, OfferedTools((), forward=True), "bare") is None


def test_the_tools_on_offer_say_which_of_them_arguments_may_be_for() -> None:
    assert OFFER.having(["pattern", "path"]) == "grep"
    assert OFFER.having(["path"]) == ""
    assert OFFER.having(["colour"]) == ""
    assert OfferedTools(TOOLS[:1]).having(["colour"]) == "grep"


def test_only_declared_tools_count_where_there_are_any() -> None:
    assert not OfferedTools(TOOLS, forward=True).declared.heeds(["rm"])
    assert OfferedTools((), forward=True).declared.heeds(["rm"])
    assert not OfferedTools(()).declared.heeds(["rm"])

"""The first difference between two requests, in words."""

from treadle.models.recorded import describe_difference, find_nearest_request

ASKED = {"instructions": "", "tools": [], "options": {}, "history": [], "note": ""}
HI = {"role": "person", "parts": [{"part": "text", "text": "hi"}]}
HO = {"role": "person", "parts": [{"part": "text", "text": "ho"}]}


def test_the_same_request_departs_in_nothing():
    assert describe_difference(ASKED, dict(ASKED)) == "nothing"


def test_the_first_difference_counts():
    assert describe_difference({**ASKED, "note": "a", "history": [HI]}, {**ASKED, "note": "b", "history": [HO]}).startswith(
        "message 1 (person)"
    )


def test_the_nearest_request_has_most_messages_in_common():
    recorded = [{**ASKED, "history": [HO, HI]}, {**ASKED, "history": [HI, HI, HI]}, {**ASKED, "history": [HI, HO]}]
    assert find_nearest_request(recorded, {**ASKED, "history": [HI, HI]}) == 1
    assert find_nearest_request(recorded, {**ASKED, "history": [HO, HO]}) == 0


def test_of_requests_with_the_same_messages_the_one_with_most_else_in_common_is_nearest():
    recorded = [{**ASKED, "history": [HI], "note": "x"}, {**ASKED, "history": [HI], "instructions": "y"}]
    assert find_nearest_request(recorded, {**ASKED, "history": [HI], "note": "x", "options": {"seed": 1}}) == 0


def test_values_that_are_no_text_are_shown_and_shortened():
    assert describe_difference({**ASKED, "options": {"stop": 1}}, {**ASKED, "options": {"stop": {"k": "v" * 500}}}).endswith("vvv…")

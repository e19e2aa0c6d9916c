"""Finding tools by what they do."""

from hypothesis import given
from hypothesis import strategies as st

from treadle.core.requests import ToolSpec
from treadle.tools.search import rank_texts, rank_tools


def spec(name, description="", *fields):
    return ToolSpec(name, description, {"type": "object", "properties": {field: {} for field in fields}})


SHOP = [
    spec("list_applications", "All applications that run."),
    spec("deployApplication", "Put a new version in place.", "app_name"),
    spec("get_weather", "The forecast for a city.", "city"),
    spec("send_mail", "Write to a person.", "recipient", "subject"),
]


def names(query, most=8):
    return [found.name for found in rank_tools(query, SHOP, most)]


def test_words_of_names_count_most():
    assert names("deploy an application")[0] == "deployApplication"
    assert set(names("applications")) == {"list_applications", "deployApplication"}


def test_descriptions_and_arguments_are_searched_too():
    assert names("forecast") == ["get_weather"]
    assert names("subject") == ["send_mail"]


def test_endings_do_not_matter():
    assert names("sending mails") == ["send_mail"]


def test_what_nobody_does_is_not_found():
    assert names("teleport") == []
    assert names("") == []


def test_only_so_many_are_given():
    assert len(names("application", 1)) == 1


@given(st.text())
def test_any_question_is_answered(query):
    assert len(names(query)) <= 4


def test_texts_are_ranked_by_the_rare_words_they_share_with_a_query():
    texts = ["the red house", "the blue house on the hill", "a red car"]
    assert rank_texts("houses on a hill", texts, 2) == [1, 2]
    assert rank_texts("zebra", texts, 3) == []

"""Course names as people say them: loosely matched, and a wrong name is known as one."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from treadle.assistants.courses.catalogue import find_course_phrases, find_mentioned_title, match_titles

TITLES = (
    "MCP: Build Rich-Context AI Apps",
    "Advanced Retrieval for AI",
    "Baking Bread at Home",
    "Statistics without Fear",
    "Git from the Start",
    "Git in Teams",
    "How Networks Find Things",
)


def meant(name):
    return [TITLES[place] for place in match_titles(name, TITLES).meant]


@pytest.mark.parametrize(
    ("name", "title"),
    [
        ("MCP", "MCP: Build Rich-Context AI Apps"),
        ("the MCP course", "MCP: Build Rich-Context AI Apps"),
        ("bread", "Baking Bread at Home"),
        ("Baking bread", "Baking Bread at Home"),
        ("baking bread at home", "Baking Bread at Home"),
        ("statistic", "Statistics without Fear"),
        ("Statistiks", "Statistics without Fear"),
        ("retrieval course", "Advanced Retrieval for AI"),
        ("AdvancedRetrieval", "Advanced Retrieval for AI"),
        ("Git start", "Git from the Start"),
        ("networks", "How Networks Find Things"),
        ("How Networks", "How Networks Find Things"),
    ],
)
def test_a_name_is_matched_loosely(name, title):
    assert meant(name) == [title]


@pytest.mark.parametrize("name", ["Quantum Physics", "Cooking", "Java", "x", "", "!!!", "Introduction to Law", "Gut"])
def test_a_wrong_name_is_no_name(name):
    assert meant(name) == []


def test_a_name_that_fits_several_stands_for_all_of_them():
    assert meant("Git") == ["Git from the Start", "Git in Teams"]
    assert match_titles("Intro", ["Intro", "Intro", "Other"]).meant == (0, 1)


def test_part_of_a_title_means_all_that_have_it_and_a_whole_title_only_itself():
    titles = ("Introduction to Cooking", "Introduction to Machine Learning", "Python", "Python for Teams")
    assert match_titles("introduction", titles).meant == (0, 1)
    assert match_titles("intro to ML", titles).meant == ()
    assert match_titles("Machine Learning", titles).meant == (1,)
    assert match_titles("Python", titles).meant == (2,)


def test_a_word_of_any_length_is_looked_at_quickly():
    assert find_course_phrases("x" * 200_000 + " course") == []
    assert "bread" in find_course_phrases("what is in the bread course")


def test_near_names_are_offered_for_a_wrong_one():
    near = match_titles("Baking cakes and pies", TITLES).near
    assert [TITLES[place] for place in near] == ["Baking Bread at Home"]
    assert match_titles("Quantum Physics", TITLES).near == ()


@pytest.mark.parametrize(
    ("text", "title"),
    [
        ("What does lesson 2 of Baking Bread at Home say?", "Baking Bread at Home"),
        ("what are the lessons in the git from the start course", "Git from the Start"),
        ("Who teaches How Networks Find Things?", "How Networks Find Things"),
        ("what is in the statistics without fear course", "Statistics without Fear"),
        ("Why is the sky blue?", None),
        ("What is bread made of?", None),
        ("", None),
    ],
)
def test_a_title_is_found_in_a_question(text, title):
    place = find_mentioned_title(text, TITLES)
    assert (None if place is None else TITLES[place]) == title


def test_without_titles_nothing_is_found():
    assert match_titles("MCP", []).meant == ()
    assert find_mentioned_title("MCP", []) is None


@given(st.text(max_size=60), st.lists(st.text(max_size=60), max_size=8))
def test_any_name_can_be_asked_for(name, titles):
    found = match_titles(name, titles)
    assert all(0 <= place < len(titles) for place in (*found.meant, *found.near))
    assert not (found.meant and found.near)
    assert find_mentioned_title(name, titles) in (None, *range(len(titles)))


@given(st.lists(st.from_regex(r"[a-z]{4,9}( [a-z]{4,9}){1,3}", fullmatch=True), min_size=1, max_size=8, unique=True))
def test_a_whole_title_stands_for_itself(titles):
    for place, title in enumerate(titles):
        assert match_titles(title.upper(), titles).meant == (place,)

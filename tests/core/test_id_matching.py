import pytest

from treadle.core.errors import RunNotFound
from treadle.core.id_matching import MOST_CANDIDATES, require_one, select_id

IDS = ["27af", "27b0", "9c", "27"]


@pytest.mark.parametrize(
    ("typed", "meant"),
    [
        ("9c", ["9c"]),
        ("9", ["9c"]),
        ("27", ["27"]),
        ("27b", ["27b0"]),
        ("2", ["27af", "27b0", "27"]),
        ("last", ["27af"]),
        ("x", []),
        ("", []),
    ],
)
def test_a_typed_id_is_an_id_or_a_prefix_or_the_newest(typed, meant):
    assert select_id(typed, IDS) == meant


def test_there_is_no_last_one_of_none():
    assert select_id("last", []) == []


@pytest.mark.parametrize(
    ("typed", "found", "says"),
    [
        ("x", [], "There is no run x here. `treadle runs` lists them."),
        ("last", [], "There is no run yet. `treadle runs` lists them."),
        ("2", [("27af", "Add a flag"), ("27b0", "")], "Several runs begin with 2: 27af (Add a flag); 27b0. Type more of the id."),
    ],
)
def test_an_id_that_is_none_or_several_says_so(typed, found, says):
    with pytest.raises(RunNotFound) as refused:
        require_one(typed, found, "run", RunNotFound)
    assert str(refused.value) == says


def test_only_the_first_candidates_are_listed():
    many = [(f"2{number}", "") for number in range(MOST_CANDIDATES + 1)]
    with pytest.raises(RunNotFound, match=r"29; …\. Type more"):
        require_one("2", many, "run", RunNotFound)


def test_one_candidate_is_the_one_that_is_meant():
    assert require_one("9", [("9c", "x")], "run", RunNotFound) == "9c"

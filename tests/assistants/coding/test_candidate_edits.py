"""Single edits that may fix a bug: which there are, in which order, and what they leave alone."""

import pytest

from treadle.assistants.coding.candidate_edits import list_candidate_edits

FUNCTION = '''\
def first(items, stop=1):
    """Return min or max, if a < b."""
    # a == b
    for item in items:
        if item:
            return item.lower() + "x != y"
    return stop is not None and not items
'''


def changed(source: str, path: str, *, rare: bool = False) -> list[str]:
    """The lines that edits change, as they are then."""
    before = source.splitlines()
    edits = list_candidate_edits(source, path, 100, rare=rare)
    return [line.strip() for edited in edits for line, was in zip(edited.splitlines(), before, strict=True) if line != was]


def test_operators_and_conditions_come_first_then_names_and_no_text_is_changed() -> None:
    assert changed(FUNCTION, "a.py") == [
        "if not item:",
        "return stop is None and not items",
        "return stop is not None or not items",
        "return stop is not None and items",
        'return item.upper() + "x != y"',
        'return item.lower() - "x != y"',
    ]


def test_numbers_are_rare() -> None:
    assert changed(FUNCTION, "a.py", rare=True)[:2] == ["def first(items, stop=2):", "def first(items, stop=0):"]
    assert changed("return 0\n", "a.js", rare=True) == ["return 1", "return -1"]


def test_operands_are_exchanged_where_their_order_matters_and_neither_is_a_number() -> None:
    assert changed("rest = a % b\n", "a.py") == ["rest = b % a"]
    assert changed("half = len(items) // 2\n", "a.py") == []
    assert changed("total = a * b\n", "a.py") == []
    assert changed('name = "ü" + x; rest = y % z\n', "a.py") == ['name = "ü" - x; rest = y % z', 'name = "ü" + x; rest = z % y']


def test_one_operand_alone_and_one_more_or_less_are_rare() -> None:
    expected = ["length = last", "length = first", "length = last - first + 1", "length = last - first - 1"]
    assert changed("length = last - first\n", "a.py", rare=True) == expected


def test_a_condition_of_several_parts_is_negated_as_a_whole() -> None:
    assert "if not (a == b or c):" in changed("if a == b or c:\n    pass\n", "a.py")


def test_one_is_left_out_too() -> None:
    assert changed("return count - 1\n", "a.js") == ["return count + 1", "return count"]


def test_what_may_not_end_is_rare() -> None:
    loop = "while a < b:\n    break\n"
    assert changed(loop, "a.py") == []
    assert changed(loop, "a.py", rare=True) == ["while a <= b:", "while a > b:", "continue"]


def test_other_languages_have_their_operators_and_comments() -> None:
    source = "if (a === 1 && !b) { return `c == d`; } // e < f\n"
    assert changed(source, "a.js") == [
        "if (a !== 1 && !b) { return `c == d`; } // e < f",
        "if (a === 1 || !b) { return `c == d`; } // e < f",
        "if (a === 1 && b) { return `c == d`; } // e < f",
    ]


@pytest.mark.parametrize(("operator", "others"), [("<", ["<=", ">"]), ("is", ["is not"]), ("not in", ["in"]), ("or", ["and"])])
def test_an_operator_is_replaced_by_those_that_it_is_mistaken_for(operator: str, others: list[str]) -> None:
    assert changed(f"x = a {operator} b\n", "a.py") == [f"x = a {other} b" for other in others]


def test_there_are_at_most_as_many_as_there_is_time_for() -> None:
    assert len(list_candidate_edits(FUNCTION, "a.py", 2)) == 2

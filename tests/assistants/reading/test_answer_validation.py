"""A model's answer, checked and mended, whatever it says."""

from hypothesis import given
from hypothesis import strategies as st

from assistants.reading.sample_outlines import SHOP, node, parts
from properties import examples
from treadle.assistants.reading.answer_validation import MOST, check_model_answer

FOUND = parts(*SHOP)
LINES = 50
GOOD = {
    "file_intent": "Keeps a shop's shelf and knows its prices.",
    "responsibilities": [
        {"label": "Keeping the shelf", "description": "Puts and takes.", "ranges": [[1, 1], [6, 30]]},
        {"label": "Knowing prices", "description": "Adds up.", "ranges": [[2, 4], [32, 44]]},
        {"label": "Filling it up", "description": "Orders.", "ranges": [[46, 50]]},
    ],
}


def answer(**changes):
    return {**GOOD, **changes}


def block(label="Keeping the shelf", ranges=((1, 50),), **more):
    return {"label": label, "description": "d", "ranges": [list(pair) for pair in ranges], **more}


def test_a_good_answer_stays_as_it_is():
    settled = check_model_answer(GOOD, FOUND, LINES)
    assert settled.coverage == 1
    assert settled.notes == ()
    assert [(found.id, found.label, found.ranges) for found in settled.blocks] == [
        ("keeping-the-shelf", "Keeping the shelf", ((1, 1), (6, 30))),
        ("knowing-prices", "Knowing prices", ((2, 4), (32, 44))),
        ("filling-it-up", "Filling it up", ((46, 50),)),
    ]
    assert settled.blocks[1].elements.functions == ("price", "total")
    assert settled.problems == ()


def test_of_two_blocks_the_larger_is_split_by_the_outline_and_that_is_a_problem_in_a_file_with_more_to_tell_apart():
    settled = check_model_answer(
        answer(responsibilities=[block(ranges=[(1, 1), (6, 30), (46, 50)]), block("Knowing prices", [(2, 4), (32, 44)])]),
        FOUND,
        LINES,
    )
    assert [(found.label, found.ranges) for found in settled.blocks] == [
        ("Keeping the shelf", ((1, 1), (6, 30))),
        ("Knowing prices", ((2, 4), (32, 44))),
        ("restock function", ((46, 50),)),
    ]
    assert settled.blocks[2].description == "Defines the function restock."
    assert settled.problems == ("Only 2 of 3 to 6 responsibilities are told apart.",)


def test_a_file_that_is_one_class_is_split_by_its_members():
    found = parts(node("class", "Shelf", 1, 60, *[node("method", f"step_{n}", 10 * n + 2, 10 * n + 9) for n in range(6)]))
    settled = check_model_answer(answer(responsibilities=[block(ranges=[(1, 60)])]), found, 60)
    assert [each.label for each in settled.blocks][:1] == ["Keeping the shelf"]
    assert len(settled.blocks) == 3
    assert sorted(name for each in settled.blocks for name in each.elements.functions) == [f"Shelf.step_{n}" for n in range(6)]


def test_ranges_are_snapped_to_whole_parts_and_shared_by_none():
    settled = check_model_answer(
        answer(responsibilities=[block(ranges=[(1, 33)]), block("Knowing prices", [(33, 45)]), block("Filling up", [(45, 60)])]),
        FOUND,
        LINES,
    )
    assert [found.ranges for found in settled.blocks] == [((1, 30),), ((32, 44),), ((46, 50),)]


def test_ranges_the_wrong_way_round_or_outside_are_put_right():
    settled = check_model_answer(
        answer(responsibilities=[block(ranges=[(30, -4), (90, 99)]), block("Knowing prices", [(44, 32)])]), FOUND, LINES
    )
    assert [found.ranges for found in settled.blocks] == [((1, 30),), ((32, 44),), ((46, 50),)]


def test_what_was_left_out_is_added_and_said():
    settled = check_model_answer(
        answer(responsibilities=[block(ranges=[(9, 30)]), block("Knowing prices", [(32, 44)])]), FOUND, LINES
    )
    assert "RATE" in settled.blocks[1].elements.constants
    assert settled.coverage < 1
    assert "left out" in settled.notes[0]


def test_much_left_out_is_a_problem_that_names_it():
    problems = check_model_answer(answer(responsibilities=[block(ranges=[(4, 4)])]), FOUND, LINES).problems
    assert any("price (32-36)" in problem for problem in problems)


def test_generic_labels_are_a_problem_and_are_replaced():
    settled = check_model_answer(answer(responsibilities=[block("Helpers", [(32, 44)]), block(ranges=[(1, 30)])]), FOUND, LINES)
    assert any("'Helpers'" in problem for problem in settled.problems)
    assert [found.label for found in settled.blocks] == ["total and price functions", "Keeping the shelf", "restock function"]


def test_labels_of_one_word_or_many_are_a_problem_and_are_mended():
    settled = check_model_answer(
        answer(responsibilities=[block("Prices", [(32, 44)]), block("a b c d e f g", [(1, 30)])]), FOUND, LINES
    )
    assert sum("words" in problem for problem in settled.problems) == 2
    assert [found.label for found in settled.blocks] == ["Prices: total and price", "a b c d e", "restock function"]


def test_names_that_are_not_in_the_file_are_dropped_and_said():
    said = block(ranges=[(9, 30)], elements={"functions": ["put()", "burn"], "types": "Shelf"})
    settled = check_model_answer(answer(responsibilities=[said]), FOUND, LINES)
    assert settled.notes[0] == "Names that the outline doesn't have were dropped: burn."


def test_a_block_may_say_where_it_is_by_names_alone():
    settled = check_model_answer(
        answer(responsibilities=[{"label": "Knowing prices", "elements": {"functions": ["price", "total"]}}]), FOUND, LINES
    )
    assert [(found.label, found.elements.functions) for found in settled.blocks] == [
        ("Knowing prices", ("price", "total")),
        ("Shelf class", ("Shelf.put", "Shelf.take")),
        ("restock function", ("restock",)),
    ]


def test_what_a_block_names_is_in_it_whatever_its_ranges_say():
    shelf = block(ranges=[(9, 11), (20, 30)], elements={"functions": ["Shelf.put", "take"], "types": ["Shelf", "Empty"]})
    prices = block("Knowing prices", [(2, 8), (12, 18), (32, 44)], elements={"functions": ["price", "total"]})
    settled = check_model_answer(answer(responsibilities=[shelf, prices]), FOUND, LINES)
    assert settled.blocks[0].elements.types == ("Empty", "Shelf")
    assert settled.blocks[0].elements.functions[:2] == ("Shelf.put", "Shelf.take")
    assert settled.notes[0] == "Placed by name, where the ranges said otherwise: Empty, Shelf.put."


def test_whether_something_is_state_or_a_constant_is_the_models_to_say_and_what_is_a_type_is_not():
    said = block(ranges=[(1, 50)], elements={"state": ["RATE"], "functions": ["Shelf"]})
    settled = check_model_answer(answer(responsibilities=[said]), FOUND, LINES)
    assert (settled.blocks[0].elements.state, settled.blocks[0].elements.constants) == (("RATE",), ())
    assert settled.blocks[0].elements.types == ("Empty", "Shelf")
    assert settled.notes[0] == "Names were listed as what they are: Shelf (types)."


def test_a_name_in_two_blocks_is_kept_in_the_one_that_has_its_lines():
    one = block(ranges=[(1, 30)], elements={"functions": ["price"]})
    other = block("Knowing prices", [(32, 44)], elements={"functions": ["price", "total"]})
    settled = check_model_answer(answer(responsibilities=[one, other]), FOUND, LINES)
    assert "price" in settled.blocks[1].elements.functions
    assert "price" not in settled.blocks[0].elements.functions
    assert settled.notes[0] == "Named in several blocks, and kept in one: price."


def test_no_name_is_in_two_blocks_though_a_method_is_declared_and_defined_apart():
    found = parts(
        node("class", "Shelf", 1, 4, node("method", "put", 2, 2), node("method", "take", 3, 3)),
        node("method", "Shelf::put", 6, 9),
        node("method", "take", 11, 14, owner="Shelf"),
    )
    settled = check_model_answer(answer(responsibilities=[block(ranges=[(1, 4)]), block("Doing the work", [(6, 14)])]), found, 14)
    assert [each.elements.functions for each in settled.blocks] == [("Shelf.put", "Shelf.take"), ()]


def test_the_models_own_notes_come_first_unless_they_name_lines_that_are_not_there():
    assert check_model_answer(answer(metadata={"notes": "Not  safe\nfor threads, see lines 9-30."}), FOUND, LINES).notes == (
        "Not safe for threads, see lines 9-30.",
    )
    assert check_model_answer(answer(metadata={"notes": "See lines 400-410."}), FOUND, LINES).notes == (
        "The model's notes were dropped: they name lines that the file doesn't have.",
    )
    assert check_model_answer(answer(metadata={"notes": "x" * 900}), FOUND, LINES).notes == (f"{'x' * 499}…",)
    assert check_model_answer(answer(metadata=["notes"]), FOUND, LINES).notes == ()


def test_more_blocks_than_anyone_keeps_in_mind_are_joined():
    many = [block(f"Number {part.number}", [(part.start, part.end)]) for part in FOUND]
    settled = check_model_answer(answer(responsibilities=many), FOUND, LINES)
    assert len(settled.blocks) == MOST
    assert any("join them" in problem for problem in settled.problems)


def test_two_blocks_of_one_label_have_ids_of_their_own():
    settled = check_model_answer(answer(responsibilities=[block(ranges=[(1, 30)]), block(ranges=[(32, 44)])]), FOUND, LINES)
    assert [found.id for found in settled.blocks] == ["keeping-the-shelf", "keeping-the-shelf-2", "restock-function"]
    assert "Some labels are the same; say what tells those parts apart." in settled.problems


def test_a_long_intent_is_cut_to_four_lines():
    assert check_model_answer(answer(file_intent="a\n\nb\nc\nd\ne"), FOUND, LINES).file_intent == "a\nb\nc\nd"


def test_no_intent_and_no_blocks_are_problems():
    settled = check_model_answer({"responsibilities": [block(ranges=[(90, 99)])]}, FOUND, LINES)
    assert settled.blocks == ()
    assert len(settled.problems) == 2


ANYTHING = st.recursive(
    st.none()
    | st.booleans()
    | st.integers(-5, 60)
    | st.floats(allow_nan=False, allow_infinity=False, width=16)
    | st.text(max_size=8),
    lambda inner: (
        st.lists(inner, max_size=4)
        | st.dictionaries(st.sampled_from(["label", "ranges", "elements", "description"]), inner, max_size=4)
    ),
    max_leaves=20,
)


@given(st.dictionaries(st.sampled_from(["file_intent", "responsibilities", "blocks"]), ANYTHING) | ANYTHING)
@examples(300)
def test_whatever_a_model_answers_the_blocks_are_right(anything):
    settled = check_model_answer(anything, FOUND, LINES)
    lines = [line for found in settled.blocks for start, end in found.ranges for line in range(start, end + 1)]
    assert len(lines) == len(set(lines))
    assert all(1 <= line <= LINES for line in lines)
    assert len(settled.blocks) <= MOST
    assert all(2 <= len(found.label.split()) <= 5 and found.ranges for found in settled.blocks)
    if settled.blocks:
        assert all(set(range(part.start, part.end + 1)) <= set(lines) for part in FOUND if part.defines)

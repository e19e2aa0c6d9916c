"""A small model describes the groups that were found in code."""

import pytest

from assistants.reading.sample_outlines import DESCRIPTIONS, imports, node, source
from treadle.assistants.reading.group_descriptions import GROUPED_NOTE, FileGroups

SHOP = FileGroups.find(source(doc="A shop.\nIt sells."))


def test_groups_are_what_uses_each_other_in_the_order_of_the_file():
    assert SHOP.keys == ["part_1_Shelf", "part_2_total", "part_3_restock"]
    assert SHOP.format_names() == "part_1_Shelf: Shelf and Empty\npart_2_total: total and price\npart_3_restock: restock"


def test_a_file_without_definitions_has_no_groups():
    assert FileGroups.find(source(imports(1, "path"))) is None


def test_what_is_shown_of_a_group_is_its_documentation_or_else_its_signature():
    assert SHOP.format_definitions().splitlines()[:4] == [
        "# A shop. It sells.",
        "",
        "part_1_Shelf:",
        "Shelf (methods put, take)",
    ]
    documented = source(node("function", "price", 1, 5, doc="Adds the tax."))
    assert "function price: Adds the tax." in FileGroups.find(documented).format_definitions()


def test_definitions_beyond_a_groups_share_are_named_and_methods_beyond_twelve_are_counted():
    methods = [node("method", f"method_{number}", number, number) for number in range(2, 22)]
    functions = [node("function", f"function_{number}_{'x' * 80}", 30 + number, 30 + number, uses=["Large"]) for number in range(9)]
    large = source(node("class", "Large", 1, 22, *methods), *functions)
    shown = FileGroups.find(large).format_definitions(100)
    assert "method_13, 8 more)" in shown
    assert "method_14" not in shown
    assert "\n… and " in shown
    assert "function_8" in shown


def test_a_group_of_what_has_no_name_is_shown_as_that():
    groups = FileGroups.find(source(node("function", "", 1, 5)))
    assert (groups.format_names(), groups.format_definitions()) == ("part_1: code without a name", "part_1:\ncode without a name")


def test_the_blocks_are_the_groups_in_the_models_words():
    checked = SHOP.check(DESCRIPTIONS)
    assert checked.problems == ()
    assert [(block.label, block.description) for block in checked.blocks] == [
        ("Keeping the shelf", "Puts and takes."),
        ("Knowing prices", "Adds up."),
        ("Filling it up", "Orders."),
    ]
    assert (checked.notes, checked.coverage) == ((GROUPED_NOTE,), 0.0)
    covered = [line for block in checked.blocks for start, end in block.ranges for line in range(start, end + 1)]
    assert len(covered) == len({*covered})


def test_a_group_without_a_description_is_a_problem_and_gets_one_from_its_names():
    checked = SHOP.check({**DESCRIPTIONS, "part_2_total": {"label": "Knowing prices"}})
    assert checked.problems == ("part_2_total has no description.",)
    assert "price" in checked.blocks[1].description


@pytest.mark.parametrize(
    "label", ["Knowing prices", "total, price", "total", "Helper functions", "price, total and the rates of each year", 3]
)
def test_a_label_that_says_nothing_of_its_own_is_replaced_without_asking_again(label):
    checked = SHOP.check({**DESCRIPTIONS, "part_3_restock": {"label": label, "description": "Orders."}})
    assert checked.problems == ()
    assert "restock" in checked.blocks[2].label.lower()


def test_a_name_that_is_no_word_isnt_in_the_key():
    file = source(node("function", "operator ==", 1, 5))
    assert FileGroups.find(file).keys == ["part_1"]


@pytest.mark.parametrize("answer", [None, "no", [], {}, {"part_1_Shelf": "no", "part_2_total": [], "part_3_restock": None}])
def test_what_is_no_description_is_a_problem_and_leaves_the_groups(answer):
    checked = SHOP.check(answer)
    assert len(checked.blocks) == 3
    assert [problem for problem in checked.problems if "part_" in problem] == [
        f"{key} has no description." for key in ("part_1_Shelf", "part_2_total", "part_3_restock")
    ]

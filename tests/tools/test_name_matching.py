import pytest

from treadle.tools.name_matching import format_hint, hint_for, match_name, nearest_names, similar_names

KNOWN = ["stock", "place_order", "delete-order"]


@pytest.mark.parametrize(
    ("written", "meant"),
    [
        ("stock", "stock"),
        ("Stock", "stock"),
        ("functions.stock", "stock"),
        ("FUNCTIONS.stock", "stock"),
        ("tool:stock", "stock"),
        ("default_api/stock", "stock"),
        (" `stock()` ", "stock"),
        ("place-order", "place_order"),
        ("placeOrder", "place_order"),
        ("delete_order", "delete-order"),
    ],
)
def test_a_spelling_with_one_reading_is_certain(written: str, meant: str):
    assert match_name(written, KNOWN) == meant
    assert nearest_names(written, KNOWN) == [meant]


@pytest.mark.parametrize("written", ["stocks", "github.stock", "", "order"])
def test_anything_else_is_not(written: str):
    assert match_name(written, KNOWN) is None


def test_a_spelling_with_two_readings_is_not_certain():
    assert match_name("PLACE-ORDER", ["place_order", "placeorder"]) is None
    assert match_name("placeorder", ["place_order", "placeorder"]) == "placeorder"


def test_the_nearest_names_come_best_first():
    assert nearest_names("plac_ordr", KNOWN) == ["place_order"]
    assert nearest_names("order", ["orders", "place", "order_it"])[0] == "orders"
    assert nearest_names("zzz", KNOWN) == []


def test_the_nearest_names_are_three_at_most():
    assert len(nearest_names("orde", ["order1", "order2", "order3", "order4"])) == 3


def test_names_alike_but_for_separators_are_all_named():
    assert similar_names("placeorderr", ["place_order", "placeOrder"]) == ["place_order", "placeOrder"]


def test_the_hint_names_what_was_meant_or_all_there_is():
    assert hint_for("stok", KNOWN) == "Did you mean stock?"
    assert hint_for("zzz", KNOWN) == "There are: stock, place_order, delete-order."
    assert format_hint(["a", "b"], KNOWN) == "Did you mean a or b?"
    assert format_hint([], []) == "There are: none."

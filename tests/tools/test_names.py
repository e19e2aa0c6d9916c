import pytest

from treadle.tools.names import alike, canonical, nearest

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
    assert canonical(written, KNOWN) == meant
    assert nearest(written, KNOWN) == [meant]


@pytest.mark.parametrize("written", ["stocks", "github.stock", "", "order"])
def test_anything_else_is_not(written: str):
    assert canonical(written, KNOWN) is None


def test_a_spelling_with_two_readings_is_not_certain():
    assert canonical("PLACE-ORDER", ["place_order", "placeorder"]) is None
    assert canonical("placeorder", ["place_order", "placeorder"]) == "placeorder"


def test_the_nearest_names_come_best_first():
    assert nearest("plac_ordr", KNOWN) == ["place_order"]
    assert nearest("order", ["orders", "place", "order_it"])[0] == "orders"
    assert nearest("zzz", KNOWN) == []


def test_the_nearest_names_are_three_at_most():
    assert len(nearest("orde", ["order1", "order2", "order3", "order4"])) == 3


def test_names_alike_but_for_separators_are_all_named():
    assert alike("placeorderr", ["place_order", "placeOrder"]) == ["place_order", "placeOrder"]

"""Labels that say something, and names taken apart."""

import pytest

from treadle.assistants.reading.labels import build_common_label, clean_label, is_generic_label, split_identifier, to_kebab_case


@pytest.mark.parametrize(
    "label", ["misc", "Helpers", "Helper functions", "Other", "utility methods", "Misc and other stuff", "", "Core utilities"]
)
def test_labels_that_could_stand_on_anything(label):
    assert is_generic_label(label)


@pytest.mark.parametrize("label", ["Parsing arguments", "Helper lookup", "Order totals", "Main loop", "Other currencies"])
def test_labels_that_say_something(label):
    assert not is_generic_label(label)


def test_a_label_is_cleaned():
    assert clean_label('  "Parsing\n of arguments" ') == "Parsing of arguments"
    assert clean_label("Reads the whole file and") == "Reads the whole file"
    assert clean_label("one two three four five six seven") == "one two three four five"


def test_names_are_taken_apart():
    assert split_identifier("parseHTTPBody") == ["parse", "http", "body"]
    assert split_identifier("_parse_http_body2") == ["parse", "http", "body", "2"]


def test_ids_are_made_of_labels():
    assert to_kebab_case("Order totals & VAT") == "order-totals-vat"
    assert to_kebab_case("…") == "block"


def test_a_label_is_made_of_what_names_share():
    assert build_common_label(["parse_head", "parse_body", "close"], "functions") == "Parse functions"
    assert build_common_label(["Shelf"], "classes") == "Shelf classes"
    assert (
        build_common_label(["ts_lex", "ts_lex_all"], "functions", ["ts_lex", "ts_lex_all", "ts_a", "ts_b", "ts_c"])
        == "Lex ts functions"
    )
    assert build_common_label(["x"], "functions") == "Its functions"

"""Labels that say something, and names taken apart."""

import pytest

from treadle.assistants.reading.words import clean_label, is_generic, kebab, label_from, split_name


@pytest.mark.parametrize(
    "label", ["misc", "Helpers", "Helper functions", "Other", "utility methods", "Misc and other stuff", "", "Core utilities"]
)
def test_labels_that_could_stand_on_anything(label):
    assert is_generic(label)


@pytest.mark.parametrize("label", ["Parsing arguments", "Helper lookup", "Order totals", "Main loop", "Other currencies"])
def test_labels_that_say_something(label):
    assert not is_generic(label)


def test_a_label_is_cleaned():
    assert clean_label('  "Parsing\n of arguments" ') == "Parsing of arguments"
    assert clean_label("Reads the whole file and") == "Reads the whole file"
    assert clean_label("one two three four five six seven") == "one two three four five"


def test_names_are_taken_apart():
    assert split_name("parseHTTPBody") == ["parse", "http", "body"]
    assert split_name("_parse_http_body2") == ["parse", "http", "body", "2"]


def test_ids_are_made_of_labels():
    assert kebab("Order totals & VAT") == "order-totals-vat"
    assert kebab("…") == "block"


def test_a_label_is_made_of_what_names_share():
    assert label_from(["parse_head", "parse_body", "close"], "functions") == "Parse functions"
    assert label_from(["Shelf"], "classes") == "Shelf classes"
    assert label_from(["ts_lex", "ts_lex_all"], "functions", ["ts_lex", "ts_lex_all", "ts_a", "ts_b", "ts_c"]) == "Lex ts functions"
    assert label_from(["x"], "functions") == "Its functions"

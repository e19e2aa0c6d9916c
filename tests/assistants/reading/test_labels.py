"""Labels that say something, and names taken apart."""

import pytest

from treadle.assistants.reading.grouping import (
    clean_label,
    find_shared_words,
    is_generic_label,
    shorten_name,
    split_identifier,
    to_kebab_case,
)


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


def test_words_are_shared_by_at_least_half_of_the_names_and_not_by_most_of_the_file():
    assert find_shared_words(["parse_head", "parse_body", "close"], []) == ["parse"]
    assert find_shared_words(["Shelf"], ["Shelf"]) == []
    assert find_shared_words(["ts_lex", "ts_lex_all"], ["ts_lex", "ts_lex_all", "ts_a", "ts_b", "ts_c"]) == ["lex"]


def test_a_long_name_is_shortened_to_the_words_that_tell_it_apart():
    names = ["block_core_calendar_render", "block_core_calendar_update_when_published", "block_core_calendar_register"]
    assert [shorten_name(name, names) for name in names[:2]] == ["block_core_calendar_render", "update-when-published"]

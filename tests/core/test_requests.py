"""Usage adds up, and options are merged."""

from math import nan

import pytest

from treadle.core.requests import Options, Traits, Usage, find_option_mistakes, merge_options


@pytest.mark.parametrize(
    ("traits", "taken"),
    [
        (Traits(), ["image/png", "audio/wav", "application/pdf"]),
        (Traits(native_calls=False), []),
        (Traits(modalities=frozenset()), []),
        (Traits(modalities=frozenset(("image", "audio/mpeg"))), ["image/png"]),
        (Traits(native_calls=False, modalities=frozenset(("audio/wav", "document"))), ["audio/wav", "application/pdf"]),
    ],
)
def test_what_a_model_takes_is_known_by_kind_or_by_type_or_not_at_all(traits, taken):
    assert [each for each in ("image/png", "audio/wav", "application/pdf") if traits.takes(each)] == taken
    calling = traits.through_text()
    assert calling.native_calls
    assert [each for each in ("image/png", "audio/wav", "application/pdf") if calling.takes(each)] == taken


def test_usage_adds_up_field_by_field():
    assert Usage(1, 2, 3, 4, 5, 6) + Usage(1, 1, 1, 1, 1, 1) == Usage(2, 3, 4, 5, 6, 7)
    assert Usage(input_tokens=3, output_tokens=4).total_tokens == 7


def test_an_unknown_cost_stays_unknown_until_one_is_known():
    assert (Usage() + Usage()).cost is None
    assert (Usage(cost=0.5) + Usage()).cost == 0.5
    assert (Usage(cost=0.5) + Usage(cost=0.25)).cost == 0.75


def test_options_that_are_set_go_before_those_of_the_base():
    base = Options(temperature=0.5, max_tokens=100, stop=("END",), extra={"a": 1})
    assert merge_options(base, Options(max_tokens=7, headers={"x": "y"})) == Options(
        temperature=0.5, max_tokens=7, stop=("END",), headers={"x": "y"}, extra={"a": 1}
    )
    assert merge_options(base, Options()) == base


def test_a_model_that_thinks_gets_no_limit_that_its_thinking_would_use_up():
    options = Options(temperature=0, max_tokens=800, seed=1)
    assert options.for_model(Traits(reasons=True)) == Options(seed=1)
    assert options.for_model(Traits()) is options


@pytest.mark.parametrize(
    ("options", "field"),
    [
        (Options(temperature=-0.1), "temperature"),
        (Options(temperature=nan), "temperature"),
        (Options(top_p=1.1), "top_p"),
        (Options(max_tokens=0), "max_tokens"),
        (Options(reasoning_budget=-1), "reasoning_budget"),
        (Options(tool_choice=" "), "tool_choice"),
    ],
)
def test_a_value_that_cannot_be_meant_is_a_mistake(options: Options, field: str) -> None:
    (sentence,) = find_option_mistakes(options)
    assert sentence.startswith(f"Options.{field} is ")


def test_values_at_the_edges_are_none() -> None:
    edges = Options(temperature=0, top_p=1, max_tokens=1, reasoning_budget=0, tool_choice="none")
    assert [*find_option_mistakes(edges), *find_option_mistakes(Options())] == []

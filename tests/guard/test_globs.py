import re
import time

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from treadle.guard.globs import compile_glob

MATCHES = [
    ("*", ""),
    ("*", "anything\nat all"),
    ("stock", "stock"),
    ("order_*", "order_"),
    ("order_*", "order_cancel"),
    ("*_order", "cancel_order"),
    ("a*z", "az"),
    ("a*z", "abcz"),
    ("?", "x"),
    ("??", "\n\n"),
    ("a?c*", "abcdef"),
    ("*a*b*", "xxaxxbxx"),
    ("a**b", "ab"),
    ("[ab]", "[ab]"),
    ("a.b", "a.b"),
]
MISSES = [
    ("stock", "stocks"),
    ("stock", "Stock"),
    ("order_*", "reorder_x"),
    ("a*a", "a"),
    ("?", ""),
    ("?", "xy"),
    ("*a*b*", "bbaa"),
    ("[ab]", "a"),
    ("a.b", "axb"),
    ("*.example", "example"),
]


@pytest.mark.parametrize(("pattern", "text"), MATCHES)
def test_a_glob_matches(pattern, text):
    assert compile_glob(pattern)(text)


@pytest.mark.parametrize(("pattern", "text"), MISSES)
def test_a_glob_does_not_match(pattern, text):
    assert not compile_glob(pattern)(text)


@settings(deadline=None)
@given(st.text("ab*?", max_size=8), st.text("ab", max_size=10))
def test_a_glob_means_what_the_obvious_expression_means(pattern, text):
    obvious = "".join({"*": ".*", "?": "."}.get(letter, re.escape(letter)) for letter in pattern)
    assert bool(compile_glob(pattern)(text)) == bool(re.fullmatch(obvious, text, re.DOTALL))


def test_a_hostile_text_takes_no_longer_than_it_is_long():
    matches = compile_glob("*a*a*a*a*a*a*a*a*b")
    began = time.process_time()
    assert not matches("a" * 100_000)
    assert time.process_time() - began < 2

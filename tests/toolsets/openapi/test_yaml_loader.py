"""YAML as version 1.2 reads it: what looks like a date or a truth in version 1.1 stays text."""

import subprocess
import sys
import time

import pytest
from hypothesis import given
from hypothesis import strategies as st

from treadle.core.errors import SettingsError
from treadle.toolsets.openapi.yaml_loader import read_yaml


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ("on: yes\nno: off\ny: n", {"on": "yes", "no": "off", "y": "n"}),
        ("d: 2026-01-02\nt: 12:30:45", {"d": "2026-01-02", "t": "12:30:45"}),
        ("200: ok\n404: {1.10: a}", {"200": "ok", "404": {"1.10": "a"}}),
        ("a: [true, False, ~, null, '']", {"a": [True, False, None, None, ""]}),
        ("a: [1, -2, +3, 0o17, 0xff, 017, 1_000]", {"a": [1, -2, 3, 15, 255, 17, "1_000"]}),
        ("a: [1.5, .5, 1e3, -1.0E-2, 1.]", {"a": [1.5, 0.5, 1000.0, -0.01, 1.0]}),
        ("a: [.inf, .nan, 0b1, =]", {"a": [".inf", ".nan", "0b1", "="]}),
        ("a: 'true'\nb: \"1\"\nc: !!str 5\nd: !own x", {"a": "true", "b": "1", "c": "5", "d": "x"}),
        ("a: |\n  two\n  lines\n", {"a": "two\nlines\n"}),
        ("a: &x {b: 1}\nc: *x", {"a": {"b": 1}, "c": {"b": 1}}),
        ("a: &x {b: 1, c: 2}\nd:\n  <<: *x\n  c: 3", {"a": {"b": 1, "c": 2}, "d": {"b": 1, "c": 3}}),
        ("a: {<<: [{b: 1}, {b: 2, c: 3}, 4]}", {"a": {"b": 1, "c": 3}}),
        ("~: a\ntrue: b", {"~": "a", "true": "b"}),
        ("", None),
        ("a:", {"a": None}),
        ("a: " + "9" * 400, {"a": "9" * 400}),
        ("a: 1." + "9" * 400, {"a": "1." + "9" * 400}),
    ],
)
def test_a_text_means(text, value):
    assert read_yaml(text) == value


@pytest.mark.parametrize(
    "text", ["a: [", "a: b: c", "\t- a", "a: *nowhere", "--- 1\n--- 2", "? [a]\n: b", "a: \x00", "[" * 5000, "[" * 900 + "]" * 900]
)
def test_what_is_no_yaml_is_said(text):
    with pytest.raises(SettingsError):
        read_yaml(text)


def test_aliases_that_grow_without_bounds_are_refused():
    lines = ["a0: &a0 [x, x, x, x, x, x, x, x, x]"] + [f"a{n}: &a{n} [{', '.join([f'*a{n - 1}'] * 9)}]" for n in range(1, 12)]
    began = time.process_time()
    with pytest.raises(SettingsError, match="aliases stand for more"):
        read_yaml("\n".join(lines))
    assert time.process_time() - began < 2


def test_an_alias_that_contains_itself_is_refused():
    with pytest.raises(SettingsError, match="contains itself"):
        read_yaml("a: &a [*a]")


@given(
    st.recursive(
        st.none() | st.booleans() | st.integers(-(10**9), 10**9) | st.text("abc: -#'\"", max_size=8),
        lambda inner: st.lists(inner) | st.dictionaries(st.text("abcde", min_size=1, max_size=5), inner),
        max_leaves=8,
    )
)
def test_json_is_yaml(value):
    import json

    assert read_yaml(json.dumps(value)) == value


def test_without_the_package_a_sentence_says_how_to_get_it():
    code = "import sys; sys.modules['yaml'] = None\nfrom treadle.toolsets.openapi.yaml_loader import read_yaml\nread_yaml('a: 1')"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False)
    assert "pip install 'treadle[openapi]'" in done.stderr

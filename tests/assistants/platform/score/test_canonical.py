"""Specs compared: only what would run makes a difference, not who wrote it or in which order."""

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from treadle.assistants.platform.score import BadSpec, canonical_spec, check_spec, diff_specs, parse_spec, spec_from_server

SPEC = """\
apiVersion: score.dev/v1b1
metadata: {name: shop}
containers:
  web:
    image: shop:1.0
    variables: {PORT: 8080, DEBUG: true}
resources:
  db: {type: postgres, params: {version: "16", replicas: 2}}
  bucket: {type: s3}
environment: {type: ephemeral, ttl: 24h}
"""

SERVED = {
    "metadata": {"Name": "shop"},
    "containers": {"web": {"Image": "shop:1.0", "Variables": {"DEBUG": "true", "PORT": "8080"}}},
    "resources": {
        "bucket": {"Type": "s3", "Params": None, "Properties": None},
        "db": {"Type": "postgres", "Params": {"replicas": 2, "version": "16"}, "Properties": {}},
    },
    "environment": {"Type": "ephemeral", "TTL": "24h"},
    "graph": {"container:web": []},
    "team": "shop",
}


def test_a_spec_and_what_the_server_shows_of_it_are_the_same():
    assert diff_specs(SERVED, SPEC) == ""
    assert diff_specs(json.dumps(SERVED), parse_spec(SPEC)) == ""
    assert canonical_spec(SERVED) == canonical_spec(SPEC) == canonical_spec(parse_spec(SPEC))


def test_the_canonical_form_is_a_spec_that_reads_as_the_same():
    assert check_spec(canonical_spec(SERVED)).ok
    assert canonical_spec(canonical_spec(SERVED)) == canonical_spec(SERVED)
    assert canonical_spec(SPEC).startswith(
        "apiVersion: score.dev/v1b1\nmetadata:\n  name: shop\ncontainers:\n  web:\n    image: shop:1.0\n"
    )


def test_names_keep_their_case():
    assert spec_from_server({"containers": {"Web": {"image": "a"}}, "metadata": None})["containers"] == {"Web": {"image": "a"}}


def test_a_difference_is_a_unified_diff():
    changed = SPEC.replace("shop:1.0", "shop:1.1")
    assert diff_specs(SERVED, changed) == (
        "--- running\n+++ new\n@@ -3,7 +3,7 @@\n   name: shop\n containers:\n   web:\n"
        "-    image: shop:1.0\n+    image: shop:1.1\n     variables:\n       DEBUG: 'true'\n       PORT: '8080'\n"
    )


def test_a_spec_against_none_is_all_new_or_all_gone():
    assert all(line.startswith("+") for line in diff_specs(None, SPEC).splitlines()[3:])
    assert all(line.startswith("-") for line in diff_specs(SPEC, None).splitlines()[3:])
    assert diff_specs(None, None) == ""


def test_a_text_that_is_no_spec_cannot_be_compared():
    with pytest.raises(BadSpec, match="has to be a mapping"):
        diff_specs("just words", SPEC)


def test_what_is_there_twice_is_written_twice():
    shared = {"a": [1, {"b": 2}]}
    text = canonical_spec({"metadata": {"name": "x"}, "resources": {"r": {"type": "s3", "params": shared, "properties": shared}}})
    assert "&" not in text
    assert text.count("b: 2") == 2


def test_truth_in_a_variable_is_written_as_the_server_writes_it():
    assert spec_from_server({"containers": {"web": {"variables": {"DEBUG": True}}}})["containers"]["web"]["variables"] == {
        "DEBUG": "true"
    }


def test_workflows_are_part_of_what_runs():
    assert "steps" in diff_specs(SPEC, SPEC + "workflows: {seed: {steps: [{name: a}]}}\n")


JSON = st.recursive(
    st.one_of(st.none(), st.booleans(), st.integers(), st.floats(allow_nan=False), st.text(max_size=8)),
    lambda inner: st.one_of(st.lists(inner, max_size=3), st.dictionaries(st.text(max_size=5), inner, max_size=3)),
    max_leaves=10,
)
PARTS = st.sampled_from(["metadata", "containers", "resources", "environment", "Name", "workflows", "graph"])


@given(st.dictionaries(PARTS, JSON))
def test_whatever_a_server_says_has_a_canonical_form_that_stays_the_same(said):
    text = canonical_spec(said)
    assert canonical_spec(spec_from_server(said)) == text
    assert diff_specs(said, spec_from_server(said)) == ""

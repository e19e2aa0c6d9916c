"""Addresses are shown without their passwords, and names of persons become names of schemas."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from treadle.core.errors import SettingsError
from treadle.stores.postgres.address import check_postgres_url, quote_identifier, redact_url, schema_name


@pytest.mark.parametrize(
    ("url", "words"),
    [
        ("postgresql://anna:hidden@db.example:5433/runs", "postgresql://db.example:5433/runs"),
        ("postgres://anna@db/runs", "postgresql://db/runs"),
        ("postgresql://anna:hid@den@one:1,two:2/runs?password=hidden", "postgresql://one:1,two:2/runs"),
        ("postgresql:///runs?host=/var/run", "postgresql:///runs"),
    ],
)
def test_an_address_is_shown_by_its_servers_and_its_database(url, words):
    assert redact_url(url) == words
    assert check_postgres_url(url) == url


@pytest.mark.parametrize("url", ["", "mysql://a:hidden@b/c", "postgresql:hidden", "runs.db", "postgresql://[hidden/x"])
def test_what_is_no_address_is_told_without_repeating_it(url):
    with pytest.raises(SettingsError, match="write postgresql://USER:PASSWORD@HOST/DATABASE") as caught:
        redact_url(url)
    assert "hidden" not in str(caught.value)


def test_everybody_has_a_schema_of_their_own():
    assert [schema_name(name) for name in ("", "anna", "a.b-c_d")] == ["treadle", "treadle_anna", "treadle_a.b-c_d"]


@pytest.mark.parametrize("name", ["x" * 60, "ä" * 30, "a\0", "a\n", "\ud800"])
def test_a_name_that_postgresql_would_cut_off_or_refuse_is_none(name):
    with pytest.raises(SettingsError, match="choose a shorter, plain one"):
        schema_name(name)


@given(st.text(min_size=1))
def test_a_quoted_name_ends_only_where_it_ends(name):
    inside = quote_identifier(name)[1:-1]
    assert '"' not in inside.replace('""', "")
    assert inside.replace('""', '"') == name

"""An address is read in one way or not at all."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from treadle.core.errors import SettingsError
from treadle.http_guard.origins import parse_origin, parse_target
from treadle.http_guard.problems import TargetNotAllowed

REFUSED = [
    "",
    "example.com",
    "//example.com/",
    "ftp://example.com/",
    "file:///etc/passwd",
    "javascript:alert(1)",
    "gopher://example.com/",
    "http:/example.com",
    "http://",
    "http:///path",
    "http://user@example.com/",
    "http://user:password@example.com/",
    "http://example.com@evil.example/",
    "http://example.com\\@evil.example/",
    "http://example.com#@evil.example/",
    "http://exa mple.com/",
    "http://example.com/a b",
    "http://example.com/\r\nHost: evil",
    "http://example.com/\x00",
    "http://example.com\t/",
    "http://example.com:0/",
    "http://example.com:65536/",
    "http://example.com:port/",
    "http://example.com:80:80/",
    "http://ex%61mple.com/",
    "http://bücher.example/",
    "http://①②⑦.⓪.⓪.①/",
    "http://127.1/",
    "http://0/",
    "http://2130706433/",
    "http://0x7f.1/",
    "http://0x7f000001/",
    "http://0177.0.0.1/",
    "http://127.0.0.1./",
    "http://1.2.3/",
    "http://[::1/",
    "http://::1/",
    "http://[::1%25eth0]/",
    "http://[fe80::1%eth0]/",
    "http://[127.0.0.1]/",
    "http://[gggg::]/",
]


@pytest.mark.parametrize("url", REFUSED, ids=ascii)
def test_what_can_be_read_in_two_ways_is_no_address(url):
    with pytest.raises(TargetNotAllowed):
        parse_target(url)


@pytest.mark.parametrize(
    ("url", "read"),
    [
        ("http://example.com", "http://example.com/"),
        ("HTTPS://Example.COM:443/A?b", "https://example.com/A?b"),
        ("http://example.com:8080/a%2Fb?c=%20#d", "http://example.com:8080/a%2Fb?c=%20"),
        ("http://example.com?q=1", "http://example.com/?q=1"),
        ("http://[0:0:0:0:0:0:0:1]:80/", "http://[::1]/"),
        ("http://127.0.0.1:81/ü", "http://127.0.0.1:81/%C3%BC"),
        ('http://example.com/<a>"', "http://example.com/%3Ca%3E%22"),
        ("http://example.com./", "http://example.com./"),
        ("http://a_b-c.0x.example/", "http://a_b-c.0x.example/"),
    ],
)
def test_an_address_has_one_spelling(url, read):
    assert str(parse_target(url)) == read
    assert parse_target(read) == parse_target(url)


def test_a_query_is_added_to_the_one_that_is_there():
    assert parse_target("http://example.com/?a=1", [("b c", "&="), ("d", "ü")]).rest == "/?a=1&b%20c=%26%3D&d=%C3%BC"
    assert parse_target("http://example.com/", [("a", "")]).rest == "/?a="


@pytest.mark.parametrize("text", ["https://example.com/api", "http://example.com/?a", "example.com", "*", "https://*.example.com"])
def test_an_origin_is_a_scheme_a_host_and_a_port(text):
    with pytest.raises(SettingsError):
        parse_origin(text)


def test_a_redirect_that_leads_to_no_address_leads_nowhere():
    here = parse_target("http://example.com/a/b?c")
    assert str(here.towards("d?e")) == "http://example.com/a/d?e"
    assert str(here.towards("//other.example/d")) == "http://other.example/d"
    assert here.towards("file:///etc/passwd") is None
    assert here.towards("http://[") is None
    assert here.towards("/a b") is None


@given(st.text(max_size=60), st.sampled_from(["", "http://", "https://", "http://example.com", "http://example.com/", "http://["]))
def test_any_text_is_an_address_or_a_problem(text, before):
    try:
        found = parse_target(before + text)
    except TargetNotAllowed:
        return
    assert str(found).isascii()
    assert parse_target(str(found)) == found

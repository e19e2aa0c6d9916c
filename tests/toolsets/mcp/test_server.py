"""Where a server is, and what a person's credentials make of it."""

import pytest

from treadle.core.errors import SettingsError, ToolProblem
from treadle.toolsets.mcp import McpServer
from treadle.toolsets.mcp.server import fill_for_listing, fill_server


@pytest.mark.parametrize(
    ("wrong", "words"),
    [
        ({"name": "a b", "command": ("x",)}, "can't be an MCP server's name"),
        ({"name": "", "command": ("x",)}, "can't be an MCP server's name"),
        ({"command": "python server.py"}, "list of words"),
        ({}, "a command or an address"),
        ({"command": ("x",), "url": "http://x"}, "and not both"),
        ({"url": "ftp://x"}, "http://"),
        ({"url": "http://x", "env": {"A": "b"}}, "env and folder go with a command"),
        ({"command": ("x",), "headers": {"A": "b"}}, "headers, sse and private with an address"),
        ({"command": ("x",), "private": True}, "headers, sse and private with an address"),
        ({"url": "https://me:secret@x/mcp"}, "without a user name"),
        ({"url": "http://0x7f.1/mcp"}, "can't be used"),
        ({"command": ("x",), "timeout": 0}, "more than 0 seconds"),
    ],
)
def test_what_makes_no_sense_is_refused_in_a_sentence(wrong, words):
    with pytest.raises(SettingsError, match=words):
        McpServer(**{"name": "s", **wrong})


def test_it_shows_no_secrets():
    server = McpServer("s", url="http://x/?key=1", headers={"Authorization": "Bearer abcdefgh"})
    assert repr(server) == "McpServer(name='s')"
    assert "abc" not in repr(fill_server(server, {}, ""))


def test_credentials_fill_blanks_for_each_user():
    server = McpServer("s", url="http://x", headers={"Authorization": "Bearer {token}", "X-App": "shop", "X-Both": "{a}-{token}"})
    assert server.blanks == ("token", "a")
    ann = fill_server(server, {"token": "t1", "a": "1", "other": "x"}, "ann")
    assert dict(ann.headers) == {"Authorization": "Bearer t1", "X-App": "shop", "X-Both": "1-t1"}
    assert ann == fill_server(server, {"token": "t1", "a": "1"}, "ann")
    assert ann != fill_server(server, {"token": "t1", "a": "1"}, "bob")
    with pytest.raises(ToolProblem, match="needs the credential token and a of the user"):
        fill_server(server, {}, "ann")


def test_without_blanks_everybody_has_the_same():
    server = McpServer("s", command=("x",), env={"MODE": "{not a blank}"})
    assert fill_server(server, {"token": "x"}, "ann") == fill_server(server, {}, "bob")


def test_for_listing_what_is_not_known_is_left_out():
    server = McpServer("s", url="http://x", headers={"Authorization": "Bearer {token}", "X-App": "shop"})
    assert dict(fill_for_listing(server, {}).headers) == {"X-App": "shop"}
    assert dict(fill_for_listing(server, {"token": "t"}).headers)["Authorization"] == "Bearer t"


def test_a_value_that_cannot_be_sent_is_not_repeated():
    server = McpServer("s", url="http://x", headers={"Authorization": "Bearer {token}"})
    with pytest.raises(ToolProblem, match="The header Authorization") as raised:
        fill_server(server, {"token": "one\r\nX-Evil: two"}, "ann")
    assert "Evil" not in str(raised.value)


def test_secrets_are_whole_values_and_their_words():
    server = McpServer("s", url="http://x", headers={"Authorization": "Bearer abcdefgh", "X-A": "1"})
    assert set(fill_server(server, {}, "").secrets) == {"Bearer abcdefgh", "abcdefgh"}

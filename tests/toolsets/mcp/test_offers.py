"""What a server says of its tools, and what becomes of it here."""

import re

import pytest
from hypothesis import given
from hypothesis import strategies as st

from treadle.core.errors import SettingsError
from treadle.toolsets.mcp import AdvertisedTool, McpServer
from treadle.toolsets.mcp.offers import build_offers

STRANGER = McpServer("s", command=("x",))
FRIEND = McpServer("s", command=("x",), trusted=True)
KNOWN = McpServer("s", command=("x",), reads=("get_*",))


def tool(server, name="get_it", **hints):
    (offer,) = build_offers(server, [AdvertisedTool(name, annotations=hints)]).values()
    return offer.tool


@pytest.mark.parametrize(
    ("server", "hints", "effect", "retry"),
    [
        (STRANGER, {}, "destroy", "once"),
        (STRANGER, {"readOnlyHint": True}, "destroy", "once"),
        (STRANGER, {"destructiveHint": False, "idempotentHint": True}, "destroy", "once"),
        (FRIEND, {}, "destroy", "once"),
        (FRIEND, {"readOnlyHint": True}, "read", "read"),
        (FRIEND, {"readOnlyHint": "yes"}, "destroy", "once"),
        (FRIEND, {"destructiveHint": False}, "write", "once"),
        (FRIEND, {"destructiveHint": False, "idempotentHint": True}, "write", "once"),
        (FRIEND, {"destructiveHint": True, "idempotentHint": True}, "destroy", "once"),
        (KNOWN, {}, "read", "read"),
        (KNOWN, {"readOnlyHint": True, "destructiveHint": True}, "read", "read"),
        (KNOWN, {"readOnlyHint": False}, "destroy", "once"),
        (KNOWN, {"destructiveHint": True}, "destroy", "once"),
    ],
)
def test_hints_make_a_tool_more_careful_and_less_only_if_the_server_is_trusted(server, hints, effect, retry):
    made = tool(server, **hints)
    assert (made.effect, made.retry) == (effect, retry)


def test_that_a_call_may_be_repeated_is_for_you_alone_to_say():
    server = McpServer("s", ("x",), retry={"set_all": "once", "set_*": "idempotent"})
    for name, retry in (("set_it", "idempotent"), ("set_all", "once"), ("add_it", "once")):
        for hint in (True, False):
            assert tool(server, name, idempotentHint=hint).retry == retry
    assert tool(McpServer("s", ("x",), reads=("set_*",), retry={"*": "idempotent"}), "set_it").retry == "read"


@pytest.mark.parametrize("word", ["keyed", "checkable", "always"])
def test_what_no_server_can_keep_to_is_refused(word):
    with pytest.raises(SettingsError, match=f"{word!r} can't be the retry"):
        McpServer("s", ("x",), retry={"*": word})


def test_trust_is_the_servers():
    assert (tool(STRANGER).trust, tool(FRIEND).trust) == ("untrusted", "trusted")
    assert tool(STRANGER).toolset == "s"


def test_only_the_tools_that_are_wanted():
    told = [AdvertisedTool("get_a"), AdvertisedTool("get_b"), AdvertisedTool("set_a")]
    assert list(build_offers(McpServer("s", command=("x",), only=("get_*",)), told)) == ["s_get_a", "s_get_b"]
    assert list(build_offers(McpServer("s", command=("x",), only=("set_a",), prefix=False), told)) == ["set_a"]


def test_what_says_nothing_of_its_arguments_takes_none():
    assert tool(STRANGER).parameters == {"type": "object", "properties": {}}


def test_a_schema_that_nothing_can_be_checked_by_is_left_out():
    schema: dict = {}
    for _ in range(5000):
        schema = {"type": "object", "properties": {"x": schema}}
    assert list(build_offers(STRANGER, [AdvertisedTool("deep", schema=schema), AdvertisedTool("fine")])) == ["s_fine"]


def test_an_endless_description_is_cut_and_says_so():
    (offer,) = build_offers(STRANGER, [AdvertisedTool("x", "y" * 10_000)]).values()
    assert offer.tool.spec.description.endswith("y [… 6000 more characters]")


def test_names_that_cannot_be_called_are_changed_and_told_apart():
    made = build_offers(
        STRANGER,
        [AdvertisedTool("a.b"), AdvertisedTool("a_b"), AdvertisedTool("a b"), AdvertisedTool("ä"), AdvertisedTool("z" * 100)],
    )
    named = {offer.told.name: name for name, offer in made.items()}
    assert named["a_b"] == "s_a_b"
    assert re.fullmatch(r"s_a_b_[0-9a-f]{8}", named["a.b"])
    assert named["ä"] == "s__"
    assert len(named["z" * 100]) == 64
    assert build_offers(STRANGER, [AdvertisedTool("a.b")]).keys() == {"s_a_b"}  # as long as no other has it


@given(st.lists(st.text(max_size=80), unique=True, max_size=8), st.booleans())
def test_every_name_can_be_called_and_is_one_tools_alone(own, prefix):
    made = build_offers(McpServer("s", command=("x",), prefix=prefix), [AdvertisedTool(name) for name in own])
    assert sorted(offer.told.name for offer in made.values()) == sorted(own)
    assert all(re.fullmatch(r"[A-Za-z0-9_-]{1,64}", name) for name in made)


def test_the_same_name_twice_is_the_first():
    (offer,) = build_offers(STRANGER, [AdvertisedTool("a", "first"), AdvertisedTool("a", "second")]).values()
    assert offer.told.description == "first"


def test_a_fingerprint_changes_with_everything_that_is_told():
    told = AdvertisedTool("a", "b", {"type": "object"}, {"readOnlyHint": True})
    others = [
        AdvertisedTool("x", "b", {"type": "object"}, {"readOnlyHint": True}),
        AdvertisedTool("a", "x", {"type": "object"}, {"readOnlyHint": True}),
        AdvertisedTool("a", "b", {"type": "object", "properties": {}}, {"readOnlyHint": True}),
        AdvertisedTool("a", "b", {"type": "object"}, {"readOnlyHint": 1}),
    ]
    assert len({each.fingerprint for each in (told, *others)}) == 5


@pytest.mark.parametrize(
    ("server", "hints", "party"),
    [
        (STRANGER, {}, STRANGER.name),
        (STRANGER, {"openWorldHint": False}, STRANGER.name),
        (FRIEND, {}, ""),
        (FRIEND, {"openWorldHint": False}, ""),
        (FRIEND, {"openWorldHint": True}, FRIEND.name),
    ],
)
def test_a_server_that_is_not_trusted_is_a_third_party(server, hints, party):
    [offer] = build_offers(server, [AdvertisedTool("find", annotations=hints)]).values()
    assert offer.tool.sends_to == party

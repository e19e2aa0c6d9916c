"""Names of tools and of arguments as servers accept them: what is sent, and what comes back from it."""

import json
import re

import pytest

import wire
from treadle.core.calls import Call, Result, Written
from treadle.core.messages import Message, person_message
from treadle.core.requests import ToolSpec
from treadle.models.wires.tool_names import (
    clean_call_id,
    clean_tool_name,
    find_renamed_arguments,
    rename_properties,
    restore_arguments,
)
from wire import WireServer, ask, call, calls_in, request

TEXT = {"type": "string"}
ODATA = ToolSpec(
    "list_apps",
    "List apps.",
    {
        "type": "object",
        "properties": {"$top": {"type": "integer"}, "filter[name]": TEXT, "filter_name": TEXT, "page.size": TEXT, "x" * 70: TEXT},
        "required": ["filter[name]"],
    },
)
SENT = ["top", "filter_name_2", "filter_name", "page.size", "x" * 59]


@pytest.mark.parametrize(
    ("name", "plain"),
    [("add", "add"), ("functions.add", "functions_add"), ("wetter/öl", "wetter__l"), ("", "unknown"), ("x" * 70, "x" * 64)],
)
def test_a_name_that_servers_refuse_is_made_plain(name, plain):
    assert clean_tool_name(name) == plain


def sent_history(name, called):
    history = (
        person_message("Add."),
        Message("model", (Call("c1", called, {}),)),
        Message("tools", (Result("c1", called, "There is no such tool.", problem="unknown_tool"),)),
    )
    with WireServer(["fine"]) as server:
        ask(wire.model(server, name), request(*history))
    return server.requests[0].body


@pytest.mark.parametrize("called", ["", "get weather", "functions/weather:0", "y" * 80])
@pytest.mark.parametrize(
    ("name", "place"),
    [
        ("openai", lambda body: body["messages"][-2]["tool_calls"][0]["function"]["name"]),
        ("anthropic", lambda body: body["messages"][1]["content"][0]["name"]),
        ("bedrock", lambda body: body["messages"][1]["content"][0]["toolUse"]["name"]),
        ("responses", lambda body: body["input"][1]["name"]),
    ],
)
def test_a_call_of_a_tool_that_does_not_exist_spoils_no_later_request(name, place, called):
    assert place(sent_history(name, called)) == clean_tool_name(called)


def test_arguments_are_renamed_only_where_they_have_to_be():
    names = find_renamed_arguments((ODATA, wire.ADD))
    assert names == {"list_apps": {"top": "$top", "filter_name_2": "filter[name]", "x" * 59: "x" * 70}}
    renamed = rename_properties(ODATA.parameters, names["list_apps"])
    assert (list(renamed["properties"]), renamed["required"]) == (SENT, ["filter_name_2"])


@pytest.mark.parametrize("text", ["", '{"top": 1', "[1]", "null"])
def test_arguments_that_cannot_be_read_stay_as_they_are(text):
    written = Written("c1", "list_apps", text)
    assert restore_arguments(written, {"list_apps": {"top": "$top"}}) is written


@pytest.mark.parametrize("stream", [True, False])
@pytest.mark.parametrize(
    ("name", "place"),
    [
        ("anthropic", lambda body: body["tools"][0]["input_schema"]),
        ("bedrock", lambda body: body["toolConfig"]["tools"][0]["toolSpec"]["inputSchema"]["json"]),
    ],
)
def test_a_tool_with_odd_argument_names_is_called_with_them(name, place, stream):
    answer = call("list_apps", {"top": 3, "filter_name_2": "mail", "page.size": "9"})
    with WireServer([answer]) as server:
        deltas = ask(wire.model(server, name, stream=stream), request(tools=(ODATA,)))
    assert list(place(server.requests[0].body)["properties"]) == SENT
    assert [json.loads(each.text) for each in calls_in(deltas)] == [{"$top": 3, "filter[name]": "mail", "page.size": "9"}]


def test_ids_of_calls_are_accepted_and_stay_different() -> None:
    ids = ["call_1", "call-1", "call.1", "call:1", "call 1", "a" * 64, "a" * 65, "a" * 66, "", "ключ", "\ud800"]
    sent = [clean_call_id(each) for each in ids]
    assert all(re.fullmatch(r"[a-zA-Z0-9_-]{1,64}", each) for each in sent)
    assert len(set(sent)) == len(ids)
    assert [clean_call_id(each) for each in ids] == sent
    assert (sent[0], sent[5]) == ("call_1", "a" * 64)

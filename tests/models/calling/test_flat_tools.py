"""A small model sees a tool for each action; everybody else sees the tool with its action."""

import msgspec

from treadle.core.calls import Call, Result, Written
from treadle.core.messages import History, Message, person_message
from treadle.core.requests import CallDelta, CallDone, Request, ToolSpec
from treadle.models.calling.flat_tools import FlatToolsModel, flatten_tools
from treadle.models.scripted import Scripted, calls
from wire import ask

FILE = ToolSpec(
    "file",
    "Works with files.",
    {
        "type": "object",
        "properties": {"action": {"enum": ["read", "write"]}, "path": {"type": "string"}, "text": {"type": "string"}},
        "required": ["action", "path"],
    },
)
LOOK = ToolSpec("look", "Looks.", {"type": "object", "properties": {}})


def asked(*messages, tools=(FILE, LOOK)):
    return Request("", History(messages or [person_message("Read a.txt")]), tools)


def test_a_tool_with_actions_is_offered_as_one_for_each():
    model = Scripted("ok")
    ask(FlatToolsModel(model), asked())
    offered = model.requests[0].tools
    assert [tool.name for tool in offered] == ["file_read", "file_write", "look"]
    assert offered[0].parameters["properties"].keys() == {"path", "text"}
    assert offered[0].parameters["required"] == ["path"]
    assert offered[0].description == "read: Works with files."


def test_a_call_comes_back_as_the_tool_with_its_action():
    deltas = ask(FlatToolsModel(Scripted(calls(("file_read", {"path": "a.txt"}), ("look", {})))), asked())
    assert [delta.name for delta in deltas if isinstance(delta, CallDelta)] == ["file", "look"]
    made = [delta.call for delta in deltas if isinstance(delta, CallDone)]
    assert msgspec.json.decode(made[0].text) == {"action": "read", "path": "a.txt"}
    assert (made[0].name, made[1].name, made[1].text) == ("file", "look", "{}")


def test_the_text_of_a_call_stays_as_it_was_written():
    for text, whole in (("{}", '{"action":"read"}'), ("", '{"action":"read"}'), ("{'path': 1", """{"action":"read",'path': 1""")):
        (done,) = [d for d in ask(FlatToolsModel(Scripted(calls(("file_read", text)))), asked()) if isinstance(d, CallDone)]
        assert done.call.text == whole
    (done,) = [d for d in ask(FlatToolsModel(Scripted(calls(("file_read", "nonsense")))), asked()) if isinstance(d, CallDone)]
    assert done.call == Written("call_1_1", "file", "nonsense")


def test_the_history_is_told_in_flat_names():
    model = Scripted("done")
    called = Message("model", (Call("c1", "file", {"action": "read", "path": "a"}), Call("c2", "look", {})))
    back = Message("tools", (Result("c1", "file", "text"), Result("c2", "look", "-")))
    ask(FlatToolsModel(model), asked(person_message("?"), called, back))
    told = model.requests[0].history
    assert told[1].parts == (Call("c1", "file_read", {"path": "a"}), Call("c2", "look", {}))
    assert [part.name for part in told[2].parts] == ["file_read", "look"]


def test_a_tool_whose_flat_name_is_taken_stays_as_it_is():
    taken = ToolSpec("file_read", "", {})
    assert [spec.name for spec, _ in flatten_tools([FILE, taken])] == ["file", "file_read"]


def test_actions_that_are_no_words_stay_an_argument():
    odd = ToolSpec("go", "", {"properties": {"action": {"enum": [1, 2]}}})
    free = ToolSpec("do", "", {"properties": {"action": {"type": "string"}}})
    assert [spec.name for spec, _ in flatten_tools([odd, free])] == ["go", "do"]


def test_an_action_with_a_branch_of_its_own_has_only_that():
    branches = [
        {"properties": {"action": {"const": "read"}, "path": {}}, "required": ["action", "path"]},
        {"properties": {"action": {"const": "list"}}},
    ]
    parameters = {
        "type": "object",
        "properties": {"action": {"enum": ["read", "list"]}, "path": {"type": "string"}},
        "oneOf": branches,
    }
    (read, _), (listed, _) = flatten_tools([ToolSpec("file", "Files.", parameters)])
    assert read.parameters == {"type": "object", "properties": {"path": {"type": "string"}}, "required": ["path"]}
    assert listed.parameters["properties"] == {}

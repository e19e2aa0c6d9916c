"""From a call to a request: names, schemas, effects, parameters and bodies, as a real server sees them."""

import base64
from email import message_from_bytes
from urllib.parse import parse_qsl

import msgspec
import pytest

from toolsets.openapi.conftest import document
from treadle import RunContext
from treadle.core.errors import SettingsError
from treadle.tools.validate import InvalidArguments, ValidArguments, Validator
from treadle.toolsets.openapi import openapi_tools

HERE = "https://api.example.com"
TEXT = {"type": "string"}


def operation(parameters=(), body=None, kind="application/json", required=True, **more):
    told = {"responses": {"200": {"description": "fine"}}, "parameters": list(parameters), **more}
    if body is not None:
        media = body if "schema" in body else {"schema": body}
        told["requestBody"] = {"required": required, "content": {kind: media}}
    return told


def tools_of(root, **how):
    return {tool.name: tool for tool in openapi_tools(root, **{"base_url": HERE, **how}).tools()}


def tool_of(told, method="post", path="/things", **more):
    return next(iter(tools_of(document({path: {method: told}}, **more)).values()))


# names and words


def test_names_come_from_the_operation_or_from_its_method_and_path():
    paths = {
        "/a": {"get": operation(operationId="list-things"), "post": operation(operationId="things/create one!")},
        "/a/{id}/b": {"get": operation(), "delete": operation(operationId="")},
        "/b": {
            "get": operation(operationId="list-things"),
            "put": operation(operationId="x" * 100),
            "patch": operation(operationId="ü"),
        },
    }
    names = list(tools_of(document(paths)))
    assert names[:4] == ["list-things", "things_create_one", "get_a_by_id_b", "delete_a_by_id_b"]
    assert names[4].startswith("list-things_")
    assert names[5].startswith("x" * 55)
    assert all(1 <= len(name) <= 64 and name.isascii() for name in names)
    assert len(set(names)) == 7


def test_a_description_begins_with_a_line_that_says_it_all():
    told = operation(summary="List <b>things</b>", description="<p>All of   them.</p><p>Really &amp; truly.</p>", tags=["stock", 1])
    assert tool_of(told, "get").spec.description == "List things\nAll of them.\nReally & truly.\nGET /things (stock)"
    assert tool_of(operation(deprecated=True), "get").spec.description.splitlines() == [
        "GET /things",
        "Deprecated: use another tool where there is one.",
        "GET /things",
    ]
    assert tool_of(operation(description="Only this."), "get").spec.description == "Only this.\nGET /things"


def test_a_long_description_is_cut_at_a_sentence():
    told = operation(summary="s" * 400, description="A sentence of words. " * 200)
    words = tool_of(told).spec.description
    assert len(words) < 1100
    assert words.splitlines()[0].endswith("…")
    assert words.splitlines()[1].endswith("words.")


def test_the_effect_and_what_becomes_of_a_crash_follow_from_the_method():
    methods = ("get", "head", "options", "trace", "post", "put", "patch", "delete")
    found = tools_of(document({"/a": {method: operation(operationId=method) for method in methods}}))
    assert {name: (tool.effect, tool.retry) for name, tool in found.items()} == {
        "get": ("read", "read"),
        "head": ("read", "read"),
        "options": ("read", "read"),
        "trace": ("read", "read"),
        "post": ("write", "once"),
        "put": ("write", "idempotent"),
        "patch": ("write", "once"),
        "delete": ("destroy", "idempotent"),
    }
    assert {tool.trust for tool in found.values()} == {"untrusted"}
    assert {tool.sends_to for tool in found.values()} == {tool.toolset for tool in found.values()}
    assert {tool.toolset for tool in found.values()} == {"Small"}


def test_what_becomes_of_a_crash_is_the_operators_to_say_and_never_the_documents():
    told = operation(operationId="set_it", **{"x-idempotent": True, "x-retry": "idempotent"})
    paths = {"/a": {"put": operation(operationId="put"), "post": told}, "/b": {"post": operation(operationId="add")}}
    found = tools_of(document(paths), retry={"PUT /a": "once", "set_*": "idempotent"})
    assert {name: tool.retry for name, tool in found.items()} == {"put": "once", "set_it": "idempotent", "add": "once"}
    assert tools_of(document(paths))["set_it"].retry == "once"


def test_a_class_that_no_server_can_keep_to_is_refused():
    with pytest.raises(SettingsError, match="'checkable' can't be the retry of an operation"):
        tools_of(document({}), retry={"*": "checkable"})


def test_effects_and_keys_are_set_by_name_or_by_method_and_path():
    paths = {
        "/search": {"post": operation(operationId="search_all")},
        "/pay": {"post": operation(operationId="pay"), "get": operation()},
    }
    found = tools_of(
        document(paths), effects={"search_*": "read", "GET /pay": "write"}, keyed=["POST /pay"], trust="trusted", name="shop"
    )
    assert [(tool.effect, tool.retry) for tool in found.values()] == [("read", "read"), ("write", "idempotent"), ("write", "keyed")]
    assert {(tool.trust, tool.toolset, tool.sends_to) for tool in found.values()} == {("trusted", "shop", "")}


def test_only_some_are_offered():
    paths = {
        "/a": {"get": operation(operationId="list"), "post": operation(operationId="add")},
        "/b": {"get": operation(operationId="other")},
    }
    assert list(tools_of(document(paths), only=["list", "* /b"])) == ["list", "other"]
    with pytest.raises(SettingsError, match="no operation that is wanted"):
        tools_of(document(paths), only=["nothing"])
    with pytest.raises(SettingsError, match="no operation to offer"):
        tools_of(document({}))


@pytest.mark.parametrize(
    "how", [{"effects": {"a": "reads"}}, {"trust": "some"}, {"only": "all"}, {"keyed": "all"}, {"origins": HERE}]
)
def test_settings_that_make_no_sense_are_refused(how):
    with pytest.raises(SettingsError):
        tools_of(document({"/a": {"get": operation()}}), **how)


# parameters


PARAMETERS = [
    {"name": "id", "in": "path", "required": True, "schema": TEXT, "description": "which one"},
    {"name": "id", "in": "query", "schema": {"type": "integer"}},
    {"name": "filter[name]", "in": "query", "style": "form", "schema": TEXT},
    {"name": "tags", "in": "query", "explode": False, "schema": {"type": "array", "items": TEXT}},
    {"name": "where", "in": "query", "content": {"application/json": {"schema": {"type": "object"}}}},
    {"name": "X-Trace", "in": "header", "schema": {"type": "array", "items": {"type": "integer"}}},
    {"name": "X-Meta", "in": "header", "content": {"application/json": {"schema": {"type": "object"}}}},
    {"name": "session", "in": "cookie", "schema": TEXT, "deprecated": True},
    {"name": "Accept", "in": "header", "schema": TEXT},
    {"name": "Authorization", "in": "header", "schema": TEXT},
    {"name": "elsewhere", "in": "path", "schema": TEXT},
    {"name": "odd", "in": "body", "schema": TEXT},
    {"in": "query"},
]


def test_parameters_go_where_they_belong(call):
    arguments = {
        "id": "a/b",
        "query_id": 7,
        "filter_name": "x&y",
        "tags": ["1", "2,3"],
        "where": {"a": "ü"},
        "X-Trace": [1, 2],
        "X-Meta": {"b": 1},
        "session": "s;t",
    }
    made = call(document({"/things/{id}": {"get": operation(PARAMETERS, operationId="get")}}), ("get", arguments))
    assert made.request.raw_path == ("/things/a%2Fb?id=7&filter%5Bname%5D=x%26y&tags=1,2%2C3&where=%7B%22a%22%3A%22%C3%BC%22%7D")
    assert made.request.headers["X-Trace"] == "1,2"
    assert made.request.headers["X-Meta"] == '{"b":1}'
    assert made.request.headers["Cookie"] == "session=s%3Bt"
    assert list(made.tools["get"].parameters["properties"]) == list(arguments)
    assert made.tools["get"].parameters["required"] == ["id"]
    assert made.tools["get"].parameters["properties"]["id"] == {"minLength": 1, "type": "string", "description": "which one"}
    assert made.tools["get"].parameters["properties"]["session"]["description"] == "Deprecated."


def test_what_is_not_given_is_not_sent(call):
    made = call(
        document({"/things/{id}": {"get": operation(PARAMETERS, operationId="get")}}),
        ("get", {"id": "x", "tags": [], "where": None}),
    )
    assert made.request.raw_path == "/things/x"
    assert "Cookie" not in made.request.headers


def test_a_part_of_a_path_has_to_be_there(call):
    made = call(document({"/things/{id}": {"get": operation(operationId="get")}}), ("get", {"id": ".."}), ("get", {}))
    assert made.server.requests == []
    assert all(result.startswith("PROBLEM id can't be") for result in made.results)
    assert made.tools["get"].parameters["required"] == ["id"]


def test_parameters_of_the_path_count_and_those_of_the_operation_count_more():
    shared = {"name": "a", "in": "query", "schema": TEXT}
    root = document(
        {
            "/x": {
                "parameters": [{"$ref": "#/components/parameters/a"}, {"name": "b", "in": "query", "schema": TEXT}],
                "get": operation(
                    [{"name": "a", "in": "query", "required": True, "schema": {"type": "array", "items": TEXT}}], operationId="get"
                ),
            }
        },
        components={"parameters": {"a": shared}},
    )
    assert tools_of(root)["get"].parameters == {
        "type": "object",
        "properties": {"a": {"minItems": 1, "type": "array", "items": TEXT}, "b": TEXT},
        "required": ["a"],
        "additionalProperties": False,
    }


def test_names_that_are_the_same_once_models_can_write_them_are_told_apart():
    told = operation([{"name": name, "in": "query", "schema": TEXT} for name in ("a[b]", "a_b", "a{b", "$", "query_a_b")])
    assert list(tool_of(told, "get").parameters["properties"]) == ["a_b", "query_a_b", "query_a_b_2", "value", "query_query_a_b"]


def test_json_in_a_path(call):
    told = operation(
        [{"name": "q", "in": "path", "content": {"application/json": {"schema": {"type": "object"}}}}], operationId="get"
    )
    assert call(document({"/x/{q}": {"get": told}}), ("get", {"q": {"a": 1}})).request.raw_path == "/x/%7B%22a%22%3A1%7D"


# bodies


THING = {
    "type": "object",
    "required": ["name"],
    "properties": {"name": TEXT, "size": {"type": "integer"}, "id": {**TEXT, "readOnly": True}},
}


def test_the_fields_of_a_body_are_arguments(call):
    root = document({"/things": {"post": operation(body=THING, operationId="add")}})
    made = call(root, ("add", {"name": "x", "size": 3}))
    assert made.tools["add"].parameters["properties"] == {"name": TEXT, "size": {"type": "integer"}}
    assert made.tools["add"].parameters["required"] == ["name"]
    assert made.server.bodies == [b'{"name":"x","size":3}']
    assert made.request.headers["Content-Type"] == "application/json"
    assert made.request.headers["Idempotency-Key"] == "the-key"


@pytest.mark.parametrize(
    ("schema", "required"),
    [
        (THING, False),
        ({**THING, "additionalProperties": True}, True),
        ({**THING, "additionalProperties": TEXT}, True),
        ({**THING, "minProperties": 1}, True),
        ({**THING, "properties": {"na me": TEXT}}, True),
        ({**THING, "properties": {"id": TEXT}}, True),
        ({**THING, "required": ["unknown"]}, True),
        ({"type": "array", "items": TEXT}, True),
        ({"type": "object"}, True),
        ({**THING, "nullable": True}, True),
        ({"oneOf": [THING, TEXT]}, True),
        ({}, True),
    ],
)
def test_a_body_whose_fields_can_not_be_arguments_is_one_argument(call, schema, required):
    query = {"name": "id", "in": "query", "schema": TEXT}
    root = document({"/things": {"post": operation([query], schema, required=required, operationId="add")}})
    made = call(root, ("add", {"body": {"name": "x"}}), ("add", {}))
    assert list(made.tools["add"].parameters["properties"]) == ["id", "body"]
    assert ("body" in made.tools["add"].parameters.get("required", [])) is required
    assert made.server.bodies[0] == b'{"name":"x"}'
    assert made.server.bodies[1] == b""
    assert "Content-Type" not in made.request.headers


def test_a_body_named_as_a_parameter_is_has_another_name():
    told = operation([{"name": "body", "in": "query", "schema": TEXT}], {"type": "array", "items": TEXT})
    assert list(tool_of(told).parameters["properties"]) == ["body", "request_body"]


def test_an_optional_body_without_fields_given_is_not_sent_and_a_required_one_is(call):
    free = {"type": "object", "properties": {"name": TEXT}}
    for required, sent in ((True, b"{}"), (False, b"")):
        made = call(document({"/a": {"post": operation(body=free, required=required, operationId="add")}}), ("add", {}))
        assert made.server.bodies == [sent]


def test_a_body_that_says_nothing_is_none():
    nothing = {"type": "object", "properties": {}, "additionalProperties": False}
    assert tool_of(operation(body=nothing, required=False)).parameters["properties"] == {}
    assert tool_of(operation(body=THING, required=False), "get").parameters["properties"] == {}
    assert "name" in tool_of(operation(body=THING, required=True), "get").parameters["properties"]


def test_the_words_of_a_body_are_told():
    told = operation(body={"type": "array", "items": TEXT})
    told["requestBody"]["description"] = "What to add."
    assert tool_of(told).parameters["properties"]["body"]["description"] == "What to add."


def test_json_is_preferred_and_then_forms():
    def kind(*kinds):
        told = operation()
        told["requestBody"] = {"content": {each: {"schema": {"type": "object"}} for each in kinds}}
        root = document({"/a": {"post": told}})
        return next(iter(openapi_tools(root, base_url=HERE)._operations.values())).body.kind

    assert kind("text/plain", "application/xml", "application/json; charset=utf-8") == "application/json; charset=utf-8"
    assert kind("application/json-patch+json", "application/merge-patch+json") == "application/merge-patch+json"
    assert kind("multipart/form-data", "application/x-www-form-urlencoded") == "application/x-www-form-urlencoded"
    assert kind("application/octet-stream", "text/csv") == "text/csv"
    assert kind("*/*") == "application/json"


FORM = {
    "schema": {
        "type": "object",
        "properties": {
            "name": TEXT,
            "tags": {"type": "array", "items": TEXT},
            "deep": {"type": "object"},
            "plain": {"type": "object"},
            "comma": {"type": "array", "items": TEXT},
        },
    },
    "encoding": {"deep": {"style": "deepObject", "explode": True}, "comma": {"explode": False}},
}


def test_a_form(call):
    root = document({"/a": {"post": operation(body=FORM, kind="application/x-www-form-urlencoded", operationId="add")}})
    given = {"name": "a b&", "tags": ["1", "2"], "deep": {"x": {"y": True}}, "plain": {"z": 1}, "comma": ["3", "4"]}
    made = call(root, ("add", given), ("add", {"tags": []}))
    assert parse_qsl(made.server.bodies[0].decode()) == [
        ("name", "a b&"),
        ("tags", "1"),
        ("tags", "2"),
        ("deep[x][y]", "true"),
        ("plain", '{"z":1}'),
        ("comma", "3,4"),
    ]
    assert made.request.headers["Content-Type"] == "application/x-www-form-urlencoded"
    assert made.result.startswith("PROBLEM tags is empty")


FILES = {
    "schema": {
        "type": "object",
        "properties": {
            "file": {"type": "string", "format": "binary", "description": "The file."},
            "more": {"type": "array", "items": {"type": "string", "format": "binary"}},
            "about": {"type": "object"},
            "note": TEXT,
            "picture": {"type": "string", "format": "binary"},
        },
    },
    "encoding": {"picture": {"contentType": "image/png, image/jpeg"}},
}


def test_a_form_with_files(call):
    root = document({"/a": {"post": operation(body=FILES, kind="multipart/form-data", operationId="add")}})
    packed = "data:image/png;base64," + base64.b64encode(b"\x89PNG\x00").decode()
    made = call(root, ("add", {"file": "text ü", "more": ["1", "2"], "about": {"a": 1}, "note": "n", "picture": packed}))
    head = f"Content-Type: {made.request.headers['Content-Type']}\r\n\r\n".encode()
    parts = message_from_bytes(head + made.server.bodies[0]).get_payload()
    told = [(part.get_param("name", header="content-disposition"), part.get_filename(), part.get("Content-Type")) for part in parts]
    assert told == [
        ("file", "file", "application/octet-stream"),
        ("more", "more", "application/octet-stream"),
        ("more", "more", "application/octet-stream"),
        ("about", None, "application/json"),
        ("note", None, None),
        ("picture", "picture", "image/png"),
    ]
    assert parts[0].get_payload(decode=True) == "text ü".encode()
    assert parts[5].get_payload(decode=True) == b"\x89PNG\x00"
    assert "The file. Text; or bytes" in made.tools["add"].parameters["properties"]["file"]["description"]


def test_bytes_that_are_no_base64_are_a_problem(call):
    root = document({"/a": {"post": operation(body=FILES, kind="multipart/form-data", operationId="add")}})
    made = call(root, ("add", {"file": "data:;base64,***"}))
    assert made.result.startswith("PROBLEM What follows `base64,` is no Base64.")
    assert made.server.requests == []


@pytest.mark.parametrize(
    ("kind", "given", "sent"),
    [
        ("text/plain", "grüße", "grüße".encode()),
        ("application/yaml", "a: data:;base64,YQ==", b"a: data:;base64,YQ=="),
        ("application/octet-stream", "data:;base64,AAH/", b"\x00\x01\xff"),
        ("application/octet-stream", "plain", b"plain"),
    ],
)
def test_a_body_that_is_neither_json_nor_a_form_is_sent_as_it_is(call, kind, given, sent):
    root = document({"/a": {"put": operation(body={"type": "string", "format": "binary"}, kind=kind, operationId="put")}})
    made = call(root, ("put", {"body": given}))
    assert (made.server.bodies, made.request.headers["Content-Type"]) == ([sent], kind)
    assert made.tools["put"].parameters["properties"]["body"]["type"] == "string"


def test_text_of_any_kind_is_sent_as_text(call):
    made = call(document({"/a": {"put": operation(body=TEXT, kind="*/*", operationId="put")}}), ("put", {"body": "x"}))
    assert (made.server.bodies, made.request.headers["Content-Type"]) == ([b"x"], "text/plain")


# headers


def test_headers_that_were_set_go_with_every_request(call):
    root = document({"/a": {"get": operation(operationId="get")}})
    made = call(root, ("get", {}), headers={"X-Version": "2026-01-01"}, context=RunContext(key="k"))
    assert made.request.headers["X-Version"] == "2026-01-01"
    assert "Idempotency-Key" not in made.request.headers


def test_no_key_is_sent_where_there_is_none(call):
    made = call(document({"/a": {"post": operation(operationId="add")}}), ("add", {}), context=RunContext())
    assert "Idempotency-Key" not in made.request.headers


@pytest.mark.parametrize(
    ("content", "accepted"),
    [
        ({"text/csv": {}, "application/vnd.x+json": {}}, "application/vnd.x+json"),
        ({"text/csv": {}, "application/pdf": {}}, "text/csv, application/pdf"),
        ({}, "application/json, */*;q=0.5"),
    ],
)
def test_what_the_document_answers_with_is_asked_for(call, content, accepted):
    told = operation(operationId="get", responses={"200": {"content": content}, "404": {"content": {"text/html": {}}}})
    assert call(document({"/a": {"get": told}}), ("get", {})).request.headers["Accept"] == accepted


def test_a_line_break_in_a_header_is_a_problem(call):
    told = operation([{"name": "X-A", "in": "header", "schema": TEXT}], operationId="get")
    made = call(document({"/a": {"get": told}}), ("get", {"X-A": "a\r\nX-B: c"}))
    assert made.result.startswith("PROBLEM The header X-A can't be sent")
    assert made.server.requests == []


# schemas


def fields(schema, version="3.0.3", **schemas):
    root = document(
        {"/a": {"post": operation(body={"type": "object", "properties": {"x": schema}})}}, version, components={"schemas": schemas}
    )
    return next(iter(tools_of(root).values())).parameters


@pytest.mark.parametrize(
    ("told", "becomes"),
    [
        ({"type": "string", "nullable": True}, {"type": ["string", "null"]}),
        ({"nullable": True}, {}),
        ({"type": "integer", "minimum": 1, "exclusiveMinimum": True}, {"type": "integer", "exclusiveMinimum": 1}),
        ({"type": "integer", "maximum": 1, "exclusiveMaximum": False}, {"type": "integer", "maximum": 1}),
        ({"type": "any", "example": 1, "x-own": 2, "xml": {}, "title": "T", "minimum": "0"}, {}),
        ({"type": "string", "enum": ["a"], "default": "a", "pattern": "a", "maxLength": 3}, None),
        ({"properties": {"a": {"type": "string"}}}, {"type": "object", "properties": {"a": {"type": "string"}}}),
        ({"allOf": [{"type": "object"}]}, {"type": "object"}),
        ({"allOf": [{"type": "string"}, {"maxLength": 3}]}, None),
        ({"allOf": [{"type": "string"}], "description": "words"}, {"type": "string", "description": "words"}),
        ({"type": "array", "items": {"not": {"type": "string"}}}, None),
        ({"type": "object", "patternProperties": {"^a": True}, "additionalProperties": False}, None),
        ({"type": "array", "prefixItems": [{"type": "string"}], "items": False}, None),
    ],
)
def test_a_schema_of_openapi_becomes_json_schema(told, becomes):
    assert fields(told)["properties"]["x"] == (told if becomes is None else becomes)


def test_a_schema_of_3_1_is_json_schema():
    told = {"type": ["string", "null"], "const": "a"}
    assert fields(told, "3.1.0")["properties"]["x"] == told
    assert fields({"type": "integer", "exclusiveMinimum": 3}, "3.1.0")["properties"]["x"] == {
        "type": "integer",
        "exclusiveMinimum": 3,
    }
    beside = {"$ref": "#/components/schemas/S", "maxLength": 3}
    assert fields(beside, "3.1.0", S={"type": "string"})["properties"]["x"] == {"allOf": [{"type": "string"}], "maxLength": 3}
    objects = {"$ref": "#/components/schemas/O", "properties": {"b": {"type": "string"}}}
    found = fields(objects, "3.1.0", O={"type": "object", "properties": {"a": {"type": "string"}}})["properties"]["x"]
    assert set(found["properties"]) == {"a", "b"}


def test_references_are_written_out_and_words_beside_them_kept():
    told = {"$ref": "#/components/schemas/S", "description": "mine", "maxLength": 1}
    assert fields(told, S={"type": "string", "description": "its"})["properties"]["x"] == {"type": "string", "description": "mine"}
    assert fields({"$ref": "#/components/schemas/S"}, S={"$ref": "#/components/schemas/T"}, T=True)["properties"]["x"] is True
    assert fields({"$ref": "#/components/schemas/No"})["properties"]["x"] is True
    assert fields({"$ref": "other.yaml#/S"})["properties"]["x"] is True
    assert fields({"$ref": "#/components/schemas/S"}, S={"$ref": "#/components/schemas/S"})["properties"]["x"] == {}


def test_a_schema_that_contains_itself_keeps_its_name():
    tree = {
        "type": "object",
        "properties": {"name": TEXT, "children": {"type": "array", "items": {"$ref": "#/components/schemas/Tree"}}},
    }
    found = fields({"$ref": "#/components/schemas/Tree"}, Tree=tree)
    assert found["properties"]["x"]["properties"]["children"]["items"] == {"$ref": "#/$defs/Tree"}
    check = Validator(found).check
    assert isinstance(check({"x": {"children": [{"children": [{"name": "a"}]}]}}), ValidArguments)
    assert isinstance(check({"x": {"children": [{"children": [{"name": []}]}]}}), InvalidArguments)


def test_a_schema_that_contains_itself_without_a_name_is_told_a_few_levels_deep():
    node = {"type": "object", "properties": {"next": {"allOf": [{"$ref": "#/components/schemas/Node"}, {"required": ["next"]}]}}}
    root = document(
        {"/a": {"post": operation(body={"$ref": "#/components/schemas/Node"}, operationId="add")}},
        components={"schemas": {"Node": node}},
    )
    made = next(iter(openapi_tools(root, base_url=HERE)._operations.values()))
    assert made.exact is not None
    assert "$defs" in made.exact
    assert "$ref" not in str(made.tool.parameters)


def test_parts_of_a_schema_are_put_together_and_what_only_a_server_sets_is_left_out():
    base = {"type": "object", "properties": {"id": {**TEXT, "readOnly": True}, "name": {"type": "string"}}}
    more = {
        "type": "object",
        "required": ["id", "name"],
        "properties": {"name": {"maxLength": 3}, "who": {"allOf": [{"readOnly": True}]}},
    }
    found = fields({"allOf": [{"$ref": "#/components/schemas/B"}, more], "description": "both"}, B=base)["properties"]["x"]
    assert found == {
        "description": "both",
        "type": "object",
        "properties": {"name": {"allOf": [{"type": "string"}, {"maxLength": 3}]}},
        "required": ["name"],
    }


def test_a_discriminator_says_which_branch_is_meant():
    schemas = {
        "Cat": {"type": "object", "properties": {"kind": TEXT, "lives": {"type": "integer"}}},
        "Dog": {"type": "object", "properties": {"kind": TEXT, "tricks": {"type": "integer"}}},
    }
    branches = [
        {"$ref": "#/components/schemas/Cat"},
        {"$ref": "#/components/schemas/Dog"},
        {"type": "object", "required": ["free"]},
    ]
    told = {
        "oneOf": branches,
        "discriminator": {"propertyName": "kind", "mapping": {"cat": "#/components/schemas/Cat", "tom": "Cat"}},
    }
    check = Validator(fields(told, **schemas)).check
    assert isinstance(check({"x": {"kind": "cat"}}), ValidArguments)
    assert isinstance(check({"x": {"kind": "tom", "lives": 9}}), ValidArguments)
    assert isinstance(check({"x": {"kind": "Dog"}}), ValidArguments)
    assert isinstance(check({"x": {"kind": "fish"}}), InvalidArguments)
    alone = {"type": "object", "discriminator": {"propertyName": "kind"}, "properties": {"kind": {"type": "string"}}}
    assert fields(alone)["properties"]["x"] == {"type": "object", "properties": {"kind": {"type": "string"}}}


def test_two_schemas_of_one_name_are_told_apart():
    inner = {"type": "object", "properties": {"y": {"$ref": "#/x-more/S"}, "z": {"$ref": "#/components/schemas/S"}}}
    both = {"S": {"type": "object", "properties": {"again": {"$ref": "#/components/schemas/S"}}}}
    root = document({"/a": {"post": operation(body=inner)}}, components={"schemas": both})
    root["x-more"] = {"S": {"type": "object", "properties": {"again": {"$ref": "#/x-more/S"}}}}
    assert set(next(iter(tools_of(root).values())).parameters["$defs"]) == {"S", "S_2"}


def large(depth=0):
    if depth == 4:
        return {"type": "object", "required": ["z"], "properties": {"z": {"type": "integer", "description": "A number. " * 50}}}
    return {"type": "object", "properties": {f"field_{number}": large(depth + 1) for number in range(8)}}


def test_a_schema_that_is_too_long_is_told_in_outline_and_checked_whole(call):
    root = document({"/a": {"post": operation(body=large(), operationId="add")}})
    deep = {"field_0": {"field_1": {"field_2": {"field_3": {"z": 1}}}}}
    wrong = {"field_0": {"field_1": {"field_2": {"field_3": {"z": "x"}}}}}
    made = call(root, ("add", deep), ("add", wrong), ("add", deep))
    assert len(msgspec.json.encode(made.tools["add"].parameters)) < 20_000
    assert Validator(made.tools["add"].parameters).accepts(wrong)
    assert [made.results[0], made.results[2]] == ['{"ok":true}'] * 2
    assert "field_0.field_1.field_2.field_3.z: expected a whole number" in made.results[1]
    assert len(made.server.requests) == 2


def test_a_schema_of_a_thousand_fields_is_told_all_the_same():
    wide = {
        "type": "object",
        "properties": {f"field_{number}": {"type": "string", "description": "x" * 200} for number in range(1000)},
    }
    assert len(tool_of(operation(body=wide)).parameters["properties"]) == 1000


def test_a_schema_nested_beyond_reason_leaves_its_operation_out(caplog):
    deep = {"type": "string"}
    for _ in range(2000):
        deep = {"type": "array", "items": deep}
    root = document({"/a": {"post": operation(body=deep, operationId="bad"), "get": operation(operationId="good")}})
    assert list(tools_of(root)) == ["good"]
    assert "POST /a is left out" in caplog.text


# servers


@pytest.mark.parametrize(
    ("servers", "origin", "path"),
    [
        (
            [{"url": "https://{host}.example.com/{v}/", "variables": {"host": {"default": "api"}, "v": {"default": "v1"}}}],
            "https://api.example.com",
            "/v1",
        ),
        ([{"url": "HTTPS://API.example.com:8443"}, {"url": "https://other"}], "https://api.example.com:8443", ""),
    ],
)
def test_the_server_is_the_first_one_named(servers, origin, path):
    toolset = openapi_tools(document({"/a": {"get": operation()}}, servers=servers))
    assert [each.server for each in toolset._operations.values()] == [origin + path]
    assert [str(each) for each in toolset._caller.client.origins] == [origin]


def test_an_operation_may_have_a_server_of_its_own():
    paths = {
        "/a": {"get": operation(operationId="a", servers=[{"url": "https://a.example"}])},
        "/b": {"servers": [{"url": "https://b.example"}], "get": operation(operationId="b")},
        "/c": {"get": operation(operationId="c")},
    }
    root = document(paths, servers=[{"url": "https://c.example"}])
    assert [each.server for each in openapi_tools(root)._operations.values()] == [
        "https://a.example",
        "https://b.example",
        "https://c.example",
    ]
    assert [str(each) for each in openapi_tools(root, origins=["https://a.example"])._caller.client.origins] == [
        "https://a.example"
    ]
    assert {each.server for each in openapi_tools(root, base_url="https://d.example/x/")._operations.values()} == {
        "https://d.example/x"
    }


@pytest.mark.parametrize("servers", [[], [{"url": "/v1"}], [{"url": "{host}"}], [{}], "x"])
def test_a_document_that_does_not_say_where_its_server_is_needs_to_be_told(servers):
    with pytest.raises(SettingsError, match="base_url"):
        openapi_tools(document({"/a": {"get": operation()}}, servers=servers))

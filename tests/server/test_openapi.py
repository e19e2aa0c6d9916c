"""The OpenAPI document: it is valid, lists every route of the server and of its assistants, and they do what it says."""

import json
import re
import subprocess
import sys
from pathlib import Path
from typing import get_args

import pytest
from openapi_spec_validator import validate
from starlette.responses import JSONResponse
from starlette.routing import Route
from yarl import URL

from properties import EXPLORE
from server.everyone import ASSISTANTS, everyone
from server.running import Serving, assistant, host
from server.runs.asking import rivers, with_server
from treadle.routes import HandlerRoute, get, routes_of
from treadle.server.app import create_app
from treadle.server.pages import PAGES
from treadle.server.runs.events import StreamEvent

JSON = "application/json"
CHECKS = """
[checks.positive_data_acceptance]
enabled = false  # what fits may still name what isn't there

[checks.negative_data_rejection]
expected-statuses = ["4xx"]

[phases.coverage]
unexpected-methods = ["PATCH"]

[[operations]]  # every corner of these bodies would be half of all requests
include-path-regex = "^/v1/(chat|messages)|/world-model$"
phases.coverage.enabled = false

[[operations]]  # what the model of these tests says is no reading
include-path = "/api/iris/analyze"
checks.not_a_server_error.expected-statuses = ["2xx", "3xx", "4xx", "502"]

[[operations]]
include-path = "/api/courses/lesson"
parameters = {{ "query.course" = "material/sailing.txt", "query.lesson" = 1 }}

[parameters]
"query.path" = "shop.py"
"path.run_id" = {{ dictionary = "run_id" }}
"path.job_id" = {{ dictionary = "job_id" }}
"path.project_id" = {{ dictionary = "project_id" }}
"path.session_id" = {{ dictionary = "session_id" }}

[dictionaries]
run_id = {{ values = {run_id} }}
job_id = {{ values = {job_id} }}
project_id = {{ values = {project_id} }}
session_id = {{ values = {session_id} }}
"""


def document(server):
    return with_server(server, lambda ask: ask("GET", "/openapi.json"))[1]


def test_the_document_names_the_assistants(tmp_path):
    with Serving(tmp_path, [rivers()]) as server:
        made = document(server)
    assert made["openapi"] == "3.1.0"
    assert made["components"]["schemas"]["TurnRequest"]["properties"]["assistant"]["enum"] == ["", "rivers"]


def test_the_document_is_valid_and_every_route_but_the_pages_is_in_it(tmp_path, monkeypatch):
    app = create_app(ASSISTANTS, host(tmp_path), hosts=["localhost"])
    plain = [route.path for route in app.routes if isinstance(route, Route) and not isinstance(route, HandlerRoute)]
    assert plain == [*PAGES]
    with everyone(tmp_path, monkeypatch) as (server, _):
        made = document(server)
    validate(made)
    paths = made["paths"]
    described = {(route.path_format, route.method.lower()) for route in app.routes if isinstance(route, HandlerRoute)}
    assert {(path, method) for path, methods in paths.items() for method in methods} == described
    assert {
        ("/docs", "get"),
        ("/api/runs", "post"),
        ("/api/iris/analyze", "post"),
        ("/v1/messages", "post"),
        ("/mcp", "get"),
    } <= described
    names = [operation["operationId"] for methods in paths.values() for operation in methods.values()]
    assert len(set(names)) == len(names)


def test_a_plain_route_of_an_assistant_works_and_is_not_in_the_document(tmp_path):
    async def plain(request):
        return JSONResponse({"deep": True})

    @get("/api/lakes/told")
    async def told() -> bool:
        """How deep they are."""
        return True

    routes = [Route("/api/lakes/plain", plain), *routes_of(told)]
    with Serving(tmp_path, [assistant("lakes", routes=lambda host: routes)]) as server:
        paths = document(server)["paths"]
        assert with_server(server, lambda ask: ask("GET", "/api/lakes/plain")) == (200, {"deep": True})
    assert "/api/lakes/plain" not in paths
    assert paths["/api/lakes/told"]["get"]["tags"] == ["Lakes"]


def test_a_method_that_is_not_taken_is_told_which_are(tmp_path):
    async def work(ask):
        async with ask._session.delete(f"{ask.url}/api/runs") as answer:
            return answer.status, answer.headers["allow"], await answer.json()

    with Serving(tmp_path) as server:
        status, allowed, said = with_server(server, work)
    assert (status, allowed, said["error"]) == (405, "GET, HEAD, POST", "/api/runs can't be asked with DELETE.")


def test_the_page_lists_what_can_be_asked_and_runs_nothing(tmp_path):
    async def work(ask):
        async with ask._session.get(f"{ask.url}/docs") as answer:
            return answer.content_type, await answer.text()

    with Serving(tmp_path, [rivers()]) as server:
        kind, page = with_server(server, work)
    assert kind == "text/html"
    for words in ("<code>POST /api/runs</code>", "<code>GET /metrics</code>", "<code>TurnRequest</code>", "<code>search</code>"):
        assert words in page
    assert "<script" not in page
    assert "http" not in page.replace("http-equiv", "")


def test_the_page_is_grouped_by_whose_the_requests_are(tmp_path):
    @get("/api/lakes/deep")
    async def deep() -> int:
        """How deep they are."""
        return 3

    lakes = assistant("lakes", title="Lakes & ponds", routes=lambda host: routes_of(deep))

    async def work(ask):
        async with ask._session.get(f"{ask.url}/docs") as answer:
            return await answer.text()

    with Serving(tmp_path, [rivers(), lakes]) as server:
        page = with_server(server, work)
    groups = re.findall(r'<h2 id="of-\d+">(.*?)</h2>', page)
    assert groups == ["Server", "OpenAI&#x27;s wire", "Anthropic&#x27;s wire", "MCP", "Lakes &amp; ponds"]
    assert page.index("Lakes &amp; ponds</h2>") < page.index("GET /api/lakes/deep") < page.index("How deep they are")
    assert page.index("GET /api/runs") < page.index("Lakes &amp; ponds</h2>")


CASES = ["--workers", "2", "--no-color", "--request-timeout", "60", "--phases"] + (  # every corner of every parameter takes minutes
    ["examples,coverage,fuzzing", "--max-examples", "5"] if EXPLORE else ["examples,fuzzing", "--max-examples", "3", "--seed", "1"]
)
SERVERS_OWN = "^/(v1|mcp|api/(runs|jobs|audit|approvals|assistants|models|stats|me))"


# In two halves, for two cores. What is below /mcp/ is as the one at /mcp.
@pytest.mark.parametrize(
    "paths",
    [
        ["--include-path-regex", SERVERS_OWN, "--exclude-path-regex", "^/mcp/"],
        ["--exclude-path-regex", f"{SERVERS_OWN}|^/mcp/"],
    ],
    ids=["server", "assistants"],
)
def test_the_server_and_all_five_assistants_do_what_the_document_says(tmp_path, monkeypatch, paths):
    config = tmp_path / "schemathesis.toml"
    with everyone(tmp_path, monkeypatch) as (server, known):
        config.write_text(CHECKS.format(**{name: json.dumps(ids) for name, ids in known._asdict().items()}))
        command = [str(Path(sys.executable).with_name("st")), "--config-file", str(config), "run", f"{server.url}/openapi.json"]
        done = subprocess.run([*command, *CASES, *paths], capture_output=True, text=True, timeout=390, cwd=tmp_path, check=False)
    assert done.returncode == 0, "\n".join([line[:300] for line in done.stdout.splitlines()])
    assert " 0 generated" not in done.stdout


BODIES = {
    "nothing": (None, None),
    "no JSON": (b"{", JSON),
    "no text": (b'{"message": "\xff"}', JSON),
    "another kind": (b"[1, null]", JSON),
    "too deep": (b"[" * 100_000, JSON),
    "another type": (b"message=x", "application/x-www-form-urlencoded"),
    "no type": (b'{"message": "x"}', ""),
}
NAMES = ("%00", "%FF", "..%2F..", "9" * 30)


def strange_ones(path, method, operation, known):
    """Paths, bodies and their types that nobody ought to send."""
    names = dict.fromkeys(re.findall(r"{(\w+)}", path), "nothing") | {name: ids[0] for name, ids in known.items()}
    there = path.format(**names | {"call_id": "call_1", "model": "courses"})
    if method != "get":
        return [(there, body, kind) for body, kind in BODIES.values()]
    asked = [each["name"] for each in operation["parameters"] if each["in"] == "query"]
    queries = [f"{there}?{name}={value}" for name in [*asked, "%00"] for value in NAMES]
    elsewhere = [re.sub(r"{\w+}", name, path) for name in NAMES] if "{" in path else []
    return [(each, None, None) for each in (*queries, *elsewhere)]


def test_whatever_is_sent_is_answered_as_the_document_says(tmp_path, monkeypatch):
    async def asked(ask, known, made):
        answers = []
        for path, method, operation in operations(made):
            for there, body, kind in strange_ones(path, method, operation, known):
                headers = {"accept": f"{JSON}, text/event-stream", **({"content-type": kind} if kind else {})}
                sent = {"data": body, "headers": headers, "skip_auto_headers": ["content-type"], "allow_redirects": False}
                async with ask._session.request(method, URL(ask.url + there, encoded=True), **sent) as answer:
                    what = f"{method} {there} {body}"[:150]
                    answers.append((what, answer.status, answer.content_type, operation["responses"]))
        return answers

    with everyone(tmp_path, monkeypatch) as (server, known):
        made = document(server)
        answers = with_server(server, lambda ask: asked(ask, known._asdict(), made))
    assert [answer[:3] for answer in answers if not is_told(*answer[1:])] == []
    assert len(answers) > 400


def operations(made):
    """Each path with a method of it, and what is said of that. Those below /mcp are as the one there."""
    found = [(path, method, said) for path, methods in made["paths"].items() for method, said in methods.items()]
    return [each for each in found if not each[0].startswith("/mcp/")]


def is_told(status, kind, responses):
    """Whether an answer is among those that are described, and nobody's mistake."""
    said = responses.get(str(status))
    return said is not None and status < 500 and ("content" not in said or kind in said["content"])


def test_every_request_and_every_event_is_in_the_documentation(tmp_path):
    page = (Path(__file__).parents[2] / "docs" / "http.md").read_text()
    with Serving(tmp_path, [rivers()]) as server:
        made = document(server)
    elsewhere = ("/openapi.json", "/docs", "/api/demonstrations", "/api/models/fetch", "/mcp/rivers")  # these are in docs/server.md
    short = page.replace("…/resume", "/api/jobs/{job_id}/resume")
    asked = [f"{method.upper()} {path}" for path, methods in made["paths"].items() for method in methods if path not in elsewhere]
    assert [each for each in asked if each not in short and each.partition(" ")[2] not in short] == []
    events = [event.__struct_config__.tag for event in get_args(StreamEvent)]
    assert [event for event in events if f"`{event}`" not in page] == []

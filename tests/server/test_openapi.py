"""The OpenAPI document: it is valid, lists every route of the server itself, and the server does what it says."""

import asyncio
import json
import subprocess
import sys
from pathlib import Path
from typing import get_args

import pytest
from openapi_spec_validator import validate
from starlette.routing import Route

from server.running import Serving, host
from server.runs.asking import Echo, rivers, with_server
from treadle.app.home import open_home
from treadle.app.jobs import Jobs
from treadle.core.entries import Finished, Opened, Said
from treadle.server.app import create_app
from treadle.server.described import Described
from treadle.server.runs.events import Told

CHECKS = """
[checks.positive_data_acceptance]
enabled = false  # what fits may still name what isn't there

[checks.negative_data_rejection]
expected-statuses = ["4xx"]

[parameters]
"path.run_id" = {runs}
"path.job_id" = {jobs}
"""


def document(server):
    return with_server(server, lambda ask: ask("GET", "/openapi.json"))[1]


def test_the_document_is_valid_and_names_the_assistants(tmp_path):
    with Serving(tmp_path, [rivers()]) as server:
        made = document(server)
    validate(made)
    assert made["openapi"] == "3.1.0"
    assert made["components"]["schemas"]["TurnAsked"]["properties"]["assistant"]["enum"] == ["", "rivers"]


def test_every_route_of_the_server_is_described_and_every_description_has_a_route(tmp_path):
    app = create_app([rivers()], host(tmp_path), hosts=["localhost"])
    named = ("/api/", "/health", "/ready", "/metrics")
    own = [route for route in app.routes if isinstance(route, Route) and route.path.startswith(named)]
    assert [route.path for route in own if not isinstance(route, Described)] == []
    with Serving(tmp_path, [rivers()]) as server:
        paths = document(server)["paths"]
    described = {(route.path, route.method.lower()) for route in app.routes if isinstance(route, Described)}
    assert {(path, method) for path, methods in paths.items() for method in methods} == described
    assert {("/openapi.json", "get"), ("/docs", "get"), ("/api/runs", "post")} <= described
    names = [operation["operationId"] for methods in paths.values() for operation in methods.values()]
    assert len(set(names)) == len(names)


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
    for words in ("<code>POST /api/runs</code>", "<code>GET /metrics</code>", "<code>TurnAsked</code>", "<code>search</code>"):
        assert words in page
    assert "<script" not in page
    assert "http" not in page.replace("http-equiv", "")


@pytest.mark.timeout(120)
def test_the_server_does_what_the_document_says(tmp_path):
    runs, jobs = kept(tmp_path)
    config = tmp_path / "schemathesis.toml"
    config.write_text(CHECKS.format(runs=json.dumps(runs), jobs=json.dumps(jobs)))
    with Serving(tmp_path, [rivers()], Echo()) as server:
        command = [str(Path(sys.executable).with_name("st")), "--config-file", str(config), "run", f"{server.url}/openapi.json"]
        limits = ["--phases", "examples,coverage,fuzzing", "--max-examples", "5", "--seed", "1", "--workers", "2", "--no-color"]
        done = subprocess.run([*command, *limits], capture_output=True, text=True, timeout=110, cwd=tmp_path, check=False)
    assert done.returncode == 0, "\n".join([line[:300] for line in done.stdout.splitlines()])
    assert " 0 generated" not in done.stdout


def kept(tmp_path):
    """Some runs, of which some can be gone on with, and a job."""
    home = open_home(tmp_path / "data")
    ours = {"face": "server", "assistant": "rivers"}
    entries = {
        "answered": [Opened(agent="rivers", origin=ours), Said(text="x"), Finished(stopped="answered", text="y")],
        "failed": [Opened(agent="rivers", origin=ours), Said(text="x"), Finished(stopped="failed", reason="z")],
        "theirs": [Opened(agent="rivers", origin={"face": "cli"}), Said(text="x")],
    }

    async def write():
        for run_id, lines in entries.items():
            await home.journal.append(run_id, 0, lines)

    asyncio.run(write())
    return [*entries, "nothing"], [Jobs(home.folder).create("rivers", "dig", "Dig").id, "nothing"]


def test_every_request_and_every_event_is_in_the_documentation(tmp_path):
    page = (Path(__file__).parents[2] / "docs" / "http.md").read_text()
    with Serving(tmp_path, [rivers()]) as server:
        made = document(server)
    elsewhere = ("/openapi.json", "/docs", "/api/demonstrations", "/api/models/fetch")  # these are in docs/server.md
    short = page.replace("…/resume", "/api/jobs/{job_id}/resume")
    asked = [f"{method.upper()} {path}" for path, methods in made["paths"].items() for method in methods if path not in elsewhere]
    assert [each for each in asked if each not in short and each.partition(" ")[2] not in short] == []
    events = [event.__struct_config__.tag for event in get_args(Told)]
    assert [event for event in events if f"`{event}`" not in page] == []

"""The reading assistant over HTTP, with the fields and status codes that clients of the original know."""

import asyncio
import json
import threading

import aiohttp
import pytest

from assistants.reading.test_command import ANSWER, SHOP
from server.running import Serving
from treadle.assistants.reading import assistant
from treadle.core.errors import ModelError
from treadle.core.requests import TextDelta
from treadle.models.scripted import Scripted


@pytest.fixture
def server(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    with Serving(tmp_path, [assistant], Scripted(*[json.dumps(ANSWER)] * 3)) as serving:
        yield serving


def call(server, method, path, body=None, **more):
    async def ask():
        async with aiohttp.ClientSession() as session, session.request(method, server.url + path, json=body, **more) as answer:
            return answer.status, await answer.json()

    return asyncio.run(ask())


def analyze(server, **body):
    return call(server, "POST", "/api/iris/analyze", body)


def test_source_code_is_analysed(server, tmp_path):
    status, answer = analyze(
        server, filename="shop.py", language="python", source_code=SHOP, metadata={"url": "u", "model": "mine"}
    )
    assert (status, answer["success"], answer["file_intent"]) == (200, True, "Runs a shop.")
    block = answer["responsibilities"][0]
    assert set(block) == {"id", "label", "description", "elements", "ranges"}
    assert block["ranges"] == [[6, 10]]
    metadata = answer["metadata"]
    assert (metadata["execution_path"], metadata["tool_reads"], metadata["tool_call_count"]) == ("fast-path", [], 0)
    assert (metadata["url"], metadata["model"]) == ("u", "scripted")
    assert set(metadata["debug_stats"]) >= {"integrity_score", "node_reduction_ratio", "comment_retention_score"}
    assert len(list((tmp_path / "data" / "debug_reports").iterdir())) == 2


@pytest.mark.parametrize(
    ("body", "said"),
    [
        ({}, "missing required field `filename`"),
        ({"filename": "a.py"}, "missing required field `source_code`"),
        ({"filename": " ", "source_code": " \n"}, "filename and source_code are empty"),
        ({"filename": "a.py", "source_code": " \n"}, "source_code is empty"),
        ({"filename": "a.py", "source_code": 5}, "Expected `str`, got `int` - at `$.source_code`"),
        ({"filename": "a.py", "source_code": "x", "language": "klingon"}, "The language 'klingon' isn't known"),
        ({"filename": "a.py", "source_code": "x", "metadata": [1]}, "at `$.metadata`"),
    ],
)
def test_what_can_not_be_analysed_is_400(server, body, said):
    status, answer = analyze(server, **body)
    assert (status, answer["success"]) == (400, False)
    assert said in answer["error"]


@pytest.mark.parametrize("refusal", [401, 500])
def test_a_model_that_fails_is_502_with_a_sketch_that_says_so(tmp_path, monkeypatch, refusal):
    monkeypatch.chdir(tmp_path)

    async def refused(request):
        raise ModelError(f"The model's server answered with {refusal}.")
        yield TextDelta("")

    with Serving(tmp_path, [assistant], Scripted(*[refused] * 5)) as serving:
        status, answer = analyze(serving, filename="shop.py", source_code=SHOP)
    assert (status, answer["success"]) == (502, False)
    assert f"answered with {refusal}" in answer["error"]
    assert (answer["metadata"]["execution_path"], answer["metadata"]["fallbacks"][0]["path"]) == ("sketch", "run")
    assert answer["responsibilities"]


@pytest.mark.parametrize(
    ("filename", "text", "language"),
    [
        ("a.py", SHOP.replace("def", "def "), "python"),
        ("shop", SHOP, "python"),
        ("pasted", "package main\n\nfunc main() {\n}\n", "go"),
    ],
)
def test_without_a_language_the_name_tells_and_else_the_content(server, filename, text, language):
    status, answer = analyze(server, filename=filename, source_code=text)
    assert (status, answer["metadata"]["language"]) == (200, language)


def test_what_is_no_json_is_400(server):
    async def ask():
        headers = {"content-type": "application/json"}
        url = f"{server.url}/api/iris/analyze"
        async with aiohttp.ClientSession() as session, session.post(url, data=b"{", headers=headers) as answer:
            return answer.status, await answer.json()

    status, answer = asyncio.run(ask())
    assert (status, answer["success"]) == (400, False)


def test_health_tells_whether_a_model_is_there_and_how_switches_stand(server):
    assert call(server, "GET", "/api/iris/health") == (
        200,
        {
            "status": "ok",
            "agent_ready": True,
            "agent_error": None,
            "debug_mode": True,
            "force_fast_path": False,
            "use_raw_source": False,
            "use_tool_calling": True,
        },
    )


def test_switches_are_shown_and_set(server, tmp_path):
    status, shown = call(server, "GET", "/api/iris/debug")
    assert (status, shown["use_tool_calling"], shown["status"]["use_tool_calling"]) == (200, True, "enabled")
    status, answer = call(server, "POST", "/api/iris/debug", {"debug_mode": False, "force_fast_path": True})
    assert (status, answer["debug_mode"], answer["message"]) == (200, False, "Set: debug_mode disabled, force_fast_path enabled.")
    answer = analyze(server, filename="shop.py", language="python", source_code=SHOP + "\n# more\n" * 300)[1]
    assert answer["metadata"]["execution_path"] == "fast-path"
    assert "debug_stats" not in answer["metadata"]
    for wrong in ({"debug": True}, {"debug_mode": "yes"}, {}):
        assert call(server, "POST", "/api/iris/debug", wrong)[0] == 400


def test_files_of_the_folder_are_listed_and_read(server, tmp_path):
    (tmp_path / "shop.py").write_text(SHOP)
    (tmp_path / "shop.txt").write_text("hello")
    assert call(server, "GET", "/api/reading/files")[1] == {"folder": tmp_path.name, "files": ["shop.py"], "truncated": False}
    status, file = call(server, "GET", "/api/reading/file?path=shop.py")
    assert (status, file["language"], file["text"]) == (200, "python", SHOP)
    unchanged = call(server, "GET", f"/api/reading/file?path=shop.py&unless={file['content_hash']}")[1]
    assert unchanged == {"success": True, "content_hash": file["content_hash"]}
    (tmp_path / "shop.py").unlink()
    assert call(server, "GET", "/api/reading/file?path=shop.py&unless=x") == (200, {"success": True, "gone": True})


@pytest.mark.parametrize("path", ["../etc/passwd", "/etc/passwd", "gone.py", "link.py", ""])
def test_nothing_outside_of_the_folder_is_read(server, tmp_path, path):
    (tmp_path / "link.py").symlink_to("/etc/passwd")
    status, answer = call(server, "GET", "/api/reading/file", params={"path": path})
    assert (status, answer["success"]) == (400, False)
    assert str(tmp_path) not in answer["error"]


def test_a_reading_that_nobody_waits_for_is_stopped(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    asked, stopped = threading.Event(), threading.Event()

    async def never(request):
        asked.set()
        try:
            await asyncio.sleep(60)
            yield TextDelta("")
        finally:
            stopped.set()

    async def leave(url):
        body = {"filename": "shop.py", "language": "python", "source_code": SHOP}
        async with aiohttp.ClientSession() as session:
            waiting = asyncio.create_task(session.post(f"{url}/api/iris/analyze", json=body))
            assert await asyncio.to_thread(asked.wait, 60)
            waiting.cancel()
            with pytest.raises(asyncio.CancelledError):
                await waiting

    with Serving(tmp_path, [assistant], Scripted(never)) as serving:
        asyncio.run(leave(serving.url))
        assert stopped.wait(120)


# readings that are runs


def begin(server, **body):
    return call(server, "POST", "/api/reading/readings", {"filename": "shop.py", "language": "python", "source_code": SHOP, **body})


def carried_out(server, prepared):
    body = {"assistant": "reading", "message": prepared["message"], "context": prepared["context"]}

    async def ask():
        async with aiohttp.ClientSession() as session:
            headers = {"accept": "text/event-stream"}
            async with session.post(f"{server.url}/api/runs", json=body, headers=headers) as answer:
                lines = (await answer.text()).splitlines()
        return [json.loads(line.removeprefix("data: ")) for line in lines if line.startswith("data: ")]

    return asyncio.run(ask())[-1]


def test_an_analysis_is_begun_as_a_run_and_its_reading_is_that_runs(server):
    status, prepared = begin(server)
    assert (status, prepared["reading"]) == (200, None)
    reply = carried_out(server, prepared)
    assert (reply["event"], reply["stopped"]) == ("reply", "answered")
    status, read = call(server, "GET", f"/api/reading/readings/{reply['run_id']}")
    assert (status, read["success"], read["file_intent"]) == (200, True, "Runs a shop.")
    assert (read["metadata"]["run_id"], read["metadata"]["execution_path"]) == (reply["run_id"], "fast-path")
    assert (read["metadata"]["tokens"]["requests"], read["metadata"]["model"]) == (1, "scripted")


def test_what_is_kept_needs_no_run(server):
    reply = carried_out(server, begin(server)[1])
    call(server, "GET", f"/api/reading/readings/{reply['run_id']}")
    prepared = begin(server)[1]
    assert (prepared["reading"]["metadata"]["cached"], prepared["reading"]["metadata"]["run_id"]) == (True, reply["run_id"])
    assert begin(server, fresh=True)[1]["reading"] is None
    assert len(call(server, "GET", "/api/runs")[1]["runs"]) == 1


def test_a_file_says_which_run_has_read_it_as_it_is(server, tmp_path):
    (tmp_path / "shop.py").write_text(SHOP)
    assert "run_id" not in call(server, "GET", "/api/reading/file?path=shop.py")[1]
    reply = carried_out(server, begin(server)[1])
    assert call(server, "GET", "/api/reading/file?path=shop.py")[1]["run_id"] == reply["run_id"]
    (tmp_path / "shop.py").write_text(f"{SHOP}\n# more\n")
    assert "run_id" not in call(server, "GET", "/api/reading/file?path=shop.py")[1]


def test_the_original_route_is_a_run_too(server):
    metadata = analyze(server, filename="shop.py", language="python", source_code=SHOP)[1]["metadata"]
    (run,) = call(server, "GET", "/api/runs")[1]["runs"]
    assert (run["run_id"], run["agent"], run["status"]) == (metadata["run_id"], "reading", "answered")
    shown = call(server, "GET", f"/api/runs/{run['run_id']}")[1]
    assert shown["origin"]["about"]["filename"] == "shop.py"


@pytest.mark.parametrize(("path", "status"), [("none", 404), ("chat", 404)])
def test_what_is_no_analysis_has_no_reading(server, path, status):
    if path == "chat":
        body = {"assistant": "reading", "message": "Hello?"}
        path = call(server, "POST", "/api/runs", body)[1]["run_id"]
    assert call(server, "GET", f"/api/reading/readings/{path}")[0] == status


@pytest.mark.parametrize("context", [{"source": "x"}, {"source": 5, "filename": "a"}])
def test_a_context_that_says_nothing_is_refused(server, context):
    status, refused = call(server, "POST", "/api/runs", {"assistant": "reading", "message": "Read.", "context": context})
    assert (status, refused["success"]) == (400, False)
    assert "isn't said so that it can be understood" in refused["error"]


def test_a_run_about_what_is_not_kept_fails_with_a_sentence(server):
    context = {"source": "x", "filename": "shop.py", "language": "python"}
    reply = carried_out(server, {"message": "Read.", "context": context})
    assert (reply["stopped"], "have it read again" in reply["reason"]) == ("failed", True)


def test_a_repository_is_searched_for_text_and_for_references_and_mapped(server, tmp_path):
    (tmp_path / "shop.py").write_text("def price(item):\n    return item.cost\n")
    (tmp_path / "till.py").write_text(
        "from shop import price\n\n\ndef total(items):\n    return sum(price(each) for each in items)\n"
    )
    (tmp_path / "notes.md").write_text("The Price is right.\n")
    (tmp_path / ".env").write_text("price=1\n")
    _, found = call(server, "GET", "/api/reading/search?pattern=price%20is&case_insensitive=true")
    assert found == {"hits": [{"path": "notes.md", "line": 1, "text": "The Price is right."}], "complete": True, "late": False}
    _, found = call(server, "GET", "/api/reading/references?name=price&kind=call")
    assert found["references"] == [
        {"path": "till.py", "line": 5, "kind": "call", "inside": "total", "text": "return sum(price(each) for each in items)"}
    ]
    assert (found["total"], found["any_total"]) == (1, 3)
    _, found = call(server, "GET", "/api/reading/map")
    assert [(file["path"], [each["name"] for each in file["definitions"]]) for file in found["files"]] == [
        ("shop.py", ["price"]),
        ("till.py", ["total"]),
    ]
    for wrong in ("search?pattern=(", "search?pattern=%00", "references?name=x&under=../", "map?max_characters=1", "search"):
        status, answer = call(server, "GET", f"/api/reading/{wrong}")
        assert (status, answer["success"]) == (400, False)

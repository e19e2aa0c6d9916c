import asyncio
import json
import re
import socket
import threading
from pathlib import Path

import aiohttp
import pytest
from starlette.exceptions import HTTPException
from starlette.responses import JSONResponse
from starlette.routing import Host as HostRoute
from starlette.routing import Mount, Route, WebSocketRoute

from server.running import Serving, assistant, host, panel
from treadle.core.errors import BadPrompt, ContextTooLong, RunNotFound, SettingsError, UnknownModel
from treadle.server.app import create_app


def ask(server, path, method="GET", **more):
    """Status, headers and body of an answer; redirects aren't followed."""

    async def asking():
        async with (
            aiohttp.ClientSession() as session,
            session.request(method, f"{server.url}{path}", allow_redirects=False, **more) as answer,
        ):
            return answer.status, answer.headers, await answer.text()

    return asyncio.run(asking())


def routes(*made):
    return lambda lent: list(made)


async def fine(request):
    return JSONResponse({"fine": True})


def raising(error):
    async def endpoint(request):
        raise error

    return endpoint


# what is there


def test_it_says_that_it_is_well(tmp_path):
    with Serving(tmp_path) as server:
        status, headers, body = ask(server, "/health")
    assert (status, json.loads(body), headers["content-type"]) == (200, {"status": "ok"}, "application/json")


def test_programs_are_told_of_the_assistants(tmp_path):
    known = [assistant("rivers", questions=("How long?",), panel=panel(tmp_path / "p")), assistant("mountains")]
    with Serving(tmp_path, known) as server:
        _, _, body = ask(server, "/api/assistants")
    assert json.loads(body) == [
        {
            "name": "rivers",
            "title": "Rivers",
            "summary": "Knows about rivers.",
            "questions": ["How long?"],
            "panel": "/rivers/",
        },
        {"name": "mountains", "title": "Mountains", "summary": "Knows about mountains.", "questions": [], "panel": None},
    ]


@pytest.mark.parametrize("path", ["/", "/runs", "/runs/any", "/approvals", "/jobs", "/jobs/any", "/audit", "/stats"])
def test_every_page_is_html_without_a_script_or_style_of_its_own(tmp_path, path):
    with Serving(tmp_path) as server:
        status, headers, body = ask(server, path)
    assert (status, headers["content-type"]) == (200, "text/html; charset=utf-8")
    assert re.findall(r"<script(?![^>]* src=)|<style|\sstyle=|\son\w+=", body) == []
    assert not (tmp_path / "data" / "treadle.db").exists()


def test_an_assistant_brings_its_own_routes_and_its_host(tmp_path):
    def made(lent):
        async def where(request):
            return JSONResponse({"home": str(lent.home.folder), "model": (await lent.model()).name, "item": request.path_params})

        return [Route("/api/rivers/{item}", where, methods=["POST"])]

    with Serving(tmp_path, [assistant("rivers", routes=made)]) as server:
        status, _, body = ask(server, "/api/rivers/elbe", "POST", json={})
    found = {"home": str(tmp_path / "data"), "model": "scripted", "item": {"item": "elbe"}}
    assert (status, json.loads(body)) == (200, found)


# panels


def test_the_files_of_a_panel_have_their_types_and_are_asked_about_each_time(tmp_path):
    files = panel(tmp_path / "p", panel_js="1", look_css="a{}", data_json="{}", icon_svg="<svg/>", part_wasm="")
    with Serving(tmp_path, [assistant("rivers", panel=files)]) as server:
        types = {name: ask(server, f"/rivers/{name}")[1]["content-type"].partition(";")[0] for name in _names(files.folder)}
        _, headers, _ = ask(server, "/rivers/panel.js")
        status, again, body = ask(server, "/rivers/panel.js", headers={"if-none-match": headers["etag"]})
        index = ask(server, "/rivers/")
    assert types == {
        "data.json": "application/json",
        "icon.svg": "image/svg+xml",
        "index.html": "text/html",
        "look.css": "text/css",
        "panel.js": "text/javascript",
        "part.wasm": "application/wasm",
    }
    assert headers["cache-control"] == "no-cache"
    assert (status, body, again["etag"], again["cache-control"]) == (304, "", headers["etag"], "no-cache")
    assert (index[0], index[2]) == (200, (files.folder / "index.html").read_text())


def _names(folder: Path) -> list[str]:
    return sorted([path.name for path in folder.iterdir()])


def test_a_panel_without_its_slash_leads_to_the_panel(tmp_path):
    with Serving(tmp_path, [assistant("rivers", panel=panel(tmp_path / "p"))]) as server:
        status, headers, _ = ask(server, "/rivers?question=x")
    assert (status, headers["location"]) == (307, f"{server.url}/rivers/?question=x")


def test_an_assistant_may_have_routes_among_the_files_of_its_panel(tmp_path):
    mixed = assistant("rivers", panel=panel(tmp_path / "p"), routes=routes(Route("/rivers/live", fine)))
    with Serving(tmp_path, [mixed]) as server:
        assert ask(server, "/rivers/live")[2] == '{"fine":true}'
        assert ask(server, "/rivers/panel.js")[0] == 200


@pytest.mark.parametrize(
    "path",
    [
        "/rivers/../secret.txt",
        "/rivers/../../../../../../../../etc/passwd",
        "/rivers/%2e%2e/secret.txt",
        "/rivers/..%2fsecret.txt",
        "/rivers/%2e%2e%2f%2e%2e%2f%2e%2e%2f%2e%2e%2f%2e%2e%2fetc%2fpasswd",
        "/rivers/..%5csecret.txt",
        "/rivers//etc/passwd",
        "/rivers/%2fetc%2fpasswd",
        "/rivers/link.txt",
        "/rivers/out/secret.txt",
        "/rivers/panel.js%00.html",
        "/rivers/" + "x" * 5000,
        "/rivers/empty/",
        "/static/..%2fapp.py",
        "/static/",
    ],
)
def test_nothing_outside_of_a_folder_is_ever_sent(tmp_path, path):
    files = panel(tmp_path / "p")
    (tmp_path / "secret.txt").write_text("root: the secret")
    (files.folder / "link.txt").symlink_to(tmp_path / "secret.txt")
    (files.folder / "out").symlink_to(tmp_path)
    (files.folder / "empty").mkdir()
    with Serving(tmp_path, [assistant("rivers", panel=files)]) as server:
        answer = asyncio.run(raw(server.port, f"GET {path} HTTP/1.1\r\nhost: localhost\r\nconnection: close\r\n\r\n"))
    assert answer.startswith("HTTP/1.1 404 ")
    assert "root:" not in answer
    assert "import" not in answer


async def raw(port, text):
    """What comes back for these very characters: clients would tidy them up."""
    reader, writer = await asyncio.open_connection("127.0.0.1", port)
    writer.write(text.encode())
    answer = await reader.read()
    writer.close()
    await writer.wait_closed()
    return answer.decode()


def test_a_panel_without_an_index_is_told_before_anybody_comes(tmp_path):
    files = panel(tmp_path / "p")
    (files.folder / "index.html").unlink()
    with pytest.raises(SettingsError, match=r"The panel of the assistant rivers needs an index\.html, but there is none in .*\.$"):
        create_app([assistant("rivers", panel=files)], host(tmp_path), hosts=["localhost"])


# whose path is it?


@pytest.mark.parametrize(
    ("one", "other"),
    [
        (Route("/api/ask", fine), Route("/api/ask", fine)),
        (Route("/some/{item}", fine), Route("/some/{thing:int}", fine)),
        (Route("/some/{item}", fine), Route("/some/{thing:uuid}", fine)),
        (Route("/some/{item}", fine), Route("/some/{thing:float}", fine)),
        (Route("/some/{rest:path}", fine), Route("/some/more/{thing}", fine)),
        (Mount("/data", routes=[]), Route("/data/x", fine)),
        (Mount("/data", routes=[]), Route("/data", fine)),
        (Mount("/data", routes=[]), Mount("/data/deep", routes=[])),
        (Route("/both", fine, methods=["GET", "POST"]), Route("/both", fine, methods=["POST"])),
        (WebSocketRoute("/live", fine), Route("/live", fine)),
    ],
)
def test_two_assistants_cannot_have_the_same_path(tmp_path, one, other):
    pair = [assistant("rivers", routes=routes(one)), assistant("mountains", routes=routes(other))]
    for first, second in (pair, pair[::-1]):
        with pytest.raises(SettingsError) as told:
            create_app([first, second], host(tmp_path), hosts=["localhost"])
        words = f"The assistants {first.name} and {second.name} both want {{}}; only one of them can be served."
        assert str(told.value) in (words.format(one.path), words.format(other.path))


@pytest.mark.parametrize(
    "route",
    [
        Route("/", fine),
        Route("/health", fine),
        Route("/{anything}", fine),
        Route("/api/assistants", fine),
        Route("/api/{anything}", fine),
        Route("/static/x.js", fine),
        Route("/api/runs/{run}", fine),
        Route("/v1/{rest:path}", fine),
        Mount("/api", routes=[]),
        Mount("/", routes=[]),
    ],
)
def test_the_servers_own_paths_are_not_to_be_had(tmp_path, route):
    with pytest.raises(SettingsError, match=r"^The assistant rivers wants \S+, which is the server's own\.$"):
        create_app([assistant("rivers", routes=routes(route))], host(tmp_path), hosts=["localhost"])


@pytest.mark.parametrize("name", ["static", "api", "health"])
def test_a_panel_cannot_take_the_servers_own_paths(tmp_path, name):
    with pytest.raises(SettingsError, match=f"The assistant {name} wants .*, which is the server's own"):
        create_app([assistant(name, panel=panel(tmp_path / "p"))], host(tmp_path), hosts=["localhost"])


def test_a_panel_is_its_assistants_alone(tmp_path):
    known = [assistant("rivers", panel=panel(tmp_path / "p")), assistant("mountains", routes=routes(Route("/rivers/x", fine)))]
    with pytest.raises(SettingsError, match="The assistants mountains and rivers both want /rivers/x"):
        create_app(known, host(tmp_path), hosts=["localhost"])


def test_paths_that_only_look_alike_are_no_clash(tmp_path):
    one = routes(Route("/api/ask", fine, methods=["POST"]), Route("/api/asked", fine), Route("/number/{n:int}", fine))
    other = routes(Route("/api/ask", fine, methods=["DELETE"]), Route("/api/ask/more", fine), Route("/number/all", fine))
    with Serving(tmp_path, [assistant("rivers", routes=one), assistant("mountains", routes=other)]) as server:
        assert [ask(server, "/api/ask", method)[0] for method in ("POST", "DELETE", "PUT")] == [200, 200, 405]
        assert ask(server, "/number/all")[0] == 200


def test_what_is_no_route_is_told(tmp_path):
    with pytest.raises(SettingsError, match=r"^The assistant rivers has to make routes of Starlette's; .* is none\.$"):
        create_app([assistant("rivers", routes=routes(HostRoute("x", app=fine)))], host(tmp_path), hosts=["localhost"])


# what goes wrong


def test_programs_get_json_and_people_a_page_where_there_is_nothing(tmp_path):
    with Serving(tmp_path) as server:
        programs, people = ask(server, "/api/nothing"), ask(server, "/nothing/<b>")
    nothing = "There is nothing at /api/nothing."
    assert (programs[0], json.loads(programs[2])) == (404, {"success": False, "error": nothing, "detail": nothing})
    assert (people[0], people[1]["content-type"]) == (404, "text/html; charset=utf-8")
    assert "There is nothing at /nothing/&lt;b&gt;." in people[2]


def test_other_methods_are_refused_with_those_that_work(tmp_path):
    with Serving(tmp_path) as server:
        head, whole = ask(server, "/", "HEAD"), ask(server, "/")
        options, deleted = ask(server, "/api/assistants", "OPTIONS"), ask(server, "/static/treadle.css", "DELETE")
    assert (head[0], head[2], head[1]["content-length"]) == (200, "", whole[1]["content-length"])
    assert (options[0], set(options[1]["allow"].split(", "))) == (405, {"GET", "HEAD"})
    assert json.loads(options[2])["error"] == "/api/assistants can't be asked with OPTIONS."
    assert "access-control-allow-origin" not in options[1]
    assert deleted[0] == 405


@pytest.mark.parametrize(
    ("error", "status", "sentence"),
    [
        (UnknownModel("No model was named."), 503, "No model was named."),
        (BadPrompt("The prompt is empty."), 400, "The prompt is empty."),
        (RunNotFound("There is no run x."), 404, "There is no run x."),
        (ContextTooLong("That is too long."), 502, "That is too long."),
        (SettingsError("Bad key sk-proj-abcdefghijklmnopqrstuvwxyz0123456789ABCD."), 500, "Bad key [redacted:"),
        (HTTPException(418, "I am a teapot"), 418, "I am a teapot."),
        (ValueError("the inside"), 500, "Something went wrong in the server; its log says what."),
    ],
)
def test_whatever_a_route_raises_is_a_sentence(tmp_path, error, status, sentence):
    failing = routes(Route("/api/fails", raising(error)), Route("/fails", raising(error)))
    with Serving(tmp_path, [assistant("rivers", routes=failing)]) as server:
        programs, people = ask(server, "/api/fails"), ask(server, "/fails")
    told = json.loads(programs[2])
    assert (programs[0], people[0], told["success"]) == (status, status, False)
    assert told["error"].startswith(sentence)
    assert sentence in people[2]
    assert "abcdefghij" not in people[2] + programs[2]
    assert "Traceback" not in people[2] + programs[2]
    assert "the inside" not in people[2] + programs[2]
    assert "nosniff" in (people[1]["x-content-type-options"])


def test_what_nobody_foresaw_is_in_the_log_with_its_traceback(tmp_path, caplog):
    with Serving(tmp_path, [assistant("rivers", routes=routes(Route("/api/fails", raising(ValueError("the inside")))))]) as server:
        ask(server, "/api/fails")
    (record,) = [record for record in caplog.records if record.name == "treadle"]
    assert record.getMessage() == "GET /api/fails failed"
    assert record.exc_info
    assert str(record.exc_info[1]) == "the inside"


def test_somebody_who_leaves_in_the_middle_of_a_request_is_no_failure(tmp_path, caplog):
    ended = threading.Event()

    async def reads(request):
        try:
            return JSONResponse(await request.json())
        finally:
            ended.set()

    with Serving(tmp_path, [assistant("rivers", routes=routes(Route("/reads", reads, methods=["POST"])))]) as server:
        with socket.create_connection(("127.0.0.1", server.port)) as line:
            line.sendall(b"POST /reads HTTP/1.1\r\nhost: localhost\r\ncontent-length: 100\r\n\r\n{")
        assert ended.wait(120)
    assert [record for record in caplog.records if record.name == "treadle"] == []


def test_an_answer_that_breaks_off_is_not_made_to_look_whole(tmp_path):
    async def breaking(scope, receive, send):
        await send({"type": "http.response.start", "status": 200, "headers": [(b"content-length", b"100")]})
        await send({"type": "http.response.body", "body": b"half", "more_body": True})
        raise ValueError("in the middle")

    with Serving(tmp_path, [assistant("rivers", routes=routes(Mount("/api/breaks", app=breaking)))]) as server:
        with pytest.raises(aiohttp.ClientPayloadError):
            ask(server, "/api/breaks/")
        assert ask(server, "/health")[0] == 200


def test_what_an_assistant_has_opened_is_closed_at_the_end_whatever_fails(tmp_path):
    closed = []

    def routes(host):
        async def later():
            closed.append("awaited")

        host.on_close(lambda: closed.append("called"))
        host.on_close(lambda: 1 / 0)
        host.on_close(later)
        return []

    with Serving(tmp_path, [assistant("rivers", routes=routes)]):
        assert closed == []
    assert closed == ["awaited", "called"]

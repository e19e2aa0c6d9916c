"""Typed handlers: what a signature takes from a request, what a return type becomes, and which declarations are refused."""

import asyncio
import json
import logging
from collections.abc import AsyncIterator
from typing import TYPE_CHECKING, Annotated, Any
from uuid import UUID

import aiohttp
import pytest
from msgspec import Struct
from starlette.exceptions import HTTPException
from starlette.requests import Request
from starlette.responses import PlainTextResponse, Response

from server.running import Serving, assistant, host
from treadle import TreadleError
from treadle.assistant import Host
from treadle.errors import SettingsError
from treadle.routes import (
    EVENTS,
    JSON,
    Accepted,
    Created,
    Events,
    HandlerRoute,
    Returns,
    delete,
    get,
    json_response,
    post,
    put,
    routes_of,
    wants_events,
)

if TYPE_CHECKING:
    from treadle import Agent


class Depth(Struct, frozen=True):
    """How deep to look."""

    metres: int = 1
    unit: str = "m"


class Lake(Struct, frozen=True):
    """A lake."""

    name: str
    deep: int = 0


class Swim(Struct, frozen=True):
    """What was swum."""

    where: str


Text = Annotated[Response, Returns(200, "as text", "text/plain", str)]


class Frozen(TreadleError):
    """It can't be swum in."""


class Lakes:
    """The handlers of lakes."""

    def __init__(self) -> None:
        self.known = {"como": Lake("como", 410)}

    @get("/api/lakes", returns="the lakes")
    async def listed(self) -> list[Lake]:
        """The lakes there are."""
        return list(self.known.values())

    @post("/api/lakes", errors={409: "there is one by that name"})
    async def add(self, body: Lake) -> Created[Lake]:
        """Add a lake. It is kept for as long as the server runs."""
        if body.name in self.known:
            raise HTTPException(409, f"There is a {body.name}.")
        self.known[body.name] = body
        return body

    @get("/api/lakes/{name}", errors={404: "there is no such lake"})
    async def shown(self, name: str, query: Depth) -> Lake:
        """A lake."""
        if name not in self.known:
            raise HTTPException(404, f"There is no {name}.")
        return Lake(name, query.metres)

    @delete("/api/lakes/{name}")
    async def remove(self, name: str) -> None:
        """Remove a lake."""
        self.known.pop(name, None)

    @put("/api/lakes/{name}/swims/{number:int}", unfit=422, most=100)
    async def swim(self, name: str, number: int, body: Swim | None = None) -> Accepted[Swim] | Lake | None:
        """Swim in a lake."""
        swum = body or Swim("anywhere")
        if number == 0:
            return None
        return Lake(name, number) if swum.where == "deep" else swum

    @get("/api/lakes/{name}/waves")
    async def waves(self, name: str) -> Events[Lake]:
        """Waves, as they come."""
        for deep in range(2):
            yield Lake(name, deep)

    @post("/api/lakes/{name}/tides", runs=True)
    async def tides(self, request: Request, name: str) -> Lake | Events[dict[str, Any]]:
        """Tides, whole or as they come."""

        async def tide() -> AsyncIterator[dict[str, Any]]:
            yield {"tide": name}

        return tide() if wants_events(request) else Lake(name)

    @get("/api/lakes/{name}/ice")
    async def ice(
        self, name: str
    ) -> Annotated[Response, Returns(200, "as text", "text/plain", str)] | Annotated[Response, Returns(503)]:
        """Whether there is ice."""
        if name == "ladoga":
            raise Frozen("There is ice.")
        return PlainTextResponse("none") if name == "como" else json_response(Lake(name), 503)


class Trouble(Struct, frozen=True):
    """What went wrong."""

    detail: str


@post("/api/lakes-by-hand", accepts=Lake, headers={"x-depth": "how deep"}, links=("get_api_lakes_name",), public=True)
async def by_hand(request: Request) -> Annotated[Response, Returns(202, "it is taken", body=Swim)]:
    """Read the body by hand."""
    return json_response({"where": len(await request.body())}, 202)


@get("/api/lakes-unlisted", listed=False)
async def unlisted() -> Lake:
    """Return something else."""
    return Swim("nowhere")  # pyright: ignore[reportReturnType]  # that is what is tested


@get("/api/lakes-of")
async def mine(host: Host, user: str) -> dict[str, str]:
    """Whose lakes these are."""
    return {"user": user, "host": type(host).__name__}


def cold(request: Request, error: Exception) -> Response | None:
    return json_response({"ice": str(error)}, 503) if isinstance(error, Frozen) else None


@pytest.fixture(scope="module")
def server(tmp_path_factory):
    def made(host):
        return [*routes_of(Lakes(), mine, host=host, on_error=cold), *routes_of(by_hand, unlisted, problem=Trouble)]

    lakes = assistant("lakes", routes=made)
    with Serving(tmp_path_factory.mktemp("home"), [lakes]) as running:
        yield running


def ask(server, method, path, body=None, accept=JSON):
    async def asked():
        data = body if body is None or isinstance(body, bytes) else json.dumps(body).encode()
        headers = {"accept": accept, **({} if body is None else {"content-type": JSON})}
        async with (
            aiohttp.ClientSession() as session,
            session.request(method, server.url + path, data=data, headers=headers) as answer,
        ):
            text = await answer.text()
            return answer.status, json.loads(text) if answer.content_type == JSON else text

    return asyncio.run(asked())


def test_what_a_handler_returns_is_the_json_of_the_response(server):
    assert ask(server, "GET", "/api/lakes") == (200, [{"name": "como", "deep": 410}])
    assert ask(server, "GET", "/api/lakes/como?metres=7") == (200, {"name": "como", "deep": 7})


def test_the_return_type_has_the_status_code(server):
    assert ask(server, "POST", "/api/lakes", {"name": "garda", "deep": 346}) == (201, {"name": "garda", "deep": 346})
    assert ask(server, "POST", "/api/lakes", {"name": "garda"})[0] == 409
    assert ask(server, "DELETE", "/api/lakes/garda") == (204, "")


def test_of_several_return_types_the_value_says_which(server):
    assert ask(server, "PUT", "/api/lakes/como/swims/1", {"where": "shore"}) == (202, {"where": "shore"})
    assert ask(server, "PUT", "/api/lakes/como/swims/1", {"where": "deep"}) == (200, {"name": "como", "deep": 1})
    assert ask(server, "PUT", "/api/lakes/como/swims/0") == (204, "")


def test_a_body_with_a_default_may_be_left_out(server):
    assert ask(server, "PUT", "/api/lakes/como/swims/1") == (202, {"where": "anywhere"})


@pytest.mark.parametrize("body", [b"{", b"[]", b'{"name": 1}', b'{"name": "\xff"}', b"[" * 100_000])
def test_a_body_that_does_not_fit_is_refused_with_a_sentence(server, body):
    status, said = ask(server, "POST", "/api/lakes", body)
    assert (status, said["success"]) == (400, False)
    assert "has to be a JSON object" in said["error"]


def test_the_declaration_says_with_which_status_code_and_how_many_bytes_are_taken(server):
    assert ask(server, "PUT", "/api/lakes/como/swims/1", {"where": 5})[0] == 422
    assert ask(server, "PUT", "/api/lakes/como/swims/1", {"where": "x" * 200})[0] == 413


@pytest.mark.parametrize(
    ("query", "said"),
    [("metres=many", "Expected `int`"), ("feet=3", "There is no query parameter 'feet'; there are metres, unit.")],
)
def test_a_query_that_does_not_fit_is_refused_with_a_sentence(server, query, said):
    status, answer = ask(server, "GET", f"/api/lakes/como?{query}")
    assert status == 400
    assert said in answer["error"]


def test_a_handler_that_returns_events_is_a_stream(server):
    status, text = ask(server, "GET", "/api/lakes/como/waves")
    assert (status, text) == (200, 'data: {"name":"como","deep":0}\n\ndata: {"name":"como","deep":1}\n\n')


def test_a_handler_may_return_events_to_who_asks_for_them_only(server):
    assert ask(server, "POST", "/api/lakes/como/tides") == (200, {"name": "como", "deep": 0})
    assert ask(server, "POST", "/api/lakes/como/tides", accept="text/event-stream") == (200, 'data: {"tide":"como"}\n\n')


def test_a_handler_may_return_a_response_itself(server):
    assert ask(server, "GET", "/api/lakes/como/ice") == (200, "none")
    assert ask(server, "GET", "/api/lakes/garda/ice") == (503, {"name": "garda", "deep": 0})


def test_what_a_handler_raises_may_be_answered_for_all_of_them(server):
    assert ask(server, "GET", "/api/lakes/ladoga/ice") == (503, {"ice": "There is ice."})


def test_functions_are_handlers_too_and_get_the_host(server):
    assert ask(server, "GET", "/api/lakes-of") == (200, {"user": "", "host": "Host"})


def test_a_method_that_is_not_allowed_is_told_which_are_at_that_path(server):
    made = {(route.path, route.method): route for route in routes_of(Lakes())}
    assert made["/api/lakes", "GET"].allowed == made["/api/lakes", "POST"].allowed == {"GET", "HEAD", "POST"}
    assert ask(server, "DELETE", "/api/lakes")[0] == 405


def test_the_signature_is_in_the_openapi_document(server):
    document = ask(server, "GET", "/openapi.json")[1]
    paths = document["paths"]
    shown = paths["/api/lakes/{name}"]["get"]
    assert (shown["summary"], shown["tags"]) == ("A lake", ["Lakes"])
    assert [(each["in"], each["name"]) for each in shown["parameters"]] == [
        ("path", "name"),
        ("query", "metres"),
        ("query", "unit"),
    ]
    assert (shown["responses"]["200"]["description"], shown["responses"]["404"]["description"]) == (
        "A lake",
        "there is no such lake",
    )
    assert paths["/api/lakes"]["get"]["responses"]["200"]["description"] == "the lakes"
    assert paths["/api/lakes"]["post"]["requestBody"]["required"]
    swim = paths["/api/lakes/{name}/swims/{number}"]["put"]
    assert not swim["requestBody"]["required"]
    assert swim["parameters"][1]["schema"] == {"type": "integer"}
    assert {"200", "202", "204"} <= set(swim["responses"])
    assert set(paths["/api/lakes/{name}/tides"]["post"]["responses"]["200"]["content"]) == {JSON, EVENTS.partition(";")[0]}
    assert paths["/api/lakes/{name}/ice"]["get"]["responses"]["503"] == {"description": "Service Unavailable"}


def test_what_a_signature_can_not_say_the_declaration_says(server):
    document = ask(server, "GET", "/openapi.json")[1]
    made = document["paths"]["/api/lakes-by-hand"]["post"]
    assert (
        made["requestBody"]["content"][JSON]["schema"]
        == document["paths"]["/api/lakes"]["post"]["requestBody"]["content"][JSON]["schema"]
    )
    assert [f"{each['in']} {each['name']}: {each['description']}" for each in made["parameters"]] == ["header x-depth: how deep"]
    assert (made["responses"]["202"]["description"], set(made["responses"]["202"]["links"])) == (
        "it is taken",
        {"get_api_lakes_name"},
    )
    assert made["responses"]["400"]["content"][JSON]["schema"]["$ref"].endswith("/Trouble")
    assert "security" not in made
    assert "/api/lakes-unlisted" not in document["paths"]
    assert ask(server, "POST", "/api/lakes-by-hand", {"name": "como"}) == (202, {"where": 16})


def test_what_a_handler_returns_without_saying_so_is_an_error_of_the_server(server, caplog):
    with caplog.at_level(logging.CRITICAL, "treadle"):
        status, said = ask(server, "GET", "/api/lakes-unlisted")
    assert (status, said["success"]) == (500, False)


def test_a_prefix_stands_before_every_path(tmp_path):
    assert [route.path for route in routes_of(mine, host=host(tmp_path), prefix="/v2")] == ["/v2/api/lakes-of"]


def test_handlers_come_in_the_order_they_are_written_and_a_subclass_may_replace_one():
    class Ponds(Lakes):
        @get("/api/ponds")
        async def listed(self) -> list[Lake]:
            """The ponds there are."""
            return []

    assert [route.path for route in routes_of(Ponds())][:2] == ["/api/ponds", "/api/lakes"]
    assert all(isinstance(route, HandlerRoute) for route in routes_of(Ponds()))


# Declarations that make no sense


@get("/lakes/{name}")
async def without_an_argument() -> None:
    """A lake."""


@get("/lakes")
async def with_an_argument_too_many(depth: int) -> None:
    """The lakes."""


@get("/lakes")
async def with_a_query_that_is_no_struct(query: dict[str, str]) -> None:
    """The lakes."""


@get("/lakes")
async def without_a_return_type():
    """The lakes."""


@get("/lakes")
async def without_a_docstring() -> None:
    pass


@get("/lakes")
def not_async() -> None:
    """The lakes."""


@get("/lakes/{number:int}")
async def with_another_type(number: str) -> None:
    """A lake."""


@get("/lakes/{key:uuid}")
async def with_an_annotation_that_is_not_there(key: UUID) -> "Agent":
    """A lake."""


@get("/lakes")
async def without_a_host(user: str) -> None:
    """The lakes of somebody."""


async def undeclared() -> None:
    """The lakes."""


@pytest.mark.parametrize(
    ("handler", "said"),
    [
        (without_an_argument, "has no argument for the path parameter {name}"),
        (with_an_argument_too_many, "has an argument depth that no request has"),
        (with_a_query_that_is_no_struct, "has an argument query that no request has"),
        (without_a_return_type, "doesn't say what it returns"),
        (without_a_docstring, "needs a docstring"),
        (not_async, "has to be an `async def`"),
        (with_another_type, "the path parameter number has the type int; annotate it as that"),
        (with_an_annotation_that_is_not_there, "isn't imported when it runs: name 'Agent' is not defined"),
        (without_a_host, "has an argument user that no request has"),
        (undeclared, "is no handler and has none"),
        (Lake("como"), "is no handler and has none"),
    ],
)
def test_a_declaration_that_makes_no_sense_is_refused_when_the_routes_are_made(handler, said):
    with pytest.raises(SettingsError) as refused:
        routes_of(handler)
    assert said in str(refused.value)

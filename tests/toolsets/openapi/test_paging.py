"""Lists that come in pages are followed on request, within the origin, and joined."""

import json

import pytest
from aiohttp import web

from toolsets.openapi.conftest import document
from treadle import RunContext

ITEMS = [{"id": f"i{number}"} for number in range(7)]
LISTED = '[{"id":"i0"},{"id":"i1"},{"id":"i2"},{"id":"i3"},{"id":"i4"},{"id":"i5"},{"id":"i6"}]'
MORE = "There is more: ask again with `pages` for up to 10 pages, or for the next page."


def root(*names, kind="integer", responses=None, security=None, method="get"):
    parameters = [{"name": name, "in": "query", "schema": {"type": kind}} for name in names]
    told = {"operationId": "list", "parameters": parameters, "responses": responses or {"200": {"description": "fine"}}}
    schemes = {"key": {"type": "apiKey", "in": "query", "name": "key"}}
    more = {"security": [{"key": []}], "components": {"securitySchemes": schemes}} if security else {}
    return document({"/a": {method: told}}, **more)


def answering(page):
    async def answer(request):
        found = page(request.query, f"http://{request.host}")
        return found if isinstance(found, web.Response) else web.json_response(found)

    return {"/a": answer}


def part(start, size=3):
    return ITEMS[int(start) : int(start) + size]


def linked(query, host):
    at = int(query.get("at", 0))
    headers = {"Link": f'<{host}/a?at=0>; rel="first", <{host}/a?at={at + 3}&key=theirs>; rel="next"'} if at < 6 else {}
    return web.json_response(part(at), headers=headers)


LINK = {"200": {"description": "fine", "headers": {"Link": {}}}}
NEXT = {"200": {"description": "fine", "content": {"application/json": {"schema": {"properties": {"items": {}, "next": {}}}}}}}


def test_a_link_leads_to_the_next_page(call):
    made = call(root(responses=LINK), ("list", {"pages": 5}), ("list", {}), answers=answering(linked))
    assert made.results[0] == LISTED
    assert made.results[1] == '[{"id":"i0"},{"id":"i1"},{"id":"i2"}]\n' + MORE
    assert made.tools["list"].parameters["properties"]["pages"]["maximum"] == 10


def test_the_pages_of_a_caller_with_a_key_are_asked_for_with_that_key(call):
    made = call(
        root(responses=LINK, security=True),
        ("list", {"pages": 3}),
        answers=answering(linked),
        context=RunContext(credentials={"api_key": "mine-secret"}),
    )
    assert [request.query["key"] for request in made.server.requests] == ["mine-secret"] * 3
    assert made.result == LISTED


@pytest.mark.parametrize(
    "told",
    [
        lambda to: {"next": to},
        lambda to: {"links": {"next": to}},
        lambda to: {"_links": {"next": {"href": to}}},
        lambda to: {"meta": {"pagination": {"nextPageUrl": to}}},
        lambda to: {"@odata.nextLink": to},
    ],
)
@pytest.mark.parametrize("relative", [True, False])
def test_an_address_in_the_answer_leads_to_the_next_page(call, told, relative):
    def page(query, host):
        at = int(query.get("at", 0))
        to = f"{'' if relative else host}/a?at={at + 3}"
        return {"items": part(at), **(told(to) if at < 6 else {})}

    made = call(root(responses={"200": {**LINK["200"]}}), ("list", {"pages": 9}), answers=answering(page))
    assert json.loads(made.result)["items"] == ITEMS


@pytest.mark.parametrize(
    ("parameter", "told"),
    [
        ("cursor", lambda to: {"next_cursor": to}),
        ("pageToken", lambda to: {"nextPageToken": to}),
        ("continue", lambda to: {"metadata": {"continue": to}}),
        ("after", lambda to: {"paging": {"cursors": {"after": to}}}),
        ("cursor", lambda to: {"response_metadata": {"next_cursor": to}}),
        ("cursor", lambda to: {"next": to}),
    ],
)
def test_a_cursor_in_the_answer_leads_to_the_next_page(call, parameter, told):
    def page(query, host):
        at = int(query.get(parameter, "c0")[1:])
        return {"items": part(at), **told(f"c{at + 3}" if at < 6 else "")}

    made = call(
        root(parameter, "limit", kind="string"), ("list", {"pages": 9, "limit": "3"}), ("list", {}), answers=answering(page)
    )
    assert json.loads(made.results[0])["items"] == ITEMS
    assert made.results[1].endswith(MORE)
    assert [request.query.get("limit") for request in made.server.requests] == ["3", "3", "3", None]


def test_the_last_item_leads_to_the_next_page_where_there_are_more(call):
    def page(query, host):
        at = int(query.get("starting_after", "i-1")[1:]) + 1
        return {"data": part(at), "has_more": at < 6, "object": "list"}

    made = call(root("starting_after", kind="string"), ("list", {"pages": 9}), answers=answering(page))
    assert json.loads(made.result) == {"data": ITEMS, "has_more": False, "object": "list"}


@pytest.mark.parametrize(("name", "first", "step"), [("page", 1, 1), ("offset", 0, 3), ("startAt", 0, 3)])
@pytest.mark.parametrize("bare", [True, False])
def test_pages_are_counted(call, name, first, step, bare):
    def page(query, host):
        at = (int(query.get(name, first)) - first) // step * 3
        return part(at) if bare else {"total": 7, "things": part(at)}

    made = call(root(name), ("list", {"pages": 9}), ("list", {name: first + step, "pages": 1}), answers=answering(page))
    assert (json.loads(made.results[0]) if bare else json.loads(made.results[0])["things"]) == ITEMS
    assert (json.loads(made.results[1]) if bare else json.loads(made.results[1])["things"]) == ITEMS[3:6]
    assert len(made.server.requests) in (4, 5)


def test_a_page_that_is_not_full_is_the_last(call):
    made = call(root("page", "per_page"), ("list", {"pages": 9, "per_page": 10}), answers=answering(lambda query, host: ITEMS))
    assert made.result == LISTED
    assert len(made.server.requests) == 1


@pytest.mark.parametrize("said", [{"next": None}, {"hasMore": False}, {"isLast": True}])
def test_an_answer_that_says_that_there_is_no_more_is_believed(call, said):
    made = call(root("page"), ("list", {"pages": 9}), answers=answering(lambda query, host: {"items": ITEMS, **said}))
    assert len(made.server.requests) == 1


def test_a_server_that_gives_the_same_page_for_ever_is_asked_twice(call):
    made = call(root("page"), ("list", {"pages": 9}), answers=answering(lambda query, host: ITEMS))
    assert made.result == LISTED
    assert len(made.server.requests) == 2


@pytest.mark.parametrize("to", ["https://elsewhere.example/a", "http://169.254.169.254/", "/a b"])
def test_no_page_is_fetched_from_elsewhere(call, to):
    made = call(root(responses=NEXT), ("list", {"pages": 9}), answers=answering(lambda query, host: {"items": ITEMS, "next": to}))
    assert len(made.server.requests) == 1
    assert json.loads(made.result.partition("\n")[0])["items"] == ITEMS


def test_pages_stop_at_the_limit_of_bytes(call):
    made = call(
        root("page"),
        ("list", {"pages": 9}),
        answers=answering(lambda query, host: [{"id": query.get("page", "1")}] * 20),
        limit=700,
    )
    assert len(made.server.requests) < 5


def test_a_page_that_fails_is_a_problem(call):
    def page(query, host):
        return web.Response(status=500) if query.get("page") else ITEMS

    assert call(root("page"), ("list", {"pages": 2}), answers=answering(page)).result.startswith("PROBLEM list brought nothing")


def test_an_answer_that_is_no_list_is_one_page(call):
    made = call(root("page"), ("list", {"pages": 3}), answers=answering(lambda query, host: {"a": [1], "b": [2]}))
    assert made.result == '{"a":[1],"b":[2]}'
    made = call(root("page"), ("list", {"pages": 3}), answers=answering(lambda query, host: web.Response(text="words")))
    assert made.result == "words"


def test_a_number_that_is_none_is_not_counted_on(call):
    made = call(root("page", kind="string"), ("list", {"pages": 3}), answers=answering(lambda query, host: ITEMS))
    assert len(made.server.requests) == 1
    made = call(root("page"), ("list", {"pages": 3, "page": 1.5}), answers=answering(lambda query, host: ITEMS))
    assert len(made.server.requests) == 1


def test_what_has_no_pages_has_no_such_argument(call):
    for told, how in ((root("page", method="post"), {}), (root("q"), {}), (root("page"), {"paging": False})):
        made = call(told, ("list", {}), answers=answering(lambda query, host: ITEMS), **how)
        assert "pages" not in made.tools["list"].parameters["properties"]


def test_a_parameter_of_that_name_stays_what_it_is(call):
    made = call(root("page", "pages"), ("list", {"pages": 2}), answers=answering(lambda query, host: ITEMS))
    assert [request.query_string for request in made.server.requests] == ["pages=2"]


def test_progress_is_told(call):
    told = []
    call(
        root("page"), ("list", {"pages": 2}), answers=answering(lambda query, host: ITEMS), context=RunContext(progress=told.append)
    )
    assert told == ["page 2"]

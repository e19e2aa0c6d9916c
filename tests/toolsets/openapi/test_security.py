"""Credentials are the caller's, go where the document wants them, and are seen by nobody else."""

import asyncio
import base64
import logging

import pytest
from aiohttp import web

from toolsets.openapi.conftest import document, serving
from treadle import Agent, RunContext
from treadle.models.scripted import calls
from treadle.testing import Scripted
from treadle.toolsets.openapi import openapi_tools
from treadle.toolsets.openapi.caller import OpenApiRequest
from treadle.toolsets.openapi.security import RequestCredentials

SECRET = "s3cr3t-t0ken-of-ann"
SCHEMES = {
    "bearerAuth": {"type": "http", "scheme": "bearer"},
    "basicAuth": {"type": "http", "scheme": "Basic"},
    "keyInHeader": {"type": "apiKey", "in": "header", "name": "X-Key"},
    "keyInQuery": {"type": "apiKey", "in": "query", "name": "key"},
    "keyInCookie": {"type": "apiKey", "in": "cookie", "name": "sid"},
    "oauth": {"type": "oauth2", "flows": {}},
    "oidc": {"type": "openIdConnect", "openIdConnectUrl": "https://x"},
    "digest": {"type": "http", "scheme": "digest"},
    "tls": {"type": "mutualTLS"},
}


def root(*security, **more):
    parameters = [
        {"name": "key", "in": "query", "required": True, "schema": {"type": "string"}},
        {"name": "x-key", "in": "header", "required": True, "schema": {"type": "string"}},
        {"name": "sid", "in": "cookie", "schema": {"type": "string"}},
        {"name": "q", "in": "query", "schema": {"type": "string"}},
    ]
    told = {"operationId": "get", "parameters": parameters, "responses": {}}
    return document({"/a": {"get": told}}, components={"securitySchemes": SCHEMES}, security=list(security), **more)


def context(**credentials):
    return RunContext(credentials=credentials, user="ann")


@pytest.mark.parametrize(
    ("scheme", "name", "place", "value"),
    [
        ("bearerAuth", "bearerAuth", "Authorization", f"Bearer {SECRET}"),
        ("bearerAuth", "bearer", "Authorization", f"Bearer {SECRET}"),
        ("bearerAuth", "token", "Authorization", f"Bearer {SECRET}"),
        ("oauth", "token", "Authorization", f"Bearer {SECRET}"),
        ("oidc", "bearer", "Authorization", f"Bearer {SECRET}"),
        ("basicAuth", "basic", "Authorization", f"Basic {base64.b64encode(SECRET.encode()).decode()}"),
        ("keyInHeader", "api_key", "X-Key", SECRET),
        ("keyInHeader", "keyInHeader", "X-Key", SECRET),
        ("keyInCookie", "api_key", "Cookie", f"sid={SECRET}"),
        ("digest", "digest", "Authorization", f"Digest {SECRET}"),
    ],
)
def test_a_credential_goes_where_the_document_wants_it(call, scheme, name, place, value):
    made = call(root({scheme: []}), ("get", {}), context=context(**{name: SECRET}))
    assert made.request.headers[place] == value
    assert list(made.tools["get"].parameters["properties"]) == ["q"]
    assert "required" not in made.tools["get"].parameters


def test_a_key_goes_into_the_query_encoded(call):
    made = call(root({"keyInQuery": []}), ("get", {"q": "x"}), context=context(api_key="a&b=c d"))
    assert made.request.raw_path == "/a?key=a%26b%3Dc%20d&q=x"


def test_several_may_be_wanted_together(call):
    both = {"bearerAuth": [], "keyInHeader": [], "keyInCookie": []}
    made = call(root(both), ("get", {}), context=context(bearer="b-secret", api_key="k-secret"))
    headers = made.request.headers
    assert (headers["Authorization"], headers["X-Key"], headers["Cookie"]) == ("Bearer b-secret", "k-secret", "sid=k-secret")


def test_the_first_alternative_that_can_be_met_is_taken(call):
    made = call(root({"bearerAuth": []}, {"basicAuth": []}), ("get", {}), context=context(basic="ann:pw"))
    assert made.request.headers["Authorization"] == f"Basic {base64.b64encode(b'ann:pw').decode()}"


def test_being_nobody_is_the_last_alternative(call):
    signed = call(root({}, {"bearerAuth": []}), ("get", {}), context=context(bearer=SECRET))
    assert signed.request.headers["Authorization"] == f"Bearer {SECRET}"
    nobody = call(root({}, {"bearerAuth": []}), ("get", {}))
    assert "Authorization" not in nobody.request.headers
    assert nobody.result == '{"ok":true}'


def test_an_operation_may_want_none_where_others_do(call):
    told = root({"bearerAuth": []})
    told["paths"]["/a"]["get"]["security"] = []
    assert "Authorization" not in call(told, ("get", {}), context=context(bearer=SECRET)).request.headers


@pytest.mark.parametrize("credentials", [{}, {"bearer": ""}, {"other": SECRET}])
def test_whoever_is_not_signed_in_is_told_to(call, credentials):
    made = call(root({"bearerAuth": []}, {"keyInQuery": []}), ("get", {}), context=context(**credentials))
    assert made.result == (
        "PROBLEM This needs the person to be signed in (bearerAuth or keyInQuery), and they aren't. Tell them to; nothing was sent."
    )
    assert made.server.requests == []


def test_names_that_were_given_are_the_only_ones(call):
    given = {"bearerAuth": "shop_token"}
    made = call(root({"bearerAuth": []}), ("get", {}), context=context(shop_token=SECRET, bearer="another"), credentials=given)
    assert made.request.headers["Authorization"] == f"Bearer {SECRET}"
    made = call(root({"bearerAuth": []}), ("get", {}), context=context(bearer="another"), credentials=given)
    assert "signed in" in made.result
    made = call(root({"oauth": []}), ("get", {}), context=context(shop_token=SECRET), credentials={"token": "shop_token"})
    assert made.request.headers["Authorization"] == f"Bearer {SECRET}"


def test_an_empty_mapping_uses_no_credential_of_the_caller(call):
    made = call(root({"bearerAuth": []}), ("get", {}), context=context(bearerAuth=SECRET, bearer=SECRET), credentials={})
    assert "signed in (bearerAuth)" in made.result
    assert made.server.requests == []


def test_a_document_without_security_gets_a_credential_only_where_that_was_said(call):
    bare = document({"/a": {"get": {"operationId": "get", "responses": {}}}})
    assert "Authorization" not in call(bare, ("get", {}), context=context(bearer=SECRET)).request.headers
    made = call(bare, ("get", {}), context=context(mine=SECRET), credentials={"bearer": "mine"})
    assert made.request.headers["Authorization"] == f"Bearer {SECRET}"
    made = call(bare, ("get", {}), context=context(), credentials={"bearer": "mine"})
    assert "Authorization" not in made.request.headers
    made = call(bare, ("get", {}), context=context(mine="ann:pw"), credentials={"basic": "mine"})
    assert made.request.headers["Authorization"].startswith("Basic ")


@pytest.mark.parametrize("scheme", ["tls", "nowhere"])
def test_a_scheme_that_can_not_be_used_is_a_problem(call, scheme):
    made = call(root({scheme: []}), ("get", {}), context=context(**{scheme: SECRET}))
    assert f"security scheme {scheme}" in made.result
    assert made.server.requests == []


def test_a_credential_that_can_not_be_sent_is_a_problem_that_does_not_show_it(call):
    made = call(root({"bearerAuth": []}), ("get", {}), context=context(bearer=SECRET + "\r\nX-Evil: 1"))
    assert "sign in again" in made.result
    assert SECRET not in made.result
    assert made.server.requests == []


@pytest.mark.parametrize("scheme", ["bearerAuth", "basicAuth", "keyInQuery"])
@pytest.mark.parametrize("status", [200, 302, 400, 500])
@pytest.mark.parametrize("kind", ["application/json", "text/plain", "text/html"])
def test_a_secret_that_a_server_repeats_is_masked(call, caplog, scheme, status, kind):
    caplog.set_level(logging.DEBUG)
    secret = f"ann:{SECRET}" if scheme == "basicAuth" else SECRET

    async def echo(request):
        said = f"{request.raw_path} {request.headers.get('Authorization')} {secret}"
        text = f'{{"said": "{said}"}}' if kind == "application/json" else f"<html><title>{said}</title>" if "html" in kind else said
        return web.Response(status=status, text=text, content_type=kind, headers={"Location": f"https://x/{secret}"})

    names = {"basic": secret} if scheme == "basicAuth" else {"bearer": secret, "api_key": secret}
    made = call(root({scheme: []}), ("get", {}), answers={"/a": echo}, context=context(**names))
    packed = base64.b64encode(secret.encode()).decode()
    assert len(made.server.requests) == 1
    for text in (made.result, caplog.text):
        assert SECRET not in text
        assert packed not in text


def test_no_value_shows_a_credential():
    assert SECRET not in repr(RequestCredentials(headers={"Authorization": SECRET}, secrets=(SECRET,)))
    assert SECRET not in repr(OpenApiRequest("GET", f"https://api.example.com/?key={SECRET}", {"Authorization": SECRET}))


def test_no_model_sees_a_credential():
    async def echo(request):
        return web.json_response({"you": request.headers["Authorization"]})

    async def work():
        async with serving({"/a": echo}) as server:
            toolset = openapi_tools(root({"bearerAuth": []}), base_url=server.origin, private=True)
            model = Scripted(calls(("get", {})), "Done.")
            result = await Agent(model, tools=[toolset]).run("Who am I?", credentials={"bearer": SECRET}, user="ann")
            return server, model, result

    server, model, result = asyncio.run(work())
    assert server.requests[0].headers["Authorization"] == f"Bearer {SECRET}"
    assert SECRET not in str(model.requests)
    assert "redacted" in result.calls[0].result.content

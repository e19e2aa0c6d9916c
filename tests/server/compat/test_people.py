"""The wires with users: known by their tokens, as both clients send them, and kept apart."""

from contextlib import contextmanager

import pytest

from packages import Deferred
from server.compat.clients import MODEL, asked, openai_tool, rivers, user
from server.running import Serving
from treadle.models.scripted import Scripted
from treadle.stores.accounts import Allowance
from treadle.stores.users import Users

anthropic = Deferred("anthropic")
openai = Deferred("openai")


@contextmanager
def served(folder, *replies, **people):
    """A server with these people, and their clients by name."""
    users = Users(folder / "users.db")
    tokens = {name: users.add(name, **how) for name, how in people.items()}
    with Serving(folder, [rivers()], Scripted(*replies), users=users) as server:
        yield server, tokens


def openai_of(server, token):
    return openai.OpenAI(base_url=f"{server.url}/v1", api_key=token, max_retries=0)


def anthropic_of(server, token):
    return anthropic.Anthropic(base_url=server.url, api_key=token, max_retries=0)


def complete(client, messages, **more):
    return client.chat.completions.create(model=MODEL, messages=messages, **more).choices[0].message


def test_both_clients_show_their_token(tmp_path):
    with served(tmp_path, "a", "b", ann={}) as (server, tokens):
        with openai_of(server, tokens["ann"]) as client:
            assert complete(client, [user("?")]).content == "a"
        with anthropic_of(server, tokens["ann"]) as client:
            assert client.messages.create(model=MODEL, max_tokens=9, messages=[user("?")]).content[0].text == "b"


def test_nobody_else_is_let_in_and_each_client_knows_why(tmp_path):
    with served(tmp_path, ann={}) as (server, _):
        with openai_of(server, "treadle_ann_no") as client, pytest.raises(openai.AuthenticationError, match="token"):
            complete(client, [user("?")])
        with anthropic_of(server, "none") as client, pytest.raises(anthropic.AuthenticationError) as refused:
            client.messages.create(model=MODEL, max_tokens=9, messages=[user("?")])
        assert refused.value.body["error"]["type"] == "authentication_error"


def test_a_reader_may_look_but_not_ask(tmp_path):
    with served(tmp_path, ann={"role": "reader"}) as (server, tokens), openai_of(server, tokens["ann"]) as client:
        assert [each.id for each in client.models.list()] == [MODEL]
        with pytest.raises(openai.PermissionDeniedError, match="ann is a reader"):
            complete(client, [user("?")])


def test_somebody_elses_run_is_as_one_that_never_was(tmp_path):
    replies = [asked("weather", {}), "of her own", "It rains."]
    with served(tmp_path, *replies, ann={}, ben={}) as (server, tokens):
        tools = [openai_tool(parameters=None)]
        with openai_of(server, tokens["ann"]) as ann, openai_of(server, tokens["ben"]) as ben:
            first = complete(ann, [user("?")], tools=tools)
            brought = [user("?"), first, {"role": "tool", "tool_call_id": first.tool_calls[0].id, "content": "rain"}]
            assert complete(ben, brought, tools=tools).content == "of her own"
            assert complete(ann, brought, tools=tools).content == "It rains."


def test_what_somebody_may_have_is_a_limit_that_clients_know(tmp_path):
    once = {"allowance": Allowance(requests=1)}
    with served(tmp_path, "a", "b", ann=once) as (server, tokens), openai_of(server, tokens["ann"]) as client:
        complete(client, [user("?")])
        with pytest.raises(openai.RateLimitError, match="1 requests a minute"):
            complete(client, [user("?")])

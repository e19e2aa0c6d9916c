"""Quotas over HTTP: on each face a request that nothing is left for is refused with 429, a code and a sentence."""

import json
from contextlib import contextmanager

import pytest

from server.compat.clients import MODEL, rivers
from server.running import Serving
from server.test_users import House
from treadle.core.requests import Usage
from treadle.home import close_homes
from treadle.models.scripted import Scripted, ScriptedReply
from treadle.stores.users import USERS_FILE, Users

QUOTAS = """
[quotas.each]
users = ["*"]
tokens = 10
[quotas.team]
groups = ["staff"]
tokens = 15
"""
SAID = "Your 10 tokens of this month are used up"


@pytest.fixture
def house(tmp_path, monkeypatch):
    with served(tmp_path, monkeypatch) as house:
        yield house
    close_homes()


@contextmanager
def served(folder, monkeypatch):
    settings = folder / "treadle.toml"
    settings.write_text(QUOTAS)
    monkeypatch.setenv("TREADLE_CONFIG", str(settings))
    users = Users(folder / "data" / USERS_FILE)
    model = Scripted(*[ScriptedReply(text="Fine.", usage=Usage(requests=1, input_tokens=8, output_tokens=2)) for _ in range(20)])
    with Serving(folder, [rivers()], model, users=users) as server:
        yield House(server, users)


def complete(house, token, path="/v1/chat/completions"):
    body = {"model": MODEL, "max_tokens": 50, "messages": [{"role": "user", "content": "?"}]}
    status, _, text = house.ask(path, "POST", token, json=body)
    return status, json.loads(text)


def test_every_face_refuses_when_a_quota_is_used_up(house):
    anna = house.users.add("anna")
    assert complete(house, anna)[0] == 200
    (quota,) = house.told("/api/quotas", token=anna)
    assert (quota["quota"], quota["tokens"], quota["token_limit"], quota["period"]) == ("each", 10, 10, "month")

    status, said = complete(house, anna)
    assert (status, said["error"]["code"]) == (429, "insufficient_quota")
    assert said["error"]["message"].startswith(SAID)
    status, said = complete(house, anna, "/v1/messages")
    assert (status, said["error"]["type"]) == (429, "rate_limit_error")
    assert said["error"]["message"].startswith(SAID)
    status, _, text = house.ask("/api/runs", "POST", anna, json={"assistant": MODEL, "message": "?"})
    said = json.loads(text)
    assert (status, said.get("code")) == (429, "insufficient_quota"), said
    assert said["error"].startswith(SAID)


def test_a_group_shares_what_it_has_and_others_have_their_own(house):
    anna, ben, eve = house.users.add("anna", groups=["staff"]), house.users.add("ben", groups=["staff"]), house.users.add("eve")
    assert [complete(house, token)[0] for token in (anna, ben)] == [200, 200]
    house.users.change("ben", groups=["staff", "more"])
    assert complete(house, ben)[0] == 429
    assert [each["tokens"] for each in house.told("/api/quotas", token=ben)] == [10, 20]
    assert complete(house, eve)[0] == 200

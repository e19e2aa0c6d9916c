"""The access log and failures of models in the server's log."""

import json
import logging
from urllib.error import HTTPError
from urllib.request import Request, urlopen

from cli.running import script, start
from server.running import Serving, assistant, host
from treadle.core.errors import ModelRefused
from treadle.models.scripted import Scripted


def ask(server, path, body=None):
    asked = Request(server.url + path, json.dumps(body).encode() if body else None, {"content-type": "application/json"})
    try:
        with urlopen(asked) as answer:
            return answer.status
    except HTTPError as refused:
        with refused:
            return refused.code


def lines(caplog):
    return [record.getMessage() for record in caplog.records if record.name == "treadle.access"]


def test_a_request_is_logged_without_its_query(tmp_path, caplog):
    caplog.set_level(logging.INFO, "treadle.access")
    with Serving(tmp_path, [assistant("rivers")]) as server:
        ask(server, "/api/assistants?token=secret")
        ask(server, "/api/no%0Athing")
    known, unknown = lines(caplog)
    assert known.startswith("127.0.0.1 - GET /api/assistants 200 ")
    assert unknown.startswith("127.0.0.1 - GET /api/no%0Athing 404 ")
    assert known.endswith(" ms")
    assert "secret" not in caplog.text


def test_nothing_is_logged_unless_somebody_asks_for_it(tmp_path, caplog):
    with Serving(tmp_path, [assistant("rivers")]) as server:
        ask(server, "/api/assistants")
    assert lines(caplog) == []


def test_a_model_that_fails_is_in_the_log(tmp_path, caplog):
    body = {"model": "rivers", "messages": [{"role": "user", "content": "Hello?"}]}
    with Serving(tmp_path, [assistant("rivers")], lent=host(tmp_path, Scripted(ModelRefused("The key is wrong.")))) as server:
        assert ask(server, "/v1/chat/completions", body) >= 400
    (record,) = [record for record in caplog.records if record.levelname == "ERROR"]
    assert record.getMessage().startswith("Run ")
    assert record.getMessage().endswith(" of rivers with scripted failed: The key is wrong.")


def test_the_command_shows_the_access_log_where_that_is_wanted(tmp_path):
    with start(tmp_path, "serve", "--port", "0", "--no-token", "--access-log", "-m", script(tmp_path, "Hello.")) as server:
        url = server.stdout.readline().strip()
        with urlopen(f"{url}health") as answer:
            assert answer.status == 200
        line = next(line for line in server.stderr if "/health" in line)
        server.terminate()
        server.communicate(timeout=120)
    assert "127.0.0.1 - GET /health 200" in line

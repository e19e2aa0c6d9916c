"""What a person approves on the server, in runs of callers: the run goes on, and the caller can hear of it."""

import http.client
import json
import time

import pytest

from server.compat.clients import MODEL, Done, asked, openai_client, openai_tool, rivers, several, user

PATIENCE = 120  # seconds
TOOLS = [openai_tool(parameters=None)]


def api(client, method, path, body=None):
    """What the server's own interface answers."""
    connection = http.client.HTTPConnection("127.0.0.1", client.base_url.port, timeout=PATIENCE)
    try:
        connection.request(method, path, None if body is None else json.dumps(body), {"content-type": "application/json"})
        response = connection.getresponse()
        return response.status, json.loads(response.read() or b"null")
    finally:
        connection.close()


def waiting(client, run_id):
    """The calls that a person is asked about."""
    return api(client, "GET", f"/api/runs/{run_id}")[1]["approvals"]


def approve(client, approval):
    path = f"/api/runs/{approval['run_id']}/approvals/{approval['call_id']}"
    return api(client, "POST", path, {"approved": True, "digest": approval["digest"]})[0]


def reached(client, run_id, how):
    """Wait until a run stands like this; its status then."""
    until = time.monotonic() + PATIENCE
    while time.monotonic() < until:
        run = api(client, "GET", f"/api/runs/{run_id}")[1]["run"]
        if how(run):
            return run["status"]
        time.sleep(0.02)
    raise AssertionError(f"it is {run['status']}")


def ended(client, run_id):
    return reached(client, run_id, lambda run: run["status"] not in ("open", "waiting"))


def complete(client, messages, **more):
    return client.chat.completions.create(model=MODEL, messages=messages, **more)


def bringing(messages, answer, content):
    call = answer.choices[0].message.tool_calls[0]
    return [*messages, answer.choices[0].message, {"role": "tool", "tool_call_id": call.id, "content": content}]


def test_what_a_person_approves_runs_and_the_run_goes_on(tmp_path):
    done = Done()
    with openai_client(tmp_path, asked("dam", {"river": "Rhine"}), "Dammed.", made=rivers(done)) as (client, model):
        answer = complete(client, [{"role": "system", "content": "Be brief."}, user("Dam it.")])
        (approval,) = waiting(client, answer._request_id)
        assert approve(client, approval) == 202
        assert ended(client, answer._request_id) == "answered"
    assert done.what == ["dammed Rhine"]
    assert model.requests[1].instructions == "You know rivers.\n\nBe brief."


def test_calls_for_the_caller_are_nobody_elses_to_answer(tmp_path):
    with openai_client(tmp_path, asked("weather", {}), "Rain.") as (client, _):
        messages = [user("?")]
        answer = complete(client, messages, tools=TOOLS)
        assert waiting(client, answer._request_id) == []
        assert api(client, "GET", "/api/approvals")[1] == {"approvals": []}
        for approved in (True, False):
            body = {"approved": approved, "digest": "x"}
            status, said = api(client, "POST", f"/api/runs/{answer._request_id}/approvals/call_1_1", body)
            assert (status, "waits for the program" in said["error"]) == (409, True)
        assert complete(client, bringing(messages, answer, "rain"), tools=TOOLS).choices[0].message.content == "Rain."


@pytest.mark.parametrize("first", ["person", "caller"])
def test_a_person_and_the_caller_may_answer_in_any_order(tmp_path, first):
    done = Done()
    both = several(("dam", {"river": "Rhine"}), ("weather", {}))
    with openai_client(tmp_path, both, "Dammed in the rain.", made=rivers(done)) as (client, model):
        messages = [user("?")]
        answer = complete(client, messages, tools=TOOLS)
        run_id = answer._request_id
        (approval,) = waiting(client, run_id)
        brought = bringing(messages, answer, "rain")
        if first == "person":
            assert approve(client, approval) == 202
            reached(client, run_id, lambda run: done.what and run["status"] == "waiting")
        else:
            assert "waits for a person's approval" in complete(client, brought, tools=TOOLS).choices[0].message.content
            assert approve(client, approval) == 202
            assert ended(client, run_id) == "answered"
        assert complete(client, brought, tools=TOOLS).choices[0].message.content == "Dammed in the rain."
    assert (done.what, len(model.requests)) == (["dammed Rhine"], 2)

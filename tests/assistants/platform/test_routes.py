"""The assistant over HTTP: the contract of the original, and what the panel needs. Real servers on both sides."""

import json

import pytest
from msgspec.structs import replace

from assistants.platform.platform_setup import SPEC, application, ask, run_of
from server.running import Serving
from treadle.assistants.platform import assistant
from treadle.core.errors import ModelRefused
from treadle.models import Traits
from treadle.testing import Scripted, calls

SHOWN = f"Here:\n```yaml\n{SPEC}```"


def test_chat_answers_with_what_clients_of_the_original_know(serve, demo):
    with serve(calls(("list_applications", {})), SHOWN) as server:
        status, reply = ask(server, "POST", "/api/ai/chat", {"message": "How many buckets may I have?"}, demo.token("alice"))
    assert status == 200
    assert (reply["message"], reply["generated_spec"].strip()) == (SHOWN, SPEC.strip())
    assert reply["citations"] == ["docs/quotas.md"]
    assert isinstance(reply["tokens_used"], int)
    assert reply["timestamp"].endswith("Z")
    assert (reply["stopped"], reply["approvals"]) == ("answered", [])


def test_a_conversation_goes_on_by_its_history_or_by_its_run(serve, demo):
    token, heard = demo.token("alice"), []

    def listen(request):
        heard.append([message.text for message in request.history])
        return "Yes."

    earlier = [{"role": "user", "content": "A spec?"}, {"role": "assistant", "content": "Here.", "spec": SPEC, "timestamp": "x"}]
    with serve(listen, listen, listen) as server:
        ask(server, "POST", "/api/ai/chat", {"message": "And?", "conversation_history": earlier, "context": "x"}, token)
        first = ask(server, "POST", "/api/ai/chat", {"message": "One"}, token)[1]
        ask(server, "POST", "/api/ai/chat", {"message": "Two", "run_id": first["run_id"]}, token)
    assert heard[0][0] == "A spec?"
    assert SPEC in heard[0][1]
    assert heard[2] == ["One", "Yes.", "Two"]


def test_nobody_goes_on_with_another_ones_run(serve, demo):
    with serve("One.", "Two.") as server:
        run_id = ask(server, "POST", "/api/ai/chat", {"message": "Hello"}, demo.token("alice"))[1]["run_id"]
        for token in (demo.token("bob"), "", "wrong"):
            assert ask(server, "POST", "/api/ai/chat", {"message": "More", "run_id": run_id}, token)[0] == 404
        assert ask(server, "POST", "/api/ai/chat", {"message": "More", "run_id": "nothing"}, demo.token("alice"))[0] == 404


def test_a_cookie_is_as_good_as_a_header(serve, demo):
    with serve(calls(("get_current_user", {})), "You are bob.") as server:
        status, me = ask(server, "GET", "/api/platform/me", cookies={"session_id": demo.token("bob")})
    assert (status, me["username"], me["team"]) == (200, "bob", "data")


def test_without_any_token_the_person_who_started_the_server_asks(serve, demo, monkeypatch):
    with serve("x") as server:
        assert ask(server, "GET", "/api/platform/me")[1] == {"server": demo.url}
    monkeypatch.setenv("TREADLE_PLATFORM_TOKEN", demo.token("carol"))
    with serve("x") as server:
        assert ask(server, "GET", "/api/platform/me")[1]["username"] == "carol"


def test_what_would_change_is_shown_and_done_when_it_is_approved(serve, demo):
    token = demo.token("alice")
    with serve(calls(("deploy_application", {"spec_content": SPEC})), "It is deployed.") as server:
        waiting = ask(server, "POST", "/api/ai/chat", {"message": "Deploy it"}, token)[1]
        (approval,) = waiting["approvals"]
        assert waiting["stopped"] == "waiting"
        assert "my-app would be a new application" in approval["preview"]
        path = f"/api/runs/{waiting['run_id']}/approvals/{approval['call_id']}"
        assert ask(server, "POST", path, {"approved": True, "digest": "0" * 64}, token)[0] == 409
        assert ask(server, "POST", path, {"approved": True, "digest": approval["digest"]}, token)[0] == 202
        done = run_of(server, waiting["run_id"], token)
        assert done["entries"][-1]["text"] == "It is deployed."
        assert [each["by"] for each in done["entries"] if each["kind"] == "approved"] == ["alice"]
        assert ask(server, "POST", path, {"approved": True, "digest": approval["digest"]}, token)[0] == 409
    assert application(demo, "my-app")


@pytest.mark.parametrize("approved", [True, False])
def test_a_button_deploys_what_is_shown_without_any_model(serve, demo, approved):
    token = demo.token("alice")
    with serve(ValueError("no model is needed")) as server:
        status, begun = ask(server, "POST", "/api/runs", button(SPEC), token)
        assert status == 202
        (approval,) = run_of(server, begun["run_id"], token)["approvals"]
        path = f"/api/runs/{begun['run_id']}/approvals/{approval['call_id']}"
        said = {"approved": approved, "digest": approval["digest"], "reason": "Not now."}
        assert ask(server, "POST", path, said, token)[0] == 202
        done = run_of(server, begun["run_id"], token)
    assert done["run"]["status"] == "answered"
    assert ["Deployed 'my-app'" in each["result"]["content"] for each in done["entries"] if each["kind"] == "returned"] == (
        [True] if approved else []
    )
    assert bool(application(demo, "my-app")) == approved


def button(spec, **more):
    call = {"name": "deploy_application", "arguments": {"spec_content": spec}}
    return {"assistant": "platform", "message": "Deploy it.", "call": call, **more}


def test_a_button_for_a_broken_spec_says_what_is_wrong(serve, demo):
    with serve("x") as server:
        begun = ask(server, "POST", "/api/runs", button("metadata: {}"), demo.token("alice"))[1]
        done = run_of(server, begun["run_id"], demo.token("alice"))
    assert (done["run"]["status"], done["approvals"]) == ("answered", [])
    (returned,) = [each["result"] for each in done["entries"] if each["kind"] == "returned"]
    assert (returned["problem"], "The spec has errors" in returned["content"]) == ("raised", True)


def test_what_is_said_after_a_button_is_answered_by_the_model(serve, demo):
    token = demo.token("alice")
    with serve("It is still broken.") as server:
        run_id = ask(server, "POST", "/api/runs", button("metadata: {}"), token)[1]["run_id"]
        run_of(server, run_id, token)
        assert ask(server, "POST", "/api/runs", button(SPEC, run_id=run_id), token)[0] == 422
        assert ask(server, "POST", "/api/runs", {"message": "And now?", "run_id": run_id}, token)[0] == 202
        assert run_of(server, run_id, token)["entries"][-1]["text"] == "It is still broken."


def test_what_happens_is_streamed_as_it_happens(serve, demo):
    events = {"accept": "text/event-stream"}
    body = {"assistant": "platform", "message": "How many buckets may I have?"}
    with serve(calls(("list_applications", {}), ("get_workflow", {"workflow_id": "x"})), SHOWN) as server:
        status, text = ask(server, "POST", "/api/runs", body, demo.token("alice"), headers=events)
        told = [json.loads(line.removeprefix("data: ")) for line in text.splitlines() if line.startswith("data: ")]
        kept = run_of(server, told[0]["run_id"], demo.token("alice"))
    kinds = [event["event"] for event in told]
    assert (status, kinds[0], kinds[-1]) == (200, "run_started", "reply")
    assert kinds.count("call_returned") == 2
    assert "text_arrived" in kinds
    data = told[-1]["data"]
    assert (data["generated_spec"].strip(), data["citations"], data["findings"]) == (SPEC.strip(), ["docs/quotas.md"], [])
    assert kept["replies"] == [data]


def test_nobody_has_tokens_sent_to_another_platform(serve, demo, monkeypatch):
    monkeypatch.setenv("TREADLE_PLATFORM_TOKEN", demo.token("admin"))
    body = {"assistant": "platform", "message": "Hello?", "context": {"server": "http://127.0.0.1:9"}}
    with serve("x") as server:
        assert ask(server, "POST", "/api/runs", body)[0] == 404
        assert ask(server, "POST", "/api/runs", {**body, "context": {"server": demo.url}})[0] == 202


def test_a_spec_is_written_and_checked(serve, demo):
    with serve(f"{SHOWN}\nIt runs nginx beside a database.") as server:
        status, made = ask(server, "POST", "/api/ai/generate-spec", {"description": "nginx", "metadata": {"team": "shop"}})
        checked = ask(server, "POST", "/api/platform/validate", {"spec": "a: 1"})[1]
    assert (status, made["spec"].strip(), made["findings"]) == (200, SPEC.strip(), [])
    assert made["explanation"] == "Here:\n\nIt runs nginx beside a database." or "It runs nginx" in made["explanation"]
    assert checked["valid"] is False
    assert checked["findings"][0]["line"] == 1


def test_the_status_says_what_there_is(serve, demo):
    with serve("x") as server:
        ask(server, "POST", "/api/ai/chat", {"message": "buckets?"})
        status = ask(server, "GET", "/api/ai/status")[1]
    assert (status["enabled"], status["status"], status["llm_provider"]) == (True, "ready", "scripted")
    assert status["documents_loaded"] == 1
    assert set(status) == {"enabled", "llm_provider", "embedding_model", "documents_loaded", "status", "message", "missing_keys"}


@pytest.mark.parametrize(
    ("path", "body", "status"),
    [
        ("/api/ai/chat", {"message": " "}, 400),
        ("/api/ai/chat", {"message": 1}, 400),
        ("/api/ai/chat", [], 400),
        ("/api/ai/chat", {"message": "x" * 100_001}, 413),
        ("/api/ai/chat", {"message": "x", "conversation_history": [{"role": "tool", "content": ""}]}, 400),
        ("/api/ai/generate-spec", {"description": ""}, 400),
        ("/api/platform/validate", {"spec": None}, 400),
    ],
)
def test_what_cant_be_read_is_refused_with_a_sentence(serve, path, body, status):
    with serve("x") as server:
        found, said = ask(server, "POST", path, body)
    assert found == status
    assert said["error"].endswith(".")


def test_a_model_that_calls_no_tools_by_itself_is_led(serve, demo, tmp_path):
    small = Scripted('{"about": "me", "app": ""}', "yes", "You are Alice.", traits=Traits(native_calls=False))
    with Serving(tmp_path, [replace(assistant, panel=None)], small) as server:
        reply = ask(server, "POST", "/api/ai/chat", {"message": "Who am I?"}, demo.token("alice"))[1]
    assert reply["message"] == "You are Alice."
    assert "username: alice" in small.requests[1].history[-1].text


@pytest.mark.parametrize("headers", [{"authorization": "Bearer "}, {"authorization": "Basic x"}, {"cookie": "session_id="}])
def test_who_shows_something_unreadable_is_nobody_and_not_the_person_who_started_the_server(serve, demo, monkeypatch, headers):
    monkeypatch.setenv("TREADLE_PLATFORM_TOKEN", demo.token("admin"))
    with serve("x") as server:
        assert ask(server, "GET", "/api/platform/me", headers=headers)[1] == {"server": demo.url}


def test_two_whom_the_platform_doesnt_know_are_two(serve, demo):
    with serve("One.", "Two.") as server:
        run_id = ask(server, "POST", "/api/ai/chat", {"message": "Hello"}, "wrong")[1]["run_id"]
        assert ask(server, "POST", "/api/ai/chat", {"message": "More", "run_id": run_id}, "other")[0] == 404
        assert ask(server, "POST", "/api/ai/chat", {"message": "More", "run_id": run_id}, "wrong")[0] == 200


def test_documents_are_counted_before_anybody_has_asked_anything(serve):
    with serve("x") as server:
        assert ask(server, "GET", "/api/ai/status")[1]["documents_loaded"] == 1


@pytest.mark.parametrize(
    ("path", "body"), [("/api/ai/chat", {"message": "Hello"}), ("/api/ai/generate-spec", {"description": "A web app"})]
)
def test_a_model_that_fails_has_the_same_status_at_every_route(serve, demo, path, body):
    with serve(ModelRefused("The key is wrong.")) as server:
        status, said = ask(server, "POST", path, body, demo.token("alice"))
    assert status == 502
    assert "The key is wrong." in said["error"]


def test_what_an_answer_goes_by_is_cited_also_after_an_approval(serve, demo):
    token = demo.token("alice")
    with serve(calls(("deploy_application", {"spec_content": SPEC})), "It is deployed.") as server:
        waiting = ask(server, "POST", "/api/ai/chat", {"message": "Deploy it, if I may have ten buckets."}, token)[1]
        done = ask(server, "POST", "/api/ai/chat", {"message": "yes", "run_id": waiting["run_id"]}, token)[1]
    assert (waiting["citations"], done["citations"]) == (["docs/quotas.md"], ["docs/quotas.md"])
    assert done["message"] == "It is deployed."


def test_workflows_and_golden_paths_are_listed_to_whoever_may_see_them(serve, demo):
    with serve("x") as server:
        status, failed = ask(server, "GET", "/api/platform/workflows?status=failed", token=demo.token("alice"))
        assert (status, [(each["id"], each["application_name"]) for each in failed]) == (200, [(7, "demo-app")])
        status, paths = ask(server, "GET", "/api/platform/golden-paths", token=demo.token("alice"))
        assert {each["name"]: sorted(each.get("parameters", {})) for each in paths}["ephemeral-env"] == ["branch", "ttl"]
        assert ask(server, "GET", "/api/platform/workflows")[0] == 401
        assert ask(server, "GET", "/api/platform/golden-paths", token="wrong")[0] == 401


def test_a_button_retries_a_workflow_without_any_model(serve, demo):
    token = demo.token("alice")
    call = {"name": "retry_workflow", "arguments": {"workflow_id": "7"}}
    with serve(ValueError("no model is needed")) as server:
        body = {"assistant": "platform", "message": "Retry workflow 7.", "call": call}
        begun = ask(server, "POST", "/api/runs", body, token)[1]
        (approval,) = run_of(server, begun["run_id"], token)["approvals"]
        path = f"/api/runs/{begun['run_id']}/approvals/{approval['call_id']}"
        assert ask(server, "POST", path, {"approved": True, "digest": approval["digest"]}, token)[0] == 202
        done = run_of(server, begun["run_id"], token)
    (returned,) = [each["result"]["data"] for each in done["entries"] if each["kind"] == "returned"]
    assert (returned["parent_execution_id"], returned["workflow_id"]) == (7, 9)

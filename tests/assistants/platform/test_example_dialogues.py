"""The dialogues of the original, word for word, over its HTTP API and at the command. The scripted model words what tools bring."""

import json
import re
from urllib.request import Request, urlopen

import pytest

from assistants.platform.platform_setup import SPEC, application, ask
from cli.running import Terminal, asks, script, treadle
from treadle.demo.platform import start_demo
from treadle.testing import calls

THREE = (("demo-app", "production", 5), ("test-service", "staging", 3), ("api-gateway", "production", 8))
APPLICATIONS = """You have 3 applications:
• demo-app (production) - 5 resources
• test-service (staging) - 3 resources
• api-gateway (production) - 8 resources"""
SURE = "This will delete demo-app and all its resources. Are you sure? (yes/no)"


def spec(name, environment, resources):
    """The spec of an application with so many resources."""
    listed = "".join([f"  r{number}:\n    type: s3-bucket\n    params: {{size: 1Gi}}\n" for number in range(resources)])
    head = SPEC.partition("resources:")[0].replace("my-app", name)
    return f"{head}resources:\n{listed}environment:\n  type: {environment}\n"


def listed(request):
    """The answer, from what the tool brought alone."""
    found = {each["name"]: each for each in request.history[-1].parts[0].data}
    lines = [f"• {name} ({found[name]['environment']}) - {found[name]['resource_count']} resources" for name, _, _ in THREE]
    return "\n".join([f"You have {len(found)} applications:", *lines])


def to_platform(demo, method, path, body=""):
    """What alice does on the platform herself."""
    headers = {"authorization": f"Bearer {demo.token('alice')}", "accept": "application/json", "content-type": "application/yaml"}
    with urlopen(Request(demo.url + path, body.encode() or None, headers, method=method)) as answer:
        return json.load(answer)


@pytest.fixture
def three(demo):
    """A platform on which alice has these applications, and no others."""
    for name in ("checkout", "storefront"):
        to_platform(demo, "DELETE", f"/api/applications/{name}")
    for name, environment, resources in THREE:
        to_platform(demo, "POST", "/api/applications", spec(name, environment, resources))
    return demo


@pytest.fixture
def alice(demo):
    return {"TREADLE_PLATFORM_SERVER": demo.url, "TREADLE_PLATFORM_TOKEN": demo.token("alice"), "NO_COLOR": "1"}


def says(server, demo, message, **more):
    status, reply = ask(server, "POST", "/api/ai/chat", {"message": message, **more}, demo.token("alice"))
    assert status == 200, reply
    return reply


@pytest.mark.parametrize("message", ["what applications do I have", "list my applications"])
def test_what_applications_do_i_have(serve, three, message):
    with serve(calls(("list_applications", {}), text="I'll list your applications."), listed) as server:
        reply = says(server, three, message)
        run = ask(server, "GET", f"/api/runs/{reply['run_id']}", token=three.token("alice"))[1]
    assert reply["message"] == APPLICATIONS
    assert isinstance(reply["tokens_used"], int)
    assert re.fullmatch(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\dZ", reply["timestamp"])
    asked = next(entry for entry in run["entries"] if entry["kind"] == "replied")
    assert [part.get("name", part["text"]) for part in asked["parts"]] == ["I'll list your applications.", "list_applications"]


def test_what_applications_do_i_have_at_the_command(three, alice, tmp_path):
    model = script(tmp_path, asks(("list_applications", {})), APPLICATIONS)
    ran = treadle(tmp_path, "platform", "ask", "what applications do I have", "-m", model, **alice)
    assert (ran.code, ran.out) == (0, APPLICATIONS + "\n")
    assert '{"name":"api-gateway","environment":"production","resource_count":8' in ran.err


def test_show_me_failed_workflows_for_demo_app(serve, demo):
    def filtered(request):
        failed = [each for each in request.history[-1].parts[0].data if each["application_name"] == "demo-app"]
        return "\n".join([f"#{each['id']} {each['workflow_name']}: {each['status']}" for each in failed])

    with serve(calls(("list_workflows", {"status": "failed"})), filtered) as server:
        assert says(server, demo, "show me failed workflows for demo-app")["message"] == "#7 deploy-app: failed"


@pytest.fixture
def still(monkeypatch):
    """A platform on which no workflow moves."""
    with start_demo(pace=None) as demo:
        monkeypatch.setenv("TREADLE_PLATFORM_SERVER", demo.url)
        yield demo


def test_deploy_my_app_and_show_its_status(serve, still, monkeypatch):
    """Two tools, one after the other: the second goes by the number that the first one brought."""
    monkeypatch.setenv("TREADLE_PLATFORM_SERVER", still.url)

    def look(request):
        return calls(("get_workflow", {"workflow_id": str(request.history[-1].parts[0].data["workflow_id"])}))

    def tell(request):
        workflow = request.history[-1].parts[0].data
        return f"Deployed my-app. Workflow #{workflow['id']} is {workflow['status']}."

    with serve(calls(("deploy_application", {"spec_content": SPEC})), look, tell) as server:
        asked = says(server, still, "deploy my-app and show its status")
        done = says(server, still, "yes", run_id=asked["run_id"])
    assert "my-app would be a new application" in asked["message"]
    assert done["message"] == "Deployed my-app. Workflow #9 is running."


def test_tell_me_about_nonexistent_app(serve, demo):
    words = "The application 'nonexistent-app' was not found. You can list all applications with 'list my applications'."

    def explained(request):
        result = request.history[-1].parts[0]
        return words if result.problem == "raised" and "There is no application 'nonexistent-app'" in result.content else "?"

    with serve(calls(("get_application", {"app_name": "nonexistent-app"})), explained) as server:
        assert says(server, demo, "tell me about nonexistent-app")["message"] == words


@pytest.mark.parametrize("answer", ["yes", "no"])
def test_deleting_is_confirmed_in_words(serve, demo, answer):
    with serve(calls(("delete_application", {"app_name": "demo-app"})), "So be it.") as server:
        asked = says(server, demo, "delete demo-app")
        assert asked["message"].endswith(SURE)
        assert application(demo, "demo-app") is not None
        history = [{"role": "user", "content": "delete demo-app"}, {"role": "assistant", "content": asked["message"]}]
        done = says(server, demo, answer, conversation_history=history)
    assert (done["message"], application(demo, "demo-app") is None) == ("So be it.", answer == "yes")


def test_deleting_is_confirmed_at_the_command(demo, alice, tmp_path):
    model = script(tmp_path, asks(("delete_application", {"app_name": "demo-app"})), "It is gone.")
    with Terminal(tmp_path, "platform", "ask", "delete demo-app", "-m", model, **alice) as terminal:
        terminal.until("[e]dit: ")
        terminal.type("y\n")
        terminal.until("It is gone.")
    assert application(demo, "demo-app") is None


@pytest.mark.parametrize(
    ("name", "arguments", "question"),
    [
        ("deploy_application", {"spec_content": SPEC}, "This will change what runs. Are you sure? (yes/no)"),
        ("retry_workflow", {"workflow_id": "7"}, "This will retry workflow 7. Are you sure? (yes/no)"),
        (
            "run_golden_path",
            {"path": "deploy-app", "spec_content": SPEC},
            "This will run the golden path deploy-app. Are you sure? (yes/no)",
        ),
    ],
)
def test_every_change_is_asked_about_in_words(serve, demo, name, arguments, question):
    with serve(calls((name, arguments))) as server:
        assert says(server, demo, "Do it.")["message"].endswith(question)


def test_a_name_that_is_no_plain_name_stands_in_no_question(serve, demo):
    to_platform(demo, "POST", "/api/applications", spec("demo-app", "staging", 1))
    with serve(calls(("delete_application", {"app_name": " demo-app"}))) as server:
        message = says(server, demo, "delete it")["message"]
    assert message.endswith("\n\nAre you sure? (yes/no)")


def test_after_so_many_rounds_there_is_an_answer_all_the_same(serve, demo, tmp_path):
    """The original stops after five, without an answer. Here the model is asked once more, without tools."""
    with (tmp_path / "own.toml").open("a") as file:
        file.write("[limits]\nrounds = 5\n")
    looks = [calls(("list_workflows", {"app_name": name})) for name in ("a", "b", "c", "d", "e")]

    def last(request):
        return f"That is all, with {len(request.tools)} tools left."

    with serve(*looks, last) as server:
        reply = says(server, demo, "Look at everything")
    assert (reply["stopped"], reply["message"]) == ("limit", "That is all, with 0 tools left.")


def test_independent_calls_of_a_reply_are_carried_out_together_and_all_come_back(serve, demo):
    with serve(
        calls(("list_applications", {}), ("get_dashboard_stats", {})), lambda request: str(len(request.history[-1].parts))
    ) as server:
        assert says(server, demo, "Everything, please")["message"] == "2"


def test_a_tool_that_isnt_there_is_a_result_that_says_so_and_the_conversation_goes_on(serve, demo):
    def told(request):
        result = request.history[-1].parts[0]
        return f"{result.problem}: {result.content}"

    with serve(calls(("scale_application", {"app_name": "demo-app"})), told) as server:
        reply = says(server, demo, "scale demo-app")
    assert (reply["stopped"], "There is no tool 'scale_application'" in reply["message"]) == ("answered", True)

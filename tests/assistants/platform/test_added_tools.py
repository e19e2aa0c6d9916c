"""Tools that a person adds in their settings, and platforms that an OpenAPI document describes: at the command and over HTTP."""

import json

import pytest

from assistants.platform.platform_setup import application, ask
from cli.petstore import petstore
from cli.running import asks, script, treadle
from treadle.testing import calls

ROLLBACK = '''
from treadle import tool

@tool(effect="write")
def rollback_application(app_name: str, version: str = "previous") -> dict[str, str]:
    """Rollback an application to previous version.

    :param app_name: the application's name
    :param version: Version to rollback to
    """
    return {"message": f"{app_name} was rolled back to {version}"}
'''
SETTLED = '[tools.rollback]\npython = ["rollback.py:rollback_application"]\nassistants = ["platform"]\n'
CALL = ("rollback_application", {"app_name": "demo-app", "version": "2.0.0"})


@pytest.fixture
def alice(demo):
    return {"TREADLE_PLATFORM_SERVER": demo.url, "TREADLE_PLATFORM_TOKEN": demo.token("alice"), "NO_COLOR": "1"}


@pytest.fixture
def added(tmp_path):
    """Settings that add a tool to the platform assistant, and to no other."""
    (tmp_path / "rollback.py").write_text(ROLLBACK)
    (tmp_path / "own.toml").write_text(SETTLED)
    return {"TREADLE_CONFIG": str(tmp_path / "own.toml")}


def test_a_tool_from_the_settings_is_used_by_the_command_and_asked_about(tmp_path, alice, added):
    model = script(tmp_path, asks(CALL), "It is rolled back.")
    ran = treadle(tmp_path, "platform", "ask", "Roll demo-app back", "--yes", "-m", model, **alice, **added)
    assert (ran.code, ran.out) == (0, "It is rolled back.\n")
    assert "demo-app was rolled back to 2.0.0" in ran.err
    unasked = treadle(tmp_path, "platform", "ask", "Roll demo-app back", "-m", script(tmp_path, asks(CALL), "."), **alice, **added)
    assert (unasked.code, "rollback_application" in unasked.err) == (3, True)


def test_a_tool_from_the_settings_is_there_over_http_and_confirmed_in_words(serve, demo, tmp_path):
    (tmp_path / "rollback.py").write_text(ROLLBACK)
    with (tmp_path / "own.toml").open("a") as file:
        file.write(SETTLED)
    token = demo.token("alice")
    with serve(calls(CALL), "Rolled back.") as server:
        asked = ask(server, "POST", "/api/ai/chat", {"message": "Roll demo-app back."}, token)[1]
        done = ask(server, "POST", "/api/ai/chat", {"message": "yes", "run_id": asked["run_id"]}, token)[1]
    assert ([each["name"] for each in asked["approvals"]], asked["stopped"]) == (["rollback_application"], "waiting")
    assert done["message"] == "Rolled back."


def test_an_openapi_document_is_a_second_platform_beside_the_first(tmp_path, alice, demo):
    (tmp_path / "own.toml").write_text(
        f'[openapi.other]\ndocument = "{demo.url}/openapi.json"\nprivate = true\nassistants = ["platform"]\n'
        'credentials = {bearer = "OTHER_TOKEN"}\n'
    )
    model = script(tmp_path, asks(("list_applications", {}), ("other_listApplications", {})), "Both.")
    more = {"TREADLE_CONFIG": str(tmp_path / "own.toml"), "OTHER_TOKEN": demo.token("bob")}
    ran = treadle(tmp_path, "platform", "ask", "What runs where?", "-m", model, **alice, **more)
    assert (ran.code, ran.out) == (0, "Both.\n"), ran.err
    assert '"name":"checkout"' in ran.err
    assert "metrics-pipeline" in ran.err


def described(tmp_path, demo):
    """Settings for a platform that only its OpenAPI document tells of."""
    with (tmp_path / "own.toml").open("a") as file:
        file.write(f'openapi = "{demo.url}/openapi.json"\n')


def test_a_platform_that_an_openapi_document_describes_is_asked_with_the_persons_own_token(serve, demo, tmp_path):
    described(tmp_path, demo)
    heard = []

    def hear(request):
        heard.append(request)
        return calls(("listApplications", {}))

    def applications(request):
        return ", ".join([name for name in ("reports", "storefront") if name in str(request.history[-1])])

    with serve(hear, applications) as server:
        reply = ask(server, "POST", "/api/ai/chat", {"message": "What runs?"}, demo.token("bob"))[1]
    assert reply["message"] == "reports"
    names = {each.name for each in heard[0].tools}
    assert "deployApplication" in names
    assert "deploy_application" not in names
    assert "Score spec" not in heard[0].instructions


def test_what_such_a_platform_would_change_is_asked_about(serve, demo, tmp_path):
    described(tmp_path, demo)
    token = demo.token("alice")
    with serve(calls(("deleteApplication", {"name": "demo-app"})), "It is gone.") as server:
        asked = ask(server, "POST", "/api/ai/chat", {"message": "Delete demo-app."}, token)[1]
        assert (asked["stopped"], application(demo, "demo-app") is not None) == ("waiting", True)
        ask(server, "POST", "/api/ai/chat", {"message": "yes", "run_id": asked["run_id"]}, token)
    assert application(demo, "demo-app") is None


def test_whoever_signs_in_to_such_a_platform_does_so_with_a_token(serve, demo, tmp_path):
    described(tmp_path, demo)
    with serve("x") as server:
        status, person = ask(server, "POST", "/api/platform/sign-in", {"token": "theirs"})
    assert (status, person) == (200, {"server": demo.url, "signed_in": True})


def test_an_assistants_tools_are_listed_and_called_in_their_context(tmp_path, demo):
    settings = {"TREADLE_PLATFORM_TOKEN": demo.token("alice")}
    words = ("-a", "platform", "--context", f"server={demo.url}")
    names = [tool["spec"]["name"] for tool in treadle(tmp_path, "tool", "list", *words, "--json", **settings).json]
    assert "list_applications" in names
    called = treadle(tmp_path, "tool", "call", "list_applications", *words, "--json", **settings)
    assert called.code == 0, called.err
    assert "checkout" in json.dumps(called.json)
    wrong = treadle(tmp_path, "tool", "list", "-a", "platform", "--context", "server", **settings)
    assert (wrong.code, "write NAME=VALUE" in wrong.err) == (2, True)


def test_the_platforms_token_is_not_sent_to_a_document_that_is_typed(tmp_path, alice):
    """Its scheme may well be called like the platform's."""
    with petstore() as other:
        model = script(tmp_path, asks(("getSession", {})), "No.")
        source = f"{other.url}/openapi.json"
        ran = treadle(tmp_path, "ask", "Who am I?", "-a", "platform", "-m", model, "--openapi", source, **alice)
    assert (ran.code, ran.out) == (0, "No.\n")
    assert "signed in (session)" in ran.err
    assert [path for _, path, _ in other.requests] == ["/openapi.json"]

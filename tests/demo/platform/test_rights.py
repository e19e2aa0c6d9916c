"""Who may see and do what: a matrix of users against what is theirs and what isn't."""

import pytest

from demo.platform.demo_client import ask, delete, deploy, post
from treadle.demo.platform import start_demo
from treadle.demo.platform.sample_data import DEMO_APP, METRICS, PORTAL

OWNERS = {"storefront": "shop", "demo-app": "shop", "checkout": "shop", "metrics-pipeline": "data", "reports": "data"}
OWNERS |= {"developer-portal": "platform"}
TEAMS = {"alice": "shop", "bob": "data", "carol": "platform"}
USERS = ["admin", *TEAMS]


@pytest.fixture(scope="module")
def demo():
    with start_demo() as running:
        yield running


@pytest.fixture(scope="module")
def old():
    with start_demo(shape="old") as running:
        yield running


def theirs(user):
    return {name for name, team in OWNERS.items() if user == "admin" or TEAMS[user] == team}


@pytest.mark.parametrize("user", USERS)
def test_lists_hold_what_is_theirs_and_nothing_else(demo, old, user):
    assert set(ask(demo, "/api/applications", user).json) == set(ask(old, "/api/specs", user).json) == theirs(user)
    assert {each["application_name"] for each in ask(demo, "/api/workflows", user).json["data"]} == theirs(user)
    assert {each["application_name"] for each in ask(old, "/api/workflows", user).json} == theirs(user)
    assert set(ask(demo, "/api/resources", user).json) == theirs(user)
    assert {each["name"] for each in ask(demo, "/api/environments", user).json} <= theirs(user)
    assert ask(demo, "/api/stats", user).json["applications"] == len(theirs(user))


@pytest.mark.parametrize("user", USERS)
@pytest.mark.parametrize("name", OWNERS)
def test_by_name_what_is_not_theirs_is_denied(demo, user, name):
    expected = 200 if name in theirs(user) else 403
    assert ask(demo, f"/api/applications/{name}", user).status == expected
    assert ask(demo, f"/api/specs/{name}", user).status == expected
    assert bool(ask(demo, f"/api/workflows?app={name}", user).json["data"]) == (name in theirs(user))
    assert bool(ask(demo, f"/api/resources?app={name}", user).json["resources"]) == (name in theirs(user))


@pytest.mark.parametrize("user", USERS)
def test_by_number_what_is_not_theirs_is_not_there(demo, user):
    everything = ask(demo, "/api/workflows", "admin").json["data"]
    for each in everything:
        expected = 200 if each["application_name"] in theirs(user) else 404
        assert ask(demo, f"/api/workflows/{each['id']}", user).status == expected
    for name, found in ask(demo, "/api/resources", "admin").json.items():
        for each in found:
            assert ask(demo, f"/api/resources/{each['id']}", user).status == (200 if name in theirs(user) else 404)


@pytest.mark.parametrize(("user", "spec"), [("alice", METRICS), ("bob", DEMO_APP.replace("{version}", "9")), ("bob", PORTAL)])
def test_what_is_another_teams_is_not_changed(demo, user, spec):
    name = spec.split("name: ")[1].split()[0]
    before = ask(demo, "/api/applications", "admin").json
    assert deploy(demo, spec, user).status == 403
    assert post(demo, "/api/workflows/golden-paths/deploy-app/execute", spec, user).status == 403
    assert delete(demo, f"/api/applications/{name}", user).status == 403
    assert delete(demo, f"/api/specs/{name}", user).status == 403
    failed = {"metrics-pipeline": 6, "demo-app": 7}.get(name, 2)
    assert post(demo, f"/api/workflows/{failed}/retry", user=user).status == 404
    assert ask(demo, "/api/applications", "admin").json == before
    assert ask(demo, "/api/workflows", "admin").json["total"] == 8


def test_in_the_old_shape_neither(old):
    assert post(old, "/api/applications/reports/deprovision", user="alice").status == 403
    assert delete(old, "/api/applications/reports", user="alice").status == 403
    assert post(old, "/api/specs", METRICS, "alice").status == 403


def test_an_admin_deploys_for_the_team_that_has_it():
    with start_demo() as demo:
        assert deploy(demo, METRICS, "admin").status == 201
        demo.settle()
        assert ask(demo, "/api/applications", "bob").json["metrics-pipeline"]["team"] == "data"
        assert ask(demo, "/api/workflows?app=metrics-pipeline", "bob").json["data"][0]["status"] == "completed"


def test_a_name_that_became_free_is_another_teams_without_its_past():
    with start_demo() as demo:
        assert delete(demo, "/api/applications/demo-app", "alice").status == 200
        assert deploy(demo, DEMO_APP.replace("{version}", "1"), "bob").status == 201
        demo.settle()
        assert ask(demo, "/api/applications/demo-app", "alice").status == 403
        ours = ask(demo, "/api/workflows?app=demo-app", "bob").json["data"]
        theirs = ask(demo, "/api/workflows?app=demo-app", "alice").json["data"]
        assert [each["workflow_name"] for each in ours] == ["deploy-app"]
        assert [each["workflow_name"] for each in theirs] == ["delete-app", "deploy-app", "deploy-app"]
        assert [each["state"] for each in ask(demo, "/api/resources?app=demo-app", "bob").json["resources"]] == ["active"]
        assert [each["state"] for each in ask(demo, "/api/resources?app=demo-app", "alice").json["resources"]] == ["terminated"]

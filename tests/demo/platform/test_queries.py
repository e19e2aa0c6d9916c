"""What the platform tells: every shape, in its own casing, with its own habits."""

import pytest

from demo.platform.demo_client import ask, delete, post
from treadle.assistants.platform.score import canonical_spec, parse_spec, spec_from_server
from treadle.demo.platform import start_demo
from treadle.demo.platform.sample_data import STOREFRONT


@pytest.fixture(scope="module")
def demo():
    with start_demo() as running:
        yield running


@pytest.fixture(scope="module")
def old():
    with start_demo(shape="old") as running:
        yield running


def test_who_is_asking_is_told_by_two_paths(demo):
    alice = {"username": "alice", "team": "shop", "role": "developer"}
    assert ask(demo, "/api/profile").json == ask(demo, "/api/auth/whoami").json == alice


def test_user_info_adds_keys_that_are_masked(demo):
    info = ask(demo, "/api/user-info", "admin").json
    assert (info["is_admin"], info["is_impersonating"]) == (True, False)
    assert [each["name"] for each in ask(demo, "/api/user-info").json["api_keys"]] == ["demo", "old-laptop"]
    assert demo.token("admin") not in str(info)
    assert info["api_keys"][0]["masked_key"].startswith(demo.token("admin")[:8])


def test_applications_are_an_object_by_name_in_the_servers_casing(demo):
    found = ask(demo, "/api/applications").json
    assert list(found) == ["checkout", "demo-app", "storefront"]
    storefront = found["storefront"]
    assert storefront["metadata"] == {"Name": "storefront"}
    assert storefront["containers"]["web"]["Image"] == "registry.example/shop/storefront:4.2.1"
    assert storefront["resources"]["db"] == {"Type": "postgres", "Params": {"version": "16", "storage": "20Gi"}, "Properties": None}
    assert storefront["environment"] is None
    assert storefront["graph"] == {"container:web": ["db", "images"], "container:worker": ["db"]}
    assert (storefront["team"], storefront["created_by"]) == ("shop", "alice")
    assert canonical_spec(spec_from_server(storefront)) == canonical_spec(STOREFRONT)


def test_one_application_is_told_without_its_team(demo):
    found = ask(demo, "/api/applications/checkout").json
    assert set(found) == {"metadata", "containers", "resources", "environment", "graph"}
    assert found["environment"] == {"Type": "production", "TTL": ""}
    assert found["graph"]["environment"] == ["ledger"]


def test_the_old_paths_still_work_and_warn(demo):
    for path in ("/api/specs", "/api/specs/demo-app", "/api/specs/nothing"):
        reply = ask(demo, path)
        assert reply.headers["Deprecation"] == "true"
        assert "/api/applications" in reply.headers["X-API-Warn"]
    assert "Deprecation" not in ask(demo, "/api/applications").headers
    assert ask(demo, "/api/specs").json == ask(demo, "/api/applications").json


def test_workflows_come_in_pages_with_the_newest_first(demo):
    page = ask(demo, "/api/workflows?limit=3&page=2", "admin").json
    assert {key: page[key] for key in page if key != "data"} == {"total": 8, "page": 2, "page_size": 3, "total_pages": 3}
    assert [each["id"] for each in page["data"]] == [5, 4, 3]
    assert "completed_at" not in ask(demo, "/api/workflows?status=running").json["data"][0]


@pytest.mark.parametrize(
    ("query", "ids"),
    [
        ("", [8, 7, 6, 5, 4, 3, 2, 1]),
        ("?app=demo-app", [7, 4]),
        ("?app=demo-app&status=failed", [7]),
        ("?status=failed", [7, 6]),
        ("?search=GOLDEN", [2]),
        ("?search=metrics", [6]),
        ("?limit=1", [8]),
        ("?limit=101", [8, 7, 6, 5, 4, 3, 2, 1]),
        ("?limit=many&page=none", [8, 7, 6, 5, 4, 3, 2, 1]),
        ("?limit=0&page=0", [8, 7, 6, 5, 4, 3, 2, 1]),
    ],
)
def test_workflows_are_filtered_and_a_limit_that_is_none_is_the_usual_one(demo, query, ids):
    assert [each["id"] for each in ask(demo, f"/api/workflows{query}", "admin").json["data"]] == ids


def test_no_workflows_are_null_and_still_one_page(demo):
    assert ask(demo, "/api/workflows?app=nothing").json == {"data": None, "total": 0, "page": 1, "page_size": 50, "total_pages": 1}


def test_a_workflow_tells_why_it_failed_and_what_its_steps_wrote(demo):
    found = ask(demo, "/api/workflows/7").json
    assert found["status"] == "failed"
    assert "answered 503" in found["error_message"]
    assert [each["status"] for each in found["steps"]] == ["completed", "completed", "completed", "failed"]
    assert "password authentication failed" in found["steps"][3]["output_logs"]
    assert found["steps"][3]["error_message"] in found["error_message"]
    assert (found["is_retry"], found["retry_count"], found["duration_ms"] > 0) == (False, 0, True)


def test_a_step_that_has_not_begun_has_no_logs(demo):
    steps = ask(demo, "/api/workflows/8").json["steps"]
    assert [each["status"] for each in steps] == ["completed", "completed", "completed", "running", "pending"]
    assert "output_logs" in steps[3]
    assert "output_logs" not in steps[4]
    assert "duration_ms" not in steps[3]


@pytest.mark.parametrize(
    ("path", "status", "text"),
    [
        ("/api/applications/nothing", 404, "Application not found"),
        ("/api/applications/a%2Fb", 404, "Application not found"),
        ("/api/applications/", 404, "Application not found"),
        ("/api/applications/reports", 403, "Access denied"),
        ("/api/workflows/seven", 400, "Invalid workflow ID"),
        ("/api/workflows/execute/deploy", 400, "Invalid workflow ID"),
        ("/api/workflows/99999999999999999999", 400, "Invalid workflow ID"),
        ("/api/workflows/4711", 404, "Workflow not found"),
        ("/api/resources/x", 400, "Invalid resource ID"),
        ("/api/resources/4711", 404, "Resource not found"),
        ("/api/resources?type=postgres", 400, "Invalid resource type: postgres"),
        ("/api/golden-paths/nothing", 404, "Golden path 'nothing' not found"),
    ],
)
def test_errors_are_plain_text(demo, path, status, text):
    reply = ask(demo, path)
    assert reply.status == status
    assert reply.text.startswith(text)
    assert reply.headers["Content-Type"] == "text/plain; charset=utf-8"


@pytest.mark.parametrize("path", ["/", "/login", "/api/nothing", "/api", "/apps/demo", "/api/providers/database-team"])
def test_paths_that_are_not_known_get_the_page_with_200(demo, path):
    for reply in (ask(demo, path), ask(demo, path, user=""), post(demo, path, "x")):
        assert reply.status == 200
        assert reply.headers["Content-Type"].startswith("text/html")


@pytest.mark.parametrize(
    ("method", "path"),
    [
        ("PUT", "/api/applications"),
        ("PATCH", "/api/applications/demo-app"),
        ("POST", "/api/applications/demo-app/deprovision"),
        ("POST", "/api/workflows"),
        ("GET", "/api/workflows/7/retry"),
        ("GET", "/api/workflows/golden-paths/deploy-app/execute"),
        ("DELETE", "/api/stats"),
        ("GET", "/api/login"),
    ],
)
def test_a_method_that_is_not_there_is_not_allowed(demo, method, path):
    reply = ask(demo, path, method=method)
    assert (reply.status, reply.text) == (405, "Method not allowed\n")


def test_every_answer_can_be_traced(demo):
    replies = [ask(demo, path, user) for path in ("/api/stats", "/nothing", "/health", "/openapi.json") for user in ("alice", "")]
    assert len({each.headers["X-Trace-Id"] for each in replies}) == len(replies)


def test_resources_come_by_application_or_as_a_list_with_what_was_asked(demo):
    assert set(ask(demo, "/api/resources").json) == {"storefront", "demo-app", "checkout"}
    found = ask(demo, "/api/resources?app=storefront&type=native&provider=storage-team").json
    assert {key: value for key, value in found.items() if key != "resources"} == {
        "application": "storefront",
        "type": "native",
        "provider": "storage-team",
    }
    assert [each["state"] for each in found["resources"]] == ["degraded"]
    assert ask(demo, "/api/resources?app=nothing").json == {"resources": None, "application": "nothing"}
    assert set(ask(demo, "/api/resources?provider=storage-team").json) == {"storefront"}
    delegated = ask(demo, "/api/resources?type=delegated", "carol").json["resources"]
    assert {each["resource_type"] for each in delegated} == {"gitea-repo", "kubernetes", "argocd-app"}
    assert all(each["external_state"] == "Healthy" for each in delegated)


def test_a_resource_tells_how_it_came_to_its_state(demo):
    found = ask(demo, "/api/resources/2").json
    assert found["error_message"].startswith("47.8 of 50 GiB")
    passed = [(each["from_state"], each["to_state"]) for each in found["state_transitions"]]
    assert passed == [("requested", "provisioning"), ("provisioning", "active"), ("active", "degraded")]
    assert found["hints"][0]["type"] == "url"


def test_stats_count_running_workflows_only_and_always_four_users(demo):
    assert ask(demo, "/api/stats", "admin").json == {"applications": 6, "workflows": 1, "resources": 8, "users": 4}
    assert ask(demo, "/api/stats", "bob").json == {"applications": 2, "workflows": 0, "resources": 3, "users": 4}


def test_environments_are_a_list(demo):
    found = ask(demo, "/api/environments", "admin").json
    assert {(each["name"], each["type"], each["ttl"], each["status"]) for each in found} == {
        ("checkout", "production", "", "active"),
        ("reports", "ephemeral", "72h", "active"),
        ("developer-portal", "kubernetes", "", "active"),
    }
    assert [each["resources"] for each in found if each["name"] == "reports"] == [{"db": "active"}]


def test_providers_do_not_say_which_types_they_make(demo):
    found = ask(demo, "/api/providers").json
    assert [each["name"] for each in found] == sorted(each["name"] for each in found)
    assert set(found[0]) == {"name", "version", "category", "description", "provisioners", "golden_paths", "workflows"}
    assert isinstance(found[0]["provisioners"], int)
    assert ask(demo, "/api/providers/stats").json == {"providers": 6, "provisioners": 9}


def test_golden_paths_name_their_parameters_in_upper_case(demo):
    found = ask(demo, "/api/golden-paths").json
    assert found["ephemeral-env"]["parameters"]["branch"]["Required"] is True
    assert "parameters" not in found["provision-postgres"]
    assert ask(demo, "/api/golden-paths/deploy-app").json == {"name": "deploy-app", **found["deploy-app"]}


def test_health_and_readiness_need_no_token(demo):
    assert ask(demo, "/health", user="").json["status"] == "healthy"
    assert set(ask(demo, "/health", user="").json) == {"status", "timestamp", "uptime_seconds", "checks"}
    assert ask(demo, "/ready", user="").json["ready"] is True


def test_the_old_shape_has_workflows_as_a_bare_list_with_an_offset(old):
    assert [each["id"] for each in ask(old, "/api/workflows?limit=2&offset=1", "admin").json] == [7, 6]
    assert [each["id"] for each in ask(old, "/api/workflows?app=demo-app&status=running&page=9").json] == [7, 4]
    assert ask(old, "/api/workflows?app=nothing").text == "null\n"


@pytest.mark.parametrize(
    "path", ["/api/applications", "/api/auth/whoami", "/api/golden-paths", "/api/providers", "/api/providers/stats"]
)
def test_what_the_old_shape_does_not_have_gets_the_page(old, path):
    assert ask(old, path).headers["Content-Type"].startswith("text/html")


def test_the_old_shape_has_specs_without_a_warning(old):
    assert list(ask(old, "/api/specs").json) == ["checkout", "demo-app", "storefront"]
    assert "Deprecation" not in ask(old, "/api/specs").headers
    assert ask(old, "/api/specs/demo-app").json["metadata"] == {"Name": "demo-app"}
    assert ask(old, "/api/profile").json["username"] == "alice"


def test_the_old_shape_deletes_and_deprovisions_applications_but_shows_them_elsewhere(old):
    assert ask(old, "/api/applications/demo-app").status == 405
    assert post(old, "/api/workflows/7/retry").status == 405
    assert set(post(old, "/api/applications/demo-app/deprovision").json) == {"message", "note"}
    assert ask(old, "/api/specs/demo-app").status == 200
    assert set(delete(old, "/api/applications/demo-app").json) == {"message"}
    assert ask(old, "/api/specs/demo-app").status == 404


def test_the_samples_are_specs_without_errors():
    assert parse_spec(STOREFRONT).name == "storefront"

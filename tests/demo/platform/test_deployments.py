"""What is done: deployments that run in steps and may fail, removals, retries, golden paths, and requests that come twice."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from demo.platform.demo_client import SPEC, ask, delete, deploy, post, states, workflow, workflows
from properties import examples
from treadle.demo.platform import ManualClock, start_demo
from treadle.demo.platform.sample_data import DEMO_APP, METRICS


@pytest.fixture
def demo():
    with start_demo() as running:
        yield running


@pytest.fixture
def by_hand():
    with start_demo(pace=None) as running:
        yield running


def test_a_deployment_is_taken_and_a_workflow_carries_it_out(demo):
    reply = deploy(demo)
    assert (reply.status, reply.json["name"], reply.json["status"]) == (201, "my-app", "success")
    demo.settle()
    done = workflow(demo, "my-app")
    assert done["status"] == "completed"
    names = ["validate-spec", "provision-db", "provision-files", "pull-images", "deploy-containers", "check-health"]
    assert [each["step_name"] for each in done["steps"]] == names
    assert states(demo, "my-app") == {"db": "active", "files": "active"}
    assert ask(demo, "/api/applications", "alice").json["my-app"]["team"] == "shop"


def test_resources_go_from_requested_over_provisioning_to_active(by_hand):
    deploy(by_hand)
    seen = [states(by_hand, "my-app")["db"]]
    while by_hand.advance():
        seen.append(states(by_hand, "my-app")["db"])
    assert list(dict.fromkeys(seen)) == ["requested", "provisioning", "active"]
    assert workflow(by_hand, "my-app")["status"] == "completed"


def test_a_running_workflow_is_counted_and_shown_step_by_step(by_hand):
    deploy(by_hand)
    by_hand.advance()
    assert workflow(by_hand, "my-app")["steps"][0]["status"] == "running"
    assert ask(by_hand, "/api/stats").json["workflows"] == 2
    by_hand.settle()
    assert ask(by_hand, "/api/stats").json["workflows"] == 1


@pytest.mark.parametrize(
    ("spec", "step", "words"),
    [
        (SPEC.replace("web:1.0", "broken-web:1.0"), "pull-images", "broken-web:1.0' can't be pulled: manifest unknown"),
        (SPEC.replace("type: s3-bucket", "type: vault-space"), "provision-files", "provider vault-team can't be reached"),
        (SPEC.replace("{DB:", "{DEMO_FAIL: check-health, DB:"), "check-health", "DEMO_FAIL says that check-health fails"),
    ],
)
def test_a_deployment_can_fail_at_a_step_which_says_why(demo, spec, step, words):
    assert deploy(demo, spec).status == 201
    demo.settle()
    failed = workflow(demo, "my-app")
    assert failed["status"] == "failed"
    assert words in failed["error_message"]
    broken = next(each for each in failed["steps"] if each["status"] == "failed")
    assert broken["step_name"] == step
    assert f"ERROR: {broken['error_message']}" in broken["output_logs"]
    assert states(demo, "my-app")["files"] == ("failed" if step == "provision-files" else "active")


def test_deploying_what_is_there_changes_what_differs_and_nothing_else(demo):
    deploy(demo)
    demo.settle()
    changed = SPEC.replace('"16"', '"17"').replace("files: {type: s3-bucket}", "cache: {type: test-db}")
    assert deploy(demo, changed).status == 201
    demo.settle()
    steps = [each["step_name"] for each in workflow(demo, "my-app")["steps"]]
    assert steps == [
        "validate-spec",
        "remove-files",
        "update-db",
        "provision-cache",
        "pull-images",
        "deploy-containers",
        "check-health",
    ]
    assert states(demo, "my-app") == {"db": "active", "files": "terminated", "cache": "active"}
    assert deploy(demo, changed).status == 201
    demo.settle()
    assert len(workflow(demo, "my-app")["steps"]) == 4


def test_a_resource_of_another_type_is_another_resource(demo):
    deploy(demo)
    demo.settle()
    deploy(demo, SPEC.replace("type: postgres,", "type: postgres-mock,"))
    demo.settle()
    found = ask(demo, "/api/resources?app=my-app").json["resources"]
    assert {(each["resource_type"], each["state"]) for each in found if each["resource_name"] == "db"} == {
        ("postgres", "terminated"),
        ("postgres-mock", "active"),
    }


def test_a_newer_deployment_takes_the_place_of_one_that_runs(by_hand):
    deploy(by_hand)
    by_hand.settle()
    deploy(by_hand, SPEC.replace('"16"', '"17"').replace("  files: {type: s3-bucket}\n", ""))
    while states(by_hand, "my-app")["db"] != "updating":
        by_hand.advance()
    deploy(by_hand, SPEC.replace('"16"', '"17"').replace("  files: {type: s3-bucket}\n", ""))
    by_hand.settle()
    newest, superseded, _ = workflows(by_hand, "my-app")
    assert (newest["status"], superseded["status"]) == ("completed", "failed")
    assert "superseded" in ask(by_hand, f"/api/workflows/{superseded['id']}").json["error_message"]
    assert states(by_hand, "my-app") == {"db": "active", "files": "terminated"}


def test_a_removal_that_was_begun_is_finished_by_the_deployment_that_takes_its_place(by_hand):
    deploy(by_hand)
    by_hand.settle()
    deploy(by_hand, SPEC.replace("  files: {type: s3-bucket}\n", ""))
    deploy(by_hand, SPEC)
    by_hand.settle()
    found = ask(by_hand, "/api/resources?app=my-app").json["resources"]
    assert [each["state"] for each in found if each["resource_name"] == "files"] == ["terminated", "active"]


def test_deleting_takes_the_record_at_once_and_the_resources_step_by_step(by_hand):
    deploy(by_hand)
    by_hand.settle()
    assert set(delete(by_hand, "/api/applications/my-app").json) == {"message"}
    assert ask(by_hand, "/api/applications/my-app").status == 404
    assert states(by_hand, "my-app") == {"db": "terminating", "files": "terminating"}
    assert deploy(by_hand).status == 201
    by_hand.settle()
    found = ask(by_hand, "/api/resources?app=my-app").json["resources"]
    assert [each["state"] for each in found] == ["terminated", "terminated", "active", "active"]
    assert delete(by_hand, "/api/applications/nothing").status == 404


def test_deprovisioning_in_the_old_shape_keeps_the_record():
    with start_demo(shape="old") as demo:
        post(demo, "/api/applications/storefront/deprovision")
        demo.settle()
        assert set(states(demo, "storefront").values()) == {"terminated"}
        assert ask(demo, "/api/specs/storefront").status == 200


def test_an_ephemeral_environment_is_mentioned_and_kubernetes_adds_its_own(demo):
    reply = deploy(demo, SPEC + "environment: {type: ephemeral, ttl: 2h}\n")
    assert "TTL=2h" in reply.json["environment"]
    deploy(demo, SPEC + "environment: {type: kubernetes}\n")
    assert {"gitea-repo", "kubernetes", "argocd-app"} < set(states(demo, "my-app"))


def test_an_environment_stands_as_its_resources_do(by_hand):
    def status():
        return {each["name"]: each["status"] for each in ask(by_hand, "/api/environments").json}["my-app"]

    deploy(by_hand, SPEC.replace("s3-bucket", "vault-space") + "environment: {type: development}\n")
    assert status() == "provisioning"
    by_hand.settle()
    assert status() == "failed"


def test_no_environments_are_null():
    with start_demo() as demo:
        delete(demo, "/api/applications/checkout")
        assert ask(demo, "/api/environments").text == "null\n"


def test_a_workflow_in_the_spec_runs_at_once(demo):
    inline = "workflows: {seed: {steps: [{name: fill, type: dummy}, {type: policy}]}, nothing: {}}\n"
    assert deploy(demo, SPEC + inline).status == 201
    demo.settle()
    assert {each["workflow_name"] for each in workflows(demo, "my-app")} == {"seed", "nothing", "deploy-app"}


@pytest.mark.parametrize(
    ("steps", "words"),
    [("[{name: a, type: magic}]", "type 'magic'"), ("[{name: a, run: broken}]", "a is broken"), ("[broken]", "broken")],
)
def test_a_workflow_in_the_spec_that_fails_fails_the_deployment(demo, steps, words):
    reply = deploy(demo, f"{SPEC}workflows: {{seed: {{steps: {steps}}}}}\n")
    assert reply.status == 500
    assert reply.json["status"] == "failed"
    assert reply.json["failed_workflows"] == ["seed"]
    assert words in reply.json["errors"][0]
    demo.settle()
    assert [each["status"] for each in workflows(demo, "my-app")] == ["failed"]
    assert states(demo, "my-app") == {}


@pytest.mark.parametrize(
    ("body", "words"),
    [
        ("", "There is nothing in it"),
        ("a: [", "no YAML"),
        (b"\xff\xfe", "isn't UTF-8"),
        (SPEC.replace("my-app", "My App"), "no name for an application"),
        (SPEC.replace("image: registry.example/web:1.0", "image:"), "needs an image"),
        (SPEC.replace("type: postgres", "type: redis"), "no provider for `redis`"),
        (SPEC.replace("type: postgres", "type: kubernetes"), "no provider for `kubernetes`"),
        (SPEC.replace("image: registry.example/web:1.0", 'image: "\\ud800"'), "can't be kept"),
    ],
)
def test_a_spec_with_errors_is_refused_in_words(demo, body, words):
    for path in ("/api/applications", "/api/specs", "/api/workflows/golden-paths/deploy-app/execute"):
        reply = post(demo, path, body)
        assert reply.status == 400
        assert words in reply.text
        assert reply.headers["Content-Type"].startswith("text/plain")


def test_the_version_of_the_spec_is_no_business_of_the_server(demo):
    assert deploy(demo, SPEC.replace("apiVersion: score.dev/v1b1\n", "")).status == 201


def test_a_golden_path_deploys_and_names_its_task(demo):
    reply = post(demo, "/api/workflows/golden-paths/deploy-app/execute?param.replicas=2", SPEC)
    assert {key: reply.json[key] for key in ("application", "golden_path", "status")} == {
        "application": "my-app",
        "golden_path": "deploy-app",
        "status": "enqueued",
    }
    demo.settle()
    done = ask(demo, f"/api/workflows/{reply.json['task_id']}").json
    assert (done["workflow_name"], done["status"]) == ("golden-path-deploy-app", "completed")


def test_a_golden_path_that_is_not_there_or_not_told_enough_is_refused(demo):
    assert post(demo, "/api/workflows/golden-paths/nothing/execute", SPEC).status == 404
    reply = post(demo, "/api/workflows/golden-paths/ephemeral-env/execute", SPEC)
    assert (reply.status, "branch" in reply.text) == (400, True)
    assert post(demo, "/api/workflows/golden-paths/ephemeral-env/execute?param.branch=main", SPEC).status == 200


def test_a_retry_goes_on_from_the_step_that_failed(demo):
    reply = post(demo, "/api/workflows/7/retry")
    assert {key: reply.json[key] for key in ("success", "parent_execution_id", "app_name", "workflow_name")} == {
        "success": True,
        "parent_execution_id": 7,
        "app_name": "demo-app",
        "workflow_name": "deploy-app",
    }
    demo.settle()
    again = workflow(demo, "demo-app")
    assert (again["status"], again["is_retry"], again["parent_execution_id"]) == ("completed", True, 7)
    assert (again["retry_count"], again["resume_from_step"]) == (1, 4)
    assert [each["step_name"] for each in again["steps"]] == ["check-health"]


def test_a_retry_makes_a_resource_whose_making_failed(demo):
    post(demo, "/api/workflows/6/retry", user="bob")
    demo.settle()
    assert workflow(demo, "metrics-pipeline")["status"] == "completed"
    assert states(demo, "metrics-pipeline") == {"raw-events": "active", "warehouse": "active"}


def test_a_retry_of_what_is_still_wrong_fails_again(demo):
    deploy(demo, SPEC.replace("web:1.0", "broken:1"))
    demo.settle()
    post(demo, f"/api/workflows/{workflow(demo, 'my-app')['id']}/retry")
    demo.settle()
    assert workflow(demo, "my-app")["status"] == "failed"
    assert workflow(demo, "my-app")["retry_count"] == 1


def test_a_retry_does_not_bring_back_what_is_gone(demo):
    deploy(demo, SPEC.replace("s3-bucket", "vault-space"))
    demo.settle()
    failed = workflow(demo, "my-app")["id"]
    deploy(demo, SPEC.replace("  files: {type: s3-bucket}\n", ""))
    demo.settle()
    post(demo, f"/api/workflows/{failed}/retry")
    demo.settle()
    assert states(demo, "my-app") == {"db": "active", "files": "terminated"}


def test_a_retry_may_bring_its_own_steps(demo):
    post(demo, "/api/workflows/7/retry", {"steps": [{"name": "look-again", "type": "dummy"}]})
    demo.settle()
    assert [each["step_name"] for each in workflow(demo, "demo-app")["steps"]] == ["look-again"]


def test_a_step_of_ones_own_that_failed_can_be_retried(demo):
    post(demo, "/api/workflows/7/retry", {"steps": [{"name": "own", "type": "magic"}]})
    demo.settle()
    post(demo, f"/api/workflows/{workflow(demo, 'demo-app')['id']}/retry")
    demo.settle()
    assert workflow(demo, "demo-app")["steps"][0]["status"] == "completed"


@pytest.mark.parametrize(
    ("number", "body", "status", "words"),
    [
        (4711, None, 404, "Workflow execution not found"),
        (6, None, 404, "Workflow execution not found"),
        (1, None, 400, "Only a failed workflow"),
        ("x", None, 400, "Invalid workflow ID"),
        (7, b"{", 400, "Invalid workflow specification"),
        (7, b"[]", 400, "Invalid workflow specification"),
        (7, b'{"steps": []}', 400, "Invalid workflow specification"),
        (7, b"\xff", 400, "Invalid workflow specification"),
    ],
)
def test_a_retry_that_cannot_be_is_refused(demo, number, body, status, words):
    reply = post(demo, f"/api/workflows/{number}/retry", body)
    assert (reply.status, reply.text.startswith(words)) == (status, True)


def test_the_workflow_of_an_application_that_is_gone_is_not_retried(demo):
    delete(demo, "/api/applications/demo-app")
    assert post(demo, "/api/workflows/7/retry").status == 404


def test_a_request_that_comes_twice_under_one_key_is_done_once(demo):
    first, second = (deploy(demo, Idempotency_Key="k1") for _ in range(2))
    assert (first.status, first.text) == (second.status, second.text)
    assert second.headers["Idempotency-Replayed"] == "true"
    assert "Idempotency-Replayed" not in first.headers
    assert len(workflows(demo, "my-app")) == 1
    gone = [delete(demo, "/api/applications/my-app", Idempotency_Key="k2") for _ in range(2)]
    assert [each.status for each in gone] == [200, 200]


def test_a_failed_deployment_is_told_again_under_its_key(demo):
    spec = f"{SPEC}workflows: {{seed: {{steps: [broken]}}}}\n"
    replies = [deploy(demo, spec, Idempotency_Key="k") for _ in range(2)]
    assert [each.status for each in replies] == [500, 500]
    assert len(workflows(demo, "my-app")) == 1


def test_a_key_is_its_users_and_its_requests_and_good_for_a_day():
    clock = ManualClock()
    with start_demo(clock=clock) as demo:
        assert deploy(demo, Idempotency_Key="k").status == 201
        assert deploy(demo, DEMO_APP.replace("{version}", "3"), Idempotency_Key="k").status == 422
        assert deploy(demo, METRICS, "bob", Idempotency_Key="k").status == 201
        assert deploy(demo, SPEC, "bob", Idempotency_Key="other").status == 403
        clock.forward(hours=24)
        assert "Idempotency-Replayed" not in deploy(demo, Idempotency_Key="k").headers
        assert deploy(demo, Idempotency_Key="k" * 256).status == 400


def test_what_was_refused_under_a_key_may_be_asked_again(demo):
    assert deploy(demo, METRICS, Idempotency_Key="k").status == 403
    assert deploy(demo, SPEC, Idempotency_Key="k").status == 201


@pytest.fixture(scope="module")
def shared():
    with start_demo() as running:
        yield running


NAMES = st.sampled_from(
    ["a", "web", "metadata", "name", "containers", "image", "resources", "type", "postgres", "workflows", "steps", "params"]
)
VALUES = st.recursive(
    st.one_of(st.none(), st.booleans(), st.integers(), st.floats(), st.text(max_size=10), NAMES),
    lambda inner: st.one_of(st.lists(inner, max_size=3), st.dictionaries(NAMES, inner, max_size=4)),
    max_leaves=15,
)


@examples(80)
@given(body=st.one_of(st.binary(max_size=60), st.text(max_size=60).map(str.encode), st.dictionaries(NAMES, VALUES)))
def test_whatever_is_posted_the_server_does_not_break(shared, body):
    import json

    content = body if isinstance(body, bytes) else json.dumps(body).encode()
    for path in ("/api/applications", "/api/workflows/7/retry", "/api/workflows/golden-paths/deploy-app/execute", "/api/login"):
        reply = post(shared, path, content)
        assert reply.status < 500 or reply.json["failed_workflows"], reply.text


@examples(40)
@given(params=st.dictionaries(st.text(max_size=5), VALUES, max_size=3), steps=st.lists(VALUES, max_size=3))
def test_whatever_a_spec_holds_it_is_kept_or_refused(shared, params, steps):
    import json

    spec = {"metadata": {"name": "a"}, "containers": {"w": {"image": "a:1"}}, "resources": {"r": {"type": "s3", "params": params}}}
    reply = post(shared, "/api/applications", json.dumps({**spec, "workflows": {"w": {"steps": steps}}}).encode())
    assert reply.status in (201, 400) or reply.json["failed_workflows"] == ["w"]
    assert (
        ask(shared, "/api/resources").status
        == ask(shared, "/api/applications").status
        == ask(shared, "/api/workflows").status
        == 200
    )

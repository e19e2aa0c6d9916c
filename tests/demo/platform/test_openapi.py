"""The OpenAPI document says what is there: every route, and every answer fits what it says."""

import json
import re

import pytest
from jsonschema import Draft202012Validator

from demo.platform.demo_client import SPEC, ask, delete, deploy, post
from treadle.demo.platform import start_demo

READS = [
    "/api/profile",
    "/api/auth/whoami",
    "/api/user-info",
    "/api/applications",
    "/api/applications/storefront",
    "/api/applications/demo-app",
    "/api/specs",
    "/api/specs/checkout",
    "/api/workflows",
    "/api/workflows?app=nothing",
    *(f"/api/workflows/{number}" for number in range(1, 9)),
    "/api/golden-paths",
    "/api/golden-paths/deploy-app",
    "/api/resources",
    "/api/resources?app=demo-app",
    "/api/resources?type=external",
    "/api/resources?app=nothing",
    *(f"/api/resources/{number}" for number in range(1, 13)),
    "/api/stats",
    "/api/environments",
    "/api/providers",
    "/api/providers/stats",
    "/health",
    "/ready",
]


@pytest.fixture(scope="module", params=["new", "old"])
def demo(request):
    with start_demo(shape=request.param) as running:
        running.shape = request.param
        yield running


def document(demo):
    return ask(demo, "/openapi.json", user="").json


def operation(found, method, path):
    """The operation that a path belongs to: one without parameters if there is any."""
    bare = path.partition("?")[0]
    for template in sorted(found["paths"], key=lambda each: each.count("{")):
        if re.fullmatch(re.sub(r"\{\w+\}", "[^/]+", template), bare) and method.lower() in found["paths"][template]:
            return found["paths"][template][method.lower()]
    return None


def fits(found, method, path, reply):
    """Hold an answer to what the document says of it."""
    described = operation(found, method, path)["responses"][str(reply.status)]["content"]
    media = reply.headers["Content-Type"].partition(";")[0]
    schema = {**described[media]["schema"], "components": found["components"]}
    Draft202012Validator(strict(schema)).validate(reply.json if media == "application/json" else reply.text)


def strict(schema):
    """Objects have the fields that are named, and no others; those made of parts are held to their parts."""
    text = json.dumps(schema)
    whole = json.loads(text)
    for name, each in whole["components"]["schemas"].items():
        if "properties" in each and name not in ("Spec", "WorkflowSummary"):
            each["additionalProperties"] = False
        if "allOf" in each:
            each["unevaluatedProperties"] = False
    return whole


def test_every_path_is_described_and_every_described_path_is_there(demo):
    found = document(demo)
    assert found["openapi"] == "3.1.0"
    assert found == ask(demo, "/swagger.json", user="").json
    for path, methods in found["paths"].items():
        for method in methods:
            reply = ask(demo, re.sub(r"\{\w+\}", "1", path), method=method.upper())
            assert not reply.headers["Content-Type"].startswith("text/html"), path
            assert reply.status != 405, path
    assert ("/api/applications" in found["paths"]) == (demo.shape == "new")


def test_reads_are_answered_as_described(demo):
    found = document(demo)
    answered = 0
    for path in READS:
        if operation(found, "GET", path):
            fits(found, "GET", path, ask(demo, path, "admin"))
            answered += 1
    assert answered > 20


def test_writes_are_answered_as_described():
    with start_demo() as demo:
        found = document(demo)
        golden = "/api/workflows/golden-paths/deploy-app/execute"
        broken = f"{SPEC}workflows: {{seed: {{steps: [broken]}}}}\n"
        login = {"username": "alice", "password": demo.password("alice")}
        for path, body in [
            ("/api/applications", SPEC),
            ("/api/applications", broken),
            ("/api/applications", "nonsense"),
            (golden, SPEC),
            ("/api/workflows/7/retry", None),
            ("/api/login", login),
        ]:
            fits(found, "POST", path, post(demo, path, body))
        fits(found, "POST", "/api/applications", deploy(demo, SPEC, user="bob"))
        fits(found, "GET", "/api/stats", ask(demo, "/api/stats", user=""))
        demo.settle()
        fits(found, "GET", "/api/resources?app=my-app", ask(demo, "/api/resources?app=my-app"))
        fits(found, "DELETE", "/api/applications/my-app", delete(demo, "/api/applications/my-app"))


def test_the_bearer_is_wanted_everywhere_but_where_it_is_not(demo):
    found = document(demo)
    assert found["security"] == [{"bearer": []}]
    assert found["components"]["securitySchemes"]["bearer"]["scheme"] == "bearer"
    public = {path for path, methods in found["paths"].items() for each in methods.values() if each.get("security") == []}
    assert public == {"/api/login", "/health", "/ready"}


def test_operations_have_names_of_their_own_and_everything_has_a_description(demo):
    found = document(demo)
    operations = [each for methods in found["paths"].values() for each in methods.values()]
    assert len({each["operationId"] for each in operations}) == len(operations)
    assert all(each["summary"] and each["tags"] for each in operations)
    assert all(parameter["description"] for each in operations for parameter in each["parameters"])
    assert all(each["description"] for each in found["components"]["schemas"].values())
    used = set(re.findall(r"#/components/schemas/(\w+)", json.dumps(found)))
    assert used <= set(found["components"]["schemas"])
    old = found["paths"]["/api/specs"]["get"].get("deprecated", False)
    assert old == (demo.shape == "new")

"""The OpenAPI 3.1 document of the demo platform, for the shape that it has. What is there is `platform`'s business."""

from collections.abc import Sequence
from typing import Any

from msgspec import Struct

from treadle.assistants.platform.demo.platform import Endpoint
from treadle.assistants.platform.demo.schemas import SCHEMAS, Schema, fields, listed, listed_or_null, mapped, ref, whole, words
from treadle.assistants.platform.demo.values import Shape


def document(endpoints: Sequence[Endpoint], shape: Shape) -> dict[str, Any]:
    """The document."""
    paths: dict[str, dict[str, Any]] = {}
    for each in endpoints:
        paths.setdefault(each.path, {})[each.method.lower()] = _operation(each, shape)
    return {
        "openapi": "3.1.0",
        "info": {
            "title": "Platform demo",
            "version": "1.0.0" if shape == "new" else "0.1.0",
            "description": "A small internal developer platform: applications from Score specs, workflows and resources."
            " Everybody sees what is of their team; an admin sees everything. Errors are plain text.",
        },
        "servers": [{"url": "/"}],
        "security": [{"bearer": []}],
        "paths": paths,
        "components": {
            "securitySchemes": {"bearer": {"type": "http", "scheme": "bearer", "description": "An API key, or a session's token"}},
            "schemas": SCHEMAS,
        },
    }


class Operation(Struct, frozen=True):
    """What a document says of an operation, and its endpoint doesn't."""

    id: str
    summary: str
    returns: Schema
    status: str = "200"
    parameters: tuple[Schema, ...] = ()
    body: Schema | None = None
    refusals: tuple[str, ...] = ()


def _operation(endpoint: Endpoint, shape: Shape) -> dict[str, Any]:
    found = _described(endpoint, shape)
    tag = endpoint.path.split("/")[2] if endpoint.path.startswith("/api/") else "server"
    operation: dict[str, Any] = {"operationId": found.id, "summary": found.summary, "tags": [tag]}
    named = [_parameter(part[1:-1], "path", _PATH[part]) for part in endpoint.path.split("/") if part.startswith("{")]
    keyed = [_IDEMPOTENCY] if endpoint.method != "GET" and not endpoint.public else []
    operation["parameters"] = [*named, *found.parameters, *keyed]
    if found.body is not None:
        operation["requestBody"] = found.body
    operation["responses"] = _responses(endpoint, found)
    if endpoint.public:
        operation["security"] = []
    if shape == "new" and endpoint.path.startswith("/api/specs"):
        operation["deprecated"] = True
    return operation


def _described(endpoint: Endpoint, shape: Shape) -> Operation:
    key = f"{endpoint.method} {endpoint.path}"
    if shape == "old" and key == "GET /api/workflows":
        return OLD_WORKFLOWS
    return OPERATIONS[key]


def _responses(endpoint: Endpoint, operation: Operation) -> dict[str, Any]:
    responses: dict[str, Any] = {
        operation.status: {"description": "Done", "content": {"application/json": {"schema": operation.returns}}}
    }
    refusals = operation.refusals if endpoint.public else ("401", *operation.refusals)
    responses |= {
        status: {"description": _REFUSALS[status], "content": {"text/plain": {"schema": {"type": "string"}}}} for status in refusals
    }
    if operation.body is _SPEC and operation.status == "201":
        failed = {"schema": ref("Failed")}
        responses["500"] = {"description": "A workflow that is written in the spec failed", "content": {"application/json": failed}}
    return responses


def _parameter(name: str, where: str, schema: Schema) -> Schema:
    """A parameter; what is in the path has to be there."""
    kept = {key: value for key, value in schema.items() if key != "description"}
    return {"name": name, "in": where, "required": where == "path", "description": schema.get("description", ""), "schema": kept}


_PATH = {
    "{name}": words("Name of an application or golden path"),
    "{path}": words("Name of a golden path"),
    "{id}": whole("Number of a workflow execution or resource"),
}
_IDEMPOTENCY = _parameter(
    "Idempotency-Key",
    "header",
    {"type": "string", "maxLength": 255, "description": "The same key within a day gives the same answer"},
)
_REFUSALS = {
    "400": "The request isn't valid, and why",
    "401": "Unauthorized: there is no token, or it is no good",
    "403": "Access denied: it is another team's",
    "404": "It isn't there",
    "405": "Method not allowed",
    "422": "The Idempotency-Key was used for another request",
    "429": "Too many login attempts",
}
_SPEC: Schema = {
    "required": True,
    "description": "A Score spec (score.dev/v1b1) as YAML",
    "content": {"application/yaml": {"schema": {"type": "string"}}},
}
_APP = _parameter("app", "query", words("Only those of this application"))
_LIMIT = _parameter(
    "limit", "query", {"type": "integer", "minimum": 1, "maximum": 100, "default": 50, "description": "How many at once"}
)
_LOGIN: Schema = {
    "required": True,
    "content": {"application/json": {"schema": fields("A login", "*", username=words("Who"), password=words("Their password"))}},
}
_STEPS: Schema = {
    "required": False,
    "description": "The workflow to go on with; without one, its own steps are done again",
    "content": {"application/json": {"schema": fields("A workflow", "steps", steps=listed(mapped({}, "name and type of a step")))}},
}
_RESOURCES: Schema = {
    "anyOf": [ref("ResourceList"), mapped(listed(ref("Resource")), "Without app and type: the resources by application")]
}

OPERATIONS = {
    "POST /api/login": Operation(
        "login", "Get a session for a name and a password", ref("Session"), body=_LOGIN, refusals=("400", "401", "429")
    ),
    "GET /api/profile": Operation("getProfile", "Who is asking", ref("Profile")),
    "GET /api/auth/whoami": Operation("whoami", "Who is asking", ref("Profile")),
    "GET /api/user-info": Operation("getUserInfo", "Who is asking, and which keys they have", ref("UserInfo")),
    "GET /api/applications": Operation("listApplications", "List the applications by name", mapped(ref("Application"))),
    "POST /api/applications": Operation(
        "deployApplication",
        "Deploy a Score spec: a new application, or a new version of one",
        ref("Deployed"),
        "201",
        body=_SPEC,
        refusals=("400", "403", "422"),
    ),
    "GET /api/applications/{name}": Operation("getApplication", "Show an application's spec", ref("Spec"), refusals=("403", "404")),
    "DELETE /api/applications/{name}": Operation(
        "deleteApplication", "Delete an application; its resources terminate", ref("Message"), refusals=("403", "404", "422")
    ),
    "POST /api/applications/{name}/deprovision": Operation(
        "deprovisionApplication",
        "Take away an application's resources, and keep its record",
        ref("Message"),
        refusals=("403", "404", "422"),
    ),
    "GET /api/specs": Operation("listSpecs", "List the applications by name", mapped(ref("Application"))),
    "POST /api/specs": Operation(
        "deploySpec", "Deploy a Score spec", ref("Deployed"), "201", body=_SPEC, refusals=("400", "403", "422")
    ),
    "GET /api/specs/{name}": Operation("getSpec", "Show an application's spec", ref("Spec"), refusals=("403", "404")),
    "DELETE /api/specs/{name}": Operation(
        "deleteSpec", "Delete an application; its resources terminate", ref("Message"), refusals=("403", "404", "422")
    ),
    "GET /api/workflows": Operation(
        "listWorkflows",
        "List workflow executions, the newest first",
        ref("WorkflowPage"),
        parameters=(
            _APP,
            _parameter("search", "query", words("Only those with this in the name of application or workflow")),
            _parameter("status", "query", words("Only those that stand like this", "running", "completed", "failed")),
            _LIMIT,
            _parameter("page", "query", {"type": "integer", "minimum": 1, "default": 1, "description": "Which page"}),
        ),
    ),
    "GET /api/workflows/{id}": Operation(
        "getWorkflow", "Show a workflow execution with its steps", ref("Workflow"), refusals=("400", "404")
    ),
    "POST /api/workflows/{id}/retry": Operation(
        "retryWorkflow",
        "Carry on a failed workflow execution from the step that failed",
        ref("Retried"),
        body=_STEPS,
        refusals=("400", "403", "404", "422"),
    ),
    "POST /api/workflows/golden-paths/{path}/execute": Operation(
        "executeGoldenPath",
        "Deploy a Score spec by a golden path; its parameters are given as ?param.NAME=VALUE",
        ref("GoldenPathStarted"),
        parameters=(
            _parameter("param.branch", "query", words("For ephemeral-env: what is deployed")),
            _parameter("param.ttl", "query", words("For ephemeral-env: how long it lasts")),
            _parameter("param.team_name", "query", words("For onboard-dev-team: the team's name")),
            _parameter("param.replicas", "query", words("For deploy-app: how many copies run")),
            _parameter("param.strategy", "query", words("For deploy-app: rolling or recreate")),
        ),
        body=_SPEC,
        refusals=("400", "403", "404", "422"),
    ),
    "GET /api/golden-paths": Operation("listGoldenPaths", "List the golden paths by name", mapped(ref("GoldenPath"))),
    "GET /api/golden-paths/{name}": Operation("getGoldenPath", "Show a golden path", ref("GoldenPath"), refusals=("404",)),
    "GET /api/resources": Operation(
        "listResources",
        "List resources: by application, or those that fit",
        _RESOURCES,
        parameters=(
            _APP,
            _parameter("type", "query", words("Only those looked after like this", "native", "delegated", "external")),
            _parameter("provider", "query", words("Only those of this provider")),
        ),
        refusals=("400",),
    ),
    "GET /api/resources/{id}": Operation("getResource", "Show a resource and its states", ref("Resource"), refusals=("400", "404")),
    "GET /api/stats": Operation("getStats", "Count applications, running workflows and resources", ref("Stats")),
    "GET /api/environments": Operation("listEnvironments", "List environments", listed_or_null(ref("Environment"))),
    "GET /api/providers": Operation("listProviders", "List who makes resources", listed(ref("Provider"))),
    "GET /api/providers/stats": Operation("getProviderStats", "Count providers", ref("ProviderStats")),
    "GET /health": Operation("getHealth", "How the server is", ref("Health")),
    "GET /ready": Operation("getReady", "Whether it takes requests", ref("Ready")),
}

OLD_WORKFLOWS = Operation(
    "listWorkflows",
    "List workflow executions, the newest first",
    listed_or_null(ref("WorkflowSummary")),
    parameters=(
        _APP,
        _LIMIT,
        _parameter("offset", "query", {"type": "integer", "minimum": 0, "default": 0, "description": "How many to skip"}),
    ),
)

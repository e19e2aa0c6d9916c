"""The OpenAPI 3.1 document of the demo platform, for its API version. The endpoints are in `endpoints`."""

from collections.abc import Sequence
from typing import Any

from msgspec import Struct

from treadle.demo.platform.endpoints import DemoEndpoint
from treadle.demo.platform.http_types import Shape
from treadle.demo.platform.schemas import (
    SCHEMAS,
    Schema,
    array_schema,
    integer_schema,
    map_schema,
    nullable_array_schema,
    object_schema,
    schema_ref,
    string_schema,
)


def build_openapi_document(endpoints: Sequence[DemoEndpoint], shape: Shape) -> dict[str, Any]:
    """Build the document."""
    paths: dict[str, dict[str, Any]] = {}
    for each in endpoints:
        paths.setdefault(each.path, {})[each.method.lower()] = _operation_to_json(each, shape)
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


class DemoOperation(Struct, frozen=True):
    """What the document says of an operation, in addition to its endpoint."""

    id: str
    summary: str
    returns: Schema
    status: str = "200"
    parameters: tuple[Schema, ...] = ()
    body: Schema | None = None
    refusals: tuple[str, ...] = ()


def _operation_to_json(endpoint: DemoEndpoint, shape: Shape) -> dict[str, Any]:
    found = _find_operation(endpoint, shape)
    tag = endpoint.path.split("/")[2] if endpoint.path.startswith("/api/") else "server"
    operation: dict[str, Any] = {"operationId": found.id, "summary": found.summary, "tags": [tag]}
    named = [_parameter_to_json(part[1:-1], "path", _PATH[part]) for part in endpoint.path.split("/") if part.startswith("{")]
    keyed = [_IDEMPOTENCY] if endpoint.method != "GET" and not endpoint.public else []
    operation["parameters"] = [*named, *found.parameters, *keyed]
    if found.body is not None:
        operation["requestBody"] = found.body
    operation["responses"] = _responses_to_json(endpoint, found)
    if endpoint.public:
        operation["security"] = []
    if shape == "new" and endpoint.path.startswith("/api/specs"):
        operation["deprecated"] = True
    return operation


def _find_operation(endpoint: DemoEndpoint, shape: Shape) -> DemoOperation:
    key = f"{endpoint.method} {endpoint.path}"
    if shape == "old" and key == "GET /api/workflows":
        return OLD_WORKFLOWS
    return OPERATIONS[key]


def _responses_to_json(endpoint: DemoEndpoint, operation: DemoOperation) -> dict[str, Any]:
    responses: dict[str, Any] = {
        operation.status: {"description": "Done", "content": {"application/json": {"schema": operation.returns}}}
    }
    refusals = operation.refusals if endpoint.public else ("401", *operation.refusals)
    responses |= {
        status: {"description": _REFUSALS[status], "content": {"text/plain": {"schema": {"type": "string"}}}} for status in refusals
    }
    if operation.body is _SPEC and operation.status == "201":
        failed = {"schema": schema_ref("Failed")}
        responses["500"] = {"description": "A workflow that is written in the spec failed", "content": {"application/json": failed}}
    return responses


def _parameter_to_json(name: str, where: str, schema: Schema) -> Schema:
    """Return a parameter; path parameters are required."""
    kept = {key: value for key, value in schema.items() if key != "description"}
    return {"name": name, "in": where, "required": where == "path", "description": schema.get("description", ""), "schema": kept}


_PATH = {
    "{name}": string_schema("Name of an application or golden path"),
    "{path}": string_schema("Name of a golden path"),
    "{id}": integer_schema("Number of a workflow execution or resource"),
}
_IDEMPOTENCY = _parameter_to_json(
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
_APP = _parameter_to_json("app", "query", string_schema("Only those of this application"))
_LIMIT = _parameter_to_json(
    "limit", "query", {"type": "integer", "minimum": 1, "maximum": 100, "default": 50, "description": "How many at once"}
)
_LOGIN: Schema = {
    "required": True,
    "content": {
        "application/json": {
            "schema": object_schema("A login", "*", username=string_schema("Who"), password=string_schema("Their password"))
        }
    },
}
_STEPS: Schema = {
    "required": False,
    "description": "The workflow to go on with; without one, its own steps are done again",
    "content": {
        "application/json": {
            "schema": object_schema("A workflow", "steps", steps=array_schema(map_schema({}, "name and type of a step")))
        }
    },
}
_RESOURCES: Schema = {
    "anyOf": [
        schema_ref("ResourceList"),
        map_schema(array_schema(schema_ref("Resource")), "Without app and type: the resources by application"),
    ]
}

OPERATIONS = {
    "POST /api/login": DemoOperation(
        "login", "Get a session for a name and a password", schema_ref("Session"), body=_LOGIN, refusals=("400", "401", "429")
    ),
    "GET /api/profile": DemoOperation("getProfile", "Who is asking", schema_ref("Profile")),
    "GET /api/auth/whoami": DemoOperation("whoami", "Who is asking", schema_ref("Profile")),
    "GET /api/user-info": DemoOperation("getUserInfo", "Who is asking, and which keys they have", schema_ref("UserInfo")),
    "GET /api/applications": DemoOperation(
        "listApplications", "List the applications by name", map_schema(schema_ref("Application"))
    ),
    "POST /api/applications": DemoOperation(
        "deployApplication",
        "Deploy a Score spec: a new application, or a new version of one",
        schema_ref("Deployed"),
        "201",
        body=_SPEC,
        refusals=("400", "403", "422"),
    ),
    "GET /api/applications/{name}": DemoOperation(
        "getApplication", "Show an application's spec", schema_ref("Spec"), refusals=("403", "404")
    ),
    "DELETE /api/applications/{name}": DemoOperation(
        "deleteApplication", "Delete an application; its resources terminate", schema_ref("Message"), refusals=("403", "404", "422")
    ),
    "POST /api/applications/{name}/deprovision": DemoOperation(
        "deprovisionApplication",
        "Take away an application's resources, and keep its record",
        schema_ref("Message"),
        refusals=("403", "404", "422"),
    ),
    "GET /api/specs": DemoOperation("listSpecs", "List the applications by name", map_schema(schema_ref("Application"))),
    "POST /api/specs": DemoOperation(
        "deploySpec", "Deploy a Score spec", schema_ref("Deployed"), "201", body=_SPEC, refusals=("400", "403", "422")
    ),
    "GET /api/specs/{name}": DemoOperation("getSpec", "Show an application's spec", schema_ref("Spec"), refusals=("403", "404")),
    "DELETE /api/specs/{name}": DemoOperation(
        "deleteSpec", "Delete an application; its resources terminate", schema_ref("Message"), refusals=("403", "404", "422")
    ),
    "GET /api/workflows": DemoOperation(
        "listWorkflows",
        "List workflow executions, the newest first",
        schema_ref("WorkflowPage"),
        parameters=(
            _APP,
            _parameter_to_json("search", "query", string_schema("Only those with this in the name of application or workflow")),
            _parameter_to_json(
                "status", "query", string_schema("Only those that stand like this", "running", "completed", "failed")
            ),
            _LIMIT,
            _parameter_to_json("page", "query", {"type": "integer", "minimum": 1, "default": 1, "description": "Which page"}),
        ),
    ),
    "GET /api/workflows/{id}": DemoOperation(
        "getWorkflow", "Show a workflow execution with its steps", schema_ref("Workflow"), refusals=("400", "404")
    ),
    "POST /api/workflows/{id}/retry": DemoOperation(
        "retryWorkflow",
        "Carry on a failed workflow execution from the step that failed",
        schema_ref("Retried"),
        body=_STEPS,
        refusals=("400", "403", "404", "422"),
    ),
    "POST /api/workflows/golden-paths/{path}/execute": DemoOperation(
        "executeGoldenPath",
        "Deploy a Score spec by a golden path; its parameters are given as ?param.NAME=VALUE",
        schema_ref("GoldenPathStarted"),
        parameters=(
            _parameter_to_json("param.branch", "query", string_schema("For ephemeral-env: what is deployed")),
            _parameter_to_json("param.ttl", "query", string_schema("For ephemeral-env: how long it lasts")),
            _parameter_to_json("param.team_name", "query", string_schema("For onboard-dev-team: the team's name")),
            _parameter_to_json("param.replicas", "query", string_schema("For deploy-app: how many copies run")),
            _parameter_to_json("param.strategy", "query", string_schema("For deploy-app: rolling or recreate")),
        ),
        body=_SPEC,
        refusals=("400", "403", "404", "422"),
    ),
    "GET /api/golden-paths": DemoOperation(
        "listGoldenPaths", "List the golden paths by name", map_schema(schema_ref("GoldenPath"))
    ),
    "GET /api/golden-paths/{name}": DemoOperation(
        "getGoldenPath", "Show a golden path", schema_ref("GoldenPath"), refusals=("404",)
    ),
    "GET /api/resources": DemoOperation(
        "listResources",
        "List resources: by application, or those that fit",
        _RESOURCES,
        parameters=(
            _APP,
            _parameter_to_json(
                "type", "query", string_schema("Only those looked after like this", "native", "delegated", "external")
            ),
            _parameter_to_json("provider", "query", string_schema("Only those of this provider")),
        ),
        refusals=("400",),
    ),
    "GET /api/resources/{id}": DemoOperation(
        "getResource", "Show a resource and its states", schema_ref("Resource"), refusals=("400", "404")
    ),
    "GET /api/stats": DemoOperation("getStats", "Count applications, running workflows and resources", schema_ref("Stats")),
    "GET /api/environments": DemoOperation(
        "listEnvironments", "List environments", nullable_array_schema(schema_ref("Environment"))
    ),
    "GET /api/providers": DemoOperation("listProviders", "List who makes resources", array_schema(schema_ref("Provider"))),
    "GET /api/providers/stats": DemoOperation("getProviderStats", "Count providers", schema_ref("ProviderStats")),
    "GET /health": DemoOperation("getHealth", "How the server is", schema_ref("Health")),
    "GET /ready": DemoOperation("getReady", "Whether it takes requests", schema_ref("Ready")),
}

OLD_WORKFLOWS = DemoOperation(
    "listWorkflows",
    "List workflow executions, the newest first",
    nullable_array_schema(schema_ref("WorkflowSummary")),
    parameters=(
        _APP,
        _LIMIT,
        _parameter_to_json("offset", "query", {"type": "integer", "minimum": 0, "default": 0, "description": "How many to skip"}),
    ),
)

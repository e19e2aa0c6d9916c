"""The schemas of the OpenAPI document: what each thing that the demo platform tells of is made of."""

from typing import Any

Schema = dict[str, Any]


def ref(name: str) -> Schema:
    """A schema by its name."""
    return {"$ref": f"#/components/schemas/{name}"}


def listed(items: Schema) -> Schema:
    """A list."""
    return {"type": "array", "items": items}


def listed_or_null(items: Schema) -> Schema:
    """A list that is `null` where it is empty."""
    return {"type": ["array", "null"], "items": items, "description": "null where there are none"}


def mapped(values: Schema, description: str = "") -> Schema:
    """A mapping of names."""
    return {"type": "object", "additionalProperties": values, **({"description": description} if description else {})}


def words(description: str, *values: str) -> Schema:
    """Text, one of some values if there are any."""
    return {"type": "string", "description": description, **({"enum": list(values)} if values else {})}


def whole(description: str) -> Schema:
    """A whole number."""
    return {"type": "integer", "description": description}


def time(description: str) -> Schema:
    """A point in time."""
    return {"type": "string", "format": "date-time", "description": description}


def fields(description: str, required: str, /, **properties: Schema) -> Schema:
    """An object; `required` are the names of fields that are always there, `*` for all."""
    always = list(properties) if required == "*" else required.split()
    return {"type": "object", "description": description, "properties": properties, "required": always}


def or_null(schema: Schema) -> Schema:
    """A schema that `null` fits as well."""
    return {**schema, "type": [schema["type"], "null"]}


_STATES = ("requested", "provisioning", "active", "scaling", "updating", "degraded", "terminating", "terminated", "failed")

SCHEMAS: dict[str, Schema] = {
    "Session": fields(
        "A login",
        "*",
        token=words("Goes into the Authorization header; good for 3 hours after its last use"),
        username=words("Who"),
        team=words("Their team"),
        role=words("What they may do", "admin", "developer"),
        expires=time("When it ends, unless it is used"),
    ),
    "Profile": fields(
        "Who is asking", "*", username=words("Who"), team=words("Their team"), role=words("What they may do", "admin", "developer")
    ),
    "UserInfo": fields(
        "Who is asking, and their keys",
        "*",
        username=words("Who"),
        team=words("Their team"),
        role=words("What they may do", "admin", "developer"),
        is_admin={"type": "boolean", "description": "Whether they see every team's"},
        api_keys=listed(ref("ApiKey")),
        is_impersonating={"type": "boolean", "description": "Whether an admin acts as them"},
    ),
    "ApiKey": fields(
        "A key, without what it is",
        "*",
        name=words("What it is for"),
        masked_key=words("Its beginning and end"),
        created_at=time("When it was made"),
        last_used_at=or_null(time("When it was last used")),
        expires_at=time("When it ends"),
    ),
    "Container": fields(
        "What runs", "*", Image=words("Its image"), Variables=or_null(mapped({"type": "string"}, "What it is given"))
    ),
    "SpecResource": fields(
        "What an application asks for",
        "*",
        Type=words("Which provider makes it"),
        Params=or_null(mapped({}, "How it shall be")),
        Properties=or_null(mapped({}, "More about it")),
    ),
    "SpecEnvironment": {
        **fields("Where it runs", "*", Type=words("Which kind"), TTL=words("For how long, empty for ever")),
        "type": ["object", "null"],
    },
    "Spec": fields(
        "A Score spec as the platform keeps it; field names inside begin in upper case",
        "*",
        metadata=fields("About it", "*", Name=words("The application's name")),
        containers=mapped(ref("Container")),
        resources=or_null(mapped(ref("SpecResource"))),
        environment=ref("SpecEnvironment"),
        graph=mapped(listed({"type": "string"}), "Which resources each container names, and all of them under `environment`"),
    ),
    "Application": {
        "description": "An application: its spec, and whose it is",
        "allOf": [
            ref("Spec"),
            fields(
                "Whose it is",
                "*",
                team=words("The team it belongs to"),
                created_by=words("Who deployed it first"),
                created_at=time("When"),
                updated_at=time("When it was last deployed"),
            ),
        ],
    },
    "Deployed": fields(
        "A deployment that was taken; a workflow carries it out",
        "message name status",
        message=words("What was done"),
        name=words("The application"),
        status=words("How it went", "success"),
        environment=words("About an ephemeral environment"),
    ),
    "Failed": fields(
        "A deployment that failed",
        "*",
        message=words("What happened"),
        name=words("The application"),
        status=words("How it went", "failed"),
        failed_workflows=listed({"type": "string"}),
        errors=listed({"type": "string"}),
    ),
    "Message": fields("What was done", "message", message=words("In words"), note=words("What is left")),
    "WorkflowSummary": fields(
        "A workflow execution",
        "id application_name workflow_name status started_at total_steps completed_steps failed_steps",
        id=whole("Its number"),
        application_name=words("Whose it is"),
        workflow_name=words("What is carried out"),
        status=words("How it stands", "running", "completed", "failed"),
        started_at=time("When it began"),
        completed_at=time("When it ended"),
        total_steps=whole("How many steps there are"),
        completed_steps=whole("How many are done"),
        failed_steps=whole("How many failed"),
        duration_ms=whole("How long it took"),
    ),
    "WorkflowStep": fields(
        "A step of a workflow execution",
        "id step_number step_name step_type status step_config",
        id=whole("Its number in the platform"),
        step_number=whole("Its place"),
        step_name=words("What it is"),
        step_type=words("What carries it out"),
        status=words("How it stands", "pending", "running", "completed", "failed"),
        started_at=time("When it began"),
        completed_at=time("When it ended"),
        duration_ms=whole("How long it took"),
        error_message=words("Why it failed"),
        step_config=mapped({}, "What it was given"),
        output_logs=words("What it wrote"),
    ),
    "Workflow": {
        "description": "A workflow execution with its steps",
        "allOf": [
            ref("WorkflowSummary"),
            fields(
                "More about it",
                "retry_count is_retry created_at updated_at steps",
                error_message=words("Why it failed"),
                parent_execution_id=whole("The execution that it retries"),
                retry_count=whole("How often it was retried"),
                is_retry={"type": "boolean", "description": "Whether it retries another"},
                resume_from_step=whole("The step it went on from"),
                created_at=time("When it was made"),
                updated_at=time("When it last changed"),
                steps=listed(ref("WorkflowStep")),
            ),
        ],
    },
    "WorkflowPage": fields(
        "A page of workflow executions, the newest first",
        "*",
        data=listed_or_null(ref("WorkflowSummary")),
        total=whole("How many fit in all"),
        page=whole("This page, from 1"),
        page_size=whole("How many are on a page"),
        total_pages=whole("How many pages there are"),
    ),
    "Retried": fields(
        "A retry that has begun",
        "*",
        success={"type": "boolean", "description": "Always true"},
        message=words("What was done"),
        parent_execution_id=whole("What is retried"),
        app_name=words("The application"),
        workflow_name=words("The workflow"),
    ),
    "GoldenPathStarted": fields(
        "A golden path that was begun",
        "*",
        message=words("What was done"),
        application=words("The application"),
        golden_path=words("The golden path"),
        task_id=words("The number of the workflow execution"),
        status=words("How it stands", "enqueued", "completed"),
    ),
    "GoldenPath": fields(
        "A golden path",
        "description category tags estimated_duration workflow_file",
        name=words("Its name, where one is asked for"),
        description=words("What it does"),
        category=words("What it is about"),
        tags=listed({"type": "string"}),
        estimated_duration=words("How long it takes"),
        workflow_file=words("Where it is written"),
        parameters=mapped(ref("GoldenPathParameter"), "What it wants to know, by name"),
    ),
    "GoldenPathParameter": fields(
        "What a golden path wants to know; given as ?param.NAME=VALUE",
        "*",
        Type=words("string, int, bool, duration or enum"),
        Description=words("What it means"),
        Default=words("What it is if it isn't given"),
        Required={"type": "boolean", "description": "Whether it has to be given"},
        Pattern=words("What it has to look like"),
        AllowedValues={"type": ["array", "null"], "items": {"type": "string"}},
        Min={"type": ["integer", "null"]},
        Max={"type": ["integer", "null"]},
    ),
    "Resource": fields(
        "A resource of an application",
        "id application_name resource_name resource_type state health_status configuration type provider desired_operation"
        " created_at updated_at",
        id=whole("Its number"),
        application_name=words("Whose it is"),
        resource_name=words("Its name in the spec"),
        resource_type=words("Its type in the spec, such as postgres"),
        state=words("How it stands", *_STATES),
        health_status=words("How it is", "healthy", "degraded", "unhealthy", "unknown"),
        configuration=mapped({}, "How it shall be"),
        provider_id=words("What its provider calls it"),
        type=words("Who looks after it", "native", "delegated", "external"),
        provider=words("Which provider made it"),
        reference_url=words("Where it is looked after"),
        external_state=words("How it stands there"),
        workflow_execution_id=whole("The execution that works on it, or did"),
        desired_operation=words("What shall happen to it", "create", "update", "delete"),
        hints=listed(
            fields("Where to look", "*", type=words("Of what kind"), label=words("Its name"), value=words("It"), icon=words("Icon"))
        ),
        created_at=time("When it was asked for"),
        updated_at=time("When it last changed"),
        error_message=words("What is wrong with it"),
        state_transitions=listed(ref("StateTransition")),
    ),
    "StateTransition": fields(
        "How a resource came from one state to another",
        "*",
        id=whole("Its number"),
        resource_instance_id=whole("The resource"),
        from_state=words("Before", *_STATES),
        to_state=words("After", *_STATES),
        reason=words("Why"),
        transitioned_by=words("By whom"),
        transitioned_at=time("When"),
    ),
    "ResourceList": fields(
        "The resources that fit, and what was asked for",
        "resources",
        resources=listed_or_null(ref("Resource")),
        application=words("As asked"),
        type=words("As asked"),
        provider=words("As asked"),
    ),
    "Stats": fields(
        "Some numbers",
        "*",
        applications=whole("Applications"),
        workflows=whole("Workflow executions that run"),
        resources=whole("Resources that specs ask for"),
        users=whole("Users"),
    ),
    "Environment": fields(
        "Where an application runs",
        "*",
        id=whole("Its number"),
        name=words("The application"),
        type=words("Which kind"),
        ttl=words("For how long"),
        status=words("How it stands", "active", "provisioning", "failed"),
        resources=mapped({"type": "string"}, "The state of each resource"),
        created_at=time("When it was made"),
        updated_at=time("When it last changed"),
    ),
    "Provider": fields(
        "Who makes resources",
        "*",
        name=words("Its name"),
        version=words("Its version"),
        category=words("What it is about"),
        description=words("What it makes"),
        provisioners=whole("How many workflows make something"),
        golden_paths=whole("How many golden paths it has"),
        workflows=listed(
            fields(
                "A workflow",
                "name description category",
                name=words("Its name"),
                description=words("What it does"),
                category=words("Of which kind"),
                version=words("Its version"),
                tags=listed({"type": "string"}),
            )
        ),
    ),
    "ProviderStats": fields(
        "How many there are", "*", providers=whole("Providers"), provisioners=whole("Workflows that make something")
    ),
    "Health": fields(
        "How the server is",
        "*",
        status=words("In a word", "healthy", "degraded", "unhealthy"),
        timestamp=time("Now"),
        uptime_seconds={"type": "number", "description": "Since it began"},
        checks=mapped(mapped({}), "What was looked at"),
    ),
    "Ready": fields(
        "Whether it takes requests",
        "*",
        ready={"type": "boolean", "description": "It does"},
        timestamp=time("Now"),
        message=words("In words"),
    ),
}

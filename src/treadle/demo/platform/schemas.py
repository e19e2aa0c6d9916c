"""The schemas of the demo platform's OpenAPI document."""

from typing import Any

Schema = dict[str, Any]


def schema_ref(name: str) -> Schema:
    """Return a reference to a named schema."""
    return {"$ref": f"#/components/schemas/{name}"}


def array_schema(items: Schema) -> Schema:
    """Return the schema of a list."""
    return {"type": "array", "items": items}


def nullable_array_schema(items: Schema) -> Schema:
    """Return the schema of a list that is `null` if empty."""
    return {"type": ["array", "null"], "items": items, "description": "null where there are none"}


def map_schema(values: Schema, description: str = "") -> Schema:
    """Return the schema of a mapping with string keys."""
    return {"type": "object", "additionalProperties": values, **({"description": description} if description else {})}


def string_schema(description: str, *values: str) -> Schema:
    """Return the schema of a string, with an enum if values are given."""
    return {"type": "string", "description": description, **({"enum": list(values)} if values else {})}


def integer_schema(description: str) -> Schema:
    """Return the schema of an integer."""
    return {"type": "integer", "description": description}


def timestamp_schema(description: str) -> Schema:
    """Return the schema of a timestamp."""
    return {"type": "string", "format": "date-time", "description": description}


def object_schema(description: str, required: str, /, **properties: Schema) -> Schema:
    """Return the schema of an object; `required` are the names of required fields, `*` for all."""
    always = list(properties) if required == "*" else required.split()
    return {"type": "object", "description": description, "properties": properties, "required": always}


def nullable_schema(schema: Schema) -> Schema:
    """Return a nullable version of a schema."""
    return {**schema, "type": [schema["type"], "null"]}


_STATES = ("requested", "provisioning", "active", "scaling", "updating", "degraded", "terminating", "terminated", "failed")

SCHEMAS: dict[str, Schema] = {
    "Session": object_schema(
        "A login",
        "*",
        token=string_schema("Goes into the Authorization header; good for 3 hours after its last use"),
        username=string_schema("Who"),
        team=string_schema("Their team"),
        role=string_schema("What they may do", "admin", "developer"),
        expires=timestamp_schema("When it ends, unless it is used"),
    ),
    "Profile": object_schema(
        "Who is asking",
        "*",
        username=string_schema("Who"),
        team=string_schema("Their team"),
        role=string_schema("What they may do", "admin", "developer"),
    ),
    "UserInfo": object_schema(
        "Who is asking, and their keys",
        "*",
        username=string_schema("Who"),
        team=string_schema("Their team"),
        role=string_schema("What they may do", "admin", "developer"),
        is_admin={"type": "boolean", "description": "Whether they see every team's"},
        api_keys=array_schema(schema_ref("ApiKey")),
        is_impersonating={"type": "boolean", "description": "Whether an admin acts as them"},
    ),
    "ApiKey": object_schema(
        "A key, without what it is",
        "*",
        name=string_schema("What it is for"),
        masked_key=string_schema("Its beginning and end"),
        created_at=timestamp_schema("When it was made"),
        last_used_at=nullable_schema(timestamp_schema("When it was last used")),
        expires_at=timestamp_schema("When it ends"),
    ),
    "Container": object_schema(
        "What runs",
        "*",
        Image=string_schema("Its image"),
        Variables=nullable_schema(map_schema({"type": "string"}, "What it is given")),
    ),
    "SpecResource": object_schema(
        "What an application asks for",
        "*",
        Type=string_schema("Which provider makes it"),
        Params=nullable_schema(map_schema({}, "How it shall be")),
        Properties=nullable_schema(map_schema({}, "More about it")),
    ),
    "SpecEnvironment": {
        **object_schema("Where it runs", "*", Type=string_schema("Which kind"), TTL=string_schema("For how long, empty for ever")),
        "type": ["object", "null"],
    },
    "Spec": object_schema(
        "A Score spec as the platform keeps it; field names inside begin in upper case",
        "*",
        metadata=object_schema("About it", "*", Name=string_schema("The application's name")),
        containers=map_schema(schema_ref("Container")),
        resources=nullable_schema(map_schema(schema_ref("SpecResource"))),
        environment=schema_ref("SpecEnvironment"),
        graph=map_schema(
            array_schema({"type": "string"}), "Which resources each container names, and all of them under `environment`"
        ),
    ),
    "Application": {
        "description": "An application: its spec, and whose it is",
        "allOf": [
            schema_ref("Spec"),
            object_schema(
                "Whose it is",
                "*",
                team=string_schema("The team it belongs to"),
                created_by=string_schema("Who deployed it first"),
                created_at=timestamp_schema("When"),
                updated_at=timestamp_schema("When it was last deployed"),
            ),
        ],
    },
    "Deployed": object_schema(
        "A deployment that was taken; a workflow carries it out",
        "message name status",
        message=string_schema("What was done"),
        name=string_schema("The application"),
        status=string_schema("How it went", "success"),
        environment=string_schema("About an ephemeral environment"),
    ),
    "Failed": object_schema(
        "A deployment that failed",
        "*",
        message=string_schema("What happened"),
        name=string_schema("The application"),
        status=string_schema("How it went", "failed"),
        failed_workflows=array_schema({"type": "string"}),
        errors=array_schema({"type": "string"}),
    ),
    "Message": object_schema("What was done", "message", message=string_schema("In words"), note=string_schema("What is left")),
    "WorkflowSummary": object_schema(
        "A workflow execution",
        "id application_name workflow_name status started_at total_steps completed_steps failed_steps",
        id=integer_schema("Its number"),
        application_name=string_schema("Whose it is"),
        workflow_name=string_schema("What is carried out"),
        status=string_schema("How it stands", "running", "completed", "failed"),
        started_at=timestamp_schema("When it began"),
        completed_at=timestamp_schema("When it ended"),
        total_steps=integer_schema("How many steps there are"),
        completed_steps=integer_schema("How many are done"),
        failed_steps=integer_schema("How many failed"),
        duration_ms=integer_schema("How long it took"),
    ),
    "WorkflowStep": object_schema(
        "A step of a workflow execution",
        "id step_number step_name step_type status step_config",
        id=integer_schema("Its number in the platform"),
        step_number=integer_schema("Its place"),
        step_name=string_schema("What it is"),
        step_type=string_schema("What carries it out"),
        status=string_schema("How it stands", "pending", "running", "completed", "failed"),
        started_at=timestamp_schema("When it began"),
        completed_at=timestamp_schema("When it ended"),
        duration_ms=integer_schema("How long it took"),
        error_message=string_schema("Why it failed"),
        step_config=map_schema({}, "What it was given"),
        output_logs=string_schema("What it wrote"),
    ),
    "Workflow": {
        "description": "A workflow execution with its steps",
        "allOf": [
            schema_ref("WorkflowSummary"),
            object_schema(
                "More about it",
                "retry_count is_retry created_at updated_at steps",
                error_message=string_schema("Why it failed"),
                parent_execution_id=integer_schema("The execution that it retries"),
                retry_count=integer_schema("How often it was retried"),
                is_retry={"type": "boolean", "description": "Whether it retries another"},
                resume_from_step=integer_schema("The step it went on from"),
                created_at=timestamp_schema("When it was made"),
                updated_at=timestamp_schema("When it last changed"),
                steps=array_schema(schema_ref("WorkflowStep")),
            ),
        ],
    },
    "WorkflowPage": object_schema(
        "A page of workflow executions, the newest first",
        "*",
        data=nullable_array_schema(schema_ref("WorkflowSummary")),
        total=integer_schema("How many fit in all"),
        page=integer_schema("This page, from 1"),
        page_size=integer_schema("How many are on a page"),
        total_pages=integer_schema("How many pages there are"),
    ),
    "Retried": object_schema(
        "A retry that has begun",
        "*",
        success={"type": "boolean", "description": "Always true"},
        message=string_schema("What was done"),
        parent_execution_id=integer_schema("What is retried"),
        app_name=string_schema("The application"),
        workflow_name=string_schema("The workflow"),
    ),
    "GoldenPathStarted": object_schema(
        "A golden path that was begun",
        "*",
        message=string_schema("What was done"),
        application=string_schema("The application"),
        golden_path=string_schema("The golden path"),
        task_id=string_schema("The number of the workflow execution"),
        status=string_schema("How it stands", "enqueued", "completed"),
    ),
    "GoldenPath": object_schema(
        "A golden path",
        "description category tags estimated_duration workflow_file",
        name=string_schema("Its name, where one is asked for"),
        description=string_schema("What it does"),
        category=string_schema("What it is about"),
        tags=array_schema({"type": "string"}),
        estimated_duration=string_schema("How long it takes"),
        workflow_file=string_schema("Where it is written"),
        parameters=map_schema(schema_ref("GoldenPathParameter"), "What it wants to know, by name"),
    ),
    "GoldenPathParameter": object_schema(
        "What a golden path wants to know; given as ?param.NAME=VALUE",
        "*",
        Type=string_schema("string, int, bool, duration or enum"),
        Description=string_schema("What it means"),
        Default=string_schema("What it is if it isn't given"),
        Required={"type": "boolean", "description": "Whether it has to be given"},
        Pattern=string_schema("What it has to look like"),
        AllowedValues={"type": ["array", "null"], "items": {"type": "string"}},
        Min={"type": ["integer", "null"]},
        Max={"type": ["integer", "null"]},
    ),
    "Resource": object_schema(
        "A resource of an application",
        "id application_name resource_name resource_type state health_status configuration type provider desired_operation"
        " created_at updated_at",
        id=integer_schema("Its number"),
        application_name=string_schema("Whose it is"),
        resource_name=string_schema("Its name in the spec"),
        resource_type=string_schema("Its type in the spec, such as postgres"),
        state=string_schema("How it stands", *_STATES),
        health_status=string_schema("How it is", "healthy", "degraded", "unhealthy", "unknown"),
        configuration=map_schema({}, "How it shall be"),
        provider_id=string_schema("What its provider calls it"),
        type=string_schema("Who looks after it", "native", "delegated", "external"),
        provider=string_schema("Which provider made it"),
        reference_url=string_schema("Where it is looked after"),
        external_state=string_schema("How it stands there"),
        workflow_execution_id=integer_schema("The execution that works on it, or did"),
        desired_operation=string_schema("What shall happen to it", "create", "update", "delete"),
        hints=array_schema(
            object_schema(
                "Where to look",
                "*",
                type=string_schema("Of what kind"),
                label=string_schema("Its name"),
                value=string_schema("It"),
                icon=string_schema("Icon"),
            )
        ),
        created_at=timestamp_schema("When it was asked for"),
        updated_at=timestamp_schema("When it last changed"),
        error_message=string_schema("What is wrong with it"),
        state_transitions=array_schema(schema_ref("StateTransition")),
    ),
    "StateTransition": object_schema(
        "How a resource came from one state to another",
        "*",
        id=integer_schema("Its number"),
        resource_instance_id=integer_schema("The resource"),
        from_state=string_schema("Before", *_STATES),
        to_state=string_schema("After", *_STATES),
        reason=string_schema("Why"),
        transitioned_by=string_schema("By whom"),
        transitioned_at=timestamp_schema("When"),
    ),
    "ResourceList": object_schema(
        "The resources that fit, and what was asked for",
        "resources",
        resources=nullable_array_schema(schema_ref("Resource")),
        application=string_schema("As asked"),
        type=string_schema("As asked"),
        provider=string_schema("As asked"),
    ),
    "Stats": object_schema(
        "Some numbers",
        "*",
        applications=integer_schema("Applications"),
        workflows=integer_schema("Workflow executions that run"),
        resources=integer_schema("Resources that specs ask for"),
        users=integer_schema("Users"),
    ),
    "Environment": object_schema(
        "Where an application runs",
        "*",
        id=integer_schema("Its number"),
        name=string_schema("The application"),
        type=string_schema("Which kind"),
        ttl=string_schema("For how long"),
        status=string_schema("How it stands", "active", "provisioning", "failed"),
        resources=map_schema({"type": "string"}, "The state of each resource"),
        created_at=timestamp_schema("When it was made"),
        updated_at=timestamp_schema("When it last changed"),
    ),
    "Provider": object_schema(
        "Who makes resources",
        "*",
        name=string_schema("Its name"),
        version=string_schema("Its version"),
        category=string_schema("What it is about"),
        description=string_schema("What it makes"),
        provisioners=integer_schema("How many workflows make something"),
        golden_paths=integer_schema("How many golden paths it has"),
        workflows=array_schema(
            object_schema(
                "A workflow",
                "name description category",
                name=string_schema("Its name"),
                description=string_schema("What it does"),
                category=string_schema("Of which kind"),
                version=string_schema("Its version"),
                tags=array_schema({"type": "string"}),
            )
        ),
    ),
    "ProviderStats": object_schema(
        "How many there are",
        "*",
        providers=integer_schema("Providers"),
        provisioners=integer_schema("Workflows that make something"),
    ),
    "Health": object_schema(
        "How the server is",
        "*",
        status=string_schema("In a word", "healthy", "degraded", "unhealthy"),
        timestamp=timestamp_schema("Now"),
        uptime_seconds={"type": "number", "description": "Since it began"},
        checks=map_schema(map_schema({}), "What was looked at"),
    ),
    "Ready": object_schema(
        "Whether it takes requests",
        "*",
        ready={"type": "boolean", "description": "It does"},
        timestamp=timestamp_schema("Now"),
        message=string_schema("In words"),
    ),
}

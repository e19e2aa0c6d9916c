"""The steps of a deployment, and which of them will fail. Pure: the same spec always has the same outcome."""

from collections.abc import Mapping, Sequence
from typing import Any, Literal, cast

from msgspec import Struct, field
from msgspec.structs import replace

from treadle.assistants.platform.score import ScoreSpec
from treadle.demo.platform.catalogue import BY_TYPE

FAIL_VARIABLE = "DEMO_FAIL"  # a variable with this name says which step fails
STEP_TYPES = ("ansible", "argocd-app", "dummy", "git-commit", "gitea-repo", "kubernetes", "policy", "terraform", "validation")

Operation = Literal["create", "update", "delete"]
_VERBS: dict[Operation, str] = {"create": "provision", "update": "update", "delete": "remove"}


class ResourceChange(Struct, frozen=True):
    """A change to one resource."""

    resource_id: int
    name: str
    type: str
    operation: Operation


class PlannedStep(Struct, frozen=True):
    """A planned step. `takes` is its duration in seconds at the usual pace, None if it waits forever."""

    name: str
    type: str
    logs: str
    config: dict[str, Any] = field(default_factory=dict[str, Any])
    resource_id: int | None = None
    failure: str = ""
    takes: float | None = 1.0


def plan_deployment(spec: ScoreSpec, changes: Sequence[ResourceChange]) -> list[PlannedStep]:
    """Return the steps that deploy a spec."""
    images = ", ".join(each.image for each in spec.containers.values())
    names = ", ".join(spec.containers)
    steps = [
        PlannedStep(
            "validate-spec", "validation", f"Read the spec of {spec.name}: {len(spec.containers)} container(s).\nThe spec is valid."
        ),
        *(_resource_step(change) for change in changes),
        PlannedStep("pull-images", "kubernetes", f"Pulling {images}", {"images": images}, failure=_find_unpullable_image(spec)),
        PlannedStep(
            "deploy-containers",
            "kubernetes",
            f"Applied deployment/{spec.name} with {names}.\nRollout finished.",
            {"containers": names},
        ),
        PlannedStep("check-health", "validation", f"GET http://{spec.name}/healthz answered 200."),
    ]
    return [_apply_fail_marker(step, spec) for step in steps]


def plan_removal(changes: Sequence[ResourceChange]) -> list[PlannedStep]:
    """Return the steps that delete resources."""
    return [PlannedStep("stop-containers", "kubernetes", "Scaled to 0."), *(_resource_step(change) for change in changes)]


def plan_inline_workflow(workflow: Mapping[str, Any]) -> list[PlannedStep]:
    """Return the steps of a workflow that is written in a spec."""
    steps: Any = workflow.get("steps") or []
    return [_inline_step(index, each) for index, each in enumerate(steps, 1)]


def _resource_step(change: ResourceChange) -> PlannedStep:
    provider = BY_TYPE.get(change.type)
    verb = _VERBS[change.operation]
    down = provider.down if provider and change.operation != "delete" else ""
    return PlannedStep(
        f"{verb}-{change.name}",
        provider.step if provider else "dummy",
        f"{provider.name if provider else 'no provider'}: {verb} {change.type} {change.name}",
        {"resource": change.name, "type": change.type, "operation": change.operation},
        change.resource_id,
        f"provider {provider.name} can't be reached: {down}" if provider and down else "",
    )


def _find_unpullable_image(spec: ScoreSpec) -> str:
    broken = next((each.image for each in spec.containers.values() if "broken" in each.image), "")
    return f"image '{broken}' can't be pulled: manifest unknown" if broken else ""


def _apply_fail_marker(step: PlannedStep, spec: ScoreSpec) -> PlannedStep:
    told = any(each.variables.get(FAIL_VARIABLE) == step.name for each in spec.containers.values())
    return replace(step, failure=f"{FAIL_VARIABLE} says that {step.name} fails") if told else step


def _inline_step(index: int, value: Any) -> PlannedStep:
    config = cast("dict[str, Any]", value) if isinstance(value, dict) else {"name": value}
    name, kind = str(config.get("name") or f"step-{index}")[:100], str(config.get("type") or "dummy")[:100]
    failure = ""
    if kind not in STEP_TYPES:
        failure = f"there is nothing that carries out steps of type '{kind}'"
    elif "broken" in str(config):
        failure = f"{name} is broken"
    return PlannedStep(name, kind, f"Ran {name}.", config, failure=failure)

"""What a deployment consists of, step by step, and which of the steps will fail. Pure: the same spec always fares the same."""

from collections.abc import Mapping, Sequence
from typing import Any, Literal, cast

from msgspec import Struct, field
from msgspec.structs import replace

from treadle.assistants.platform.demo.catalogue import BY_TYPE
from treadle.assistants.platform.score import Spec

FAIL = "DEMO_FAIL"  # a variable with this name says which step fails
STEP_TYPES = ("ansible", "argocd-app", "dummy", "git-commit", "gitea-repo", "kubernetes", "policy", "terraform", "validation")

Operation = Literal["create", "update", "delete"]
_VERBS: dict[Operation, str] = {"create": "provision", "update": "update", "delete": "remove"}


class Change(Struct, frozen=True):
    """What happens to one resource."""

    resource_id: int
    name: str
    type: str
    operation: Operation


class Step(Struct, frozen=True):
    """One step to be. `takes` are seconds at the usual pace, None where it waits for something that never comes."""

    name: str
    type: str
    logs: str
    config: dict[str, Any] = field(default_factory=dict[str, Any])
    resource_id: int | None = None
    failure: str = ""
    takes: float | None = 1.0


def deployment(spec: Spec, changes: Sequence[Change]) -> list[Step]:
    """The steps that deploy a spec."""
    images = ", ".join(each.image for each in spec.containers.values())
    names = ", ".join(spec.containers)
    steps = [
        Step(
            "validate-spec", "validation", f"Read the spec of {spec.name}: {len(spec.containers)} container(s).\nThe spec is valid."
        ),
        *(_resource_step(change) for change in changes),
        Step("pull-images", "kubernetes", f"Pulling {images}", {"images": images}, failure=_unpullable(spec)),
        Step(
            "deploy-containers",
            "kubernetes",
            f"Applied deployment/{spec.name} with {names}.\nRollout finished.",
            {"containers": names},
        ),
        Step("check-health", "validation", f"GET http://{spec.name}/healthz answered 200."),
    ]
    return [_told_to_fail(step, spec) for step in steps]


def removal(changes: Sequence[Change]) -> list[Step]:
    """The steps that take resources away."""
    return [Step("stop-containers", "kubernetes", "Scaled to 0."), *(_resource_step(change) for change in changes)]


def inline(workflow: Mapping[str, Any]) -> list[Step]:
    """The steps of a workflow that is written in a spec."""
    steps: Any = workflow.get("steps") or []
    return [_inline_step(index, each) for index, each in enumerate(steps, 1)]


def _resource_step(change: Change) -> Step:
    provider = BY_TYPE.get(change.type)
    verb = _VERBS[change.operation]
    down = provider.down if provider and change.operation != "delete" else ""
    return Step(
        f"{verb}-{change.name}",
        provider.step if provider else "dummy",
        f"{provider.name if provider else 'nobody'}: {verb} {change.type} {change.name}",
        {"resource": change.name, "type": change.type, "operation": change.operation},
        change.resource_id,
        f"provider {provider.name} can't be reached: {down}" if provider and down else "",
    )


def _unpullable(spec: Spec) -> str:
    broken = next((each.image for each in spec.containers.values() if "broken" in each.image), "")
    return f"image '{broken}' can't be pulled: manifest unknown" if broken else ""


def _told_to_fail(step: Step, spec: Spec) -> Step:
    told = any(each.variables.get(FAIL) == step.name for each in spec.containers.values())
    return replace(step, failure=f"{FAIL} says that {step.name} fails") if told else step


def _inline_step(index: int, value: Any) -> Step:
    config = cast("dict[str, Any]", value) if isinstance(value, dict) else {"name": value}
    name, kind = str(config.get("name") or f"step-{index}")[:100], str(config.get("type") or "dummy")[:100]
    failure = ""
    if kind not in STEP_TYPES:
        failure = f"there is nothing that carries out steps of type '{kind}'"
    elif "broken" in str(config):
        failure = f"{name} is broken"
    return Step(name, kind, f"Ran {name}.", config, failure=failure)

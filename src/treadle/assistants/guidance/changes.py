"""Changes of a problem spec or a world model, as requested in a conversation, and the difference they make. Pure."""

from collections.abc import Callable, Iterable, Sequence
from difflib import unified_diff
from typing import Any, Literal, cast

import msgspec
from msgspec import Struct
from msgspec.structs import replace

from treadle import ToolProblem
from treadle.assistants.guidance.store.errors import InvalidValue
from treadle.assistants.guidance.store.values import Constraint, Mode, ProblemSpec, Resolution, WorldEntry, WorldModel

MAX_CONTEXT_LINES = 100  # around a difference: enough to see which section it is in
WorldSection = Literal["actors", "mechanisms", "resources", "constraints", "assumptions", "simplifications"]


class GivenConstraint(Struct, frozen=True):
    """A constraint as it was asked for; what isn't said of one that is there already stays as it is."""

    name: str
    description: str | None = None
    weight: int | None = None


class GivenEntry(Struct, frozen=True):
    """An entry of a world model as it was asked for, likewise."""

    name: str
    description: str | None = None
    type: str | None = None


class SpecChange(Struct, frozen=True):
    """A change of a problem spec."""

    constraints: tuple[GivenConstraint, ...] = ()
    without_constraints: tuple[str, ...] = ()
    goals: tuple[str, ...] = ()
    without_goals: tuple[str, ...] = ()
    resolution: Resolution | None = None
    mode: Mode | None = None


def apply_spec_change(spec: ProblemSpec, change: SpecChange) -> ProblemSpec:
    """Return the spec with the change applied. Raises `ToolProblem` if it can't be applied, or changes nothing."""
    constraints = _remove_named(spec.constraints, change.without_constraints, "constraint")
    for given in change.constraints:
        there = _find_by_name(constraints, given.name) or _create_value(Constraint, given.name)
        fields = {key: value for key, value in (("description", given.description), ("weight", given.weight)) if value is not None}
        constraints = _replace_or_append(constraints, _with_fields(there, fields))
    goals = [goal for goal in spec.goals if goal not in _match_goals(spec, change.without_goals)]
    goals += [goal for goal in change.goals if goal not in goals]
    fields = {"constraints": tuple(constraints), "goals": tuple(goals)}
    fields |= {key: value for key, value in (("resolution", change.resolution), ("mode", change.mode)) if value is not None}
    return _require_change(spec, _with_fields(spec, fields))


def apply_world_change(world: WorldModel, section: WorldSection, given: Sequence[GivenEntry], without: Sequence[str]) -> WorldModel:
    """Return the world model with some entries of a section added, changed or removed."""
    entries = _remove_named(cast("tuple[WorldEntry, ...]", getattr(world, section)), without, f"entry of {section}")
    for each in given:
        there = _find_by_name(entries, each.name) or _create_value(WorldEntry, each.name)
        fields = {key: value for key, value in (("description", each.description), ("type", each.type)) if value is not None}
        entries = _replace_or_append(entries, _with_fields(there, fields))
    return _require_change(world, _with_fields(world, {section: tuple(entries)}))


def format_difference(before: ProblemSpec | WorldModel, after: ProblemSpec | WorldModel) -> str:
    """Return the changes as a unified diff of both values in plain lines."""
    lines = unified_diff(
        to_plain_lines(before).splitlines(),
        to_plain_lines(after).splitlines(),
        "as it is",
        "as it would be",
        lineterm="",
        n=MAX_CONTEXT_LINES,
    )
    return "\n".join(lines)


def to_plain_lines(value: ProblemSpec | WorldModel) -> str:
    """Return a spec or world model as plain lines, for people and models."""
    if isinstance(value, ProblemSpec):
        constraints = [_to_bullet(f"{each.name} (weight {each.weight})", each.description) for each in value.constraints]
        goals = [_to_bullet(goal) for goal in value.goals]
        return "\n".join(["constraints:", *constraints, "goals:", *goals, f"resolution: {value.resolution}", f"mode: {value.mode}"])
    lines: list[str] = []
    for section in ("actors", "mechanisms", "resources", "constraints", "assumptions", "simplifications"):
        lines.append(f"{section}:")
        entries: tuple[WorldEntry, ...] = getattr(value, section)
        lines += [_to_bullet(f"{each.name} ({each.type})" if each.type else each.name, each.description) for each in entries]
    return "\n".join(lines)


def _to_bullet(name: str, description: str = "") -> str:
    """Return one item as one line, whatever it contains: nothing may look like another item."""
    text = f"{name}: {description}" if description else name
    return "  - " + text.replace("\r", "").replace("\n", " ⏎ ")


NamedValue = Constraint | WorldEntry


def _find_by_name(values: Iterable[Any], name: str) -> Any:
    return next((each for each in values if each.name.casefold() == name.strip().casefold()), None)


def _replace_or_append(values: list[Any], value: NamedValue) -> list[Any]:
    """Replace the item of the same name, or append."""
    if _find_by_name(values, value.name) is None:
        return [*values, value]
    return [value if each.name.casefold() == value.name.casefold() else each for each in values]


def _remove_named(values: Iterable[Any], names: Sequence[str], what: str) -> list[Any]:
    kept = list(values)
    for name in names:
        found = _find_by_name(kept, name)
        if found is None:
            there = ", ".join([each.name for each in kept]) or "none at all"
            raise ToolProblem(f"There is no {what} called {name!r}. There is: {there}.")
        kept.remove(found)
    return kept


def _match_goals(spec: ProblemSpec, names: Sequence[str]) -> set[str]:
    gone = {goal for name in names for goal in spec.goals if goal.casefold().strip() == name.casefold().strip()}
    if len(gone) < len(set(names)):
        there = "; ".join(spec.goals) or "none at all"
        raise ToolProblem(f"Not all of these are goals. There is: {there}.")
    return gone


def _create_value(kind: Callable[[str], Any], name: str) -> Any:
    try:
        return kind(name)
    except InvalidValue as error:
        raise ToolProblem(f"That can't be kept: {error}") from error


def _with_fields(value: Any, fields: dict[str, Any]) -> Any:
    """Return the value with other fields, after validating it."""
    try:
        return msgspec.convert(msgspec.to_builtins({**msgspec.structs.asdict(value), **fields}), cast("type[Any]", type(value)))
    except (msgspec.ValidationError, InvalidValue) as error:
        raise ToolProblem(f"That can't be kept: {error}") from error


def _require_change(before: Any, after: Any) -> Any:
    if replace(after, version=before.version, updated_at=before.updated_at) == before:
        raise ToolProblem("That would change nothing: it is so already.")
    return after

"""Changes of a problem spec or a world model, as somebody asks for them in a conversation; and the difference they make. Pure."""

from collections.abc import Callable, Iterable, Sequence
from difflib import unified_diff
from typing import Any, Literal, cast

import msgspec
from msgspec import Struct
from msgspec.structs import replace

from treadle import ToolProblem
from treadle.assistants.guidance.store.errors import BadValue
from treadle.assistants.guidance.store.values import Constraint, Entry, Mode, ProblemSpec, Resolution, WorldModel

MOST_LINES = 100  # around a difference: enough to see which section it is in
Section = Literal["actors", "mechanisms", "resources", "constraints", "assumptions", "simplifications"]


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
    """What is to change in a problem spec."""

    constraints: tuple[GivenConstraint, ...] = ()
    without_constraints: tuple[str, ...] = ()
    goals: tuple[str, ...] = ()
    without_goals: tuple[str, ...] = ()
    resolution: Resolution | None = None
    mode: Mode | None = None


def changed_spec(spec: ProblemSpec, change: SpecChange) -> ProblemSpec:
    """The spec with the change made. `ToolProblem` where it can't be, or changes nothing."""
    constraints = _without(spec.constraints, change.without_constraints, "constraint")
    for given in change.constraints:
        there = _named(constraints, given.name) or _new(Constraint, given.name)
        fields = {key: value for key, value in (("description", given.description), ("weight", given.weight)) if value is not None}
        constraints = _put(constraints, _made(there, fields))
    goals = [goal for goal in spec.goals if goal not in _goals(spec, change.without_goals)]
    goals += [goal for goal in change.goals if goal not in goals]
    fields = {"constraints": tuple(constraints), "goals": tuple(goals)}
    fields |= {key: value for key, value in (("resolution", change.resolution), ("mode", change.mode)) if value is not None}
    return _differing(spec, _made(spec, fields))


def changed_world(world: WorldModel, section: Section, given: Sequence[GivenEntry], without: Sequence[str]) -> WorldModel:
    """The world model with some entries of a section put in or taken out."""
    entries = _without(cast("tuple[Entry, ...]", getattr(world, section)), without, f"entry of {section}")
    for each in given:
        there = _named(entries, each.name) or _new(Entry, each.name)
        fields = {key: value for key, value in (("description", each.description), ("type", each.type)) if value is not None}
        entries = _put(entries, _made(there, fields))
    return _differing(world, _made(world, {section: tuple(entries)}))


def difference(before: ProblemSpec | WorldModel, after: ProblemSpec | WorldModel) -> str:
    """What changes, as a unified diff of both in plain lines."""
    lines = unified_diff(
        told(before).splitlines(), told(after).splitlines(), "as it is", "as it would be", lineterm="", n=MOST_LINES
    )
    return "\n".join(lines)


def told(value: ProblemSpec | WorldModel) -> str:
    """A spec or world model in plain lines, for people and models."""
    if isinstance(value, ProblemSpec):
        constraints = [_line(f"{each.name} (weight {each.weight})", each.description) for each in value.constraints]
        goals = [_line(goal) for goal in value.goals]
        return "\n".join(["constraints:", *constraints, "goals:", *goals, f"resolution: {value.resolution}", f"mode: {value.mode}"])
    lines: list[str] = []
    for section in ("actors", "mechanisms", "resources", "constraints", "assumptions", "simplifications"):
        lines.append(f"{section}:")
        entries: tuple[Entry, ...] = getattr(value, section)
        lines += [_line(f"{each.name} ({each.type})" if each.type else each.name, each.description) for each in entries]
    return "\n".join(lines)


def _line(name: str, description: str = "") -> str:
    """One thing in one line, whatever is in it: nothing may look like another thing."""
    text = f"{name}: {description}" if description else name
    return "  - " + text.replace("\r", "").replace("\n", " ⏎ ")


Named = Constraint | Entry


def _named(values: Iterable[Any], name: str) -> Any:
    return next((each for each in values if each.name.casefold() == name.strip().casefold()), None)


def _put(values: list[Any], value: Named) -> list[Any]:
    """In the place of what has its name, or at the end."""
    if _named(values, value.name) is None:
        return [*values, value]
    return [value if each.name.casefold() == value.name.casefold() else each for each in values]


def _without(values: Iterable[Any], names: Sequence[str], what: str) -> list[Any]:
    kept = list(values)
    for name in names:
        found = _named(kept, name)
        if found is None:
            there = ", ".join([each.name for each in kept]) or "none at all"
            raise ToolProblem(f"There is no {what} called {name!r}. There is: {there}.")
        kept.remove(found)
    return kept


def _goals(spec: ProblemSpec, names: Sequence[str]) -> set[str]:
    gone = {goal for name in names for goal in spec.goals if goal.casefold().strip() == name.casefold().strip()}
    if len(gone) < len(set(names)):
        there = "; ".join(spec.goals) or "none at all"
        raise ToolProblem(f"Not all of these are goals. There is: {there}.")
    return gone


def _new(kind: Callable[[str], Any], name: str) -> Any:
    try:
        return kind(name)
    except BadValue as error:
        raise ToolProblem(f"That can't be kept: {error}") from error


def _made(value: Any, fields: dict[str, Any]) -> Any:
    """The value with other fields, which have to fit."""
    try:
        return msgspec.convert(msgspec.to_builtins({**msgspec.structs.asdict(value), **fields}), cast("type[Any]", type(value)))
    except (msgspec.ValidationError, BadValue) as error:
        raise ToolProblem(f"That can't be kept: {error}") from error


def _differing(before: Any, after: Any) -> Any:
    if replace(after, version=before.version, updated_at=before.updated_at) == before:
        raise ToolProblem("That would change nothing: it is so already.")
    return after

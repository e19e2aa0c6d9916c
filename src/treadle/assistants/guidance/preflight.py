"""Whether a run could begin, and with which numbers: blockers, warnings, and the settings as they would be used. Pure.

The assistant recommends; a person runs.
"""

from collections.abc import Mapping
from typing import Any, Literal

from msgspec import Struct

from treadle.assistants.guidance.stages import State

MODES = ("full_search", "eval_only", "seeded")
COUNTS = {"num_candidates": 5, "num_scenarios": 8}  # unless somebody says otherwise
BUDGETS = ("budget_tokens", "budget_usd", "max_runtime_s")
LEAST, MOST, MANY = 1, 50, 20

Level = Literal["blocker", "warning"]


class Finding(Struct, frozen=True):
    """What keeps a run from beginning, or is worth a thought."""

    code: str
    message: str


class Preflight(Struct, frozen=True):
    """What came of the look."""

    ready: bool
    blockers: tuple[Finding, ...]
    warnings: tuple[Finding, ...]
    normalized_config: dict[str, Any]
    prerequisites: dict[str, bool]
    notes: tuple[str, ...] = ()


def preflight(state: State, mode: str = "full_search", parameters: Mapping[str, Any] | None = None) -> Preflight:
    """Look at a run before it begins."""
    given = dict(parameters or {})
    blockers, warnings, notes = _prerequisites(state, mode, given), list[Finding](), list[str]()
    config: dict[str, Any] = {"mode": mode}
    for name, usual in COUNTS.items():
        config[name] = _count(name, given.pop(name, None), usual, blockers, warnings, notes)
    for name in BUDGETS:
        config[name] = _budget(name, given.pop(name, None), blockers)
    seeds = given.pop("seed_candidate_ids", None)
    config["seed_candidate_ids"] = [str(each) for each in seeds] if isinstance(seeds, list | tuple) else []  # pyright: ignore[reportUnknownVariableType, reportUnknownArgumentType] - anybody's JSON
    if given:
        warnings.append(Finding("unknown_parameter", f"These mean nothing to a run: {', '.join(sorted(map(str, given)))}."))
    prerequisites = {"problem_spec": state.has_problem_spec, "world_model": state.has_world_model}
    return Preflight(not blockers, tuple(blockers), tuple(warnings), config, prerequisites, tuple(notes))


def _prerequisites(state: State, mode: str, given: Mapping[str, Any]) -> list[Finding]:
    found: list[Finding] = []
    if mode not in MODES:
        found.append(Finding("validation_error", f"There is no mode {mode!r}; it is one of {', '.join(MODES)}."))
    if not state.has_problem_spec:
        found.append(
            Finding("missing_problem_spec", "The project has no problem spec yet: say what has to hold and what is wanted.")
        )
    if not state.has_world_model:
        found.append(Finding("missing_world_model", "The project has no world model yet: name actors, mechanisms and resources."))
    if mode == "eval_only" and not state.candidates:
        found.append(Finding("insufficient_candidates", "There are no candidates to evaluate; run a full search first."))
    if mode == "seeded" and not given.get("seed_candidate_ids"):
        found.append(Finding("insufficient_candidates", "A seeded run needs the ids of the candidates it begins with."))
    return found


def _count(name: str, given: Any, usual: int, blockers: list[Finding], warnings: list[Finding], notes: list[str]) -> int:
    if given is None:
        return usual
    number = _number(given)
    if number is None or number != int(number):
        blockers.append(Finding("validation_error", f"{name} has to be a whole number from {LEAST} to {MOST}."))
        return usual
    kept = min(max(int(number), LEAST), MOST)
    if kept != int(number):
        notes.append(f"{name} is {kept} instead of {int(number)}: it goes from {LEAST} to {MOST}.")
    if kept > MANY:
        what = name.removeprefix("num_").rstrip("s")
        warnings.append(Finding(f"large_{what}_count", f"{kept} {what}s take long and cost much; {usual} are usual."))
    return kept


def _budget(name: str, given: Any, blockers: list[Finding]) -> float | None:
    if given is None:
        return None
    number = _number(given)
    if number is None or number <= 0:
        blockers.append(Finding("validation_error", f"{name} has to be a number above 0."))
        return None
    return int(number) if number == int(number) else number


def _number(given: Any) -> float | None:
    """A number that was given as one, or as its digits; None for anything else."""
    if isinstance(given, bool) or not isinstance(given, int | float | str):
        return None
    try:
        number = float(given)
    except (ValueError, OverflowError):
        return None
    return number if abs(number) < 1e15 else None  # also keeps out what is no number, and infinity

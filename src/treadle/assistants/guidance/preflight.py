"""Check whether a run could start, and with which settings: blockers, warnings, and the settings as they would be used. Pure.

The assistant recommends settings; a person starts the run.
"""

from collections.abc import Mapping
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Any, Literal
from uuid import uuid4

import msgspec
from msgspec import Struct

from treadle.assistants.guidance.stages import ProjectState

if TYPE_CHECKING:
    from treadle import RunResult
    from treadle.assistants.guidance.session import GuidanceContext


MODES = ("full_search", "eval_only", "seeded")
DEFAULT_COUNTS = {"num_candidates": 5, "num_scenarios": 8}  # unless set by the user
BUDGETS = ("budget_tokens", "budget_usd", "max_runtime_s")
LEAST, MOST, MANY = 1, 50, 20

FindingLevel = Literal["blocker", "warning"]


class PreflightFinding(Struct, frozen=True):
    """A reason why a run can't start, or a warning."""

    code: str
    message: str


class Preflight(Struct, frozen=True):
    """The result of the check."""

    ready: bool
    blockers: tuple[PreflightFinding, ...]
    warnings: tuple[PreflightFinding, ...]
    normalized_config: dict[str, Any]
    prerequisites: dict[str, bool]
    notes: tuple[str, ...] = ()


def run_preflight(state: ProjectState, mode: str = "full_search", parameters: Mapping[str, Any] | None = None) -> Preflight:
    """Check a run before it starts."""
    given = dict(parameters or {})
    blockers, warnings, notes = _missing_prerequisites(state, mode, given), list[PreflightFinding](), list[str]()
    config: dict[str, Any] = {"mode": mode}
    for name, usual in DEFAULT_COUNTS.items():
        config[name] = _normalize_count(name, given.pop(name, None), usual, blockers, warnings, notes)
    for name in BUDGETS:
        config[name] = _normalize_budget(name, given.pop(name, None), blockers)
    seeds = given.pop("seed_candidate_ids", None)
    config["seed_candidate_ids"] = [str(each) for each in seeds] if isinstance(seeds, list | tuple) else []  # pyright: ignore[reportUnknownVariableType, reportUnknownArgumentType] - anybody's JSON
    if given:
        warnings.append(
            PreflightFinding("unknown_parameter", f"These mean nothing to a run: {', '.join(sorted(map(str, given)))}.")
        )
    prerequisites = {"problem_spec": state.has_problem_spec, "world_model": state.has_world_model}
    return Preflight(not blockers, tuple(blockers), tuple(warnings), config, prerequisites, tuple(notes))


def _missing_prerequisites(state: ProjectState, mode: str, given: Mapping[str, Any]) -> list[PreflightFinding]:
    found: list[PreflightFinding] = []
    if mode not in MODES:
        found.append(PreflightFinding("validation_error", f"There is no mode {mode!r}; it is one of {', '.join(MODES)}."))
    if not state.has_problem_spec:
        found.append(
            PreflightFinding(
                "missing_problem_spec", "The project has no problem spec yet: say what has to hold and what is wanted."
            )
        )
    if not state.has_world_model:
        found.append(
            PreflightFinding("missing_world_model", "The project has no world model yet: name actors, mechanisms and resources.")
        )
    if mode == "eval_only" and not state.candidates:
        found.append(PreflightFinding("insufficient_candidates", "There are no candidates to evaluate; run a full search first."))
    if mode == "seeded" and not given.get("seed_candidate_ids"):
        found.append(PreflightFinding("insufficient_candidates", "A seeded run needs the ids of the candidates it begins with."))
    return found


def _normalize_count(
    name: str, given: Any, usual: int, blockers: list[PreflightFinding], warnings: list[PreflightFinding], notes: list[str]
) -> int:
    if given is None:
        return usual
    number = _parse_number(given)
    if number is None or number != int(number):
        blockers.append(PreflightFinding("validation_error", f"{name} has to be a whole number from {LEAST} to {MOST}."))
        return usual
    kept = min(max(int(number), LEAST), MOST)
    if kept != int(number):
        notes.append(f"{name} is {kept} instead of {int(number)}: it goes from {LEAST} to {MOST}.")
    if kept > MANY:
        what = name.removeprefix("num_").rstrip("s")
        warnings.append(PreflightFinding(f"large_{what}_count", f"{kept} {what}s take long and cost much; {usual} are usual."))
    return kept


def _normalize_budget(name: str, given: Any, blockers: list[PreflightFinding]) -> float | None:
    if given is None:
        return None
    number = _parse_number(given)
    if number is None or number <= 0:
        blockers.append(PreflightFinding("validation_error", f"{name} has to be a number above 0."))
        return None
    return int(number) if number == int(number) else number


def _parse_number(given: Any) -> float | None:
    """Return a number that was given as one, or as its digits; None for anything else."""
    if isinstance(given, bool) or not isinstance(given, int | float | str):
        return None
    try:
        number = float(given)
    except (ValueError, OverflowError):
        return None
    return number if abs(number) < 1e15 else None  # also keeps out what is no number, and infinity


RECOMMENDATION_VERSION = 1


def recommend_run(context: "GuidanceContext", state: ProjectState, result: "RunResult[Any]") -> dict[str, Any]:
    """Return the settings to run with: those the model checked last, or the defaults."""
    looks = [record.arguments for record in result.calls if record.name == "check_run" and not record.problem]
    checked: dict[str, Any] = looks[-1] if looks else {}
    parameters = {key: value for key, value in checked.items() if key != "mode"}
    found = run_preflight(state, str(checked.get("mode", "full_search")), parameters)
    config = dict(found.normalized_config)
    return {
        "version": RECOMMENDATION_VERSION,
        "recommendation_id": uuid4().hex,
        "project_id": context.project_id,
        "chat_session_id": context.session_id or None,
        "generated_at": datetime.now(UTC).isoformat(),
        "status": "ready" if found.ready else "blocked",
        "mode": config.pop("mode"),
        "parameters": config,
        "prerequisites": found.prerequisites,
        "blockers": [msgspec.to_builtins(each) for each in found.blockers],
        "warnings": [msgspec.to_builtins(each) for each in found.warnings],
        "rationale": result.text[:500],
        "notes": list(found.notes),
    }

"""The workflow stage of a project, and what comes next. Pure."""

from typing import Any, Literal

from msgspec import Struct

Stage = Literal["setup", "ready_to_run", "running", "completed"]

_STEPS = (
    ("problem_spec", "Describe the problem: constraints and goals"),
    ("world_model", "Model the world: actors, mechanisms, resources"),
    ("run", "Run the search"),
    ("results", "Look at the candidates"),
)
_ACTIONS: dict[Stage, tuple[str, ...]] = {
    "setup": ("Say what has to hold, and how much each of it weighs", "Name the actors and resources that matter"),
    "ready_to_run": ("Check the settings of a run", "Start a run"),
    "running": ("Wait for the run to end", "Look at the candidates that are there already"),
    "completed": ("Compare the best candidates", "Refine the constraints and run again"),
}


class ProjectState(Struct, frozen=True):
    """The facts about a project that determine its stage."""

    title: str = ""
    description: str = ""
    has_problem_spec: bool = False
    has_world_model: bool = False
    runs: int = 0
    running: int = 0
    completed: int = 0
    candidates: int = 0

    @property
    def has_runs(self) -> bool:
        """Whether there are any runs."""
        return self.runs > 0


class WorkflowProgress(Struct, frozen=True):
    """The workflow progress of a project."""

    current_stage: Stage
    completed_steps: tuple[str, ...]
    next_steps: tuple[str, ...]


def stage_of(state: ProjectState) -> Stage:
    """Return the stage of a project."""
    if not (state.has_problem_spec and state.has_world_model):
        return "setup"
    if state.running:
        return "running"
    return "completed" if state.completed else "ready_to_run"


def progress_of(state: ProjectState) -> WorkflowProgress:
    """Return what is done, and what comes next, the nearest first."""
    done = {
        "problem_spec": state.has_problem_spec,
        "world_model": state.has_world_model,
        "run": state.completed > 0,
        "results": False,  # looking never ends
    }
    completed = tuple([words for name, words in _STEPS if done[name]])
    return WorkflowProgress(stage_of(state), completed, tuple([words for name, words in _STEPS if not done[name]]))


def default_actions(stage: Stage) -> tuple[str, ...]:
    """Return the default actions of a stage."""
    return _ACTIONS[stage]


def project_state_to_json(state: ProjectState) -> dict[str, Any]:
    """Return the state as JSON, for models and programs."""
    return {
        "stage": stage_of(state),
        "has_problem_spec": state.has_problem_spec,
        "has_world_model": state.has_world_model,
        "has_runs": state.has_runs,
        "run_count": state.runs,
        "project_title": state.title or None,
        "project_description": state.description or None,
    }

"""Prompts of the guidance assistant. Text only."""

from collections.abc import Sequence

import msgspec

from treadle import Approval
from treadle.assistants.guidance.stages import ProjectState, progress_of

INSTRUCTIONS = """\
You are the architect beside a project: you help a person to describe their problem, to model its world, and to get ready for a run.
- What the project holds changes: look it up with your tools before you speak of it, several things at once where you need them.
- Use names and numbers as they are in the project. Make nothing up; what isn't there, say so.
- To change the problem spec or the world model, call the tool once, with what changes and nothing else. The person sees the
  difference and is asked by the application itself.
- A run evaluates candidate solutions: check_run says what blocks one, start_run starts it once the person has approved its
  settings, and compare_candidates shows its result.
- Where a tool reports a problem, say in plain words what it means. Answer briefly, in Markdown; end with next steps as a
  numbered list if there are some."""


def to_instructions(state: ProjectState, project_id: str, session_id: str, *, withdrawn: bool = False) -> str:
    """Return the instructions for one turn: the project's state, the ids for tools, and whether a change was just cancelled."""
    progress = progress_of(state)
    lines = [
        f"The project is {state.title!r} (project_id {project_id}{f', chat_session_id {session_id}' if session_id else ''}).",
        *([f"It is about: {state.description[:1000]}"] if state.description else []),
        (
            f"Problem spec: {_format_presence(state.has_problem_spec)}. "
            f"World model: {_format_presence(state.has_world_model)}. Runs: {state.runs}."
        ),
        f"Stage: {progress.current_stage}. Next: {'; '.join(progress.next_steps[:2])}.",
        *([WITHDRAWN] if withdrawn else []),
    ]
    return f"{INSTRUCTIONS}\n\n" + "\n".join(lines)


def _format_presence(is_there: bool) -> str:
    return "there" if is_there else "none yet"


def format_without_model(state: ProjectState, why: str) -> str:
    """Return what can be said from the state alone, and that it is no more than that."""
    progress = progress_of(state)
    done = ", ".join([step.partition(":")[0].lower() for step in progress.completed_steps]) or "nothing yet"
    steps = "\n".join([f"{number}. {step}" for number, step in enumerate(progress.next_steps[:3], 1)])
    head = f"No model could be asked ({why.rstrip('.')}), so this comes from the project's state alone."
    return f"{head} Done so far: {done}.\n\n{steps}"


def format_approval_question(words: str, approvals: Sequence[Approval], *, typed: bool = True) -> str:
    """Return the question about waiting changes: what each would do, and how it is decided. One can be by a typed yes or no."""
    shown = [
        each.preview or f"{each.name} would be called with {msgspec.json.encode(each.arguments).decode()}" for each in approvals
    ]
    asks = YES_NO_QUESTION if typed and len(approvals) == 1 and not approvals[0].unclear else APPROVE_EACH
    return "\n\n".join([*([words] if words else []), *[f"```\n{each}\n```" for each in shown], asks])


YES_NO_QUESTION = "Shall this be done? Answer yes or no."
APPROVE_EACH = "Approve or deny each on the page of approvals, or with `treadle approve`."
WITHDRAWN = "The change that waited for an answer was not made."
NO_PROJECT_INSTRUCTIONS = (
    "No project is open, so your tools mean the one that changed last. To look at another, give project_id: its id or its title. "
    "list_projects lists them; say which project you speak of."
)
NO_QUESTION = "Where does the project stand, and what should I do next?"

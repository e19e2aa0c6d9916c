"""What the guidance assistant's model is told. Words only."""

from treadle.assistants.guidance.stages import State, progress_of

INSTRUCTIONS = """\
You are the architect beside a project: you help a person to describe their problem, to model its world, and to get ready for a run.
- What the project holds changes: look it up with your tools before you speak of it, several things at once where you need them.
- Use names and numbers as they are in the project. Make nothing up; what isn't there, say so.
- To change the problem spec or the world model, call the tool once, with what changes and nothing else. The person sees the
  difference and is asked by the application itself.
- You never start a run: check_run says what blocks one, and a person starts it.
- Where a tool reports a problem, say in plain words what it means. Answer briefly, in Markdown; end with next steps as a
  numbered list if there are some."""


def told(state: State, project_id: str, session_id: str) -> str:
    """The instructions for one turn: where the project is, and the ids that tools go by."""
    progress = progress_of(state)
    lines = [
        f"The project is {state.title!r} (project_id {project_id}{f', chat_session_id {session_id}' if session_id else ''}).",
        *([f"It is about: {state.description[:1000]}"] if state.description else []),
        f"Problem spec: {_there(state.has_problem_spec)}. World model: {_there(state.has_world_model)}. Runs: {state.runs}.",
        f"Stage: {progress.current_stage}. Next: {'; '.join(progress.next_steps[:2])}.",
    ]
    return f"{INSTRUCTIONS}\n\n" + "\n".join(lines)


def _there(is_there: bool) -> str:
    return "there" if is_there else "none yet"


def without_model(state: State, why: str) -> str:
    """What can be said from the state alone, and that it is no more than that."""
    progress = progress_of(state)
    done = ", ".join([step.partition(":")[0].lower() for step in progress.completed_steps]) or "nothing yet"
    steps = "\n".join([f"{number}. {step}" for number, step in enumerate(progress.next_steps[:3], 1)])
    head = f"No model could be asked ({why.rstrip('.')}), so this comes from the project's state alone."
    return f"{head} Done so far: {done}.\n\n{steps}"


NO_QUESTION = "Where does the project stand, and what should I do next?"

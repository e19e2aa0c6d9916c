"""What the states of runs, jobs and calls are called, on every page and on the command line.

The API has the states themselves. `server/static/state-names.js` is this table for pages; a test compares them.
"""

STATE_NAMES = {
    "queued": "queued",
    "pending": "queued",
    "written": "being written",
    "open": "running",
    "running": "running",
    "waiting": "waiting",
    "asking": "waiting for approval",
    "answered": "answered",
    "completed": "completed",
    "done": "done",
    "limit": "limit reached",
    "denied": "denied",
    "failed": "failed",
    "stopped": "stopped",
    "cancelled": "cancelled",
}

RUN_STATUSES = ("open", "answered", "limit", "waiting", "cancelled", "failed")


def state_name(state: str) -> str:
    """Return what a state is called; `asking` is one that waits for a person, where that is known."""
    return STATE_NAMES.get(state, state)


def parse_state_name(name: str, states: tuple[str, ...]) -> str:
    """Return the one of these states that has a name, or is it: `running` is the state `open` of a run."""
    return next((state for state in states if name in (state, state_name(state))), name)

// What the states of runs, jobs and calls are called on all pages. The table is that of core/states.py, which the command line uses.

/** @type {Record<string, string>} */
export const STATE_NAMES = {
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
  "cancelled": "cancelled"
};

/** What a state is called; `asking` is one that waits for a person, where that is known. @param {string} state */
export function stateName(state) {
  return STATE_NAMES[state] ?? state;
}

/** The same at the beginning of a line. @param {string} state */
export function stateTitle(state) {
  const name = stateName(state);
  return `${name.slice(0, 1).toUpperCase()}${name.slice(1)}`;
}

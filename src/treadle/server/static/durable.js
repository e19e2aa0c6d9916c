// How a chat talks in durable runs: begun at /api/runs, followed from any tab, stopped, resumed and answered there.

import { following } from "./following.js";
import { ask } from "./treadle.js";

/** Where a run is. */
export const pathOf = (runId) => `/api/runs/${encodeURIComponent(runId)}`;

/** What brings the events of a run, from its beginning on. `replies` is what came with the answers of the turns that are over. */
export function eventsOf(runId, replies = []) {
  return async function* events({ signal }) {
    let turns = 0;
    for await (const event of following({ runId }, { signal })) {
      if (event.event === "reset") turns = 0;
      yield event.event === "run_ended" && event.run_id === runId ? { ...event, data: replies[turns++] } : event;
    }
  };
}

/**
 * What a `Chat` needs for that. `more()` gives what is posted with a message besides, at once or later: assistant, model, context.
 */
export function inRuns(more) {
  return {
    path: "/api/runs",
    events: async function* events(path, body, { signal }) {
      const added = path === "/api/runs" ? await more() : {};
      yield* following({ path, body: present({ ...body, ...added }) }, { signal });
    },
    approvals: ({ run_id, call_id }) => `${pathOf(run_id)}/approvals/${encodeURIComponent(call_id)}`,
    stop: (runId) => ask(`${pathOf(runId)}/cancel`, {}),
    resumes: (runId) => `${pathOf(runId)}/resume`,
  };
}

function present(body) {
  return Object.fromEntries(Object.entries(body).filter(([, value]) => value != null && value !== ""));
}

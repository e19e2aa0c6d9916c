// How a chat talks in durable runs: begun at /api/runs, followed from any tab, stopped, resumed and answered there.

/** @typedef {import("./chat.js").ChatOptions} ChatOptions */

import { following } from "./following.js";
import { ask } from "./treadle.js";

const LOOK = 2000;  // milliseconds between two looks at the queue that a run waits in

/** Where a run is. @param {string} runId */
export const pathOf = (runId) => `/api/runs/${encodeURIComponent(runId)}`;

/**
 * What brings the events of a run, from its beginning on. `replies` is what came with the answers of the turns that are over,
 * `queued` where the run waits for a worker.
 * @param {string} runId @param {unknown[]} [replies] @param {RunsAhead | null} [queued] @returns {EventSourceOf}
 */
export function eventsOf(runId, replies = [], queued = null) {
  return async function* events({ signal }) {
    const brought = following({ runId }, { signal });
    let turns = 0;
    for await (const event of queued ? withQueue(runId, queued, brought) : brought) {
      if (event.event === "reset") turns = 0;
      yield event.event === "run_ended" && event.run_id === runId ? { ...event, data: replies[turns++] } : event;
    }
  };
}

/**
 * The events of a run, and `run_queued` with its place in the queue now and then, until it has left it.
 * @param {string} runId @param {RunsAhead} queued @param {AsyncGenerator<RunEvent>} events @returns {AsyncGenerator<RunEvent>}
 */
async function* withQueue(runId, queued, events) {
  /** @type {RunsAhead | null} */
  let place = queued;
  let next = events.next();
  while (place) {
    yield { event: "run_queued", run_id: runId, ahead: place.ahead };
    const come = await Promise.race([next, new Promise((resolve) => { setTimeout(resolve, LOOK, null); })]);
    if (!come) place = await ask(pathOf(runId)).then((said) => said.queued ?? null, () => place);
    else if (come.done) return;
    else yield come.value;
    if (come) next = events.next();
  }
  for (let come = await next; !come.done; come = await events.next()) yield come.value;
}

/**
 * Have a model on this machine read what a conversation with an assistant begins with, while the first message is written. Nothing is
 * shown of it, also if it fails.
 * @param {string} assistant
 */
export function warm(assistant) {
  ask(`/api/assistants/${encodeURIComponent(assistant)}/warm`, {}).catch(() => {});
}

/**
 * What a `Chat` needs for that. `more()` gives what is posted with a message besides, at once or later: assistant, model, context.
 * @param {() => object | Promise<object>} more
 * @returns {Required<Pick<ChatOptions, "path" | "events" | "approvals" | "stop" | "resumes" | "rated">>}
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
    rated: true,
  };
}

/**
 * What a `Chat` needs besides where its conversation is one run: messages during an answer, and others in place of earlier ones, for
 * which `open(runId)` shows the run that was forked.
 * @param {(runId: string) => Promise<unknown>} open @returns {Required<Pick<ChatOptions, "steer" | "source" | "fork">>}
 */
export function inOneRun(open) {
  return {
    steer: (runId, message, message_id) => ask(`${pathOf(runId)}/messages`, { message, message_id }),
    source: (runId) => eventsOf(runId),
    fork: async (runId, number, message) => {
      const { run_id } = await ask(`${pathOf(runId)}/fork`, present({ before_message: number, message }));
      await open(run_id);
    },
  };
}

/** @param {object} body */
function present(body) {
  return Object.fromEntries(Object.entries(body).filter(([, value]) => value != null && value !== ""));
}

// The events of a run's turn, whatever happens to the connection: after a break it goes on where it was, and nothing comes twice.
//   for await (const event of following({ path: "/api/runs", body: { assistant, message } }, { signal })) …
// Besides the run's own there are `lost` and `back`, for the connection; `reset`, after which everything comes anew; and `missed`.
// The last one is `reply`, or `waits` where more than one thing has to be answered before anything happens.

import { answered, isStream, messages } from "./stream.js";
import { refused, ServerError } from "./errors.js";

const SILENCE = 50_000;  // milliseconds; a server that lives says so every 15 seconds
const NOTHING = 204;
const LAST = ["reply", "error", "waits"];
const PAUSES = [0.3, 1, 2, 4, 8, 15];  // seconds before each further try; the last holds for all after it

/**
 * What happens after a body was posted at a path; or, where there is none, in the run `runId`. What the server refuses is thrown,
 * and so is a request that never arrived: only then it isn't known which run to go on with.
 * @param {{ path?: string, body?: unknown, runId?: string }} given @param {{ signal?: AbortSignal }} [given]
 * @returns {AsyncGenerator<RunEvent>}
 */
export async function* following({ path, body, runId = "" }, { signal } = {}) {
  const seen = new Seen();
  let run = runId, tries = 0, response = path ? () => answered(path, { body, signal }) : () => further(run, seen.last, signal);
  for (;;) {
    try {
      for await (const { id, data } of told(await response(), signal)) {
        run ||= data.run_id ?? "";
        if (tries) yield { event: "back" };
        tries = 0;
        if (!seen.isNew(id, data)) continue;
        yield data;
        if (LAST.includes(data.event)) return;
      }
    } catch (error) {
      if (signal?.aborted || isFinal(error) || !run) throw error;
    }
    if (!tries) yield { event: "lost" };
    await pause(PAUSES[Math.min(tries++, PAUSES.length - 1)] * (0.8 + 0.4 * Math.random()), signal);
    response = () => further(run, seen.last, signal);
  }
}

/**
 * The events of a response. One without events says that other approvals have to be answered first, that a worker goes on with the
 * run, whose events then come from the first on, or that all events were sent.
 * @param {Response} response @param {AbortSignal | undefined} signal @returns {AsyncGenerator<{ id: string, data: RunEvent }>}
 */
async function* told(response, signal) {
  if (isStream(response)) return yield* messages(response, { signal, silence: SILENCE });
  if (response.status === NOTHING) return yield { id: "", data: { event: "reset" } };
  const said = await response.json().catch(() => null);
  if (said?.status === "queued") {
    yield { id: "", data: { event: "reset", run_id: said.run_id } };
    return yield* told(await further(said.run_id, "", signal), signal);
  }
  if (said?.status !== "waiting") throw refused(response.status, said);
  yield { id: "", data: { event: "waits", run_id: said.run_id } };
}

/** @param {string} run @param {string} last @param {AbortSignal | undefined} signal */
function further(run, last, signal) {
  return answered(`/api/runs/${encodeURIComponent(run)}/events`, { signal, headers: last ? { "last-event-id": last } : {} });
}

/** Whether trying again is of no use: the server has said no. @param {unknown} error */
function isFinal(error) {
  return error instanceof ServerError && error.status < 500;
}

/** Which events there were: numbered within an epoch, as `EPOCH-N`. */
class Seen {
  last = "";
  #epoch = "";
  #number = -1;

  /** @param {string} id @param {RunEvent} runEvent */
  isNew(id, { event }) {
    const at = id.lastIndexOf("-"), epoch = id.slice(0, at), number = Number(id.slice(at + 1));
    if (event === "reset") {
      [this.last, this.#epoch, this.#number] = [id, "", -1];
      return true;
    }
    if (at < 0 || !Number.isInteger(number)) return true;
    if (epoch === this.#epoch && number <= this.#number) return false;
    [this.last, this.#epoch, this.#number] = [id, epoch, number];
    return true;
  }
}

/**
 * Wait; not longer than until the network is there again, or it isn't needed any more.
 * @param {number} seconds @param {AbortSignal | undefined} signal
 */
function pause(seconds, signal) {
  return /** @type {Promise<void>} */ (new Promise((resolve) => {
    const done = () => {
      clearTimeout(timer);
      removeEventListener("online", done);
      resolve();
    };
    const timer = setTimeout(done, seconds * 1000);
    addEventListener("online", done, { once: true });
    signal?.addEventListener("abort", done, { once: true });
  }));
}

// What happens on the server, as it happens: events after a request that was posted, each a line of JSON.
//   for await (const { event, ...more } of events("/api/…/chat", { message })) …
// A stream that goes on after a break is following.js.

import { refused } from "./errors.js";

const GONE = "The server isn't responding. Is it still running?";
const CUT = "The connection broke before the answer was complete.";

/**
 * The events that a posted body brings about; a plain JSON answer is a single one, `reply`. Throws an Error with a sentence.
 * @param {string} path @param {unknown} body @param {{ signal?: AbortSignal }} [given] @returns {AsyncGenerator<RunEvent>}
 */
export async function* events(path, body, { signal } = {}) {
  const response = await answered(path, { body, signal });
  if (isStream(response)) {
    for await (const { data } of messages(response, { signal })) yield data;
  } else {
    yield { event: "reply", ...await saidIn(response) };
  }
}

/**
 * The answer at a path, which may be a stream; a body is posted.
 * @param {string} path @param {{ body?: unknown, signal?: AbortSignal, headers?: Record<string, string> }} [given]
 */
export async function answered(path, { body, signal, headers = {} } = {}) {
  const accept = { accept: "text/event-stream, application/json", ...headers };
  const sent = body === undefined
    ? { headers: accept }
    : { method: "POST", headers: { "content-type": "application/json", ...accept }, body: JSON.stringify(body) };
  try {
    return await fetch(path, { ...sent, signal });
  } catch (error) {
    throw signal?.aborted ? error : new Error(GONE, { cause: error });
  }
}

/** @param {Response} response */
export function isStream(response) {
  return response.ok && (response.headers.get("content-type")?.startsWith("text/event-stream") ?? false);
}

/** What a plain answer says. @param {Response} response */
async function saidIn(response) {
  const said = await response.json().catch(() => null);
  if (!response.ok || said === null || said.success === false) throw refused(response.status, said);
  return said;
}

/**
 * The messages of a stream: { id, data }, where the id is "" if there is none. With `silence`, a connection on which nothing comes
 * for so many milliseconds counts as broken.
 * @param {Response} response @param {{ signal?: AbortSignal, silence?: number }} [given]
 * @returns {AsyncGenerator<{ id: string, data: RunEvent }>}
 */
export async function* messages(response, { signal, silence } = {}) {
  if (!response.body) throw new Error(CUT);
  const reader = response.body.pipeThrough(new TextDecoderStream()).getReader();
  let rest = "", id = "";
  try {
    for (;;) {
      const { done, value } = await (silence ? within(silence, reader.read()) : reader.read());
      if (done) return;
      const complete = `${rest}${value}`.split("\n");
      rest = complete.pop() ?? "";
      for (const line of complete) {
        if (line.startsWith("id:")) id = line.slice(3).trim();
        if (line.startsWith("data:")) yield { id, data: JSON.parse(line.slice(5)) };
      }
    }
  } catch (error) {
    throw signal?.aborted ? error : new Error(CUT, { cause: error });
  } finally {
    reader.cancel().catch(() => {});
  }
}

/** @template T @param {number} milliseconds @param {Promise<T>} promise @returns {Promise<T>} */
function within(milliseconds, promise) {
  /** @type {ReturnType<typeof setTimeout>} */
  let timer;
  const late = new Promise((_, reject) => {
    timer = setTimeout(() => reject(new Error("Nothing came for a while.")), milliseconds);
  });
  return Promise.race([promise, late]).finally(() => clearTimeout(timer));
}

// What happens on the server, as it happens: events after a request that was posted, each a line of JSON.
//   for await (const { event, ...more } of events("/api/…/chat", { message })) …

import { refused } from "./treadle.js";

const GONE = "The server doesn't answer. Is it still running?";
const CUT = "The connection broke before the answer was complete.";

/** The events that a posted body brings about; a plain JSON answer is a single one, `reply`. Throws an Error with a sentence. */
export async function* events(path, body, { signal } = {}) {
  const response = await answered(path, body, signal);
  if (response.ok && response.headers.get("content-type")?.startsWith("text/event-stream")) return yield* lines(response, signal);
  const said = await response.json().catch(() => null);
  if (!response.ok || said === null || said.success === false) throw refused(response.status, said);
  yield { event: "reply", ...said };
}

async function answered(path, body, signal) {
  const headers = { "content-type": "application/json", accept: "text/event-stream, application/json" };
  try {
    return await fetch(path, { method: "POST", headers, body: JSON.stringify(body), signal });
  } catch (error) {
    throw signal?.aborted ? error : new Error(GONE, { cause: error });
  }
}

async function* lines(response, signal) {
  const reader = response.body.pipeThrough(new TextDecoderStream()).getReader();
  let rest = "";
  try {
    for (;;) {
      const { done, value } = await reader.read();
      if (done) return;
      const complete = `${rest}${value}`.split("\n");
      rest = complete.pop();
      yield* complete.filter((line) => line.startsWith("data:")).map((line) => JSON.parse(line.slice(5)));
    }
  } catch (error) {
    throw signal?.aborted ? error : new Error(CUT, { cause: error });
  } finally {
    reader.cancel().catch(() => {});
  }
}

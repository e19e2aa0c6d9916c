// Events of a run over a real connection: in pieces, broken off, taken up again, refused.

import assert from "node:assert/strict";
import { createServer } from "node:http";
import { once } from "node:events";
import test from "node:test";
import { following } from "/static/following.js";
import { events, messages } from "/static/stream.js";

const network = new EventTarget(), fetchFrom = globalThis.fetch;
globalThis.addEventListener = network.addEventListener.bind(network);
globalThis.removeEventListener = network.removeEventListener.bind(network);

/** A server for a test, which paths are relative to as they are in a page. `respond(request, response, number)`. */
async function serving(context, respond) {
  let number = 0;
  const server = createServer((request, response) => respond(request, response, number++));
  server.listen(0, "127.0.0.1");
  await once(server, "listening");
  const base = `http://127.0.0.1:${server.address().port}`;
  globalThis.fetch = (path, options) => fetchFrom(new URL(path, base), options);
  context.after(() => {
    globalThis.fetch = fetchFrom;
    server.closeAllConnections();
    server.close();
  });
}

const stream = (response) => response.writeHead(200, { "content-type": "text/event-stream" });
const json = (response, status, body) => response.writeHead(status, { "content-type": "application/json" }).end(JSON.stringify(body));
const tell = (id, data) => `id: ${id}\ndata: ${JSON.stringify(data)}\n\n`;
const collect = async (source) => {
  const found = [];
  for await (const each of source) found.push(each);
  return found;
};

test("messages are whole, however they are cut", async () => {
  const text = `: hello\n\n${tell("e-1", { event: "text_arrived", text: "Grüße" })}${tell("e-2", { event: "reply" })}`;
  for (const size of [1, 7, 1000]) {
    const bytes = new TextEncoder().encode(text), body = new ReadableStream({
      start(controller) {
        for (let at = 0; at < bytes.length; at += size) controller.enqueue(bytes.slice(at, at + size));
        controller.close();
      },
    });
    assert.deepEqual(await collect(messages(new Response(body))),
      [{ id: "e-1", data: { event: "text_arrived", text: "Grüße" } }, { id: "e-2", data: { event: "reply" } }]);
  }
});

test("a plain answer is a single event", async (context) => {
  await serving(context, (_, response) => json(response, 200, { message: "Hi." }));
  assert.deepEqual(await collect(events("/api/chat", { message: "Hello" })), [{ event: "reply", message: "Hi." }]);
});

test("what the server refuses is thrown, with its sentence and its status", async (context) => {
  await serving(context, (_, response) => json(response, 409, { error: "Something else has to be answered first." }));
  for (const source of [events("/api/chat", {}), following({ path: "/api/runs", body: {} })]) {
    await assert.rejects(collect(source), { message: "Something else has to be answered first.", status: 409 });
  }
});

test("after a break the run goes on where it was, and nothing comes twice", async (context) => {
  const asked = [];
  await serving(context, (request, response, number) => {
    asked.push([request.method, request.url, request.headers["last-event-id"]]);
    stream(response);
    response.write(tell("e-1", { event: "run_started", run_id: "r1" }));
    response.write(tell("e-2", { event: "text_arrived", text: "a" }));
    if (number === 0) return setImmediate(() => response.destroy());
    response.end(tell("e-3", { event: "reply", message: "a" }));
  });
  const found = await collect(following({ path: "/api/runs", body: { message: "Hello" } }));
  assert.deepEqual(found.map(({ event }) => event), ["run_started", "text_arrived", "lost", "back", "reply"]);
  assert.deepEqual(asked, [["POST", "/api/runs", undefined], ["GET", "/api/runs/r1/events", "e-2"]]);
});

test("a request that never arrived is thrown: it isn't known which run to go on with", async (context) => {
  await serving(context, (request) => request.socket.destroy());
  const message = "The server isn't responding. Is it still running?";
  await assert.rejects(collect(following({ path: "/api/runs", body: {} })), { message });
});

test("after a reset everything comes anew", async (context) => {
  await serving(context, (_, response) => {
    stream(response);
    response.end([
      tell("a-1", { event: "text_arrived", run_id: "r1" }), tell("", { event: "reset" }), tell("a-1", { event: "text_arrived" }),
      tell("a-2", { event: "reply" }),
    ].join(""));
  });
  assert.deepEqual((await collect(following({ runId: "r1" }))).map(({ event }) => event),
    ["text_arrived", "reset", "text_arrived", "reply"]);
});

test("where something else has to be answered first, that ends it", async (context) => {
  await serving(context, (_, response) => json(response, 202, { status: "waiting", run_id: "r1" }));
  assert.deepEqual(await collect(following({ path: "/api/runs/r1/approvals/c1", body: {} })), [{ event: "waits", run_id: "r1" }]);
});

test("a request that is aborted ends at once", async (context) => {
  const abort = new AbortController();
  await serving(context, (_, response) => {
    stream(response).write(tell("e-1", { event: "run_started", run_id: "r1" }));
  });
  const source = following({ path: "/api/runs", body: {} }, abort);
  assert.equal((await source.next()).value.event, "run_started");
  abort.abort();
  await assert.rejects(source.next(), { name: "AbortError" });
});

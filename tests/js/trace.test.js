// A journal as a tree of steps, and two of them compared.

import assert from "node:assert/strict";
import test from "node:test";
import { divergenceOf, pairsOf } from "/static/trace-compare.js";
import { flattened, tokensOf, traceOf, usageOf } from "/static/trace.js";

const spent = (input_tokens, output_tokens, cost = null) => ({ requests: 1, input_tokens, output_tokens, cost });
const written = (id, name) => ({ part: "written", id, name, text: "{}" });
const judged = (id, name, verdict, at, given = {}) => ({ kind: "judged", at, call: { id, name, arguments: given }, verdict: { verdict } });
const returned = (id, name, at, more = {}, result = {}) =>
  ({ kind: "returned", at, result: { call_id: id, name, content: "3", ...result }, ...more });
const ENTRIES = [
  { kind: "opened", at: 100, agent: "shop" },
  { kind: "said", at: 100, text: "Order lamps." },
  { kind: "replied", at: 102, seconds: 2, model: "m", usage: spent(30, 5, 0.25), parts: [
    { part: "text", text: "Let me look." }, written("c1", "count_items"), written("c2", "order_items"),
  ] },
  judged("c1", "count_items", "allow", 102, { item: "lamp" }),
  judged("c2", "order_items", "ask", 102, { amount: 10 }),
  { kind: "previewed", at: 102, call_id: "c2", text: "Orders 10." },
  returned("c1", "count_items", 103, { seconds: 0.5 }),
  { kind: "finished", at: 103, stopped: "waiting" },
  { kind: "resumed", at: 160 },
  { kind: "approved", at: 160, call_id: "c2", by: "alice" },
  { kind: "started", at: 160, call_id: "c2" },
  returned("c2", "order_items", 161, { seconds: 1, usage: spent(100, 10, 0.5) }, { content: "10 ordered" }),
  { kind: "replied", at: 163, seconds: 2, model: "m", usage: spent(60, 7), parts: [{ part: "text", text: "Done." }] },
  { kind: "finished", at: 163, stopped: "answered", text: "Done." },
].map((entry, index) => ({ position: index + 1, ...entry }));

/** A tree in brief. */
const shape = (steps) => steps.map(({ kind, name, children }) =>
  `${kind === "call" || kind === "note" ? name : kind}${children.length ? `(${shape(children)})` : ""}`).join(" ");

test("a journal is a tree: turns, rounds, requests, calls and what they waited for", () => {
  const { steps, start, end } = traceOf(ENTRIES);
  assert.equal(shape(steps), "turn(round(request count_items order_items(wait)) Resumed round(request))");
  assert.deepEqual([start, end], [100, 163]);
});

test("each step has its time, what it used, and its state", () => {
  const { steps, usage } = traceOf(ENTRIES), [turn] = steps, [first, , second] = turn.children, [request, count, order] = first.children;
  assert.deepEqual([turn.start, turn.end, turn.state], [100, 163, "done"]);
  assert.deepEqual([request.start, request.end, request.model], [100, 102, "m"]);
  assert.deepEqual([count.start, count.end, count.seconds, count.state], [102.5, 103, 0.5, "done"]);
  assert.deepEqual([order.start, order.end, order.seconds], [102, 161, 1]);
  assert.deepEqual([order.children[0].start, order.children[0].end, order.children[0].brief], [102, 160, "Approved by alice"]);
  assert.deepEqual([tokensOf(first.usage), first.usage.cost], [145, 0.75]);
  assert.deepEqual([tokensOf(second.usage), second.usage.cost], [67, null]);
  assert.deepEqual([tokensOf(usage), usage.cost, usage.requests], [212, 0.75, 3]);
});

test("a step has its input, its output, and the entries that it was made of", () => {
  const [turn] = traceOf(ENTRIES).steps, [first, , second] = turn.children, [request, , order] = first.children;
  assert.deepEqual(request.input, [{ title: "User", text: "Order lamps." }]);
  assert.deepEqual(request.output.map(({ title }) => title), ["Text", "Call of count_items", "Call of order_items"]);
  assert.deepEqual(second.children[0].input.map(({ title }) => title), ["Result of count_items", "Result of order_items"]);
  assert.deepEqual(order.input, [{ title: "amount", text: "10" }, { title: "Preview", text: "Orders 10." }]);
  assert.deepEqual(order.output, [{ title: "Result", text: "10 ordered" }]);
  assert.deepEqual(order.entries.map(({ kind }) => kind), ["judged", "previewed", "started", "returned"]);
});

test("a run that is under way has steps without an end, and the ones of a run that was stopped are stopped", () => {
  const open = traceOf(ENTRIES.slice(0, 5)).steps[0];
  assert.deepEqual(open.children[0].children.map(({ state, end }) => [state, end]), [["done", 102], ["running", null], ["waiting", null]]);
  assert.deepEqual([open.state, open.end, open.children[0].state], ["running", null, "running"]);
  const [stopped] = traceOf([...ENTRIES.slice(0, 5), { kind: "finished", at: 110, stopped: "cancelled" }]).steps;
  assert.deepEqual(stopped.children[0].children.map(({ state, end }) => [state, end]), [["done", 102], ["stopped", 110], ["stopped", 110]]);
});

test("a call names the run inside of it, and has the calls that its tool makes", () => {
  const nested = [{ run_id: "r.c1", within: "c1", agent: "helper" }];
  const entries = [
    ...ENTRIES.slice(0, 4), { kind: "called", at: 102, within: "c1", call: { id: "i1", name: "inner" } },
    judged("i1", "inner", "allow", 102), returned("i1", "inner", 102.5, {}, { problem: "raised" }), returned("c1", "count_items", 103),
  ];
  const [, count] = traceOf(entries, nested).steps[0].children[0].children;
  assert.equal(count.run, "r.c1");
  assert.deepEqual(count.children.map(({ name, state }) => [name, state]), [["inner", "failed"]]);
});

test("denied, unclear and waiting calls say so", () => {
  const steps = (...more) => flattened(traceOf([...ENTRIES.slice(0, 5), ...more]).steps);
  const call = (given) => given.find(({ name }) => name === "order_items");
  const wait = (given) => given.filter(({ kind }) => kind === "wait").at(-1);
  const denied = steps({ kind: "refused", at: 104, call_id: "c2", by: "bob", reason: "Too many." });
  assert.deepEqual([call(denied).state, wait(denied).brief], ["denied", "Denied by bob: Too many."]);
  const unclear = steps({ kind: "approved", at: 104, call_id: "c2" }, { kind: "unclear", at: 105, call_id: "c2", reason: "It died." },
    { kind: "settled", at: 109, call_id: "c2", said: "happened" });
  assert.deepEqual([call(unclear).state, wait(unclear).end - wait(unclear).start], ["done", 4]);
  const asleep = steps({ kind: "approved", at: 104, call_id: "c2" }, { kind: "awaited", at: 105, call_id: "c2", wait: { event: "paid" } });
  assert.deepEqual([call(asleep).state, wait(asleep).name], ["waiting", "Waiting for paid"]);
  const woken = steps({ kind: "awaited", at: 105, call_id: "w", within: "c2", wait: {} },
    { kind: "woken", at: 107, result: { name: "w" } });
  assert.equal(wait(woken).end, 107);
});

test("a reply in pieces is one request, and calls that no model has asked for are no request", () => {
  const pieces = [{ kind: "replied", at: 1, parts: [{ part: "text", text: "a" }], more: true },
    { kind: "replied", at: 2, parts: [{ part: "text", text: "b" }] }, { kind: "replied", at: 3, parts: [written("c", "look")] }];
  const [turn] = traceOf(pieces).steps;
  assert.equal(shape([turn]), "turn(round(request) round(request))");
  assert.equal(turn.children[0].children[0].output.length, 2);
  assert.equal(turn.children[1].children[0].name, "Planned calls");
});

test("what happens besides is a step as well", () => {
  const [turn] = traceOf([
    ...ENTRIES.slice(0, 2), { kind: "steered", at: 101, id: "m", text: "Hurry." }, { kind: "delivered", at: 102, message_ids: ["m"] },
    { kind: "compacted", at: 103, messages: 4, summary: { notes: "Short." }, usage: spent(9, 1), model: "m" },
    { kind: "overflowed", at: 104, size: 9, reason: "Too long." }, { kind: "noted", at: 105, text: "" },
    { kind: "shortened", at: 105, call_ids: ["c"] }, { kind: "informed", at: 105, items: [] }, { kind: "new", at: 106 },
  ]).steps;
  assert.deepEqual(turn.children.map(({ name }) => name), ["Message received", "Message delivered", "Conversation compacted",
    "Request too long", "Note to the model", "Results shortened", "Context loaded"]);
  assert.equal(tokensOf(turn.usage), 10);
  assert.deepEqual(traceOf([]), { steps: [], start: 0, end: 0, usage: usageOf([]) });
  assert.equal(shape(traceOf([{ kind: "forked", at: 1, run_id: "r", entries: 2 }]).steps), "Forked");
});

test("two runs are compared step by step, and diverge at the first difference", () => {
  const same = pairsOf(traceOf(ENTRIES).steps, traceOf(ENTRIES.map((entry) => ({ ...entry, at: entry.at + 7 }))).steps);
  assert.deepEqual([divergenceOf(same), same.length], [-1, 5]);
  const other = ENTRIES.map((entry) => (entry.kind === "returned" && entry.result.call_id === "c2"
    ? { ...entry, result: { ...entry.result, content: "none left" } } : entry));
  const changed = pairsOf(traceOf(ENTRIES).steps, traceOf(other).steps);
  assert.deepEqual([divergenceOf(changed), changed[3].likeness, changed[3].what], [3, "differs", ["output"]]);
});

test("steps that only one run has stand alone", () => {
  const other = [...ENTRIES.slice(0, 3), judged("c9", "price_of", "allow", 102), returned("c9", "price_of", 103),
    ...ENTRIES.slice(4)];
  const pairs = pairsOf(traceOf(ENTRIES).steps, traceOf(other).steps);
  assert.deepEqual(pairs.map(({ likeness, left, right }) => `${likeness} ${(left ?? right).name}`).slice(2, 5),
    ["left count_items", "right price_of", "same order_items"]);
});

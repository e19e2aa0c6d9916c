// A journal made events and turns: what a conversation is recalled from.

import assert from "node:assert/strict";
import test from "node:test";
import { inBrief, kindOf, Reading, titleOf, turnsOf, usageInWords } from "/static/journal.js";

const call = { id: "c1", name: "add", arguments: { a: 1 } };
const ENTRIES = [
  { kind: "opened", agent: "shop", model: "m" },
  { kind: "said", text: "Add it." },
  { kind: "replied", parts: [
    { part: "thinking", text: "hm" }, { part: "text", text: "I will." }, { part: "written", id: "c1", name: "add" },
  ] },
  { kind: "judged", call, verdict: { verdict: "ask" } },
  { kind: "finished", stopped: "waiting" },
  { kind: "approved", call_id: "c1", by: "alice", at: 5 },
  { kind: "returned", result: { call_id: "c1", name: "add", content: "2" }, seconds: 0.5 },
  { kind: "replied", parts: [{ part: "text", text: "Done." }] },
  { kind: "finished", stopped: "answered", text: "Done." },
];
const named = (events) => events.map(({ event }) => event);

test("entries become the events that they were recorded from", () => {
  const reading = new Reading();
  assert.deepEqual(named(ENTRIES.flatMap((entry) => reading.eventsOf(entry))), [
    "model_asked", "thinking_arrived", "text_arrived", "call_arrived", "call_judged", "call_decided", "call_started", "call_returned",
    "model_asked", "text_arrived",
  ]);
});

test("a reply in pieces asks the model once", () => {
  const reading = new Reading(), part = (text, more) => ({ kind: "replied", parts: [{ part: "text", text }], more });
  assert.deepEqual(named([part("a", true), part("b", false), part("c", false)].flatMap((entry) => reading.eventsOf(entry))),
    ["model_asked", "text_arrived", "text_arrived", "model_asked", "text_arrived"]);
});

test("what a provider keeps for itself in a reply is no call", () => {
  const reply = { kind: "replied", parts: [{ part: "opaque", wire: "x", json: "1" }, { part: "written", id: "c1", name: "add" }] };
  assert.deepEqual(named(new Reading().eventsOf(reply)), ["model_asked", "call_arrived"]);
  assert.equal(inBrief(reply), "add(…)");
});

test("a call that is allowed starts at once, and one approved starts with what was approved", () => {
  const reading = new Reading();
  assert.deepEqual(named(reading.eventsOf({ kind: "judged", call, verdict: { verdict: "allow" } })), ["call_judged", "call_started"]);
  const [, started] = reading.eventsOf({ kind: "approved", call_id: "c1", arguments: { a: 2 } });
  assert.deepEqual(started.call, { id: "c1", name: "add", arguments: { a: 2 } });
});

test("a call that a person has settled returns, or starts again", () => {
  const settle = (said) => new Reading().eventsOf({ kind: "settled", call_id: "c1", said });
  assert.deepEqual(named(settle("again")), ["call_settled", "call_started"]);
  assert.equal(settle("happened")[1].result.problem, null);
  assert.equal(settle("not_happened")[1].result.problem, "interrupted");
});

test("an entry of an unknown kind is no event, and has its own name", () => {
  assert.deepEqual(new Reading().eventsOf({ kind: "new" }), []);
  assert.equal(kindOf({ kind: "new" }), "new");
});

test("a journal is turns, with what waits at its end and what came with each answer", () => {
  const approvals = [{ call_id: "c9" }], turns = turnsOf(ENTRIES, approvals, ["first", "second"]);
  assert.equal(turns.length, 1);
  assert.equal(turns[0].message, "Add it.");
  assert.deepEqual(turns[0].replies.map(({ stopped, message, data }) => [stopped, message, data]),
    [["waiting", "", "first"], ["answered", "Done.", "second"]]);
  assert.deepEqual(turns[0].replies.map((reply) => reply.approvals), [[], approvals]);
  assert.deepEqual(named(turns[0].replies[1].events), ["call_decided", "call_started", "call_returned", "model_asked", "text_arrived"]);
});

test("a run that nothing was said in still has its turn", () => {
  const [{ message, replies }] = turnsOf([{ kind: "finished", stopped: "failed", reason: "No key." }]);
  assert.deepEqual([message, replies[0].message], [null, "No key."]);
});

test("what was shortened, compacted or forked is noted", () => {
  const note = (entry) => new Reading().eventsOf(entry)[0].text;
  assert.equal(note({ kind: "shortened", call_ids: ["c1"] }), "1 result shortened, to make room.");
  assert.match(note({ kind: "compacted", messages: 12 }), /in place of the first 12 messages\.$/);
  assert.equal(note({ kind: "forked", run_id: "r1" }), "Forked here from run r1.");
});

test("an entry in a line", () => {
  const reading = new Reading(), brief = (entry) => inBrief(entry, reading);
  for (const entry of ENTRIES) reading.eventsOf(entry);
  assert.equal(brief(ENTRIES[0]), "shop with m");
  assert.equal(brief(ENTRIES[3]), "add: ask");
  assert.equal(brief({ kind: "judged", call, verdict: { verdict: "deny", by: "rule 1" } }), "add: deny by rule 1");
  assert.equal(brief(ENTRIES[5]), "add by alice");
  assert.equal(brief(ENTRIES[6]), "add after 0.5 s");
  assert.equal(brief({ kind: "said", text: "a\n  b" }), "a b");
  assert.equal(brief({ kind: "new" }), "");
});

test("a title that was cut says so, and an empty one is the run", () => {
  assert.equal(titleOf({ title: "", run_id: "r1" }), "r1");
  assert.equal(titleOf({ title: "x".repeat(80), run_id: "r1" }), `${"x".repeat(80)}…`);
});

test("what a run has used", () => {
  assert.equal(usageInWords({ requests: 1, calls: 2, input_tokens: 1000, output_tokens: 500, cost: 0.5 }),
    "1 request · 2 calls · 1,500 tokens · $0.5000");
  assert.equal(usageInWords({ requests: 2, input_tokens: 3000, cache_read_tokens: 1400 }),
    "2 requests · 0 calls · 3,000 tokens (1,400 cached)");
  assert.equal(usageInWords(undefined), "0 requests · 0 calls · 0 tokens");
});

test("a message during a turn is received, and delivered with its words", () => {
  const reading = new Reading(), steered = { kind: "steered", id: "m1", text: "Two, please." };
  assert.deepEqual(reading.eventsOf(steered), [{ event: "message_received", message_id: "m1", text: "Two, please." }]);
  const delivered = { kind: "delivered", message_ids: ["m1"] };
  assert.deepEqual(reading.eventsOf(delivered), [{ event: "message_delivered", message_id: "m1", text: "Two, please." }]);
  assert.deepEqual([kindOf(steered), inBrief(steered, reading), inBrief(delivered, reading)],
    ["Message received", "Two, please.", "1 message"]);
});

test("a message to a run that waits is recalled with what it waits for", () => {
  const turns = turnsOf([...ENTRIES.slice(0, 5), { kind: "steered", id: "m1", text: "Quickly." }]);
  assert.equal(turns[0].replies[0].events.at(-1).event, "message_received");
});

test("a fork from before the first message begins with the message in its place", () => {
  const fork = [ENTRIES[0], { kind: "finished", stopped: "cancelled" }, { kind: "forked", run_id: "r", entries: 1 }];
  const turns = turnsOf([...fork, ...ENTRIES.slice(1)], [], ["none", "first", "second"]);
  assert.deepEqual(turns.map(({ message }) => message), ["Add it."]);
  assert.equal(turns[0].replies[1].data, "second");
});

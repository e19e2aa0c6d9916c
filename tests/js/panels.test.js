// The logic of the assistants' panels: specs, readings, lessons, conversations.

import assert from "node:assert/strict";
import test from "node:test";
import { nameOf, stateOf } from "/coding/format.js";
import { excerpt, patternOf } from "/courses/excerpt.js";
import { partsOf, piecesOf, placeIn } from "/courses/lesson.js";
import { aboutLesson, samplesFor } from "/courses/samples.js";
import { composed, differences } from "/guidance/merge.js";
import { runOf, turnsOf } from "/guidance/history.js";
import { nameIn, verdict } from "/platform/spec-text.js";
import { linesOf, lineWith, matching, phaseOf, readingOf } from "/reading/readings.js";
import { languageOf, tinted, titleOf } from "/static/languages.js";

// jobs

test("a job that completed without proof says so", () => {
  assert.deepEqual([true, false].map((isGood) => stateOf({ state: "completed", is_good: isGood })[0]), ["good", "warn"]);
  assert.equal(nameOf("/home/a/shop/"), "shop");
});

// specs

const SPEC = { constraints: [{ name: "Cost", description: "", weight: 90 }], goals: ["Grow"], resolution: "medium", mode: "seeded" };

test("what only one of two has changed is theirs or mine, and what both have is open", () => {
  const theirs = { ...SPEC, mode: "full_search", goals: ["Grow", "Save"] };
  const mine = { ...SPEC, mode: "eval_only", constraints: [{ name: "cost ", description: "less", weight: 70 }] };
  const found = differences(SPEC, theirs, mine);
  assert.deepEqual(found.map(({ key, by }) => [key, by]), [["constraint cost", "me"], ["goal Save", "them"], ["mode", "both"]]);
  assert.deepEqual(differences(SPEC, SPEC, SPEC), []);
});

test("a merged spec has what was chosen, and what was removed stays removed", () => {
  const theirs = { ...SPEC, goals: [] }, mine = { ...SPEC, resolution: "fine" };
  const chosen = new Map([["goal Grow", "theirs"], ["resolution", "mine"]]);
  assert.deepEqual(composed(theirs, mine, chosen), { ...SPEC, goals: [], resolution: "fine" });
});

test("the name in a spec is the application's, wherever it stands in its metadata", () => {
  assert.equal(nameIn("kind: App\nmetadata:\n  labels:\n    team: a\n  name: \"shop-1\"\nspec:\n  name: no\n"), "shop-1");
  assert.equal(nameIn("spec:\n  name: no\n"), "");
});

test("errors refuse a spec, warnings don't", () => {
  assert.deepEqual([verdict(0, 0), verdict(1, 2), verdict(0, 1)],
    ["No problems found.", "1 error, 2 warnings: it would be refused.", "1 warning: it can be deployed."]);
});

// readings

test("a reading is stale once its source has changed", () => {
  const reading = { intent: "", blocks: [], how: {} }, source = { hash: "a" };
  assert.equal(phaseOf({ running: null, reading: null, source, latest: "a" }), "idle");
  assert.equal(phaseOf({ running: null, reading, source, latest: "a" }), "analyzed");
  assert.equal(phaseOf({ running: null, reading, source, latest: "b" }), "stale");
  assert.equal(phaseOf({ running: { began: 0 }, reading, source, latest: "b" }), "analyzing");
});

test("ranges of a reading lie within the file, in their order", () => {
  const said = { file_intent: "x", responsibilities: [{ id: "a", label: "A", description: "", ranges: [[8, 99], [0, 2], [20, 30]] }] };
  const { blocks, how } = readingOf(said, 10);
  assert.deepEqual(blocks[0].ranges, [[1, 2], [8, 10]]);
  assert.deepEqual([blocks[0].elements, how], [{}, {}]);
  assert.deepEqual(readingOf({ file_intent: "x" }, 1).blocks, []);
});

test("a name is found as a whole word, first in full, then by its last part", () => {
  const text = "total = 1\ndef totals():\n  Cart.total\n";
  assert.equal(lineWith(text, [[2, 3]], "total"), 3);
  assert.equal(lineWith(text, [[1, 3]], "Shop.totals"), 2);
  assert.equal(lineWith(text, [[1, 1]], "missing"), 0);
  assert.deepEqual(linesOf("a\nb\n"), ["a", "b"]);
});

test("files that have the words in their name come before those that have them in their folder", () => {
  const files = ["cart/index.py", "shop/my_cart.py", "shop/cart.py", "readme.md"];
  assert.deepEqual(matching(files, "cart"), ["shop/cart.py", "shop/my_cart.py", "cart/index.py"]);
  assert.deepEqual(matching(files, "shop CART"), ["shop/my_cart.py", "shop/cart.py"]);
  assert.deepEqual(matching(files, ""), files);
});

const TINTS = [
  ["return 'a' # b", "python", [[["keyword", "return"], ["", " "], ["string", "'a'"], ["", " "], ["comment", "# b"]]]],
  ['"""a\nb"""\nx', "python", [[["comment", '"""a']], [["comment", 'b"""']], [["", "x"]]]],
  ["fn f<'a>(b: &'a str)", "rust", [[["keyword", "fn"], ["", " f<'a>(b: &'a str)"]]]],
  ["a /* b\n", "go", [[["", "a "], ["comment", "/* b"]], []]],
  ["if x", "unheard-of", [[["", "if x"]]]],
];
for (const [text, language, expected] of TINTS) {
  test(`tints of ${JSON.stringify(text)} in ${language}, which change no text`, () => {
    assert.deepEqual(tinted(text, language), expected);
    assert.equal(expected.map((line) => line.map(([, part]) => part).join("")).join("\n"), text);
  });
}

test("a language is told by how a file ends", () => {
  assert.deepEqual([languageOf("src/A.PY"), languageOf("x.h"), languageOf("Makefile")], ["python", "c", ""]);
  assert.deepEqual([titleOf("cpp"), titleOf("unheard-of")], ["C++", "unheard-of"]);
});

// courses

const passage = (text) => ({ id: text, text, place: "", headings: [], course: "", lesson: null, source: "" });

test("what two neighbouring passages both say is said once", () => {
  const pieces = piecesOf([passage("The yeast makes the dough rise."), passage("makes the dough rise. Then salt."), passage("Elsewhere.")]);
  assert.equal(pieces.map(({ text }) => text).join(""), "The yeast makes the dough rise. Then salt.\n\nElsewhere.");
});

test("a formula that spans two passages stands where it begins", () => {
  const [first, second] = partsOf(["So $a + ", "b$ holds."]);
  assert.deepEqual([first.map((part) => part.tex ?? part), second], [["So ", "a + b"], [" holds."]]);
});

test("a place within a lesson leaves out the lesson's own name", () => {
  assert.equal(placeIn("Bread > Yeast", ["Bread"]), "Yeast");
  assert.equal(placeIn("Bread, page 2", ["Bread"]), "page 2");
  assert.equal(placeIn("Other > Yeast", ["Bread"]), "Other > Yeast");
});

test("sample questions are those whose courses are there, else the courses' own", () => {
  const courses = [{ name: "Baking", lessons: [{ number: 1, title: "Salt" }] }];
  assert.deepEqual(samplesFor(courses, ["What is lesson 2 of Baking?", "What is in lesson 1 of Physics?", "Why?"]),
    ["What is lesson 2 of Baking?", "Why?", "What are the lessons of Baking?", "What is lesson 1 of Baking about?"]);
  assert.deepEqual(samplesFor([], ["What is lesson 2 of Baking?"]), []);
  assert.equal(aboutLesson({ name: "Baking" }, { number: null, title: "Salt" }), "What is Salt in Baking about?");
});

test("an excerpt begins before the first word that was searched for, and ends at a word", () => {
  const text = `${"before ".repeat(30)}yeast ${"after ".repeat(60)}`, cut = excerpt(text, "the Yeast");
  assert.match(cut, /^… before .*yeast .* …$/);
  assert.ok(cut.length < 220);
  assert.equal(excerpt("short text", "nothing"), "short text");
  assert.deepEqual("Salty salt, unsalted".split(patternOf("salt")).filter((_, index) => index % 2), ["Salty", "salt"]);
  assert.ok(!patternOf("a b").test("a b"));
});

// conversations of guidance

const said = (role, content, more = {}) => ({ role, content, message_metadata: { run_id: "r1", ...more } });
const audit = (name, more = {}) => ({ tool_name: name, arguments: {}, result_summary: "ok", duration_ms: 500, success: true, ...more });

test("messages are turns: a question with its answers and the calls in them", () => {
  const turns = turnsOf([said("user", "Hi"), said("assistant", "Hello", { tool_call_audits: [audit("look")] })]);
  assert.deepEqual(turns.map(({ message, replies }) => [message, replies.map((reply) => reply.message)]), [["Hi", ["Hello"]]]);
  assert.deepEqual(turns[0].replies[0].events.map(({ event }) => event), ["call_started", "call_returned"]);
  assert.equal(runOf(said("user", "")), "r1");
});

test("a run that went on after a question doesn't repeat what it did before it", () => {
  const waiting = { stopped: "waiting", approvals: [{ call_id: "c2", name: "edit", arguments: {} }], tool_call_audits: [audit("look")] };
  const [{ replies }] = turnsOf([said("user", "Hi"), said("assistant", "", waiting),
    said("assistant", "Done", { tool_call_audits: [audit("look"), audit("edit")] })]);
  const names = ({ events }) => events.map(({ call, result }) => call?.name ?? result.name);
  assert.deepEqual(replies.map(names), [["look", "look"], ["edit", "edit"]]);
});

test("a conversation may begin with an answer, and an answer may have been stopped or have failed", () => {
  assert.deepEqual(turnsOf([said("assistant", "Welcome")]).map(({ message }) => message), [null]);
  assert.equal(turnsOf([said("user", "Hi", { stopped: "cancelled" })])[0].replies[0].stopped, "cancelled");
  assert.equal(turnsOf([said("user", "Hi"), said("system", "No key.")])[0].replies[0].stopped, "failed");
  const failures = [{ verdict: "deny" }, { problem: "timeout" }, {}];
  const problems = failures.map((more) => audit("look", { success: false, ...more }));
  const [{ replies: [{ events }] }] = turnsOf([said("user", "Hi"), said("assistant", "", { tool_call_audits: problems })]);
  assert.deepEqual(events.filter(({ result }) => result).map(({ result }) => result.problem), ["denied", "timeout", "failed"]);
});

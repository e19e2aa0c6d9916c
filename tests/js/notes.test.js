// Notes without a page.

import assert from "node:assert/strict";
import { test } from "node:test";

import { matchingNotes, originOf, placeOf } from "/static/notes.js";

/** @param {Partial<import("../../src/treadle/server/static/notes.js").Note>} more */
function note(more) {
  return { name: "tests", description: "How tests are run", text: "make test", scope: "user", by: "", run_id: "", at: "", untrusted: false,
    folder: "user", ...more };
}

test("notes are found by all words, wherever they are", () => {
  const notes = [note({}), note({ name: "style", description: "Code style", text: "Use TABS", scope: "project", folder: "shop-1a2b3c4d" })];
  const found = (/** @type {string} */ search) => matchingNotes(notes, search).map(({ name }) => name);
  assert.deepEqual([found(""), found("tabs style"), found("MAKE"), found("shop"), found("none")],
    [["tests", "style"], ["style"], ["tests"], ["style"], []]);
});

test("a note says what it is about and where it is from", () => {
  assert.deepEqual([placeOf(note({})), placeOf(note({ scope: "project", folder: "my-shop-1a2b3c4d" }))],
    ["about you", "about the project my-shop"]);
  assert.equal(originOf(note({ run_id: "r1", at: "2026-11-17T16:20:00Z" })), "written in run r1, 2026-11-17");
  assert.equal(originOf(note({})), "written by hand");
});

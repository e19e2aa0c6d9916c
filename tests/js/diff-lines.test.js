// Lines of diffs, without a page.

import assert from "node:assert/strict";
import { test } from "node:test";

import { hunkKindOf, kindOf, previewOf } from "/static/diff-lines.js";

test("a line of a diff is known by its beginning, and in the hunks of one file there are no names of files", () => {
  const lines = ["--- a/x", "+++ b/x", "@@ -1 +1 @@", "+new", "-old", " same", "! careful", "\\ No newline at end of file", "--- x"];
  assert.deepEqual(lines.map((line) => kindOf(line)),
    ["heading", "heading", "heading", "added", "removed", "same", "warning", "heading", "heading"]);
  assert.deepEqual(lines.slice(2).map((line) => hunkKindOf(line)),
    ["heading", "added", "removed", "same", "same", "heading", "removed"]);
});

test("a text is a diff where two headings follow each other", () => {
  assert.deepEqual(previewOf("Edit x\n--- a/x\n+++ b/x\n+1\n"), { words: "Edit x", rest: "--- a/x\n+++ b/x\n+1", isDiff: true });
  assert.equal(previewOf("--- not a diff\n- a list").isDiff, false);
});

// Previews and diffs as data, without a page.

import assert from "node:assert/strict";
import { test } from "node:test";

import { diffLines, diffPieces, previewOf, unchanged } from "/static/diff-lines.js";

/** @param {string[]} lines @param {string} [path] */
const kinds = (lines, path) => diffLines(lines, path).map(({ kind }) => kind);
/** @param {string[]} lines @param {string} [path] */
const numbers = (lines, path) => diffLines(lines, path).map(({ number }) => number);

test("a preview is words and a diff, which two headings begin, or words and a text", () => {
  const diff = "--- a/x\n+++ b/x\n@@ -1 +1 @@\n-old\n+new";
  assert.deepEqual(previewOf(`Edit x\n${diff}\n`), { words: "Edit x", rest: diff, isDiff: true });
  assert.deepEqual(previewOf("Deploy:\nname: a\nimage: b"), { words: "Deploy:", rest: "name: a\nimage: b", isDiff: false });
  assert.deepEqual(previewOf("Just words"), { words: "Just words", rest: "", isDiff: false });
  assert.equal(previewOf("--- not a diff\n- a list").isDiff, false);
});

test("each line of a diff has its kind, and the number that it has now, or had if it is gone", () => {
  const hunks = ["@@ -3,3 +3,3 @@ def f():", " a", "-b", "+c", "\\ No newline at end of file", "@@ -20 +20 @@", " d", "! careful"];
  const lines = ["--- a/x", "+++ b/x", ...hunks];
  assert.deepEqual(kinds(lines),
    ["heading", "heading", "heading", "same", "removed", "added", "heading", "heading", "same", "warning"]);
  assert.deepEqual(numbers(lines), [null, null, null, 3, 4, 4, null, null, 20, null]);
});

test("a line of a file that looks like a name of a file is shown as what comes or goes", () => {
  const sql = ["--- a/x.sql", "+++ b/x.sql", "@@ -1,2 +1,2 @@", "--- drop nothing", "+++ drop everything", " select 1;"];
  assert.deepEqual(kinds(sql), ["heading", "heading", "heading", "removed", "added", "same"]);
  const whole = ["--- x", "+++ x", "--- a", "+++ b"];  // too large a change for hunks
  assert.deepEqual(kinds(whole), ["heading", "heading", "removed", "added"]);
});

test("a diff has several files, and a hunk without headings of names is of the file that is given", () => {
  const change = ["-import a", "+import b"];
  const lines = ["--- a/x.py", "+++ b/x.py", "@@ -1 +1 @@", ...change, "diff --git a/y.txt b/y.txt", "--- a/y.txt", "+++ b/y.txt",
    "@@ -7 +7 @@", ...change];
  const read = diffLines(lines);
  assert.deepEqual(read.map(({ kind }) => kind).slice(5), ["same", "heading", "heading", "heading", "removed", "added"]);
  assert.deepEqual(read.slice(9).map(({ number, language }) => [number, language]), [[7, ""], [7, ""]]);
  assert.deepEqual(diffLines(["@@ -1 +1 @@", "+import b"], "x.py").map(({ language }) => language), ["python", "python"]);
  assert.deepEqual(diffLines(["--- a/x.go", "+++ /dev/null", "@@ -1 +0,0 @@", "-package main"]).at(-1)?.language, "go");
});

test("what a hunk says of its length is no reason to lose a line", () => {
  const lines = ["--- x", "+++ x", "@@ -1,9 +1,9 @@", "+new", "[12 more lines of the difference]", "+after"];
  assert.deepEqual(kinds(lines), ["heading", "heading", "heading", "added", "same", "added"]);
});

test("code in a diff has the colours of its language, lines that go with what was around them", () => {
  const lines = ["--- a/x.py", "+++ b/x.py", "@@ -1,3 +1,3 @@", '-"""What', "+return", " it does", '-is."""'];
  assert.deepEqual(diffPieces(diffLines(lines)), [null, null, null,
    [["comment", '"""What']], [["keyword", "return"]], [["", "it does"]], [["comment", 'is."""']]]);
  assert.deepEqual(diffPieces(diffLines(["@@ -1 +1 @@", "+return"], "notes.txt")), [null, null]);
});

test("lines at both ends that are as they were keep their nodes, headings too", () => {
  assert.deepEqual(unchanged(["@@ -1 +1 @@", " a", " z"], ["@@ -1 +1,2 @@", " a", "+b", " z"]), { head: 2, tail: 1 });
  assert.deepEqual(unchanged([], ["a"]), { head: 0, tail: 0 });
  assert.deepEqual(unchanged(["a", "a"], ["a", "a", "a"]), { head: 2, tail: 0 });
});

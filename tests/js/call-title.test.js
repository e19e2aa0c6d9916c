// The title of a call that waits: what it would do, in plain words.

import assert from "node:assert/strict";
import { test } from "node:test";

import { callTitle } from "/static/call-title.js";

test("a title is the action or the tool, and what it is about", () => {
  assert.equal(callTitle({ name: "file", arguments: { action: "replace", path: "a.py", old: "x" } }), "Replace a.py");
  assert.equal(callTitle({ name: "order_items", arguments: { amount: 3, item: "lamp" } }), "Order items: lamp");
  assert.equal(callTitle({ name: "sendMail", arguments: { text: "one\ntwo", to: "anna" } }), "Send Mail: anna");
  assert.equal(callTitle({ name: "restart", arguments: {} }), "Restart");
  assert.equal(callTitle({ name: "file", arguments: { action: "list" } }), "List (File)");
});

test("a preview is no part of it: a model may have written its first words", () => {
  const call = { name: "run_program", arguments: { program: "x = 1\ny = 2" }, preview: "Only reads the list" };
  assert.equal(callTitle(call), "Run program");
});

test("a long title is cut", () => {
  assert.equal(callTitle({ name: "x".repeat(500), arguments: {} }).length, 120);
});

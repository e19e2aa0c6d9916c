// The title of a call that waits: what it would do, in plain words.

import assert from "node:assert/strict";
import { test } from "node:test";

import { headline } from "/static/headline.js";

test("a title is what the preview says first", () => {
  assert.equal(headline({ name: "order_items", arguments: {}, preview: "Orders 10 of lamp.\n--- a\n+++ b" }), "Orders 10 of lamp");
});

test("without words in a preview, a title is the action or the tool, and what it is about", () => {
  const preview = "--- a.py\n+++ a.py\n@@ -1 +1 @@";
  assert.equal(headline({ name: "file", arguments: { action: "replace", path: "a.py", old: "x" }, preview }), "Replace a.py");
  assert.equal(headline({ name: "order_items", arguments: { amount: 3, item: "lamp" } }), "Order items: lamp");
  assert.equal(headline({ name: "sendMail", arguments: { text: "one\ntwo", to: "anna" } }), "Send Mail: anna");
  assert.equal(headline({ name: "restart", arguments: {} }), "Restart");
  assert.equal(headline({ name: "file", arguments: { action: "list" } }), "List (File)");
});

test("a long title is cut", () => {
  assert.equal(headline({ name: "x", arguments: {}, preview: "a".repeat(500) }).length, 120);
});

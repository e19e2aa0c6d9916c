// Runs that are shared, without a page.

import assert from "node:assert/strict";
import { test } from "node:test";

import { ACTIVITY, isAt } from "/static/navigation.js";
import { matchingRuns, runApiPath, runInPath, runPath } from "/static/shared-runs.js";

test("the address of a run names its owner where another user shares it", () => {
  assert.deepEqual([runPath("a/b"), runPath("r", "an na"), runApiPath("r", "anna")],
    ["/runs/a%2Fb", "/shared/an%20na/r", "/api/shared/anna/r"]);
  for (const [runId, owner] of [["a/b", ""], ["job-1", "an na"]]) assert.deepEqual(runInPath(runPath(runId, owner)), { owner, runId });
  assert.deepEqual(ACTIVITY.filter((place) => isAt(place, { pathname: "/shared/anna/r", search: "" })).map(({ title }) => title), ["Runs"]);
});

test("shared runs are found by words of the title, the owner, an id, their status and assistant", () => {
  /** @param {string} owner @param {string} run_id @param {string} title @param {Partial<RunInfo>} [more] */
  const shared = (owner, run_id, title, more = {}) => ({ owner, run: { run_id, title, agent: "shop", model: "", user: owner,
    status: "answered", entries: 1, opened_at: 0, updated_at: 1, ...more } });
  const all = [shared("anna", "r1", "How many lamps?"), shared("ben", "r2", "Order LAMPS", { status: "waiting", updated_at: 2 }),
    shared("ben", "r3", "Chairs", { agent: "courses" })];
  const found = (/** @type {Parameters<typeof matchingRuns>[1]} */ filter) => matchingRuns(all, filter).map(({ run }) => run.run_id);
  assert.deepEqual(found({}), ["r2", "r1", "r3"]);
  assert.deepEqual(found({ search: "lamps" }), ["r2", "r1"]);
  assert.deepEqual(found({ search: " lamps anna " }), ["r1"]);
  assert.deepEqual([found({ search: "r3" }), found({ status: "waiting" }), found({ assistant: "courses" })], [["r3"], ["r2"], ["r3"]]);
  assert.deepEqual(found({ search: "tables" }), []);
});

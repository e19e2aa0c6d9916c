// Numbers, times and amounts in words; marks of runs; what requests throw.

import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import test from "node:test";
import { columnsOf } from "/static/columns.js";
import { messageOf, refused, ServerError } from "/static/errors.js";
import {
  agoInWords, formatCompact, formatCost, formatDuration, formatNumber, formatShortDuration, percent, pluralize,
} from "/static/format.js";
import { redirectTarget } from "/static/login-redirect.js";
import { escaped, excerpt, visible } from "/static/visible.js";

const cases = (name, act, ...pairs) => test(name, () => {
  for (const [given, expected] of pairs) assert.equal(act(...[given].flat()), expected, JSON.stringify(given));
});

cases("one is singular, all others are plural", pluralize,
  [[1, "goal"], "1 goal"], [[0, "goal"], "0 goals"], [[2, "entry", "entries"], "2 entries"], [[1234, "call"], "1,234 calls"]);
cases("numbers have separators", formatNumber, [0, "0"], [1234567, "1,234,567"]);
cases("how long ago something was", agoInWords,
  [0, "just now"], [59, "just now"], [60, "1 minute ago"], [7200, "2 hours ago"], [90_000, "yesterday"], [40_000_000, "last year"]);
cases("how long something took", formatDuration,
  [0.0001, "1 ms"], [0.05, "50 ms"], [0.0996, "0.1 s"], [59.94, "59.9 s"], [61, "1 min 1 s"], [3600, "60 min 0 s"]);
cases("how long calls take, in two digits", formatShortDuration, [0.0123, "12 ms"], [1.26, "1.3 s"], [150, "2.5 min"]);
cases("an amount that is no longer nothing shows that", formatCost,
  [0, "$0.0000"], [0.00001, "under $0.0001"], [0.0123, "$0.0123"], [12.345, "$12.35"]);
cases("large numbers in few digits", formatCompact, [9999, "9,999"], [12_345, "12.3k"], [1_250_000, "1.3M"], [3e9, "3.0G"]);
cases("a share of a whole", percent, [[1, 200], "<1 %"], [[1, 3], "33 %"], [[2, 2], "100 %"]);

const day = (key, calls) => ({ key, calls, fine: calls, failed: 0, denied: 0, cancelled: 0 });

test("days without calls have a column too", () => {
  const [columns, unit] = columnsOf([day("2026-01-01", 2), day("2026-01-04", 1)]);
  assert.equal(unit, "day");
  assert.deepEqual(columns.map(({ key, calls }) => [key, calls]),
    [["2026-01-01", 2], ["2026-01-02", 0], ["2026-01-03", 0], ["2026-01-04", 1]]);
});

test("many days are weeks, and no call is lost in them", () => {
  const [columns, unit] = columnsOf([day("2026-01-01", 2), day("2026-01-05", 3), day("2026-06-30", 4)]);
  assert.equal(unit, "week");
  assert.equal(columns[0].calls, 5);
  assert.equal(columns.reduce((sum, { calls }) => sum + calls, 0), 9);
});

test("a refusal says what the server said, or its status", () => {
  assert.equal(refused(400, { error: "No such file." }).message, "No such file.");
  assert.equal(refused(404, { detail: "Not found." }).message, "Not found.");
  const code = refused(404, { error: "There is no run r here. `treadle runs` lists them." });
  assert.equal(code.message, "There is no run r here. “treadle runs” lists them.");
  assert.equal(code.said.error, "There is no run r here. `treadle runs` lists them.");
  const plain = refused(502, null);
  assert.ok(plain instanceof ServerError);
  assert.deepEqual([plain.status, plain.message], [502, "The server responded with 502, and not in JSON."]);
  assert.equal(messageOf("text"), "text");
});

test("signing in leads back to this server only", () => {
  const here = { origin: "https://here.example", pathname: "/login" };
  const leads = (next) => redirectTarget(`?next=${encodeURIComponent(next)}`, here);
  assert.equal(leads("/runs/1?a=b"), "https://here.example/runs/1?a=b");
  for (const elsewhere of ["https://evil.example/", "//evil.example/", "/\\evil.example", "javascript:alert(1)", "/login", "http://["]) {
    assert.equal(leads(elsewhere), "/", elsewhere);
  }
  assert.equal(redirectTarget("", here), "https://here.example/");
});

for (const { name, text, visible: seen } of JSON.parse(readFileSync(new URL("../security/visible.json", import.meta.url)))) {
  test(`what hides or passes for something else is seen: ${name}`, () => {
    assert.equal(visible(text), seen);
    assert.equal(JSON.parse(escaped(JSON.stringify(text))), text);
  });
}

test("of a long text the beginning is shown, and how much is left out", () => {
  const long = "x\n".repeat(40);
  const { shown, lines, characters } = excerpt(long);
  assert.equal(shown.split("\n").length, 30);
  assert.equal(shown.length + characters, long.length);
  assert.ok(lines > 0);
  assert.deepEqual(excerpt("short"), { shown: "short", characters: 0, lines: 0 });
});

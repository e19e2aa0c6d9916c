// What the sidebar and the palette do without a page.

import assert from "node:assert/strict";
import { test } from "node:test";

import { hueOf } from "/static/icons.js";
import { searchItems } from "/static/palette-search.js";
import { ACTIVITY, groupByAge, isAt, isShown, pathTo } from "/static/navigation.js";

const NOW = new Date(2026, 10, 17, 15, 0).getTime(), DAY = 86_400_000;

/** @param {string} title @param {number} days @param {boolean} [pinned] */
function conversation(title, days, pinned = false) {
  return { title, pinned, updated_at: (NOW - days * DAY) / 1000 };
}

test("conversations stand in groups by their day, pinned ones first", () => {
  const all = [conversation("old", 30, true), conversation("now", 0), conversation("before", 1),
    conversation("week", 5), conversation("ago", 8)];
  assert.deepEqual(groupByAge(all, NOW).map(([name, members]) => [name, members.map(({ title }) => title)]), [
    ["Pinned", ["old"]], ["Today", ["now"]], ["Yesterday", ["before"]], ["Previous 7 days", ["week"]], ["Older", ["ago"]],
  ]);
  assert.deepEqual(groupByAge([], NOW), []);
});

test("jobs are a part of the runs, and a page below another is at the same place", () => {
  const at = (/** @type {string} */ pathname) =>
    ACTIVITY.filter((place) => isAt(place, { pathname, search: "" })).map(({ title }) => title);
  assert.deepEqual(["/runs", "/runs/abc", "/jobs", "/jobs/x", "/audit", "/"].map(at), [
    ["Runs"], ["Runs"], ["Runs"], ["Runs"], ["Audit"], []]);
});

test("a conversation that was begun on the first page is no new one", () => {
  const fresh = { path: "/", title: "New conversation", icon: "square-pen" };
  assert.deepEqual(["", "?assistant=coding", "?run=a"].map((search) => isAt(fresh, { pathname: "/", search })), [true, true, false]);
  assert.equal(isAt(fresh, { pathname: "/runs", search: "" }), false);
});

test("a conversation is shown where the address names it, whatever else it has", () => {
  assert.equal(isShown("/?run=a%20b", { pathname: "/", search: "?run=a+b&x=1" }), true);
  assert.equal(isShown("/?run=a", { pathname: "/", search: "?run=b" }), false);
  assert.equal(isShown("/courses/?session=a", { pathname: "/", search: "?session=a" }), false);
});

test("an assistant without a panel begins on the first page", () => {
  assert.equal(pathTo({ name: "a b", panel: null }), "/?assistant=a%20b");
  assert.equal(pathTo({ name: "reading", panel: "/reading/" }), "/reading/");
});

test("what fits best comes first, and every word has to fit", () => {
  const items = [{ title: "Use dark colours", hint: "Action" }, { title: "Courses", hint: "Assistant" }, { title: "Of course", hint: "" },
    { title: "Discourse", hint: "" }];
  assert.deepEqual(searchItems(items, "cour").map(({ title }) => title), ["Courses", "Of course", "Discourse"]);
  assert.deepEqual(searchItems(items, "colours action").map(({ title }) => title), ["Use dark colours"]);
  assert.deepEqual(searchItems(items, "courses elbe"), []);
  assert.equal(searchItems(items, "  "), items);
});

test("the assistants that come with Treadle have each a hue of their own, and any other has one", () => {
  const hues = ["coding", "courses", "guidance", "platform", "reading"].map(hueOf);
  assert.equal(new Set(hues).size, 5);
  assert.ok(hueOf("rivers") >= 0 && hueOf("rivers") < 6);
});

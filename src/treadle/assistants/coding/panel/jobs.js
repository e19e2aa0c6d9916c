// The jobs, newest first, each with how it stands. Kept up to date while the page is looked at.

import { ask, byId, element, fill, query } from "/static/treadle.js";
import { pluralize } from "/static/format.js";
import { timeAgo } from "/static/time-ago.js";
import { KINDS, nameOf, stateOf } from "./format.js";

const OFTEN = 3_000, SELDOM = 15_000;  // milliseconds between two looks, while something is under way and otherwise

/**
 * Have the list work. `open(id)` shows a job. `draw(id)` looks at them again, and marks the one that is shown.
 * @param {{ open: (id: string) => void }} given
 */
export function jobs({ open }) {
  let current = "", draws = 0, timer = 0;

  const draw = async (id = current) => {
    const mine = ++draws;
    current = id;
    mark(current);
    const found = await ask("/api/coding/jobs").catch((error) => ({ error }));
    if (mine !== draws) return;
    byId("jobs-said").textContent = found.error?.message ?? "";
    if (!found.error) show(found, current, open);
    clearTimeout(timer);
    timer = setTimeout(again, found.jobs?.some(isUnderWay) ? OFTEN : SELDOM);
  };

  const again = () => {
    if (document.visibilityState === "visible") draw();
  };

  byId("fold").addEventListener("click", () => fold(byId("fold").getAttribute("aria-expanded") !== "true"));
  document.addEventListener("visibilitychange", again);
  return { draw, fold: () => fold(false) };
}

/** @param {boolean} isOpen */
function fold(isOpen) {
  byId("fold").setAttribute("aria-expanded", `${isOpen}`);
}

/** @param {{ jobs: CodingJob[], more: boolean }} given @param {string} current @param {(id: string) => void} open */
function show({ jobs: all, more }, current, open) {
  const amount = all.length ? `${pluralize(all.length, "job")}${more ? ", and older ones" : ""}` : "No jobs yet";
  if (byId("amount").textContent !== amount) byId("amount").textContent = amount;
  byId("fold").textContent = all.length ? `Jobs (${all.length})` : "Jobs";
  fill(byId("list"), all.map((job) => rowOf(job, current, open)));
}

/** @param {string} current */
function mark(current) {
  for (const row of byId("list").children) {
    const button = query(row, "button");
    if (row.getAttribute("data-id") === current) button.setAttribute("aria-current", "true");
    else button.removeAttribute("aria-current");
  }
}

/** @param {CodingJob} codingJob @param {string} current @param {(id: string) => void} open */
function rowOf({ id, kind, title, workspace, created_at: at, ...rest }, current, open) {
  const [look, sign, words] = stateOf(rest), marked = id === current ? "true" : null;
  return element("li", { "data-id": id },
    element("button", { type: "button", class: "pick", "aria-current": marked, onclick: () => open(id) },
    element("span", { class: "sign", "data-look": look, title: words }, sign), element("span", { class: "unseen" }, `${words}: `),
    element("span", { class: "name" }, title),
    element("span", { class: "small soft" }, `${KINDS[kind]} in ${nameOf(workspace)}, `, timeAgo(at * 1000))));
}

/** @param {CodingJob} codingJob */
function isUnderWay({ state }) {
  return ["pending", "running"].includes(state);
}

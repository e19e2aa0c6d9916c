// The page of jobs: all of them, looked at again while something is under way.

import { pollWhileVisible } from "./polling.js";
import { jobActions } from "./job-actions.js";
import { mark } from "./states.js";
import { ask, byId, element, messageOf } from "./treadle.js";
import { pluralize } from "./format.js";
import { timeAgo } from "./time-ago.js";

const OFTEN = 3000;  // milliseconds between two looks
let before = "";

async function show() {
  try {
    const { jobs } = await ask("/api/jobs"), now = JSON.stringify(jobs);
    if (now !== before) draw(jobs);
    before = now;
  } catch (error) {
    tell(messageOf(error), "notice bad");
  }
}

/** @param {Job[]} jobs */
function draw(jobs) {
  const held = document.activeElement?.closest("[data-key]")?.getAttribute("data-key");
  byId("jobs").replaceChildren(...jobs.map(rowOf));
  byId("jobs").hidden = jobs.length === 0;
  /** @type {HTMLElement | null} */
  const again = held ? byId("jobs").querySelector(`[data-key="${CSS.escape(held)}"]`) : null;
  again?.focus();
  tell(jobs.length ? `${pluralize(jobs.length, "job")}.` : "There are no jobs.", "soft small");
}

/** @param {Job} job */
function rowOf(job) {
  const { id, title, state, why, kind, assistant, workspace, created_at } = job;
  return element("li", { class: "row-line" },
    element("a", { class: "title", href: `/jobs/${encodeURIComponent(id)}`, "data-key": id }, title || id), mark(state),
    element("p", { class: "small soft facts-line" },
      [`${kind} (${assistant})`, workspace, id].filter(Boolean).map((each) => element("span", {}, each)), timeAgo(created_at * 1000)),
    why ? element("p", { class: "small why-line" }, why) : null,
    element("p", { class: "actions" }, jobActions(job, show, (error) => tell(messageOf(error), "notice bad"))));
}

/** @param {string} words @param {string} kind */
function tell(words, kind) {
  const said = byId("said");
  said.className = kind;
  if (said.textContent !== words) said.textContent = words;
}

await show();
pollWhileVisible(show, OFTEN);

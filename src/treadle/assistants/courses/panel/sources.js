// Where an answer is from: its lessons and courses, below it.

import { element } from "/static/treadle.js";
import { outward } from "./links.js";

/**
 * @typedef {{ course: string, owner: string }} SharedIn the course that another user shares, and who
 * @typedef {(id: string, others: AnswerSource["passages"], shared: SharedIn | null) => void} Open
 * @typedef {{ open: Open, reveal: (course: string) => void }} Does
 */

/** The course that the passages of a source are from, if another user shares it. @param {AnswerSource} source @returns {SharedIn | null} */
export function sharedIn({ course, passages }) {
  const owner = passages[0]?.owner;
  return owner ? { course, owner } : null;
}

/**
 * The nodes. `open(id, others)` has a passage read, `reveal(course)` shows a course in the list.
 * @param {AnswerSource[]} sources @param {Does} does
 */
export function sourcesOf(sources, does) {
  if (!sources.length) return [];
  return [element("section", { class: "sources", "aria-label": "Sources" },
    element("h3", {}, "Sources"), element("ul", {}, sources.map((source) => element("li", {}, sourceOf(source, does)))))];
}

/**
 * A lesson opens at the first of its passages that were looked at; a course whose outline was has none.
 * @param {AnswerSource} source @param {Does} does
 */
function sourceOf(source, { open, reveal }) {
  const { text, url, course, passages } = source;
  const show = () => (passages.length ? open(passages[0].id, passages, sharedIn(source)) : reveal(course));
  return [
    element("button", { type: "button", class: "chip", onclick: show }, text),
    outward(url, "↗", `Open ${text}`),
  ];
}

// Where an answer is from: its lessons and courses, below it.

import { element } from "/static/treadle.js";
import { outward } from "./links.js";

/** @typedef {{ open: (id: string, others: { id: string, place: string }[]) => void, reveal: (course: string) => void }} Does */

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
 * @param {AnswerSource} answerSource @param {Does} does
 */
function sourceOf({ text, url, course, passages }, { open, reveal }) {
  const show = () => (passages.length ? open(passages[0].id, passages) : reveal(course));
  return [
    element("button", { type: "button", class: "chip", onclick: show }, text),
    outward(url, "↗", `Open ${text}`),
  ];
}

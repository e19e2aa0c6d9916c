// What would change, as people read it: words, then a diff in which what comes is green and what goes is red, or a text as it is.

import { kindOf, previewOf } from "./diff-lines.js";
import { expandableText } from "./call-arguments.js";
import { element } from "./treadle.js";
import { visible } from "./visible.js";

/** @typedef {import("./diff-lines.js").LineKind} LineKind */
/** @type {Record<LineKind, [string, string | null]>} */
const LOOKS = { heading: ["span", "soft"], added: ["ins", null], removed: ["del", null], warning: ["span", "warn"], same: ["span", null] };

/** The node of a preview. @param {string} text */
export function preview(text) {
  const { words, rest, isDiff } = previewOf(text);
  const draw = (/** @type {string} */ part) =>
    element("pre", { class: "diff", tabindex: "0" }, part.split("\n").map((line) => diffLine(line, isDiff ? kindOf(line) : "same")));
  return element("div", { class: "preview" }, words ? element("p", {}, visible(words)) : null, rest ? expandableText(rest, draw) : null);
}

/** A text as it is, or with its lines in colours where it is a diff. @param {string} text */
export function textOrDiff(text) {
  return previewOf(text).isDiff ? preview(text) : expandableText(text);
}

/** The node of one line. @param {string} line @param {LineKind} kind @param {string} [more] further classes */
export function diffLine(line, kind, more = "") {
  const [tag, look] = LOOKS[kind];
  return element(tag, { class: [look, more].filter(Boolean).join(" ") || null }, line, "\n");
}

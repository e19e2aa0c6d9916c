// What would change, as people read it: words, then a diff in which what comes is green and what goes is red, or a text as it is.

import { kindOf, previewOf } from "./diff-lines.js";
import { shown } from "./given.js";
import { element } from "./treadle.js";
import { visible } from "./visible.js";

/** @type {Record<ReturnType<typeof kindOf>, [string, string | null]>} */
const LOOKS = { heading: ["span", "soft"], added: ["ins", null], removed: ["del", null], warning: ["span", "warn"], same: ["span", null] };

/** The node of a preview. @param {string} text */
export function preview(text) {
  const { words, rest, isDiff } = previewOf(text);
  const draw = (/** @type {string} */ part) =>
    element("pre", { class: "diff", tabindex: "0" }, part.split("\n").map((line) => lineOf(line, isDiff)));
  return element("div", { class: "preview" }, words ? element("p", {}, visible(words)) : null, rest ? shown(rest, draw) : null);
}

/** @param {string} line @param {boolean} isDiff */
function lineOf(line, isDiff) {
  const [tag, look] = LOOKS[isDiff ? kindOf(line) : "same"];
  return element(tag, { class: look }, line, "\n");
}

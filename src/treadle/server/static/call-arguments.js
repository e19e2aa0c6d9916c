// What a call that waits was given: all of it, folded where there is much of it and a preview to go by. Nothing in it can hide: see
// visible.js.

import { argumentList } from "./calls.js";
import { element } from "./treadle.js";
import { excerpt, visible } from "./visible.js";
import { pluralize } from "./format.js";

const MANY = 6;  // lines from which on they are folded

/** @param {PendingCall} pendingCall */
export function callArguments({ arguments: given, preview: words }) {
  const list = argumentList(given, (text) => expandableText(text)), size = JSON.stringify(given).length;
  if (!list.childElementCount) return null;
  const lines = list.textContent.split("\n").length + list.childElementCount;
  return element("details", { class: "given", open: !words || lines <= MANY },
    element("summary", {}, `Its arguments, in full (${pluralize(size, "character")})`), list);
}

/**
 * A text as it is, with everything in it to be seen; of a long one the beginning, how much there is besides, and a way to see it.
 * @param {string} text @param {(part: string) => Node} [draw]
 */
export function expandableText(text, draw = (part) => element("pre", { tabindex: "0" }, part || "(nothing)")) {
  const whole = visible(text), { shown: part, characters, lines } = excerpt(whole);
  if (!characters) return draw(whole);
  const rest = lines ? `${pluralize(characters, "character")} on ${pluralize(lines, "line")}` : pluralize(characters, "character");
  const box = element("div", { class: "cut" }, draw(part)), showAll = () => box.replaceChildren(draw(whole));
  box.append(element("p", { class: "warn small" }, `${rest} more are not shown. `,
    element("button", { type: "button", class: "quiet", onclick: showAll }, "Show everything")));
  return box;
}

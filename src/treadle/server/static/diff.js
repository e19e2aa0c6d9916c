// What would change, as people read it: words, then a diff, or a text as it is. Nothing in it can hide: see visible.js.

import { diffView } from "./code-view.js";
import { previewOf } from "./diff-lines.js";
import { expandableText } from "./call-arguments.js";
import { element } from "./treadle.js";
import { visible } from "./visible.js";

/** The node of a preview. @param {string} text */
export function preview(text) {
  const { words, rest, isDiff } = previewOf(text);
  const body = rest ? expandableText(rest, isDiff ? diffView : undefined) : null;
  return element("div", { class: "preview" }, words ? element("p", {}, visible(words)) : null, body);
}

/** A text as it is, or with its lines in colours where it is a diff. @param {string} text */
export function textOrDiff(text) {
  return previewOf(text).isDiff ? preview(text) : expandableText(text);
}

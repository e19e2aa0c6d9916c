// What would change, as people read it: words, then a diff in which what comes is green and what goes is red, or a text as it is.

import { shown } from "./given.js";
import { element } from "./treadle.js";
import { visible } from "./visible.js";

/** The node of a preview. A diff in it is told by its two headings, `--- …` and `+++ …`; else the first line is words. */
export function preview(text) {
  const lines = text.replace(/\n$/, "").split("\n");
  const from = lines.findIndex((line, at) => line.startsWith("--- ") && lines[at + 1]?.startsWith("+++ "));
  const isDiff = from >= 0, start = isDiff ? from : 1;
  const words = visible(lines.slice(0, start).join("\n")), rest = lines.slice(start);
  const draw = (part) => element("pre", { class: "diff", tabindex: "0" }, part.split("\n").map((line) => lineOf(line, isDiff)));
  return element("div", { class: "preview" }, words ? element("p", {}, words) : null, rest.length ? shown(rest.join("\n"), draw) : null);
}

function lineOf(line, isDiff) {
  const [tag, kind] = isDiff ? kindOf(line) : ["span", null];
  return element(tag, { class: kind }, line, "\n");
}

function kindOf(line) {
  if (/^(---|\+\+\+) |^@@ /.test(line)) return ["span", "soft"];
  if (line.startsWith("+")) return ["ins", null];
  if (line.startsWith("-")) return ["del", null];
  return ["span", line.startsWith("! ") ? "warn" : null];
}

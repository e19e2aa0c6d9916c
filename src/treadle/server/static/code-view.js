// Code as every page shows it: lines with their numbers, which no selection takes along, in the colours of their language; of a diff
// what comes is green and what goes is red. What a diff is, diff-lines.js knows; what is coloured, languages.js.

import { diffLines, diffPieces, unchanged } from "./diff-lines.js";
import { element } from "./treadle.js";

/** @typedef {import("./diff-lines.js").LineKind} LineKind */
/** @typedef {import("./languages.js").Piece} Piece */
/** @type {Record<LineKind, [string, string | null]>} */
const LOOKS = { heading: ["span", "soft"], added: ["ins", null], removed: ["del", null], warning: ["span", "warn"], same: ["span", null] };

/** Give a line its colours; `lead` is what stands before them, such as the sign of a diff. @param {Element} line @param {Piece[]} made */
export function tintLine(line, made, lead = "") {
  if (!made.some(([kind]) => kind)) return;
  line.replaceChildren(lead, ...made.map(([kind, text]) => (kind ? element("span", { class: `hljs-${kind}` }, text) : text)), "\n");
}

/** How wide the column of the numbers is. @param {HTMLElement} view @param {number} highest */
export function fitNumbers(view, highest) {
  view.style.setProperty("--digits", `${String(highest).length}`);
}

/** The node of a diff. @param {string} text @param {string} [path] the file, where no heading names it */
export function diffView(text, path = "") {
  const view = element("pre", { class: "diff", tabindex: "0" });
  drawDiff(view, null, text.split("\n"), path);
  return view;
}

/**
 * Draw a diff where an earlier state of it may be: lines that are as they were keep their nodes, and changes that are new since then
 * are marked `fresh`.
 * @param {HTMLElement} view @param {string[] | null} before @param {string[]} lines @param {string} [path]
 */
export function drawDiff(view, before, lines, path = "") {
  const old = before ?? [], { head, tail } = unchanged(old, lines), read = diffLines(lines, path), pieces = diffPieces(read);
  const gone = [...view.children].slice(head, old.length - tail), next = view.children[old.length - tail] ?? null;
  for (const node of gone) node.remove();
  for (const each of read.slice(head, lines.length - tail)) view.insertBefore(nodeOf(each, before !== null), next);
  let node = view.firstElementChild, highest = 0;
  for (const [at, { text, number }] of read.entries()) {
    if (!node) break;
    if (node.textContent !== `${text}\n`) node.textContent = `${text}\n`;
    if (!node.childElementCount) tintLine(node, pieces[at] ?? [], text.slice(0, 1));
    node.setAttribute("data-n", `${number ?? ""}`);
    highest = Math.max(highest, number ?? 0);
    node = node.nextElementSibling;
  }
  fitNumbers(view, highest);
}

/** @param {import("./diff-lines.js").DiffLine} line @param {boolean} isUpdate */
function nodeOf({ text, kind }, isUpdate) {
  const [tag, look] = LOOKS[kind], isFresh = isUpdate && ["added", "removed"].includes(kind);
  return element(tag, { class: [look, isFresh ? "fresh" : null].filter(Boolean).join(" ") || null }, text, "\n");
}

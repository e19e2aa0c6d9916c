// Markdown made elements: what a model says, as it says it. Nothing here is ever HTML: what looks like it is shown as text.
//   import { markdown, show } from "/static/markdown.js";
// `markdown` makes nodes of a text. `show` keeps an element up to date with a text that grows, and touches only what has changed.
// The text is parsed in markdown-blocks.js and inline.js.

import { inline } from "./inline.js";
import { blocksIn } from "./markdown-blocks.js";
import { formulaNode } from "./math.js";
import { element } from "./treadle.js";

/** @typedef {import("./markdown-blocks.js").Block} Block */
/** @typedef {import("./markdown-blocks.js").Content} Content */
/** @typedef {import("./markdown-blocks.js").Item} Item */
/** @typedef {import("./inline.js").Piece} Piece */

/** @type {WeakMap<Element, { source: string, node: HTMLElement }[]>} */
const shown = new WeakMap();  // the blocks that an element shows

/** The nodes of a text. @param {string} text */
export function markdown(text) {
  return blocksIn(text).map(nodeOf);
}

/** The nodes of a text without blocks. @param {string} text */
export function inlineNodes(text) {
  return inline(text).map(pieceNode);
}

/**
 * Have an element show a text. Blocks that are as they were keep their nodes, so that it is cheap while the text grows.
 * @param {Element} place @param {string} text
 */
export function show(place, text) {
  const before = shown.get(place) ?? [], blocks = blocksIn(text);
  const now = blocks.map((block, index) => {
    const { source, node } = before[index] ?? {};
    return source === block.source ? before[index] : { source: block.source, node: continued(block, node) ?? nodeOf(block) };
  });
  for (const [index, { node }] of now.entries()) {
    const old = before[index]?.node;
    if (!old) place.append(node);
    else if (old !== node) old.replaceWith(node);
  }
  for (const { node } of before.slice(now.length)) node.remove();
  shown.set(place, now);
}

/**
 * Code that has grown: its node with more text in it, so that what was selected or scrolled there stays so.
 * @param {Block} block @param {HTMLElement | undefined} node
 */
function continued(block, node) {
  if (block.kind !== "code" || node?.tagName !== "PRE" || (node.dataset.language ?? "") !== block.language) return null;
  const text = node.firstChild?.firstChild;
  if (!(text instanceof Text)) return null;
  text.data = block.text;
  return node;
}

// the elements of blocks

/** @type {{ [Kind in Content["kind"]]: (block: Extract<Content, { kind: Kind }>) => HTMLElement }} */
const MAKERS = {
  code: ({ language, text }) =>
    element("pre", { "data-language": language || null }, element("code", {}, document.createTextNode(text))),
  math: ({ formula }) => element("p", {}, formulaNode(formula)),
  heading: ({ level, text }) => element(`h${Math.min(level + 2, 6)}`, {}, inlineNodes(text)),  // the page has two above
  rule: () => element("hr"),
  quote: ({ blocks }) => element("blockquote", {}, blocks.map(nodeOf)),
  list: ({ start, items, isLoose }) => element(Number.isNaN(start) ? "ul" : "ol", { start: start > 1 ? start : null },
    items.map((item) => itemOf(item, isLoose))),
  table: ({ head, aligned, rows }) => element("div", { class: "table", tabindex: "0" }, element("table", {},
    element("thead", {}, rowOf("th", head, aligned)),
    element("tbody", {}, rows.map((row) => rowOf("td", head.map((_, index) => row[index] ?? ""), aligned))))),
  paragraph: ({ text }) => element("p", {}, inlineNodes(text)),
};

/** @param {Block} block @returns {HTMLElement} */
function nodeOf(block) {
  return /** @type {(block: Content) => HTMLElement} */ (MAKERS[block.kind])(block);
}

/** @param {Item} item @param {boolean} isLoose */
function itemOf({ blocks }, isLoose) {
  return element("li", {}, blocks.flatMap((block) =>
    (block.kind === "paragraph" && !isLoose ? inlineNodes(block.text) : [nodeOf(block)])));
}

/** @param {string} tag @param {string[]} cells @param {(string | null)[]} aligned */
function rowOf(tag, cells, aligned) {
  return element("tr", {}, cells.map((cell, index) => element(tag, { "data-align": aligned[index] }, inlineNodes(cell))));
}

/** @param {Piece} piece @returns {Node} */
function pieceNode(piece) {
  if (typeof piece === "string") return document.createTextNode(piece);
  if ("formula" in piece) return formulaNode(piece.formula);
  return element(piece.tag, piece.attributes, piece.pieces.map(pieceNode));
}

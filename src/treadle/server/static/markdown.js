// Markdown made elements: what a model says, as it says it. Its HTML (markdown-html.js) goes through DOMPurify, which lets only the
// elements through that Markdown needs, before it becomes nodes.
//   import { markdown, show } from "/static/markdown.js";
// `markdown` makes nodes of a text. `show` keeps an element up to date with a text that grows, and touches only what has changed.

import { colourCode } from "./code-colours.js";
import { drawDiagrams } from "./diagrams.js";
import { blocksOf, continuedBlocks, htmlOf, inlineHtmlOf } from "./markdown-html.js";
import { formulaNode } from "./math.js";
import { element } from "./treadle.js";
import DOMPurify from "/static/dompurify/purify.js";

/** @typedef {import("./markdown-html.js").Block} Block */

const ALLOWED = {
  ALLOWED_TAGS: ["a", "blockquote", "br", "code", "div", "em", "h3", "h4", "h5", "h6", "hr", "li", "ol", "p", "pre", "s", "span", "strong",
    "table", "tbody", "td", "th", "thead", "tr", "ul"],
  ALLOWED_ATTR: ["class", "data-align", "data-formula", "data-language", "href", "rel", "start", "tabindex", "target"],
  ALLOW_ARIA_ATTR: false,
  ALLOW_DATA_ATTR: false,
  ALLOWED_URI_REGEXP: /^(?:(?:https?|mailto):|[^a-z]|[a-z+.-]+(?:[^a-z+.\-:]|$))/i,
  RETURN_DOM_FRAGMENT: /** @type {const} */ (true),
};
const QUIET = 200;  // milliseconds without a change after which code is coloured, and references are resolved
const REFERENCE = /^ {0,3}\[[^\]]+\]:/m;  // blocks before it may have links to it
/** @typedef {{ key: string, nodes: ChildNode[] }} Shown */
/** @type {WeakMap<Element, { text: string, blocks: Block[], shown: Shown[] }>} */
const states = new WeakMap();  // what an element shows
/** @type {WeakMap<Element, number>} */
const waiting = new WeakMap();  // timers for its colours

/** The nodes of a text. @param {string} text */
export function markdown(text) {
  const nodes = nodesOf(blocksOf(text)).flat();
  for (const node of nodes) if (node instanceof HTMLElement) finish(node);
  return nodes;
}

/** The nodes of a text without blocks. @param {string} text */
export function inlineNodes(text) {
  return [...checked(inlineHtmlOf(text)).childNodes];
}

/**
 * Have an element show a text. Blocks that are as they were keep their nodes, so that it is cheap while the text grows.
 * @param {Element} place @param {string} text
 */
export function show(place, text) {
  const old = states.get(place);
  draw(place, text, old ? continuedBlocks(text, old.text, old.blocks) : blocksOf(text));
  clearTimeout(waiting.get(place));
  waiting.set(place, setTimeout(() => {
    if (REFERENCE.test(text)) draw(place, text, blocksOf(text));
    finish(place);
  }, QUIET));
}

/** Do what isn't worth it while a text grows. @param {Element} node */
function finish(node) {
  colourCode(node);
  drawDiagrams(node);
}

/** @param {Element} place @param {string} text @param {Block[]} blocks */
function draw(place, text, blocks) {
  const before = states.get(place)?.shown ?? [];
  const kept = blocks.map((block, index) => {
    const old = before[index], nodes = old?.key === block.key ? old.nodes : continued(block, old?.nodes);
    return nodes && (old?.key === block.key ? old : { key: block.key, nodes });
  });
  const fresh = nodesOf(blocks.filter((_, index) => !kept[index])).values();
  const now = blocks.map(({ key }, index) => kept[index] ?? { key, nodes: fresh.next().value ?? [] });
  for (const [index, { nodes }] of now.entries()) {
    const old = before[index]?.nodes;
    if (!old) place.append(...nodes);
    else if (old !== nodes) replace(place, old, nodes);
  }
  for (const { nodes } of before.slice(now.length)) for (const node of nodes) node.remove();
  states.set(place, { text, blocks, shown: now });
}

/** @param {Element} place @param {ChildNode[]} old @param {ChildNode[]} nodes */
function replace(place, old, nodes) {
  if (old[0]) old[0].before(...nodes);
  else place.append(...nodes);
  for (const node of old) node.remove();
}

/**
 * Code that has grown: its node with more text in it, so that what was selected or scrolled there stays so.
 * @param {Block} block @param {ChildNode[] | undefined} nodes
 */
function continued({ code }, nodes) {
  const [node] = nodes ?? [], block = node instanceof HTMLElement && node.tagName === "PRE" ? node : null;
  const place = block?.querySelector("code");
  if (!code || !nodes || !block || !place || (block.dataset.language ?? "") !== code.language) return null;
  block.toggleAttribute("data-open", Boolean(code.isOpen));
  if (place.childNodes.length === 1 && place.firstChild instanceof Text) place.firstChild.data = code.text;
  else place.textContent = code.text;
  return nodes;
}

/** The nodes of each block. All of them are checked at once: that takes the more time the more often. @param {Block[]} blocks */
function nodesOf(blocks) {
  const plain = blocks.filter(({ code }) => !code);
  const places = plain.length ? [...checked(htmlOf(plain)).children].values() : [].values();
  return blocks.map(({ code }) => (code ? [codeNode(code)] : [...places.next().value?.children ?? []]));
}

/** @param {import("./markdown-html.js").Code} code */
function codeNode({ language, text, isOpen }) {
  const code = element("code", {}, document.createTextNode(text));
  return element("pre", { "data-language": language || null, "data-open": isOpen ? "" : null }, code);
}

/** @param {{ html: string, formulas: Formula[] }} given */
function checked({ html, formulas }) {
  const fragment = DOMPurify.sanitize(html, ALLOWED);
  for (const place of fragment.querySelectorAll("[data-formula]")) {
    const formula = formulas[Number(place.getAttribute("data-formula"))];
    if (formula) place.replaceWith(formulaNode(formula));
  }
  return fragment;
}

// Numbers in an answer that open the passages they stand for. Which ones there are is data; a number without a passage is dropped.

import { element } from "/static/treadle.js";

const MARK = /\[(\d{1,3})\]/g;

/**
 * Make buttons of the citations in the last words of the turn that `node` is in. `open(id)` has a passage read.
 * @param {Element} node @param {Citation[]} citations @param {(id: string) => void} open
 */
export function cite(node, citations, open) {
  const words = [...(node.closest(".turn")?.querySelectorAll(".words") ?? [])].at(-1);
  if (!words) return;
  const byNumber = new Map(citations.map((each) => [String(each.number), each]));
  /** @type {Text[]} */
  const texts = [];
  const walker = document.createTreeWalker(words, NodeFilter.SHOW_TEXT);
  while (walker.nextNode()) {
    const node = walker.currentNode;
    if (node instanceof Text && !node.parentElement?.closest("code, pre, a, .math")) texts.push(node);
  }
  for (const text of texts.filter(({ data }) => data.search(MARK) >= 0)) text.replaceWith(...pieces(text.data, byNumber, open));
}

/** @param {string} words @param {Map<string, Citation>} byNumber @param {(id: string) => void} open */
function pieces(words, byNumber, open) {
  return words.split(MARK).map((piece, index) => (index % 2 ? mark(byNumber.get(piece), open) : piece)).flatMap((piece) => piece || []);
}

/** @param {Citation | undefined} citation @param {(id: string) => void} open */
function mark(citation, open) {
  if (!citation) return null;
  const { number, id, text } = citation;
  const label = `Citation ${number}: ${text}`;
  return element("button", { type: "button", class: "cite", "aria-label": label, onclick: () => open(id) }, `[${number}]`);
}

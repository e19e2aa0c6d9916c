// Numbers in an answer that open the passages they stand for. Which ones there are is data; a number without a passage is dropped.

import { element } from "/static/treadle.js";

const MARK = /\[(\d{1,3})\]/g;

/** Make buttons of the citations in the last words of the turn that `node` is in. `open(id)` has a passage read. */
export function cite(node, citations, open) {
  const words = [...(node.closest(".turn")?.querySelectorAll(".words") ?? [])].at(-1);
  if (!words) return;
  const byNumber = new Map(citations.map((each) => [String(each.number), each])), texts = [];
  const walker = document.createTreeWalker(words, NodeFilter.SHOW_TEXT);
  while (walker.nextNode()) if (!walker.currentNode.parentElement.closest("code, pre, a, .math")) texts.push(walker.currentNode);
  for (const text of texts.filter(({ data }) => data.search(MARK) >= 0)) text.replaceWith(...pieces(text.data, byNumber, open));
}

function pieces(words, byNumber, open) {
  return words.split(MARK).map((piece, index) => (index % 2 ? mark(byNumber.get(piece), open) : piece)).filter(Boolean);
}

function mark(citation, open) {
  if (!citation) return null;
  const { number, id, text } = citation;
  return element("button", { type: "button", class: "cite", "aria-label": `Citation ${number}: ${text}`, onclick: () => open(id) }, `[${number}]`);
}

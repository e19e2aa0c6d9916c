// Colours code by its language, with highlight.js: it is loaded with the first block of code that names one, so that a page without
// any never requests it. Until it is there, and where it doesn't know the language, code is shown as it is.

import DOMPurify from "/static/dompurify/purify.js";

const HIGHLIGHT = "./highlight/highlight.min.js";
const BLOCKS = 'pre[data-language]:not([data-language="mermaid"])';  // that one is drawn, by diagrams.js
const LONGEST = 50_000;  // characters that are coloured
const ONLY = { ALLOWED_TAGS: ["span"], ALLOWED_ATTR: ["class"], RETURN_DOM_FRAGMENT: /** @type {const} */ (true) };
/** @type {Promise<any> | null} */
let loading = null;

/** Colour the blocks of code below a node, or the node itself, that aren't yet. @param {Element} node */
export function colourCode(node) {
  const own = node.matches(BLOCKS) ? [...node.querySelectorAll(":scope > code")] : [];
  const plain = [...own, ...node.querySelectorAll(`${BLOCKS} > code`)].filter(isPlain);
  if (!plain.length) return;
  load().then((highlight) => {
    for (const code of plain) if (isPlain(code)) colour(code, highlight);
  }, () => {});  // it can be read without colours, too
}

function load() {
  loading ??= import(HIGHLIGHT).then((module) => module.default, (error) => {
    loading = null;  // the next block may have more luck
    throw error;
  });
  return loading;
}

/** @param {Element} code */
function isPlain(code) {
  return code.childElementCount === 0 && (code.textContent ?? "").length <= LONGEST;
}

/** @param {Element} code @param {any} highlight */
function colour(code, highlight) {
  const language = code.parentElement?.dataset.language ?? "", text = code.textContent ?? "";
  if (!highlight.getLanguage(language)) return;
  const { value } = highlight.highlight(text, { language, ignoreIllegals: true }), coloured = DOMPurify.sanitize(value, ONLY);
  if (coloured.textContent === text && coloured.childElementCount) code.replaceChildren(coloured);
}

// Typesets formulas as MathML. KaTeX is loaded with the first formula, so that a page without any never requests it; until it is
// there, or where it can't read one, the source is shown. Finding formulas is formulas.js.

import { element } from "./treadle.js";

const KATEX = "./katex/katex.min.js";
const LIMITS = { maxExpand: 500, maxSize: 20, trust: false };  // a text may be a stranger's
const OPTIONS = { ...LIMITS, output: "mathml", strict: "ignore", throwOnError: true };
/** @type {Promise<void> | null} */
let loading = null;
/** @type {typeof globalThis.katex | null} */
let katex = null;

/** The element of a formula. @param {Formula} formula */
export function formulaNode(formula) {
  const node = element("span", { class: formula.isDisplay ? "math display" : "math" }, formula.source);
  if (katex) typeset(node, formula);
  else load().then(() => typeset(node, formula), () => {});  // the source says it, too
  return node;
}

function load() {
  loading ??= import(KATEX).then(() => {
    katex = globalThis.katex;
  }, (error) => {
    loading = null;  // the next formula may have more luck
    throw error;
  });
  return loading;
}

/**
 * MathML needs neither fonts of its own nor styles on elements, which the policy of our pages forbids.
 * @param {HTMLElement} node @param {Formula} formula
 */
function typeset(node, { tex, source, isDisplay }) {
  if (!katex) return;
  try {
    katex.render(tex, node, { ...OPTIONS, displayMode: isDisplay });
  } catch (error) {
    if (!(error instanceof katex.ParseError)) throw error;
    node.textContent = source;
  }
}

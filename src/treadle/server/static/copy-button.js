// Copies text: an answer, or a block of code in it.

import { icon } from "./icons.js";
import { element } from "./treadle.js";

const SHOWN = 1500;  // milliseconds for which it says that it has copied

/** A button that copies what `text()` gives. @param {string} words @param {() => string} text */
export function copyButton(words, text) {
  const button = element("button", { type: "button", class: "tool copy", "aria-label": words, title: words, onclick: act }, icon("copy"));

  async function act() {
    const isDone = await copy(text());
    button.replaceChildren(icon(isDone ? "check" : "x"));
    button.setAttribute("aria-label", isDone ? "Copied" : "Copying isn't possible here");
    setTimeout(() => {
      button.replaceChildren(icon("copy"));
      button.setAttribute("aria-label", words);
    }, SHOWN);
  }

  return button;
}

/** Give the blocks of code below a node a button that copies them. @param {HTMLElement} node */
export function offerCopies(node) {
  for (const code of node.querySelectorAll(".words pre > code")) {
    if (code.parentElement?.querySelector(".copy")) continue;
    code.before(copyButton("Copy code", () => code.textContent ?? ""));
  }
}

/** @param {string} text */
async function copy(text) {
  try {
    await navigator.clipboard.writeText(text);
    return true;
  } catch {
    return copySelected(text);  // the browser has no clipboard for pages that aren't local and have no TLS
  }
}

/** @param {string} text */
function copySelected(text) {
  const field = element("textarea", { class: "unseen", "aria-hidden": "true" }), before = document.activeElement;
  field.value = text;
  document.body.append(field);
  field.select();
  const isDone = document.execCommand("copy");
  field.remove();
  if (before instanceof HTMLElement) before.focus();
  return isDone;
}

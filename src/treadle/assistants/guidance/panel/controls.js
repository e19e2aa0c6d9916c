// Buttons and forms that do something on the server: busy meanwhile, and what went wrong is said below them.

import { element, messageOf } from "/static/treadle.js";

let number = 0;

/**
 * A field with its label, and perhaps something beside the label.
 * @param {string} words @param {HTMLElement} field @param {Node | null} [beside]
 */
export function labelled(words, field, beside = null) {
  field.id = `field-${++number}`;
  const head = element("div", { class: "head" }, element("label", { for: field.id }, words), beside);
  return element("div", { class: "field" }, head, field);
}

/** A list to choose from: `[value, words]` each. @param {[string, string][]} options @param {string} chosen */
export function choice(options, chosen) {
  return element("select", {}, options.map(([value, words]) => element("option", { value, selected: value === chosen }, words)));
}

/** A button that does something. @param {string} words @param {() => Promise<unknown>} act */
export function acting(words, act) {
  const said = alert(), button = element("button", { type: "button", class: "quiet small" }, words);
  button.addEventListener("click", () => attempt(button, said, act));
  return element("div", {}, button, said);
}

/**
 * A form whose button does something; other buttons stand beside it.
 * @param {Node[]} fields @param {string} words @param {() => Promise<unknown>} act @param {...Node} others
 */
export function form(fields, words, act, ...others) {
  const said = alert(), button = element("button", { class: "quiet small" }, words);
  return element("form", { class: "editing", onsubmit: (event) => {
    event.preventDefault();
    attempt(button, said, act);
  } }, fields, element("div", { class: "actions" }, button, others), said);
}

/** What is unfolded by a line of words. @param {string} words @param {...Node} nodes */
export function folded(words, ...nodes) {
  return element("details", { class: "more" }, element("summary", { class: "small" }, words), nodes);
}

function alert() {
  return element("p", { class: "small bad", role: "alert" });
}

/** @param {HTMLButtonElement} button @param {HTMLElement} said @param {() => Promise<unknown>} act */
async function attempt(button, said, act) {
  button.disabled = true;
  said.textContent = "";
  try {
    await act();
  } catch (error) {
    said.textContent = messageOf(error);
  } finally {
    button.disabled = false;
  }
}

// Buttons and forms that do something on the server: busy meanwhile, and what went wrong is said below them.

import { element } from "/static/treadle.js";

let number = 0;

/** A field with its label, and perhaps something beside the label. */
export function labelled(words, field, beside = null) {
  field.id = `field-${++number}`;
  const head = element("div", { class: "head" }, element("label", { for: field.id }, words), beside);
  return element("div", { class: "field" }, head, field);
}

/** A list to choose from: `[value, words]` each. */
export function choice(options, chosen) {
  return element("select", {}, options.map(([value, words]) => element("option", { value, selected: value === chosen }, words)));
}

/** A button that does something. */
export function acting(words, act) {
  const said = alert();
  const button = element("button", { type: "button", class: "quiet small", onclick: () => attempt(button, said, act) }, words);
  return element("div", {}, button, said);
}

/** A form whose button does something; other buttons stand beside it. */
export function form(fields, words, act, ...others) {
  const said = alert(), button = element("button", { class: "quiet small" }, words);
  return element("form", { class: "editing", onsubmit: (event) => {
    event.preventDefault();
    attempt(button, said, act);
  } }, fields, element("div", { class: "actions" }, button, others), said);
}

/** What is unfolded by a line of words. */
export function folded(words, ...nodes) {
  return element("details", { class: "more" }, element("summary", { class: "small" }, words), nodes);
}

function alert() {
  return element("p", { class: "small bad", role: "alert" });
}

async function attempt(button, said, act) {
  button.disabled = true;
  said.textContent = "";
  try {
    await act();
  } catch (error) {
    said.textContent = error.message;
  } finally {
    button.disabled = false;
  }
}

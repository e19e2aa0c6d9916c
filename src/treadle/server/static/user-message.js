// A message of the user. Where the conversation can be forked before it, it can be edited and sent again.

import { messageOf } from "./errors.js";
import { icon } from "./icons.js";
import { element } from "./treadle.js";

/**
 * The message; `send(text)` sends another one in its place.
 * @param {string} text @param {((text: string) => Promise<unknown>) | null} [send] @returns {HTMLElement}
 */
export function userMessage(text, send = null) {
  const node = element("div", { class: "said" }, element("h2", { class: "unseen" }, "You"), element("p", {}, text));
  if (send) node.append(element("button", { type: "button", class: "tool edit", "aria-label": "Edit and send again",
    title: "Edit and send again", onclick: () => edit(node, text, send) }, icon("pencil")));
  return node;
}

/** @param {HTMLElement} node @param {string} text @param {(text: string) => Promise<unknown>} send */
function edit(node, text, send) {
  const shown = /** @type {HTMLElement[]} */ ([...node.children]);
  const written = element("textarea", { "aria-label": "Your message", rows: "3" });
  const problem = element("p", { class: "small", role: "alert" });
  const form = element("form", { class: "editing" }, written, problem, element("div", { class: "actions" },
    element("button", {}, "Send"), element("button", { type: "button", class: "quiet", onclick: close }, "Cancel")));

  function close() {
    form.remove();
    for (const each of shown) each.hidden = false;
  }

  form.addEventListener("submit", (event) => {
    event.preventDefault();
    if (written.value.trim()) send(written.value.trim()).catch((error) => { problem.textContent = messageOf(error); });
  });
  written.value = text;
  for (const each of shown) each.hidden = true;
  node.append(form);
  written.focus();
}

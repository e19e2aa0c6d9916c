// Asks whether something is to be done that can't be undone on this page.
//   if (await confirmDialog("Begin a new conversation? This one is no longer shown.", "Begin anew")) …

import { element } from "./treadle.js";

/** Whether the person says yes. Escape is a no. @param {string} question @param {string} yes @returns {Promise<boolean>} */
export function confirmDialog(question, yes) {
  const dialog = element("dialog", { class: "modal", "aria-labelledby": "confirm-question" }, element("form", { method: "dialog" },
    element("p", { id: "confirm-question" }, question),
    element("div", { class: "actions" },
      element("button", { value: "yes" }, yes), element("button", { value: "", class: "quiet" }, "Cancel"))));
  document.body.append(dialog);
  dialog.showModal();
  return new Promise((resolve) => {
    dialog.addEventListener("close", () => {
      dialog.remove();
      resolve(dialog.returnValue === "yes");
    });
  });
}

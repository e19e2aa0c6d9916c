// A modal dialog that asks for confirmation of what can't be undone on the page.
//   if (await confirmDialog("Begin a new conversation? This one is no longer shown.", "Begin anew")) …

import { element } from "./treadle.js";

/** Return whether the user confirms. Escape cancels. @param {string} question @param {string} yes @returns {Promise<boolean>} */
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

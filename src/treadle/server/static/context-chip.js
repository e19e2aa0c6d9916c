// What a conversation is about, where its messages are written: a folder, a project, a platform and its user. A click changes it.
//   const chip = contextChip(query(byId("chat"), ".composer"), "Project", choose);
//   chip.show(project.title);

import { element } from "./treadle.js";
import { visible } from "./visible.js";

/**
 * A chip in the form of a conversation; it is hidden until there is something to show. `change()` lets one choose something else.
 * @param {Element} composer @param {string} name @param {() => unknown} change
 */
export function contextChip(composer, name, change) {
  const value = element("span", { class: "value" });
  const title = `Change the ${name.toLowerCase()}`;
  const button = element("button", { type: "button", class: "context", onclick: change, hidden: true, title },
    element("span", { class: "soft" }, `${name}: `), value, element("span", { class: "unseen" }, ", change"));
  composer.prepend(button);
  return {
    /** @param {string} words "" hides it */
    show(words) {
      value.textContent = visible(words);
      button.hidden = !words;
    },
  };
}

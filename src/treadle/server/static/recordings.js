// Recorded runs, to be watched before there is a model. Where the server has none, nothing is shown.

import { ask, element } from "./treadle.js";

/** The list of them, and what fills it. */
export function recordings() {
  const list = element("ul"), words = element("p", { class: "small soft" });
  const node = element("section", { class: "recordings", hidden: true, "aria-labelledby": "recordings-title" },
    element("h3", { id: "recordings-title" }, "Or watch a recording"), list, words);

  async function load() {
    /** @type {{ assistant: string, title: string, run_id: string, model: string, recorded: string }[]} */
    const found = await ask("/api/demonstrations").catch(() => []);
    node.hidden = !found.length;
    list.replaceChildren(...found.map(({ assistant, title, run_id }) => element("li", {},
      element("a", { href: `/runs/${encodeURIComponent(run_id)}#entry-1`, title, "aria-label": `${named(assistant)}: ${title}` },
        named(assistant)))));
    if (found.length) words.textContent = `Real runs, recorded with ${found[0].model.split(":").at(-1)} on ${found[0].recorded}.`;
  }

  return { node, load };
}

/** @param {string} assistant */
function named(assistant) {
  return assistant[0].toUpperCase() + assistant.slice(1);
}

// Which assistant is asked: a card for each, with what it is for, an example that is asked with a click, and a recording.

import { assistantIcon, icon } from "./icons.js";
import { ask, element, query } from "./treadle.js";

const KEY = "treadle-assistant";  // which one it was last

/** @typedef {{ assistant: string, title: string, run_id: string, model: string, recorded: string }} Recording */

/**
 * The choice. `chosen(assistant)` hears which one it is, `clicked()` that it was chosen with the mouse, which leaves the keyboard to
 * what is written next; `example(question)` hears which example was clicked.
 * @param {{ chosen: (assistant: AssistantInfo) => void, clicked: () => void, example: (question: string) => void }} given
 */
export function assistantCards({ chosen, clicked, example }) {
  const list = element("fieldset", { class: "assistants" }, element("legend", { class: "unseen" }, "Assistant"));
  const node = element("div", { class: "choice" }, list);
  /** @type {AssistantInfo[]} */
  let all = [];

  /** @param {string | null | undefined} name */
  function pick(name) {
    const found = all.find((each) => each.name === name);
    if (!found) return;
    query(list, `input[value="${CSS.escape(found.name)}"]`, HTMLInputElement).checked = true;
    chosen(found);
  }

  /** @param {string} name @param {string} question */
  function run(name, question) {
    pick(name);
    example(question);
  }

  /** @param {string | null} wanted */
  async function load(wanted) {
    all = await ask("/api/assistants");
    list.append(...all.map((each) => card(each, pick, run)));
    if (!all.length) node.append(element("p", { class: "soft" }, "No assistant is installed here yet."));
    const quick = all.find((each) => each.quick) ?? all[0];
    pick([wanted, kept(), quick?.name].find((name) => all.some((each) => each.name === name)));
  }

  /** Add the recordings to their cards. */
  async function loadRecordings() {
    /** @type {Recording[]} */
    const found = await ask("/api/demonstrations").catch(() => []);
    for (const each of found) list.querySelector(`[data-name="${CSS.escape(each.assistant)}"]`)?.append(watch(each));
  }

  list.addEventListener("change", ({ target }) => target instanceof HTMLInputElement && keep(target.value));
  list.addEventListener("click", ({ target, detail }) => {
    if (detail && target instanceof HTMLInputElement) clicked();  // an arrow key has no detail
  });
  return { node, load, loadRecordings, pick };
}

/** @param {AssistantInfo} assistantInfo @param {(name: string) => void} pick @param {(name: string, question: string) => void} run */
function card({ name, title, summary, questions }, pick, run) {
  const [first] = questions;
  return element("div", { class: "assistant", "data-name": name },
    element("label", {},
      element("input", { type: "radio", name: "assistant", value: name, onchange: () => pick(name) }), assistantIcon(name),
      element("span", { class: "title" }, title), element("span", { class: "small soft summary" }, summary)),
    first ? element("button", { type: "button", class: "chip", onclick: () => run(name, first) }, first) : null);
}

/** @param {Recording} recording */
function watch({ title, run_id, model, recorded }) {
  const about = `${title} (recorded with ${model.split(":").at(-1)} on ${recorded})`;
  return element("a", { class: "small watch", href: `/runs/${encodeURIComponent(run_id)}#play`, title: about,
    "aria-label": `Watch a recording: ${about}` }, icon("circle-play"), "Watch a recording");
}

function kept() {
  try {
    return localStorage.getItem(KEY);
  } catch {
    return null;
  }
}

/** @param {string} name */
function keep(name) {
  try {
    localStorage.setItem(KEY, name);
  } catch {
    // then the one that answers quickly is chosen next time
  }
}

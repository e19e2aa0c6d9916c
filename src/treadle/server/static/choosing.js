// Which assistant one talks to: all of them with what they are for, one of which is chosen.

import { ask, element, query } from "./treadle.js";

const KEY = "treadle-assistant";  // which one it was last

/** The choice. `chosen(assistant)` hears which one it is. @param {{ chosen: (assistant: AssistantInfo) => void }} given */
export function choosing({ chosen }) {
  const list = element("fieldset", { class: "assistants" }, element("legend", { class: "unseen" }, "Assistant"));
  const where = element("p", { class: "small", role: "status" });
  const node = element("div", { class: "choice" }, element("h2", {}, "What would you like to do?"), list, where);
  /** @type {AssistantInfo[]} */
  let all = [];

  /** @param {string | null | undefined} name */
  function pick(name) {
    const found = all.find((each) => each.name === name);
    if (!found) return;
    query(list, `input[value="${CSS.escape(found.name)}"]`, HTMLInputElement).checked = true;
    where.replaceChildren(...leadsTo(found));
    chosen(found);
  }

  /** @param {string | null} wanted */
  async function load(wanted) {
    all = await ask("/api/assistants");
    list.append(...all.map((each) => card(each, pick)));
    if (!all.length) node.append(element("p", { class: "soft" }, "No assistant is installed here yet."));
    const before = kept();
    pick([wanted, before, all[0]?.name].find((name) => all.some((each) => each.name === name)));
  }

  list.addEventListener("change", ({ target }) => target instanceof HTMLInputElement && keep(target.value));
  return { node, load, pick };
}

/** Where a conversation can begin only in its panel, the way there. @param {AssistantInfo} assistantInfo */
function leadsTo({ only_panel: why, panel, title }) {
  return why ? [`${why} `, element("a", { href: panel }, `Open ${title}`)] : [];
}

/** @param {AssistantInfo} assistantInfo @param {(name: string) => void} pick */
function card({ name, title, summary }, pick) {
  return element("label", { class: "assistant" },
    element("input", { type: "radio", name: "assistant", value: name, onchange: () => pick(name) }),
    element("span", { class: "title" }, title), element("span", { class: "small soft" }, summary));
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
    // then the first one is chosen next time
  }
}

// Where to go, by keyboard: assistants, pages, actions and conversations that fit what is typed. Arrow keys choose, Enter opens.

import { assistantIcon, icon } from "./icons.js";
import { searchItems } from "./palette-search.js";
import { ACTIVITY, pathTo, SETTINGS } from "./navigation.js";
import { changeTheme, themeAction } from "./theme-button.js";
import { ask, element } from "./treadle.js";

const MOST = 12;
const PAUSE = 150;  // milliseconds without a key after which conversations are searched

/** @typedef {{ title: string, hint: string, node: Node, path?: string, act?: () => void }} Choice */

/** Open it. @param {AssistantInfo[]} assistants */
export function palette(assistants) {
  if (document.querySelector("dialog[open]")) return;
  const field = element("input", { type: "text", role: "combobox", "aria-expanded": "true", "aria-controls": "palette-list",
    "aria-autocomplete": "list", "aria-label": "Go to", placeholder: "Go to a page, an assistant or a conversation", autocomplete: "off",
    spellcheck: "false" });
  const list = element("ul", { id: "palette-list", role: "listbox", "aria-label": "Results" });
  const none = element("p", { class: "small soft", role: "status" });
  const dialog = element("dialog", { class: "palette", "aria-label": "Go to" }, field, list, none);
  const fixed = fixedChoices(assistants);
  /** @type {Choice[]} */
  let found = [];
  /** @type {Choice[]} */
  let shown = [];
  let at = 0, loads = 0, typing = 0;

  function draw() {
    shown = [...searchItems(fixed, field.value), ...found].slice(0, MOST);
    at = Math.min(at, Math.max(shown.length - 1, 0));
    list.replaceChildren(...shown.map((choice, place) => element("li", { role: "option", id: `palette-${place}`,
      "aria-selected": `${place === at}`, onclick: () => choose(choice), onmousemove: () => move(place) },
      choice.node, element("span", { class: "title" }, choice.title), element("span", { class: "small soft" }, choice.hint))));
    mark();
    none.textContent = shown.length ? "" : "Nothing found.";
  }

  function mark() {
    [...list.children].forEach((each, place) => each.setAttribute("aria-selected", `${place === at}`));
    if (shown.length) field.setAttribute("aria-activedescendant", `palette-${at}`);
    else field.removeAttribute("aria-activedescendant");
    list.children[at]?.scrollIntoView({ block: "nearest" });
  }

  /** @param {number} place */
  function move(place) {
    if (place === at) return;
    at = place;
    mark();
  }

  /** @param {Choice | undefined} choice */
  function choose(choice) {
    if (!choice) return;
    dialog.close();
    if (choice.path) location.assign(choice.path);
    else choice.act?.();
  }

  async function search() {
    const mine = ++loads;
    /** @type {{ conversations: ConversationInfo[] }} */
    const { conversations } = await ask(`/api/conversations?${new URLSearchParams({ search: field.value.trim(), limit: "8" })}`)
      .catch(() => ({ conversations: [] }));
    if (mine !== loads) return;
    found = conversations.map(({ title, assistant, path }) => ({ title: title || "Untitled", path, node: assistantIcon(assistant),
      hint: assistants.find(({ name }) => name === assistant)?.title ?? assistant }));
    draw();
  }

  field.addEventListener("input", () => {
    at = 0;
    loads++;  // what was searched before is no longer wanted
    found = [];
    draw();
    clearTimeout(typing);
    typing = setTimeout(search, PAUSE);
  });
  field.addEventListener("keydown", (event) => {
    const last = shown.length - 1;
    const next = { ArrowDown: at >= last ? 0 : at + 1, ArrowUp: at <= 0 ? last : at - 1 }[event.key];
    if (next !== undefined || event.key === "Enter") event.preventDefault();
    if (next !== undefined && shown.length) move(next);
    if (event.key === "Enter" && !event.isComposing) choose(shown[at]);
  });
  dialog.addEventListener("click", ({ target }) => target === dialog && dialog.close());
  dialog.addEventListener("close", () => {
    clearTimeout(typing);
    loads++;
    dialog.remove();
  });
  document.body.append(dialog);
  dialog.showModal();
  field.focus();
  draw();
  search();
}

/** @param {AssistantInfo[]} assistants @returns {Choice[]} */
function fixedChoices(assistants) {
  return [
    { title: "New conversation", hint: "Action", path: "/", node: icon("square-pen") },
    ...assistants.map((each) => ({ title: each.title, hint: "Assistant", path: pathTo(each), node: assistantIcon(each.name) })),
    ...[...ACTIVITY, SETTINGS].map(({ path, title, icon: name }) => ({ title, hint: "Page", path, node: icon(name) })),
    { title: "Jobs", hint: "Page", path: "/jobs", node: icon("list") },
    { title: themeAction(), hint: "Action", act: changeTheme, node: icon("sun") },
  ];
}

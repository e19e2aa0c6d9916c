// Recent conversations in the sidebar: found by words, opened where they are shown, renamed, pinned, exported and deleted.

import { assistantIcon, icon } from "./icons.js";
import { openMenu } from "./menu.js";
import { groupByAge, isShown, pathTo } from "./navigation.js";
import { matchingRuns, runPath } from "./shared-runs.js";
import { stateTitle } from "./state-names.js";
import { confirmDialog } from "./confirm-dialog.js";
import { ask, element, fill, messageOf } from "./treadle.js";

const AT_ONCE = 40, MORE = 200, SHARED = 20;
const PAUSE = 200;  // milliseconds without a key after which what was typed is searched for

/** The list, and what fills it. @param {() => AssistantInfo[]} assistants */
export function recent(assistants) {
  const search = element("input", { type: "search", class: "side-search", placeholder: "Search conversations", autocomplete: "off",
    "aria-label": "Search conversations", enterkeyhint: "search" });
  const list = element("div", { class: "side-recent" });
  const said = element("p", { class: "small soft side-said", role: "status" });
  const node = element("section", { class: "side-section side-grow", "aria-labelledby": "side-recent" },
    element("p", { class: "side-group", id: "side-recent" }, "Recent"), search, said, list);
  let loads = 0, typing = 0, most = AT_ONCE;

  async function load() {
    const mine = ++loads, words = search.value.trim();
    /** @type {{ conversations: ConversationInfo[], more: boolean } | null} */
    const found = await ask(`/api/conversations?${new URLSearchParams({ search: words, limit: `${most}` })}`).catch(() => null);
    const shared = words || !found?.conversations.length ? await ask("/api/shared").catch(() => []) : [];
    if (mine !== loads || !found) return;
    const groups = groupByAge(found.conversations, Date.now()).map(([name, members]) => group(name, members.map(row)));
    const matches = words ? matchingRuns(shared, { search: words }).slice(0, SHARED) : [];
    if (matches.length) groups.push(group("Shared with me", matches.map(sharedRow)));
    fill(list, found.more && most < MORE ? [...groups, moreButton()] : groups);
    said.textContent = groups.length ? "" : words ? "No matching conversations." : "No conversations yet.";
    search.hidden = !words && !found.conversations.length && !shared.length;
  }

  /** @param {ConversationInfo} info */
  function row(info) {
    const title = info.title || "Untitled", isHere = isShown(info.path, location);
    const state = ["open", "waiting"].includes(info.status) ? stateTitle(info.status) : "";
    return element("li", { "data-id": info.id },
      element("a", { class: "side-item", href: info.path, title, "aria-current": isHere ? "true" : null }, assistantIcon(info.assistant),
        element("span", { class: "side-words" }, title), info.pinned ? icon("pin") : null,
        state ? element("span", { class: "side-state", "data-state": info.status, role: "img", "aria-label": state, title: state }) : null),
      element("button", { type: "button", class: "side-more", "aria-label": `Actions for ${title}`, "aria-haspopup": "menu",
        "aria-expanded": "false", onclick: (/** @type {Event} */ { currentTarget }) => actions(currentTarget, info) }, icon("ellipsis")));
  }

  /** @param {import("./shared-runs.js").SharedRun} shared */
  function sharedRow({ owner, run }) {
    const title = `${run.title || run.run_id}, shared by ${owner}`, path = runPath(run.run_id, owner);
    const isHere = isShown(path, location);
    return element("li", {}, element("a", { class: "side-item", href: path, title, "aria-current": isHere ? "true" : null },
      assistantIcon(run.agent), element("span", { class: "side-words" }, run.title || run.run_id)));
  }

  /** @param {EventTarget | null} button @param {ConversationInfo} info */
  function actions(button, info) {
    if (!(button instanceof HTMLElement)) return;
    openMenu(button, [
      { words: "Rename", icon: "pencil", act: () => rename(info) },
      { words: info.pinned ? "Unpin" : "Pin", icon: info.pinned ? "pin-off" : "pin", act: () => change(info, { pinned: !info.pinned }) },
      { words: "Export", icon: "download", href: `${pathOf(info)}/export` },
      { words: "Delete", icon: "trash-2", act: () => remove(info), isDangerous: true },
    ]);
  }

  /** @param {ConversationInfo} info @param {{ title?: string, pinned?: boolean }} body */
  const change = (info, body) => careful(() => ask(pathOf(info), body, { method: "PUT" }));

  /** @param {ConversationInfo} info */
  async function rename(info) {
    const title = await newTitle(info.title);
    if (title !== null) await change(info, { title });
  }

  /** @param {ConversationInfo} info */
  async function remove(info) {
    if (!await confirmDialog(`Delete “${info.title || "this conversation"}”? This can't be undone.`, "Delete")) return;
    await careful(async () => {
      await ask(pathOf(info), undefined, { method: "DELETE" });
      if (isShown(info.path, location)) location.assign(pathTo(assistants().find(({ name }) => name === info.assistant) ?? NONE));
    });
  }

  /** @param {() => Promise<unknown>} act */
  async function careful(act) {
    try {
      await act();
      await load();
    } catch (error) {
      said.textContent = messageOf(error);
    }
  }

  function moreButton() {
    const all = () => {
      most = MORE;
      load();
    };
    return element("button", { type: "button", class: "side-item", onclick: all },
      element("span", { class: "side-words soft" }, "Show more"));
  }

  search.addEventListener("input", () => {
    clearTimeout(typing);
    typing = setTimeout(load, PAUSE);
  });
  return { node, load };
}

const NONE = { name: "", panel: "/" };

/** @param {ConversationInfo} info */
function pathOf({ id }) {
  return `/api/conversations/${encodeURIComponent(id)}`;
}

/** @param {string} name @param {HTMLElement[]} rows */
function group(name, rows) {
  return element("div", { role: "group", "aria-label": name }, element("p", { class: "side-span" }, name),
    element("ul", { class: "side-list" }, rows));
}

/** The title that the user gives a conversation; null where they don't. @param {string} title @returns {Promise<string | null>} */
function newTitle(title) {
  const field = element("input", { id: "new-name", maxlength: "200", value: title, autocomplete: "off" });
  const dialog = element("dialog", { class: "modal", "aria-labelledby": "new-name-label" }, element("form", { method: "dialog" },
    element("div", { class: "field" }, element("label", { for: "new-name", id: "new-name-label" }, "Rename conversation"), field),
    element("div", { class: "actions" },
      element("button", { value: "yes" }, "Save"), element("button", { value: "", class: "quiet" }, "Cancel"))));
  document.body.append(dialog);
  dialog.showModal();
  field.select();
  return new Promise((resolve) => {
    dialog.addEventListener("close", () => {
      dialog.remove();
      resolve(dialog.returnValue === "yes" ? field.value.trim() : null);
    });
  });
}

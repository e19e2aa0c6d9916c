// The dialog in which a user shares a run, a project or a course: with users and groups of the same server, until that is revoked.

import { copyButton } from "./copy-button.js";
import { carryOut, field, outcome, row } from "./settings-parts.js";
import { runPath } from "./shared-runs.js";
import { ask, element, query } from "./treadle.js";

/**
 * @typedef {"users" | "groups" | "editors" | "editor_groups"} ShareList
 * @typedef {Partial<Record<ShareList, string[]>>} Shares
 * @typedef {{ path: string, link: string, owner: string, what: string, about: string, canEdit?: boolean }} ShareOptions
 *   path: where its shares are; what: "run"; about: what those may do; canEdit: whether some may be let change it
 */

/** @type {[ShareList, string][]} */
const LISTS = [["users", "user, read only"], ["groups", "group, read only"], ["editors", "user, can edit"],
  ["editor_groups", "group, can edit"]];

/** Open it for a run of the user `owner`. @param {string} runId @param {string} owner */
export function shareRun(runId, owner) {
  return openShareDialog({
    path: `/api/runs/${encodeURIComponent(runId)}/shares`, link: runPath(runId, owner), owner, what: "run",
    about: "They can read it, also what is added later. They can't continue, change or delete it.",
  });
}

/** Open it. @param {ShareOptions} options */
export async function openShareDialog({ path, link: where, owner, what, about, canEdit = false }) {
  const link = new URL(where, location.href).href;
  /** @type {Shares} */
  let shares = await ask(path);
  const rows = element("ul", { class: "settings-rows", id: "shares", "aria-label": "Shared with" });
  const none = element("p", { class: "small soft" }, `Only you can read this ${what}.`);
  const name = element("input", { id: "share-name", maxlength: "200", required: true, autocomplete: "off", spellcheck: "false" });
  const kind = element("select", { id: "share-kind" }, element("option", { value: "users" }, "User"),
    element("option", { value: "groups" }, "Group"));
  const access = element("select", { id: "share-access" }, element("option", { value: "read" }, "Read"),
    element("option", { value: "edit" }, "Edit"));
  const address = element("input", { id: "share-link", readonly: true, value: link });
  const place = outcome();
  const form = element("form", { class: "share-form", onsubmit: (/** @type {Event} */ event) => {
    event.preventDefault();
    carryOut(form, place, add);
  } }, field("Share with", kind), field("Name", name), canEdit ? field("May", access) : null,
    element("button", { class: "slim" }, "Share"));
  const close = element("button", { type: "button", class: "quiet" }, "Close");
  const dialog = element("dialog", { class: "modal share", "aria-labelledby": "share-title" },
    element("h2", { id: "share-title", tabindex: "-1" }, `Share this ${what}`),
    element("p", { class: "small soft" }, about),
    form, place, none, rows,
    element("div", { class: "share-link" }, field("Link for those it is shared with", address), copyButton("Copy link", () => link)),
    element("p", { class: "actions" }, close));

  /** @param {Shares} wanted */
  async function save(wanted) {
    shares = await ask(path, wanted, { method: "PUT" });
    draw();
  }

  async function add() {
    const wanted = name.value.trim(), isGroup = kind.value === "groups", isEditor = canEdit && access.value === "edit";
    if (!isGroup && wanted === owner) throw new Error(`This ${what} is yours.`);
    const others = isGroup ? without(wanted, ["groups", "editor_groups"]) : without(wanted, ["users", "editors"]);
    const list = isGroup ? (isEditor ? "editor_groups" : "groups") : isEditor ? "editors" : "users";
    await save({ ...others, [list]: [...others[list] ?? [], wanted] });
    name.value = "";
    return `Shared with ${wanted}.`;
  }

  /** The shares without a name in some lists. @param {string} gone @param {ShareList[]} lists @returns {Shares} */
  function without(gone, lists) {
    const kept = lists.filter((list) => shares[list]).map((list) => [list, shares[list]?.filter((each) => each !== gone)]);
    return { ...shares, ...Object.fromEntries(kept) };
  }

  function draw() {
    rows.replaceChildren(...LISTS.flatMap(([list, words]) => (shares[list] ?? []).map((each) => row(
      [element("strong", {}, each), element("span", { class: "small soft" }, ` · ${words}`)],
      [{ words: "Revoke", label: `Revoke the access of ${each}`, act: async () => {
        await save(without(each, [list]));
        query(dialog, "h2").focus();
      } }]))));
    rows.hidden = rows.childElementCount === 0;
    none.hidden = !rows.hidden;
  }

  draw();
  address.addEventListener("focus", () => address.select());
  close.addEventListener("click", () => dialog.close());
  dialog.addEventListener("close", () => dialog.remove());
  document.body.append(dialog);
  dialog.showModal();
  name.focus();
  return dialog;
}

// The dialog in which a user shares a run: with users and groups of the same server, who can read it until that is revoked.

import { copyButton } from "./copying.js";
import { carryOut, field, outcome, row } from "./settings-parts.js";
import { runPath } from "./shared-runs.js";
import { ask, element, query } from "./treadle.js";

/** @typedef {{ users: string[], groups: string[] }} Shares */

/** Open it for a run of the user `owner`. @param {string} runId @param {string} owner */
export async function openShareDialog(runId, owner) {
  const path = `/api/runs/${encodeURIComponent(runId)}/shares`, link = new URL(runPath(runId, owner), location.href).href;
  /** @type {Shares} */
  let shares = await ask(path);
  const rows = element("ul", { class: "settings-rows", id: "shares", "aria-label": "Shared with" });
  const none = element("p", { class: "small soft" }, "Only you can read this run.");
  const name = element("input", { id: "share-name", maxlength: "200", required: true, autocomplete: "off", spellcheck: "false" });
  const kind = element("select", { id: "share-kind" }, element("option", { value: "users" }, "User"),
    element("option", { value: "groups" }, "Group"));
  const address = element("input", { id: "share-link", readonly: true, value: link });
  const place = outcome();
  const form = element("form", { class: "share-form", onsubmit: (/** @type {Event} */ event) => {
    event.preventDefault();
    carryOut(form, place, add);
  } }, field("Share with", kind), field("Name", name), element("button", { class: "slim" }, "Share"));
  const close = element("button", { type: "button", class: "quiet" }, "Close");
  const dialog = element("dialog", { class: "sure share", "aria-labelledby": "share-title" },
    element("h2", { id: "share-title", tabindex: "-1" }, "Share this run"),
    element("p", { class: "small soft" }, "They can read it, also what is added later. They can't continue, change or delete it."),
    form, place, none, rows,
    element("div", { class: "share-link" }, field("Link for those it is shared with", address), copyButton("Copy link", () => link)),
    element("p", { class: "actions" }, close));

  /** @param {Shares} wanted */
  async function save(wanted) {
    shares = await ask(path, wanted, { method: "PUT" });
    draw();
  }

  async function add() {
    const list = kind.value === "groups" ? "groups" : "users", wanted = name.value.trim();
    if (list === "users" && wanted === owner) throw new Error("This run is yours.");
    await save({ ...shares, [list]: [...new Set([...shares[list], wanted])] });
    name.value = "";
    return `Shared with ${wanted}.`;
  }

  function draw() {
    /** @type {["users" | "groups", string][]} */
    const lists = [["users", "user"], ["groups", "group"]];
    rows.replaceChildren(...lists.flatMap(([list, word]) => shares[list].map((each) => row(
      [element("strong", {}, each), element("span", { class: "small soft" }, ` · ${word}, read only`)],
      [{ words: "Revoke", label: `Revoke the access of ${each}`, act: async () => {
        await save({ ...shares, [list]: shares[list].filter((other) => other !== each) });
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
}

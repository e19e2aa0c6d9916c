// Settings: the users of a server, for its admins.

import { field, outcome, row, savingForm, section, tell } from "./settings-parts.js";
import { confirmDialog } from "./confirm-dialog.js";
import { ask, element, query } from "./treadle.js";

const ROLES = ["reader", "user", "admin"];

/** @param {string} me the admin's own name */
export function userSection(me) {
  const rows = element("ul", { class: "settings-rows", id: "people", "aria-label": "Users" });
  const token = element("p", { class: "notice", role: "status", hidden: true });
  const trouble = outcome();

  async function load() {
    /** @type {{ users: { name: string, role: string }[] }} */
    const { users } = await ask("/api/settings/users");
    rows.replaceChildren(...users.map(userRow));
  }

  /** @param {{ name: string, role: string }} user */
  function userRow({ name, role }) {
    const path = `/api/settings/users/${encodeURIComponent(name)}`;
    if (name === me) return row([element("strong", {}, name), element("span", { class: "small soft" }, ` · ${role} · you`)], []);
    const change = async (/** @type {string} */ wanted) => {
      await ask(path, { role: wanted }, { method: "PUT" });
      await load();
    };
    /** @type {HTMLSelectElement} */
    const select = element("select", { "aria-label": `Role of ${name}`, onchange: () =>
      change(select.value).catch(({ message }) => tell(trouble, message, "bad")) },
    ROLES.map((each) => element("option", { value: each, selected: each === role }, each)));
    return row([element("strong", {}, name), " ", select], [
      { words: "New token", label: `New token for ${name}`, act: async () => {
        if (!await confirmDialog(`Issue a new token for ${name}? The old one and all sessions end.`, "New token")) return;
        showToken(await ask(`${path}/token`, {}));
      } },
      { words: "Remove", label: `Remove ${name}`, isDangerous: true, act: async () => {
        if (!await confirmDialog(`Remove ${name}? Their token and sessions end; their data stays on the server.`, "Remove")) return;
        await ask(path, undefined, { method: "DELETE" });
        await load();
        query(document, "#users").focus();
      } },
    ]);
  }

  /** @param {{ name: string, token: string }} issued */
  function showToken({ name, token: secret }) {
    token.replaceChildren(`The token of ${name}, shown only once: `, element("code", {}, secret));
    token.hidden = false;
  }

  const name = element("input", { type: "text", name: "name", required: true, maxlength: "40", autocomplete: "off", spellcheck: "false" });
  const role = element("select", { name: "role" },
    ROLES.map((each) => element("option", { value: each, selected: each === "user" }, each)));
  const form = savingForm("Add", [element("div", { class: "two" }, field("Name", name), field("Role", role))], async () => {
    showToken(await ask("/api/settings/users", { name: name.value.trim(), role: role.value }));
    name.value = "";
    await load();
    return "Added.";
  });
  const node = section("users", "Users", "A reader views, a user also starts runs and approves, an admin also changes these settings.",
    rows, form, token, trouble);
  load().catch(({ message }) => tell(trouble, message, "bad"));
  return node;
}

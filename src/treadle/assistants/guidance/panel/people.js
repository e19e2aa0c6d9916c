// Who may see and change a project: its owner, and whom the owner shares it with.

import { openShareDialog } from "/static/share-dialog.js";
import { confirmDialog } from "/static/confirm-dialog.js";
import { ask, element, fill, messageOf, query } from "/static/treadle.js";
import { form, labelled } from "./controls.js";
import { pluralize, section } from "./format.js";

const ALONE = "Not shared with anyone.";
const list = element("ul", { class: "rows", "aria-label": "People" });
const account = ask("/api/me").catch(() => ({ name: "", local: false }));
const me = account.then(({ name }) => name || "local");  // a server without users has one person
const isServer = account.then(({ name }) => Boolean(name));  // users are those of the server
const ABOUT = "They can read it and ask about it. Those who may edit can change everything but its owner and its shares.";
const said = element("p", { class: "small bad", role: "alert" });
let shown = "", draws = 0;

/** Draw them. `again()` has the state loaded and drawn once more. @param {Project} project @param {() => Promise<void>} again */
export async function drawPeople({ id, title, owner, members }, again) {
  const mine = ++draws, isOwner = await me === owner;
  if (await isServer) members = [...new Set([...members, ...isOwner ? await namesOf(id) : [await me]])];
  if (mine !== draws) return;
  const isShared = await isServer;
  if (shown !== id) begin(id, owner, isOwner, isShared, again);
  section("people", members.length ? pluralize(members.length + 1, "person", "people") : "only you");
  query(document, "#people .none").hidden = members.length > 0;
  fill(list, members.length ? [rowOf(owner, "owner", null), ...members.map((name) =>
    rowOf(name, "member", isOwner && !isShared ? () => revoke(id, title, name, again) : null))] : []);
}

/** The users and groups of the server that a project is shared with. @param {string} id @returns {Promise<string[]>} */
async function namesOf(id) {
  const { users, groups, editors, editor_groups: editorGroups } = await ask(`/projects/${encodeURIComponent(id)}/shares`);
  return [...users, ...editors, ...groups, ...editorGroups];
}

/** @param {string} id @param {string} owner @param {boolean} isOwner @param {boolean} isShared @param {() => Promise<void>} again */
function begin(id, owner, isOwner, isShared, again) {
  shown = id;
  said.textContent = "";
  const theirs = element("p", { class: "small soft" }, "Its owner says who may see it.");
  const below = isOwner ? (isShared ? shareButton(id, owner, again) : shareForm(id, again)) : theirs;
  query(document, "#people .within").replaceChildren(element("p", { class: "soft none" }, ALONE), list, said, below);
}

/** @param {string} name @param {string} part @param {(() => void) | null} remove */
function rowOf(name, part, remove) {
  const attributes = { type: "button", class: "bare", "aria-label": `Remove ${name}`, onclick: remove };
  return element("li", { "data-id": name, class: "head" },
    element("span", {}, element("span", { class: "name" }, name), " ", element("span", { class: "tag" }, part)),
    remove ? element("button", attributes, "Remove") : null);
}

/** @param {string} id @param {string} title @param {string} name @param {() => Promise<void>} again */
async function revoke(id, title, name, again) {
  said.textContent = "";
  if (!await confirmDialog(`Remove ${name}? They no longer see ${title}.`, "Remove")) return;
  try {
    await ask(`/projects/${encodeURIComponent(id)}/members/${encodeURIComponent(name)}`, undefined, { method: "DELETE" });
    await again();
  } catch (error) {
    said.textContent = messageOf(error);
  }
}

/** @param {string} id @param {string} owner @param {() => Promise<void>} again */
function shareButton(id, owner, again) {
  const path = `/projects/${encodeURIComponent(id)}/shares`, link = `/guidance/?project=${encodeURIComponent(id)}`;
  const open = () => openShareDialog({ path, link, owner, what: "project", about: ABOUT, canEdit: true }).then(
    (dialog) => dialog.addEventListener("close", () => again()), (error) => { said.textContent = messageOf(error); });
  return element("p", {}, element("button", {
    type: "button", class: "quiet small", id: "share", "aria-haspopup": "dialog", onclick: open,
  }, "Share"));
}

/** @param {string} id @param {() => Promise<void>} again */
function shareForm(id, again) {
  const name = element("input", { required: true, autocomplete: "off", spellcheck: "false", maxlength: "200" });
  return form([labelled("Share with", name)], "Share", async () => {
    await ask(`/projects/${encodeURIComponent(id)}/members`, { user: name.value.trim() });
    name.value = "";
    await again();
  });
}

// Who may see and change a project: its owner, and whom the owner shares it with.

import { sure } from "/static/sure.js";
import { ask, element, fill, messageOf, query } from "/static/treadle.js";
import { form, labelled } from "./controls.js";
import { counted, section } from "./words.js";

const ALONE = "Not shared with anyone.";
const list = element("ul", { class: "rows", "aria-label": "People" });
const me = ask("/api/me").then(({ name }) => name || "local", () => "");  // a server without users has one person
const said = element("p", { class: "small bad", role: "alert" });
let shown = "", draws = 0;

/** Draw them. `again()` has the state loaded and drawn once more. @param {Project} project @param {() => Promise<void>} again */
export async function drawPeople({ id, title, owner, members }, again) {
  const mine = ++draws, isOwner = await me === owner;
  if (mine !== draws) return;
  if (shown !== id) begin(id, isOwner, again);
  section("people", members.length ? counted(members.length + 1, "person", "people") : "only you");
  query(document, "#people .none").hidden = members.length > 0;
  fill(list, members.length ? [rowOf(owner, "owner", null), ...members.map((name) =>
    rowOf(name, "member", isOwner ? () => revoke(id, title, name, again) : null))] : []);
}

/** @param {string} id @param {boolean} isOwner @param {() => Promise<void>} again */
function begin(id, isOwner, again) {
  shown = id;
  said.textContent = "";
  const below = isOwner ? shareForm(id, again) : element("p", { class: "small soft" }, "Its owner says who may see it.");
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
  if (!await sure(`Remove ${name}? They no longer see ${title}.`, "Remove")) return;
  try {
    await ask(`/projects/${encodeURIComponent(id)}/members/${encodeURIComponent(name)}`, undefined, { method: "DELETE" });
    await again();
  } catch (error) {
    said.textContent = messageOf(error);
  }
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

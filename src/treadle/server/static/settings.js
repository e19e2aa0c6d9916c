// The settings page. What concerns the server is shown to its admins; permissions, appearance and data are each user's own.

import { patternWords } from "./approval.js";
import { noteSection } from "./settings-notes.js";
import { field, outcome, row, savingForm, section, sourceWords, tell } from "./settings-parts.js";
import { modelSection } from "./settings-models.js";
import { userSection } from "./settings-people.js";
import { toolSection } from "./settings-tools.js";
import { confirmDialog } from "./confirm-dialog.js";
import { chooseTheme, chosenTheme } from "./theme-button.js";
import { ask, byId, element, messageOf, query } from "./treadle.js";
import { visible } from "./visible.js";
import { pluralize } from "./format.js";
import { timeAgo } from "./time-ago.js";

/** @type {Record<string, string>} */
const LABELS = {
  "policy.allow": "Tools that may be called without approval, one per line",
  "policy.ask": "Tools that need approval",
  "policy.deny": "Tools that are never called",
  "assistants.coding.workspaces": "Folders for jobs of the coding assistant, one per line",
  "assistants.courses.folders": "Folders with courses, one per line",
  "retention.runs_days": "Days after which finished conversations are deleted",
  "retention.jobs_days": "Days after which finished jobs are deleted",
};

async function show() {
  const [me, found] = await Promise.all([ask("/api/me"), ask("/api/settings")]);
  /** @type {SettingsState} */
  const state = {
    locked: found.locked,
    values: new Map(found.values.map((/** @type {SettingValue} */ value) => [value.key, value])),
    async save(key, value) {
      state.values.set(key, await ask(`/api/settings/values/${encodeURIComponent(key)}`, { value }, { method: "PUT" }));
    },
  };
  const isAdmin = me.role === "admin";
  const sections = [
    ...(isAdmin ? [modelSection(state)] : []),
    permissionSection(state),
    noteSection(),
    ...(me.local ? [folderSection(state), toolSection(state)] : []),
    appearanceSection(),
    dataSection(state),
    ...(isAdmin && !me.local ? [userSection(me.name)] : []),
  ];
  byId("settings").replaceChildren(...sections);
  byId("sections").replaceChildren(...sections.map((each) => element("a", { href: `#${each.id}` }, query(each, "h2").textContent)));
  byId("sections").hidden = false;
  byId("said").className = isAdmin && found.locked ? "notice warn" : "soft";
  byId("said").textContent = isAdmin && found.locked ? found.locked
    : found.file ? `Settings are written to ${found.file}. An environment variable takes precedence over it.` : "";
  if (location.hash) document.getElementById(decodeURIComponent(location.hash.slice(1)))?.scrollIntoView();
}

/** A form for settings that are lists, a line each. @param {SettingsState} state @param {string[]} keys */
function listForm(state, keys) {
  const known = keys.flatMap((key) => state.values.get(key) ?? []);
  if (!known.length) return null;
  const areas = known.map(({ value }) => {
    const area = element("textarea", { spellcheck: "false", rows: "3" });
    area.value = /** @type {string[]} */ (value).join("\n");
    return area;
  });
  const fields = known.map((each, at) => field(LABELS[each.key], areas[at], [sourceWords(each)]));
  return savingForm("Save", fields, async () => {
    for (const [at, { key, value }] of known.entries()) {
      const lines = areas[at].value.split("\n").map((line) => line.trim()).filter(Boolean);
      if (lines.join("\n") !== /** @type {string[]} */ (state.values.get(key)?.value ?? value).join("\n")) {
        await state.save(key, lines.length ? lines : null);
      }
    }
    return "Saved. It counts for new conversations.";
  }, state.locked || known.find(({ locked }) => locked)?.locked);
}

/** @param {SettingsState} state */
function permissionSection(state) {
  const rows = element("ul", { class: "settings-rows", id: "grants", "aria-label": "Always allowed" });
  const none = element("p", { class: "small soft" }, "Nothing is allowed for always.");
  const trouble = outcome();

  async function load() {
    /** @type {{ grants: Grant[] }} */
    const { grants } = await ask("/api/permissions");
    none.hidden = grants.length > 0;
    rows.hidden = grants.length === 0;
    rows.replaceChildren(...grants.map((grant) => row([
      element("code", {}, visible(grant.tool)), " with ", ...patternWords(grant.where ?? {}),
      element("span", { class: "small soft" },
        ` · in ${grant.agent} · allowed by ${grant.by || "you"} `, timeAgo((grant.at ?? 0) * 1000))], [
      { words: "Revoke", label: `Revoke ${grant.tool}`, act: async () => {
        await ask(`/api/permissions/${encodeURIComponent(grant.id)}`, undefined, { method: "DELETE" });
        await load();
        query(document, "#permissions").focus();
      } },
    ])));
  }

  const policy = listForm(state, ["policy.allow", "policy.ask", "policy.deny"]);
  load().catch((error) => tell(trouble, messageOf(error), "bad"));
  const rules = policy ? [element("h3", {}, "Rules for every assistant"),
    element("p", { class: "small soft" }, "Names of tools, with * for any letters. Deny beats ask, and ask beats allow."), policy] : [];
  return section("permissions", "Permissions", "What you have allowed for always. Calls like these run without asking.",
    none, rows, trouble, ...rules);
}

/** @param {SettingsState} state */
function folderSection(state) {
  return section("folders", "Folders and courses", "Folders on the server's machine that assistants may use.",
    listForm(state, ["assistants.coding.workspaces", "assistants.courses.folders"])
      ?? element("p", { class: "soft" }, "No installed assistant uses folders."));
}

function appearanceSection() {
  /** @type {["system" | "light" | "dark", string][]} */
  const choices = [["system", "As the system says"], ["light", "Light"], ["dark", "Dark"]];
  const radios = choices.map(([value, words]) => element("label", {}, element("input", { type: "radio", name: "theme", value,
    checked: chosenTheme() === value, onchange: () => chooseTheme(value) }), words));
  const set = element("fieldset", {}, element("legend", { class: "unseen" }, "Colours"), ...radios);
  addEventListener("themechange", () => {
    for (const each of set.querySelectorAll("input")) each.checked = each.value === chosenTheme();
  });
  return section("appearance", "Appearance", "Stored in this browser.", element("div", { class: "settings-form" }, set));
}

/** @param {SettingsState} state */
function dataSection(state) {
  const amount = element("p", { id: "data-amount" }), place = outcome();
  const keys = ["retention.runs_days", "retention.jobs_days"].flatMap((key) => state.values.get(key) ?? []);
  const inputs = keys.map(({ value }) => {
    const input = element("input", { type: "number", min: "0.01", step: "any", placeholder: "never" });
    input.value = value == null ? "" : `${value}`;
    return input;
  });
  const retention = savingForm("Save", [element("div", { class: "two" }, keys.map((each, at) =>
    field(LABELS[each.key], inputs[at], [sourceWords(each)])))], async () => {
    for (const [at, { key }] of keys.entries()) await state.save(key, inputs[at].value ? Number(inputs[at].value) : null);
    return "Saved. It counts from the next start of the server on.";
  }, state.locked || keys.find(({ locked }) => locked)?.locked);

  async function load() {
    const { runs, jobs, grants, notes } = await ask("/api/settings/data");
    amount.textContent = `${pluralize(runs, "conversation or run", "conversations and runs")}, ${pluralize(jobs, "job")}, `
      + `${pluralize(grants, "permission")} and ${pluralize(notes, "note")} are stored.`;
  }

  const erase = element("button", { type: "button", class: "danger slim", id: "delete-data", onclick: async () => {
    const question = "Delete all your conversations, runs, jobs, permissions and notes? This can't be undone.";
    if (!await confirmDialog(question, "Delete everything")) return;
    try {
      const { runs, jobs, left } = await ask("/api/settings/data/delete", { confirm: "delete everything" });
      tell(place, `Deleted: ${pluralize(runs, "conversation or run", "conversations and runs")} and ${pluralize(jobs, "job")}.`
        + (left ? ` ${pluralize(left, "run")} still active: stop them, and delete again.` : ""));
      document.dispatchEvent(new Event("conversationchange"));
      await load();
    } catch (error) {
      tell(place, messageOf(error), "bad");
    }
  } }, "Delete everything…");
  load().catch((error) => tell(place, messageOf(error), "bad"));
  return section("data", "Data", "What is stored of yours on this server.", amount,
    element("p", { class: "actions" },
      element("a", { class: "button quiet slim", href: "/api/settings/data/export", download: true }, "Export"), erase),
    element("p", { class: "small soft" },
      "Deleted are conversations, runs, jobs, permissions and notes. Course material, projects and files in folders stay."),
    place, element("h3", {}, "Retention"), retention);
}

await show().catch((error) => {
  byId("said").className = "notice bad";
  byId("said").textContent = messageOf(error);
});

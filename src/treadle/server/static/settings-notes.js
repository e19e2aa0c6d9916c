// Settings: the user's notes, which models read in later conversations. They are searched, edited and deleted.

import { matchingNotes, originOf, placeOf } from "./notes.js";
import { field, outcome, row, savingForm, section, tell } from "./settings-parts.js";
import { confirmDialog } from "./confirm-dialog.js";
import { ask, element, messageOf, query } from "./treadle.js";
import { visible } from "./visible.js";

/** @typedef {import("./notes.js").Note} Note */

export function noteSection() {
  const rows = element("ul", { class: "settings-rows", id: "note-rows", "aria-label": "Notes" });
  const search = element("input", { type: "search", name: "note-search", autocomplete: "off", enterkeyhint: "search",
    oninput: () => draw() });
  const searchField = field("Search notes", search), none = element("p", { class: "small soft", role: "status" }), trouble = outcome();
  /** @type {Note[]} */
  let notes = [];
  let locked = "", isEnabled = true;

  async function load() {
    ({ notes, locked, enabled: isEnabled } = await ask("/api/notes"));
    draw();
  }

  function draw() {
    const found = matchingNotes(notes, search.value);
    rows.replaceChildren(...found.map(noteRow));
    rows.hidden = found.length === 0;
    searchField.hidden = notes.length === 0;
    none.textContent = [found.length ? "" : notes.length ? "No matching notes." : "There are no notes.",
      isEnabled ? "" : "Models don't read or write notes: memory.enabled is false."].filter(Boolean).join(" ");
  }

  /** @param {Note} note */
  function noteRow(note) {
    const path = `/api/notes/${encodeURIComponent(note.folder)}/${encodeURIComponent(note.name)}`;
    const text = element("textarea", { rows: "6", maxlength: "8000", required: true });
    text.value = note.text;
    const description = element("input", { maxlength: "200", required: true, value: note.description, autocomplete: "off" });
    const checked = element("input", { type: "checkbox" });
    const form = savingForm("Save", [field("Description", description), field("Text", text),
      note.untrusted ? element("label", { class: "check" }, checked, "I have checked it: models may read it from the start") : null],
    async () => {
      await ask(path, { text: text.value, description: description.value, untrusted: note.untrusted && !checked.checked },
        { method: "PUT" });
      await load();
      query(document, "#notes").focus();
    }, locked);
    const about = [element("details", {}, element("summary", {}, element("strong", {}, note.name), ` · ${visible(note.description)} `,
      note.untrusted ? element("span", { class: "mark", "data-kind": "warn" }, "untrusted") : null,
      element("span", { class: "small soft" }, ` ${placeOf(note)} · ${originOf(note)}`)), form)];
    return row(about, locked ? [] : [{ words: "Delete", label: `Delete ${note.name}`, isDangerous: true, act: async () => {
      if (!await confirmDialog(`Delete the note ${note.name}? This can't be undone.`, "Delete")) return;
      await ask(path, undefined, { method: "DELETE" });
      await load();
      query(document, "#notes").focus();
    } }]);
  }

  load().catch((error) => tell(trouble, messageOf(error), "bad"));
  return section("notes", "Notes", "What assistants remember of you and of your projects. Models read them in later conversations.",
    searchField, none, rows, trouble);
}

// What to read: the files of the folder, filtered as one types, source that is pasted or dropped, or what repository.js finds.

import { pluralize } from "/static/format.js";
import { byId, element } from "/static/treadle.js";
import { matching, phaseOf } from "./readings.js";
import { open, openDraft, read, setDraft, state, update } from "./state.js";
import { languageOf, languages, titleOf } from "/static/languages.js";

const MOST = 300;             // files that are listed at once
const LARGEST = 10_000_000;   // bytes of a file that is dropped
const TABS = ["files", "paste", "repository"];
const FINGERS = matchMedia("(pointer: coarse)");
const [picker, list, amount, close] = ["picker", "list", "amount", "close"].map((id) => byId(id));
const filter = byId("filter", HTMLInputElement);
const language = byId("draft-language", HTMLSelectElement);
const fields = { name: byId("draft-name", HTMLInputElement), language, text: byId("draft-text", HTMLTextAreaElement) };
/** @type {string[]} */
let found = [];
let chosen = 0;

/** Draw what has changed. @param {ReadingState} now @param {Partial<ReadingState>} before */
export function drawPicker(now, before) {
  document.body.toggleAttribute("data-picking", now.picking);
  picker.hidden = !now.picking;
  close.hidden = !now.source;
  byId("file").setAttribute("aria-expanded", String(now.picking));
  for (const tab of TABS) {
    byId(tab).hidden = tab !== now.tab;
    byId(`${tab}-tab`).setAttribute("aria-selected", String(tab === now.tab));
  }
  if (now.files !== before.files || now.error !== before.error) drawFiles();
  if (now.draft !== before.draft) drawDraft(now.draft);
  if (now.picking && (!before.picking || now.tab !== before.tab)) focus(now.tab);
  if (before.picking && !now.picking) byId("source").focus({ preventScroll: true });
}

/** Open the picker, or close it where there is something to go back to. @param {boolean} [on] */
export function toggle(on = !state.picking) {
  if (on === state.picking || (!on && !state.source)) return;
  const kept = state.source?.kind === "pasted" ? "paste" : "files";
  if (on) return update({ picking: true, tab: state.tab === "repository" ? state.tab : kept });
  if (state.source?.kind === "pasted") openDraft();
  else update({ picking: false });
}

/** Look for files with these words. @param {string} words */
export function look(words) {
  filter.value = words;
  chosen = 0;
  drawFiles();
}

/** @param {string} tab */
function focus(tab) {
  if (FINGERS.matches) return;  // a keyboard on the screen would cover half of it
  const field = tab === "files" ? filter : tab === "paste" ? fields.text : byId("ask-words");
  field.focus();
  if (tab === "files") filter.select();
}

// files

function drawFiles() {
  const files = state.files ?? [];
  found = matching(files, filter.value);
  list.replaceChildren(...found.slice(0, MOST).map(optionOf));
  amount.textContent = sayAmount(files);
  amount.hidden = !amount.textContent;
  byId("keys").hidden = !found.length;
  filter.placeholder = files.length ? `Filter ${pluralize(files.length, "file")} in ${state.folder}` : "Type to filter";
  select(chosen);
}

/** @param {string[]} files */
function sayAmount(files) {
  if (state.files === null) return state.error ? "" : "Looking for files…";
  if (!files.length) return `No source files were found in ${state.folder || "this folder"}. You can paste source instead.`;
  if (!found.length) return "No matching files.";
  return found.length > MOST ? `The first ${MOST} of ${found.length}; type to narrow it down.` : "";
}

/** @param {string} path @param {number} index */
function optionOf(path, index) {
  const cut = path.lastIndexOf("/") + 1;
  return element("li", { role: "option", id: `file-${index}`, "aria-selected": "false", onclick: () => open(path) },
    element("span", { class: "base" }, path.slice(cut)),
    cut ? element("span", { class: "folder soft" }, path.slice(0, cut - 1)) : null);
}

/** @param {number} index */
function select(index) {
  const last = Math.min(found.length, MOST) - 1;
  chosen = Math.max(Math.min(index, last), 0);
  for (const option of list.querySelectorAll('[aria-selected="true"]')) option.setAttribute("aria-selected", "false");
  const option = list.children[chosen];
  filter.setAttribute("aria-activedescendant", option?.id ?? "");
  option?.setAttribute("aria-selected", "true");
  option?.scrollIntoView({ block: "nearest" });
}

/** @param {KeyboardEvent} event */
function choose(event) {
  /** @type {Record<string, number>} */
  const moves = { ArrowDown: chosen + 1, ArrowUp: chosen - 1, PageDown: chosen + 10, PageUp: chosen - 10 }, to = moves[event.key];
  if (to === undefined && event.key !== "Enter") return;
  event.preventDefault();
  if (to !== undefined) select(to);
  else if (found.length) openAndRead(found[chosen]);
}

/** @param {string} path */
async function openAndRead(path) {
  if ((await open(path)) && phaseOf(state) !== "analyzed") await read();
}

// pasted source

/** @param {ReadingState["draft"]} readingState */
function drawDraft({ name, language, text }) {
  const detected = languageOf(name);
  fields.language.options[0].textContent = detected ? `${titleOf(detected)}, by its name` : "Choose one";
  for (const [field, value] of /** @type {const} */ ([[fields.name, name], [fields.language, language], [fields.text, text]])) {
    if (field.value !== value) field.value = value;
  }
}

/** @param {SubmitEvent} event */
function readDraft(event) {
  event.preventDefault();
  const said = missing(state.draft);
  byId("draft-said").textContent = said;
  if (said) return;
  openDraft();
  read();
}

/**
 * What the draft lacks. A first line such as `#!/usr/bin/env python` tells the language, too.
 * @param {ReadingState["draft"]} readingState
 */
function missing({ name, language, text }) {
  if (!text.trim()) return "There is nothing to read yet.";
  const isTold = language || languageOf(name) || /^(#!|<\?php)/.test(text);
  return isTold ? "" : "Choose what it is written in, or give it a name such as main.py.";
}

/** @param {DragEvent} event */
async function drop(event) {
  const file = event.dataTransfer?.files[0];
  if (!file) return;
  event.preventDefault();
  const text = file.size > LARGEST ? "" : (await file.text()).replace(/\r\n?/g, "\n");
  const isText = text && !text.includes("\0");
  update({ picking: true, tab: "paste" });
  setDraft(isText ? { name: file.name, language: "", text } : {});
  byId("draft-said").textContent = isText ? "" : `${file.name} is too large, empty or not text.`;
}

fields.language.append(new Option("Choose one", ""), ...languages().map(([name, title]) => new Option(title, name)));
for (const [key, field] of Object.entries(fields)) {
  field.addEventListener("input", () => {
    byId("draft-said").textContent = "";
    setDraft({ [key]: field.value });
  });
}
byId("paste").addEventListener("submit", readDraft);
filter.addEventListener("input", () => look(filter.value));
filter.addEventListener("keydown", choose);
close.addEventListener("click", () => toggle(false));
byId("file").addEventListener("click", () => toggle());
for (const tab of TABS) byId(`${tab}-tab`).addEventListener("click", () => update({ tab }));
document.addEventListener("dragover", (event) => event.preventDefault());
document.addEventListener("drop", drop);

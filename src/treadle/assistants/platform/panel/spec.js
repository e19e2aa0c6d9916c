// The spec that is worked on: shown, edited, checked as it changes, copied, saved. Deploying it is deploy.js, having it written
// generate.js.

import { inlineNodes } from "/static/markdown.js";
import { confirmDialog } from "/static/confirm-dialog.js";
import { ask, byId, element, messageOf } from "/static/treadle.js";
import { deploying, forgetDeployment, isDeploying } from "./deploy.js";
import { chooseAll, goTo, mark, onWriting, write, written } from "./editor.js";
import { describe, describing, unexplained } from "./generate.js";
import { nameIn, verdict } from "./spec-text.js";

const PAUSE = 350;  // milliseconds without a change after which it is checked
const LOST = "Replace the spec? What you changed in it is lost.";
let isEdited = false, waiting = 0, checked = 0;
/** @type {Finding[]} */
let errors = [];

/**
 * Show a spec, and say whether it is shown: what the user has changed is replaced only after confirmation.
 * @param {string} spec @param {{ findings?: Finding[] | null, isWanted?: boolean }} [given]
 */
export async function openSpec(spec, { findings = null, isWanted = false } = {}) {
  const isNew = spec.trim() !== written().trim(), may = !isNew || (isWanted ? await mayReplace() : isFree());
  if (isNew && may) put(spec, findings);
  show(isWanted);
  return may;
}

/** Whether nothing is lost when something else is shown. */
function isFree() {
  return !isDeploying() && !(isEdited && written().trim());
}

async function mayReplace() {
  if (isDeploying()) told("Answer the question below first.");
  return isFree() || (!isDeploying() && await confirmDialog(LOST, "Replace it"));
}

/** @param {string} spec @param {Finding[] | null} findings */
function put(spec, findings) {
  isEdited = false;
  write(spec);
  unexplained();
  forgetDeployment();
  told("");
  draw();
  if (findings) drawFindings(findings);
  else check();
}

/** @param {boolean} isWanted */
function show(isWanted) {
  byId("spec").hidden = false;
  byId("new-spec").setAttribute("aria-expanded", "true");
  document.body.dataset.spec = "";
  if (!isWanted) return;
  byId("spec").scrollIntoView({ block: "start" });
  byId("spec-name").focus({ preventScroll: true });
}

function close() {
  byId("spec").hidden = true;
  byId("new-spec").setAttribute("aria-expanded", "false");
  delete document.body.dataset.spec;
  byId("new-spec").focus();
}

function draw() {
  const isEmpty = !written().trim();
  byId("spec-name").textContent = nameIn(written()) || "New spec";
  for (const id of ["deploy", "along", "copy", "download"]) byId(id, HTMLButtonElement).disabled = isEmpty;
}

// what is found in it

function changed() {
  isEdited = true;
  told("");
  draw();
  mark([]);
  clearTimeout(waiting);
  waiting = setTimeout(check, PAUSE);
}

/** What is wrong with it now: the errors. @returns {Promise<Finding[]>} */
async function check() {
  clearTimeout(waiting);
  const mine = ++checked, spec = written();
  if (!spec.trim()) {
    drawFindings([]);
    return errors;
  }
  try {
    const { findings } = await ask("/api/platform/validate", { spec });
    if (mine === checked) drawFindings(findings);
  } catch (error) {
    if (mine === checked) byId("verdict").textContent = messageOf(error);
  }
  return errors;
}

/** @param {Finding[]} findings */
function drawFindings(findings) {
  errors = findings.filter(({ level }) => level === "error");
  mark(findings);
  byId("verdict").textContent = written().trim() ? verdict(errors.length, findings.length - errors.length) : "";
  byId("verdict").className = `small ${errors.length ? "bad" : findings.length ? "warn" : "good"}`;
  byId("findings").replaceChildren(...findings.map(findingOf));
}

/** @param {Finding} finding */
function findingOf({ line, column, level, path, message }) {
  return element("li", {}, element("button", { type: "button", class: `bare finding ${level}`, onclick: () => goTo(line, column) },
    element("span", { class: "line" }, `Line ${line}`), element("span", { class: "unseen" }, `, ${level}: `),
    element("span", {}, path ? [element("code", {}, path), " "] : [], inlineNodes(message))));
}

// what can be done with it

async function copy() {
  try {
    await navigator.clipboard.writeText(written());
    told("Copied.");
  } catch {
    chooseAll();
    told("Everything is selected: copy it with Ctrl+C.");
  }
}

function download() {
  const url = URL.createObjectURL(new Blob([written()], { type: "application/yaml" }));
  const name = `${nameIn(written()) || "spec"}.yaml`;
  element("a", { href: url, download: name }).click();
  setTimeout(() => URL.revokeObjectURL(url), 1000);
  told(`Saved as ${name}.`);
}

/** @param {string} words */
function told(words) {
  byId("spec-said").textContent = words;
}

async function anew() {
  if (!await mayReplace()) return;
  put("", []);
  show(true);
  describe(true);
}

/** @param {string} spec @param {Finding[]} findings */
async function replace(spec, findings) {
  const may = await mayReplace();
  if (may) put(spec, findings);
  return may;
}

/**
 * Have the pane work. `ask` asks the assistant something, `about` says whom runs are begun with.
 * @param {{ ask: (words: string) => void, about: () => Promise<object> }} given
 */
export function specPane({ ask: asking, about }) {
  onWriting(changed);
  byId("new-spec").addEventListener("click", anew);
  byId("spec-close").addEventListener("click", close);
  byId("copy").addEventListener("click", copy);
  byId("download").addEventListener("click", download);
  const show = (/** @type {string} */ spec) => openSpec(spec, { isWanted: true });
  deploying({ spec: written, name: nameIn, check, goTo, show, ask: asking, about });
  describing({ replace });
  draw();
}

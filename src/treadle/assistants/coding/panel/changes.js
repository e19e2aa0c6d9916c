// What a job changes, file by file, while it works. Only what is new is drawn, so that one can read on meanwhile.

import { drawDiff } from "/static/code-view.js";
import { ask, byId, element, query } from "/static/treadle.js";
import { pluralize } from "/static/format.js";

const KINDS = { added: ["A", "added"], modified: ["M", "modified"], deleted: ["D", "deleted"], renamed: ["R", "renamed"] };
const UNDER_WAY = ["pending", "running", "waiting"];

/**
 * @typedef {{ files: FileChange[], left_out: number }} Patch
 * @typedef {{ node: HTMLDetailsElement, lines: string[] | null }} Shown
 */

/** Have it work. `load(path)` looks again; `find(file)` brings a file into view. */
export function changes() {
  /** @type {string | null} */
  let waits = null;
  /** @type {CodingJob | null} */
  let job = null;
  /** @type {Patch | null} */
  let patch = null;
  /** @type {Map<string, Shown>} */
  let shown = new Map();
  let loads = 0;

  /** One look at a time; of those that are asked for meanwhile, the last. @param {string} path */
  const load = async (path) => {
    if (waits !== null) {
      waits = path;
      return;
    }
    const mine = ++loads;
    waits = "";
    const found = await ask(path).catch((error) => ({ error }));
    const next = waits;
    waits = null;
    if (mine === loads) {
      if (found.error) byId("changes-amount").textContent = found.error.message;
      else draw(patch = found);
    }
    if (next) load(next);
  };

  /** @param {Patch} patch */
  const draw = ({ files, left_out: more }) => {
    const fresh = new Map(files.map((file) => [file.path, update(shown.get(file.path), file)]));
    for (const [path, { node }] of shown) if (!fresh.has(path)) node.remove();
    [...fresh.values()].forEach(({ node }, at) => {
      if (byId("files").children[at] !== node) byId("files").insertBefore(node, byId("files").children[at] ?? null);
    });
    shown = fresh;
    drawAmount(files, more);
  };

  /** @param {FileChange[]} files @param {number} more */
  const drawAmount = (files, more) => {
    const sum = (/** @type {"added" | "removed"} */ name) => files.reduce((total, file) => total + file[name], 0);
    const amount = files.length ? `${pluralize(files.length + more, "file")}, +${sum("added")} −${sum("removed")}` : nothing();
    if (byId("changes-amount").textContent !== amount) byId("changes-amount").textContent = amount;
    byId("tab-changes").textContent = files.length ? `Changes (${files.length + more})` : "Changes";
  };

  const nothing = () => {
    if (job?.is_back) return "All changes undone.";
    return UNDER_WAY.includes(job?.state ?? "") ? "Nothing has been changed yet." : "Nothing was changed.";
  };

  const clear = () => {
    loads++;
    shown = new Map();
    patch = job = null;
    byId("files").replaceChildren();
    byId("changes-amount").textContent = "";
    byId("tab-changes").textContent = "Changes";
  };

  /** @param {CodingJob} now */
  const state = (now) => {
    job = now;
    if (patch) drawAmount(patch.files, patch.left_out);
  };

  /** @param {string} path */
  const find = (path) => {
    const file = shown.get(path);
    if (!file) return;
    file.node.open = true;
    file.node.scrollIntoView({ block: "start" });
    query(file.node, "summary").focus({ preventScroll: true });
  };

  return { load, clear, state, find };
}

/**
 * A file that is shown, as it is now: lines that are as they were keep their nodes.
 * @param {Shown | undefined} known @param {FileChange} file @returns {Shown}
 */
function update(known, file) {
  const { node, lines } = known ?? { node: nodeOf(), lines: null };
  const pre = query(node, "pre");
  query(node, "summary").replaceChildren(...headOf(file));
  if (!lines || lines.join("\n") !== file.lines.join("\n")) drawDiff(pre, lines, file.lines, file.path);
  const words = file.is_binary ? "No text: it can't be shown." : file.left_out ? `${pluralize(file.left_out, "line")} more.` : "";
  query(node, "p").textContent = words;
  pre.hidden = !file.lines.length;
  return { node, lines: file.lines };
}

function nodeOf() {
  return element("details", { class: "file", open: true }, element("summary"),
    element("pre", { class: "diff", tabindex: "0" }), element("p", { class: "small soft" }));
}

/** @param {FileChange} fileChange */
function headOf({ path, was, kind, added, removed }) {
  const [letter, words] = KINDS[kind];
  return [
    element("span", { class: `kind ${kind}`, "aria-hidden": "true", title: words }, letter),
    element("span", { class: "path" }, element("span", { class: "unseen" }, `${words}: `), was ? `${was} → ${path}` : path),
    element("span", { class: "counts" },
      element("span", { class: "good" }, `+${added}`), " ", element("span", { class: "bad" }, `−${removed}`)),
  ];
}

// What a job changes, file by file, while it works. Only what is new is drawn, so that one can read on meanwhile.

import { ask, element } from "/static/treadle.js";
import { counted } from "/static/words.js";

const KINDS = { added: ["A", "added"], modified: ["M", "modified"], deleted: ["D", "deleted"], renamed: ["R", "renamed"] };
const UNDER_WAY = ["pending", "running", "waiting"];
const HUNK = /^@@ -(\d+)(?:,\d+)? \+(\d+)/;
const byId = (id) => document.getElementById(id);

/** Have it work. `load(path)` looks again; `find(file)` brings a file into view. */
export function changes() {
  let loads = 0, waits = null, job = null, patch = null, shown = new Map();

  /** One look at a time; of those that are asked for meanwhile, the last. */
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

  const draw = ({ files, left_out: more }) => {
    const fresh = new Map(files.map((file) => [file.path, update(shown.get(file.path), file)]));
    for (const [path, { node }] of shown) if (!fresh.has(path)) node.remove();
    [...fresh.values()].forEach(({ node }, at) => {
      if (byId("files").children[at] !== node) byId("files").insertBefore(node, byId("files").children[at] ?? null);
    });
    shown = fresh;
    drawAmount(files, more);
  };

  const drawAmount = (files, more) => {
    const sum = (name) => files.reduce((total, file) => total + file[name], 0);
    const amount = files.length ? `${counted(files.length + more, "file")}, +${sum("added")} −${sum("removed")}` : nothing();
    if (byId("changes-amount").textContent !== amount) byId("changes-amount").textContent = amount;
    byId("tab-changes").textContent = files.length ? `Changes (${files.length + more})` : "Changes";
  };

  const nothing = () => {
    if (job?.is_back) return "Everything was taken back.";
    return UNDER_WAY.includes(job?.state) ? "Nothing has been changed yet." : "Nothing was changed.";
  };

  const clear = () => {
    loads++;
    shown = new Map();
    patch = job = null;
    byId("files").replaceChildren();
    byId("changes-amount").textContent = "";
    byId("tab-changes").textContent = "Changes";
  };

  const state = (now) => {
    job = now;
    if (patch) drawAmount(patch.files, patch.left_out);
  };

  const find = (path) => {
    const file = shown.get(path);
    if (!file) return;
    file.node.open = true;
    file.node.scrollIntoView({ block: "start" });
    file.node.querySelector("summary").focus({ preventScroll: true });
  };

  return { load, clear, state, find };
}

/** A file that is shown, as it is now: lines that are as they were keep their nodes. */
function update(known, file) {
  const { node, lines } = known ?? { node: nodeOf(), lines: null };
  node.firstChild.replaceChildren(...headOf(file));
  if (!lines || lines.join("\n") !== file.lines.join("\n")) drawLines(node.querySelector("pre"), lines, file.lines);
  const words = file.is_binary ? "No text: it can't be shown." : file.left_out ? `${counted(file.left_out, "line")} more.` : "";
  node.lastChild.textContent = words;
  node.querySelector("pre").hidden = !file.lines.length;
  return { node, lines: file.lines };
}

function nodeOf() {
  return element("details", { class: "file", open: true }, element("summary"),
    element("pre", { class: "diff", tabindex: "0" }), element("p", { class: "small soft" }));
}

function headOf({ path, was, kind, added, removed }) {
  const [letter, words] = KINDS[kind];
  return [
    element("span", { class: `kind ${kind}`, "aria-hidden": "true", title: words }, letter),
    element("span", { class: "path" }, element("span", { class: "unseen" }, `${words}: `), was ? `${was} → ${path}` : path),
    element("span", { class: "counts" },
      element("span", { class: "good" }, `+${added}`), " ", element("span", { class: "bad" }, `−${removed}`)),
  ];
}

function drawLines(pre, before, lines) {
  let head = 0, tail = 0;
  const old = before ?? [], most = Math.min(old.length, lines.length);
  while (head < most && isSame(old[head], lines[head])) head++;
  while (tail < most - head && isSame(old.at(-1 - tail), lines.at(-1 - tail))) tail++;
  const gone = [...pre.children].slice(head, old.length - tail), next = pre.children[old.length - tail] ?? null;
  for (const node of gone) node.remove();
  for (const line of lines.slice(head, lines.length - tail)) pre.insertBefore(lineOf(line, before !== null), next);
  number(pre, lines);
}

/** Whether a line keeps its node. The heading of a hunk does, though it counts other lines now. */
function isSame(line, other) {
  return line === other || (HUNK.test(line) && HUNK.test(other));
}

function lineOf(line, isFresh) {
  const fresh = isFresh ? "fresh" : null;
  if (line.startsWith("+")) return element("ins", { class: fresh }, `${line}\n`);
  if (line.startsWith("-")) return element("del", { class: fresh }, `${line}\n`);
  return element("span", { class: line.startsWith("@@") || line.startsWith("\\") ? "soft" : null }, `${line}\n`);
}

/** Lines have the number that they have in the file now, or had if they are gone. */
function number(pre, lines) {
  let old = 0, now = 0;
  lines.forEach((line, at) => {
    const hunk = HUNK.exec(line), sign = line[0], isBoth = !hunk && !["+", "-", "\\"].includes(sign);
    if (hunk) {
      [old, now] = [Number(hunk[1]), Number(hunk[2])];
      pre.children[at].textContent = `${line}\n`;
    }
    pre.children[at].dataset.number = isBoth || sign === "+" ? now : sign === "-" ? old : "";
    if (isBoth || sign === "+") now++;
    if (isBoth || sign === "-") old++;
  });
}

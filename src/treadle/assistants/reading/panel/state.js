// What the panel knows, in one place, and everything that may change it. No element is touched here: views watch, and draw what
// they see.

import { following } from "/static/following.js";
import { ask, messageOf } from "/static/treadle.js";
import { lineWith, linesOf, readingOf } from "./readings.js";

/** @typedef {(now: ReadingState, before: Partial<ReadingState>) => void} Draw */

/** @type {Set<number>} */
const NONE = new Set();

/** @type {ReadingState} */
export const state = {
  folder: "",
  files: null,             // paths; null until they are known
  model: "",               // why there is no model; "" where there is one
  picking: true,
  tab: "files",
  draft: { name: "", language: "", text: "" },
  source: null,            // what is shown: { kind, name, language, hash, text }
  latest: "",              // the hash of what is there now, on disk or in the draft
  reading: null,           // of `source`: { intent, blocks, how }
  running: null,           // the analysis under way: { began, abort, run }, where `run` is its id, once there is one
  wanted: "",              // the id of the block to pin once it is there
  error: null,             // what failed: { text, again }
  trouble: "",             // why changes can't be noticed at the moment
  hovered: -1,             // numbers of blocks; -1 is none
  pinned: -1,
  place: 0,                // which range of the pinned block one is at
  folded: -1,              // the block that alone is shown
  opened: NONE,            // first lines of folds that were opened again
  jump: null,              // the lines to be shown: { from, to }
};
const NOTHING_CHOSEN = { hovered: -1, pinned: -1, place: 0, folded: -1, opened: NONE, jump: null };
const NOTHING_READ = { reading: null, running: null, error: null, trouble: "" };
/** @type {Draw[]} */
const watchers = [];
let opening = 0;
let looking = false;

/** Have a view drawn, now and whenever something changes: draw(state, before). @param {Draw} draw */
export function watch(draw) {
  watchers.push(draw);
  draw(state, {});
}

/** Change the state. @param {Partial<ReadingState>} changes */
export function update(changes) {
  const before = { ...state };
  Object.assign(state, changes);
  for (const draw of watchers) draw(state, before);
}

/** The blocks of what was read; none before. */
export function blocks() {
  return state.reading?.blocks ?? [];
}

// what can be read

/** Ask for the files of the folder. */
export async function loadFiles() {
  try {
    const { folder, files } = await ask("/api/reading/files");
    update({ folder, files, error: state.error?.again === loadFiles ? null : state.error });
  } catch (error) {
    failed(error, loadFiles);
  }
}

/** Ask whether there is a model. Without an answer the page works on. */
export async function loadHealth() {
  const said = await ask("/api/iris/health").catch(() => ({ agent_ready: true }));
  update({ model: said.agent_ready ? "" : said.agent_error ?? "No model is set up." });
}

/**
 * Show a file; `block` is the id of the one to pin once it has been read. True where it is shown now.
 * @param {string} name @param {string} [block] @returns {Promise<boolean>}
 */
export async function open(name, block = "") {
  const mine = ++opening;
  if (state.source?.kind === "file" && state.source.name === name) {
    update({ picking: false });
    return true;
  }
  try {
    const source = await loadFile(name);
    if (mine !== opening) return false;
    show(source, block);
    if (source.run) rejoin(source);
    return true;
  } catch (error) {
    if (mine !== opening) return false;
    update({ picking: state.picking || !state.source });
    failed(error, () => open(name, block));
    return false;
  }
}

/** Show what was pasted. */
export function openDraft() {
  opening++;
  if (state.source?.kind !== "pasted") show(draftSource());
  else update({ picking: false, ...(state.reading || state.running ? {} : { source: draftSource() }) });
}

/** Change what is pasted. @param {Partial<ReadingState["draft"]>} changes */
export function setDraft(changes) {
  const draft = { ...state.draft, ...changes };
  update(state.source?.kind === "pasted" ? { draft, latest: tagOf(draft) } : { draft });
}

/** @param {SourceText} source @param {string} [wanted] */
function show(source, wanted = "") {
  state.running?.abort.abort();
  update({ ...NOTHING_CHOSEN, ...NOTHING_READ, source, latest: source.hash, picking: false, wanted });
}

/** @param {string} name @param {{ signal?: AbortSignal }} [given] @returns {Promise<SourceText>} */
async function loadFile(name, { signal } = {}) {
  const said = await ask(`/api/reading/file?path=${encodeURIComponent(name)}`, undefined, { signal });
  return fileSource(said);
}

/** @param {{ path: string, language?: string, content_hash: string, text: string, run_id?: string }} file @returns {SourceText} */
function fileSource({ path, language, content_hash, text, run_id }) {
  return { kind: "file", name: path, language: language ?? "", hash: content_hash, text, run: run_id ?? "" };
}

/** @returns {SourceText} */
function draftSource() {
  const { name, language, text } = state.draft;
  return { kind: "pasted", name: name || "pasted", language, hash: tagOf(state.draft), text };
}

/** @param {ReadingState["draft"]} draft */
function tagOf({ name, language, text }) {
  return [name, language, text].join("\0");
}

/** @param {unknown} error @param {() => unknown} again */
function failed(error, again) {
  update({ error: { text: messageOf(error), again } });
}

// reading it

/** Have what is shown read, as it is now. Nothing happens while that is under way. */
export async function read() {
  const { running, source: shown } = state;
  if (running || !shown) return;
  await analysing(async (signal, isOver) => {
    const source = same(shown.kind === "file" ? await loadFile(shown.name, { signal }) : draftSource());
    if (isOver()) return;
    update(state.reading ? { latest: source.hash } : { latest: source.hash, source });
    const { reading, message, context } = await ask("/api/reading/readings", asked(source), { signal });
    if (isOver()) return;
    const said = reading ?? await answered({ path: "/api/runs", body: { assistant: "reading", message, context } }, signal, isOver);
    if (!isOver()) take(source, said);
  });
}

/**
 * Show what the latest analysis of a file came to, or follow it: it goes on whether anybody looks or not.
 * @param {SourceText} source
 */
async function rejoin(source) {
  await analysing(async (signal, isOver) => {
    follow(source.run ?? "");
    const said = await answered({ runId: source.run }, signal, isOver);
    if (!isOver()) take(source, said);
  });
}

/** Note the run of the analysis under way. @param {string} run */
function follow(run) {
  if (state.running) update({ running: { ...state.running, run } });
}

/**
 * Do the work of an analysis, of which there is one at a time.
 * @param {(signal: AbortSignal, isOver: () => boolean) => Promise<void>} work
 */
async function analysing(work) {
  const abort = new AbortController(), isOver = () => state.running?.abort !== abort;
  update({ running: { began: Date.now(), abort, run: "" }, error: null });
  try {
    await work(abort.signal, isOver);
  } catch (error) {
    if (isOver()) return;
    update({ running: null });
    failed(error, read);
  }
}

/**
 * What a run comes to: one that is begun, or that is under way or over.
 * @param {{ path?: string, body?: unknown, runId?: string }} begins @param {AbortSignal} signal @param {() => boolean} isOver
 */
async function answered(begins, signal, isOver) {
  let run = begins.runId ?? "";
  for await (const event of following(begins, { signal })) {
    if (isOver()) return null;
    if (!run && event.run_id) follow(event.run_id);
    run ||= event.run_id ?? "";
  }
  return ask(`/api/reading/readings/${encodeURIComponent(run)}`, undefined, { signal });
}

/** What is shown already, where nothing in it has changed. @param {SourceText} source */
function same(source) {
  return source.hash === state.source?.hash ? state.source : source;
}

/** Stop reading; what was there before stays. */
export function cancel() {
  const { abort, run } = state.running ?? {};
  abort?.abort();
  update({ running: null });
  if (run) ask(`/api/runs/${encodeURIComponent(run)}/cancel`, {}).catch(() => {});  // it may be over by now
}

/** @param {SourceText} sourceText */
function asked({ name, language, text }) {
  return { filename: name, source_code: text, language, metadata: {} };
}

/** @param {SourceText} source @param {any} said */
function take(source, said) {
  const wanted = state.wanted || blocks()[state.pinned]?.id;
  const reading = readingOf(said, linesOf(source.text).length);
  update({ ...NOTHING_CHOSEN, source, reading, running: null, wanted: "" });
  const found = reading.blocks.findIndex((block) => block.id === wanted);
  if (found >= 0) pin(found);
}

/** See whether the file has changed. What was read stays as it was; what wasn't read yet is shown anew. */
export async function look() {
  const { source } = state;
  if (source?.kind !== "file" || looking) return;
  looking = true;
  try {
    const known = state.reading || state.running ? state.latest : source.hash;
    const said = await ask(`/api/reading/file?path=${encodeURIComponent(source.name)}&unless=${encodeURIComponent(known)}`);
    if (state.source === source) notice(said);
  } catch (error) {
    if (state.source === source && state.trouble !== messageOf(error)) update({ trouble: messageOf(error) });
  } finally {
    looking = false;
  }
}

/** @param {any} said */
function notice(said) {
  const trouble = said.gone ? "The file is gone." : "";
  if (state.trouble !== trouble) update({ trouble });
  if (said.text === undefined) return;
  const shown = state.reading || state.running;
  update(shown ? { latest: said.content_hash } : { source: fileSource(said), latest: said.content_hash });
}

// looking at what was found

/** Point at a block without pinning it; -1 at none. @param {number} index */
export function hover(index) {
  if (state.hovered !== index) update({ hovered: index });
}

/**
 * Pin a block, at one of its ranges, and show that one unless told not to.
 * @param {number} index @param {number} [place] @param {{ jump?: boolean }} [given]
 */
export function pin(index, place = 0, { jump = true } = {}) {
  const range = blocks()[index].ranges[place];
  const folds = state.folded === index ? {} : { folded: -1, opened: NONE };
  update({ pinned: index, place, ...folds, jump: jump && range ? { from: range[0], to: range[1] } : state.jump });
}

/** Let go of the pinned block. */
export function unpin() {
  update({ ...NOTHING_CHOSEN, jump: state.jump });
}

/** Go to the pinned block's next range, or with -1 to the one before; after the last comes the first. @param {number} by */
export function step(by) {
  const amount = blocks()[state.pinned]?.ranges.length;
  if (amount) pin(state.pinned, (state.place + by + amount) % amount);
}

/** Show a block alone, or everything again. @param {number} index @param {boolean} [on] */
export function fold(index, on = state.folded !== index) {
  update({ folded: on ? index : -1, opened: NONE });
  pin(index, state.pinned === index ? state.place : 0);
}

/** Open one of the folds. @param {number} from */
export function unfold(from) {
  update({ opened: new Set([...state.opened, from]) });
}

/** Show lines. @param {number} from @param {number} [to] */
export function jumpTo(from, to = from) {
  update({ jump: { from, to } });
}

/** Show where a name of a block is: the first of the block's lines that has it. @param {string} name @param {number} index */
export function find(name, index) {
  const found = lineWith(state.source?.text ?? "", blocks()[index].ranges, name);
  if (found) jumpTo(found);
}

// The trace of a run: its journal as a tree of steps (turns, rounds, model requests, calls, waiting, nested runs), each with its time
// and what it used. No page is needed; trace-view.js draws it.

import { pluralize } from "./format.js";
import { kindOf } from "./journal.js";

/**
 * What a step has read or written: a title and a text.
 * @typedef {{ title: string, text: string }} Content
 *
 * @typedef {"turn" | "round" | "request" | "call" | "wait" | "note"} StepKind
 * @typedef {"done" | "failed" | "denied" | "waiting" | "running" | "stopped"} StepState
 *
 * `start` and `end` are seconds since 1970; `end` is null while it goes on. `seconds` is how long a tool itself took. `entries` are
 * those of the journal that it was made of. `run` is the nested run that a call has begun, whose steps are not among `children`.
 * @typedef {{ kind: StepKind, name: string, brief: string, state: StepState, start: number, end: number | null, seconds?: number,
 *   usage: Usage, model?: string, facts: Record<string, string>, input: Content[], output: Content[], entries: Entry[],
 *   children: Step[], run?: string }} Step
 *
 * @typedef {{ steps: Step[], start: number, end: number, usage: Usage }} Trace
 */

/** @type {Record<string, StepState>} */
const ENDS = { answered: "done", limit: "stopped", waiting: "waiting", cancelled: "stopped", failed: "failed" };
/** @type {Record<string, string>} */
const SETTLED = { happened: "It took effect", not_happened: "It did not take effect", again: "Try again" };
const AMOUNTS = /** @type {const} */ (["requests", "calls", "input_tokens", "output_tokens", "cache_read_tokens"]);

/**
 * The trace of a journal. `nested` are the runs that its calls have begun.
 * @param {Entry[]} entries @param {NestedRun[]} [nested] @returns {Trace}
 */
export function traceOf(entries, nested = []) {
  const builder = new Builder(nested);
  for (const entry of entries) builder.take(entry);
  return builder.trace();
}

/** What several steps have used together; a cost only where one is known. @param {Usage[]} usages @returns {Usage} */
export function usageOf(usages) {
  /** @type {Usage} */
  const sum = {};
  for (const name of AMOUNTS) sum[name] = usages.reduce((all, usage) => all + (usage[name] ?? 0), 0);
  const costs = usages.flatMap(({ cost }) => cost ?? []);
  sum.cost = costs.length ? costs.reduce((all, cost) => all + cost, 0) : null;
  return sum;
}

/** The tokens of a step. @param {Usage} usage */
export function tokensOf({ input_tokens = 0, output_tokens = 0 }) {
  return input_tokens + output_tokens;
}

/** All steps of a tree, each before its children. @param {Step[]} steps @returns {Step[]} */
export function flattened(steps) {
  return steps.flatMap((step) => [step, ...flattened(step.children)]);
}

/** Makes steps of entries, in their order. */
class Builder {
  /** @type {Step[]} */
  #steps = [];
  /** @type {Step | null} */
  #turn = null;
  /** @type {Step | null} */
  #round = null;
  /** @type {Step | null} */
  #request = null;  // one whose reply comes in pieces
  /** @type {Map<string, Step>} */
  #calls = new Map();
  /** @type {Map<string, Step>} */
  #waits = new Map();  // by call
  /** @type {Map<string, string>} */
  #received = new Map();  // messages during a turn
  /** @type {Content[]} */
  #unread = [];  // what the next request to the model adds to the ones before
  #last = 0;
  #runs;

  /** @param {NestedRun[]} nested */
  constructor(nested) {
    this.#runs = new Map(nested.map(({ within, run_id }) => [within, run_id]));
  }

  /** @param {Entry} entry */
  take(entry) {
    /** @type {any} */ (this)[`_${entry.kind}`]?.(entry);
    this.#last = entry.at || this.#last;
  }

  /** @returns {Trace} */
  trace() {
    for (const step of this.#steps) complete(step);
    const all = flattened(this.#steps), start = Math.min(...all.map((step) => step.start));
    const end = Math.max(...all.map((step) => step.end ?? this.#last));
    const usage = usageOf(this.#steps.map((step) => step.usage));
    return { steps: this.#steps, start: all.length ? start : 0, end: all.length ? end : 0, usage };
  }

  /** @param {Entry} entry */
  _said(entry) {
    this.#turn = this.#add(this.#steps, entry, { kind: "turn", name: `Turn ${this.#steps.filter(isTurn).length + 1}`, brief: entry.text,
      state: "running", input: [{ title: "User", text: entry.text }] });
    this.#round = this.#request = null;
    this.#unread = [...this.#turn.input];
  }

  /** @param {Entry} entry */
  _finished(entry) {
    const turn = this.#inTurn(entry), { stopped, text = "", output, reason = "", usage = {} } = entry;
    turn.end = entry.at || this.#last;
    turn.state = ENDS[stopped] ?? "stopped";
    turn.usage = usageOf([turn.usage, usage]);
    turn.output = [
      ...contentOf("Answer", text), ...contentOf("Structured answer", output == null ? "" : inText(output)), ...contentOf("Reason", reason),
    ];
    turn.entries.push(entry);
    if (stopped === "waiting") return;
    for (const step of flattened(turn.children).filter(({ end }) => end === null)) {
      step.end = turn.end;
      if (step.state === "running" || step.state === "waiting") step.state = "stopped";
    }
  }

  // the model

  /** @param {Entry} entry */
  _replied(entry) {
    const { parts, more = false, model = "", seconds = 0, usage = {}, notices = [], finish = "done" } = entry;
    const at = entry.at || this.#last;
    if (!this.#request) this.#open(entry, usage.requests > 0 || seconds > 0);
    const request = /** @type {Step} */ (this.#request);
    if (request.entries[0] !== entry) request.entries.push(entry);
    if (seconds) request.start = Math.min(request.start, at - seconds);
    request.end = at;
    request.usage = usageOf([request.usage, usage]);
    request.model = model || request.model;
    request.output.push(...parts.flatMap(partContent), ...notices.map((/** @type {string} */ text) => ({ title: "Notice", text })));
    request.brief = firstOf(request.output);
    if (finish !== "done" && finish !== "calls") request.facts["Ended by"] = finish;
    if (!more) this.#request = null;
  }

  /** @param {Entry} entry @param {boolean} isRequest */
  #open(entry, isRequest) {
    const turn = this.#inTurn(entry), rounds = turn.children.filter(({ kind }) => kind === "round").length;
    const start = this.#last || entry.at;
    const round = this.#round = this.#add(turn.children, entry, { kind: "round", name: `Round ${rounds + 1}`, start });
    this.#request = this.#add(round.children, entry, { kind: "request", name: isRequest ? "Model request" : "Planned calls", start,
      input: this.#unread });
    if (!isRequest) this.#request.facts.Model = "not asked: the program planned these calls";
    this.#unread = [];
  }

  // calls

  /** @param {Entry} entry */
  _called(entry) {
    const outer = this.#calls.get(entry.within);
    this.#call(entry, entry.call, outer ? outer.children : this.#inRound(entry).children);
  }

  /** @param {Entry} entry */
  _judged(entry) {
    const { call, verdict, mended } = entry;
    const known = this.#calls.get(call.id), isOpen = known && known.end === null;  // an id may come again in a later round
    const step = isOpen ? known : this.#call(entry, call, this.#inRound(entry).children);
    if (isOpen) step.entries.push(entry);
    this.#give(step, call.arguments);
    step.facts.Policy = [verdict.verdict, verdict.by && verdict.by !== "default" ? `by ${verdict.by}` : ""].filter(Boolean).join(" ");
    if (mended) step.facts.Repaired = mended;
    if (verdict.verdict === "ask") this.#wait(entry, call.id, "Waiting for approval", verdict.reason);
    if (verdict.verdict === "deny") step.state = "denied";
  }

  /** @param {Entry} entry */
  _previewed(entry) {
    const step = this.#calls.get(entry.call_id);
    step?.entries.push(entry);
    step?.input.push(...contentOf("Preview", entry.text ?? ""));
  }

  /** @param {Entry} entry */
  _approved(entry) {
    const step = this.#calls.get(entry.call_id);
    this.#proceed(entry, entry.call_id, `Approved${entry.by ? ` by ${entry.by}` : ""}`);
    if (step) step.state = "running";
    if (step && entry.arguments) this.#give(step, entry.arguments);
  }

  /** @param {Entry} entry */
  _refused(entry) {
    const step = this.#calls.get(entry.call_id), by = entry.by ? ` by ${entry.by}` : "";
    this.#proceed(entry, entry.call_id, `Denied${by}${entry.reason ? `: ${entry.reason}` : ""}`);
    if (!step) return;
    Object.assign(step, { state: "denied", end: entry.at || this.#last });
    step.output.push({ title: "Denied", text: entry.reason || "Denied." });
  }

  /** @param {Entry} entry */
  _started(entry) {
    const step = this.#calls.get(entry.call_id);
    step?.entries.push(entry);
    if (step && entry.attempt > 1) step.facts.Attempt = String(entry.attempt);
  }

  /** @param {Entry} entry */
  _unclear(entry) {
    this.#wait(entry, entry.call_id, "Waiting for a report of the outcome", entry.reason);
  }

  /** @param {Entry} entry */
  _settled(entry) {
    const step = this.#calls.get(entry.call_id), { said, words = "" } = entry;
    this.#proceed(entry, entry.call_id, `${SETTLED[said] ?? said}${words ? `: ${words}` : ""}`);
    if (step && said !== "again") Object.assign(step, { state: said === "happened" ? "done" : "failed", end: entry.at || this.#last });
  }

  /** @param {Entry} entry */
  _awaited(entry) {
    const { wait } = entry;
    this.#wait(entry, entry.within || entry.call_id, `Waiting for ${[wait.event, wait.key].filter(Boolean).join(" ") || "a time"}`);
  }

  /** @param {Entry} entry */
  _woken(entry) {
    for (const [id, wait] of this.#waits) if (wait.state === "waiting" && !this.#calls.get(id)?.end) this.#proceed(entry, id, "Over");
  }

  /** @param {Entry} entry */
  _returned(entry) {
    const { result, seconds = 0, cached, usage = {} } = entry, at = entry.at || this.#last;
    const call = { id: result.call_id, name: result.name };
    const step = this.#calls.get(call.id) ?? this.#call(entry, call, this.#inRound(entry).children);
    const hasWaited = this.#waits.has(result.call_id);
    if (hasWaited) this.#proceed(null, result.call_id, "", at);
    if (!hasWaited && seconds) step.start = at - seconds;
    if (step.entries[0] !== entry) step.entries.push(entry);
    Object.assign(step, { end: at, seconds, usage: usageOf([step.usage, usage]) });
    step.state = result.problem === "denied" ? "denied" : result.problem ? "failed" : "done";
    if (result.problem) step.facts.Problem = result.problem;
    if (cached) step.facts.Cached = "yes";
    step.output = contentOf(result.problem ? "Error" : "Result", result.content);
    this.#unread.push({ title: `Result of ${result.name}`, text: result.content });
  }

  /** @param {Entry} entry @param {{ id: string, name: string }} call @param {Step[]} place */
  #call(entry, call, place) {
    const step = this.#add(place, entry, { kind: "call", name: call.name, state: "running", run: this.#runs.get(call.id) });
    this.#calls.set(call.id, step);
    return step;
  }

  /** @param {Step} step @param {Record<string, unknown>} given */
  #give(step, given) {
    step.input = Object.entries(given ?? {}).map(([title, value]) => ({ title, text: inText(value) }));
    step.brief = Object.entries(given ?? {}).map(([name, value]) => `${name}: ${inText(value, 0)}`).join(", ");
  }

  /** @param {Entry} entry @param {string} id @param {string} name @param {string} [reason] */
  #wait(entry, id, name, reason = "") {
    const step = this.#calls.get(id);
    if (!step) return;
    step.state = "waiting";
    this.#waits.set(id, this.#add(step.children, entry, { kind: "wait", name, state: "waiting", input: contentOf("Reason", reason) }));
  }

  /** A wait is over. @param {Entry | null} entry @param {string} id @param {string} words @param {number} [at] */
  #proceed(entry, id, words, at = entry?.at || this.#last) {
    const wait = this.#waits.get(id);
    if (!wait || wait.state !== "waiting") return;
    Object.assign(wait, { end: at, state: "done", brief: words, output: contentOf("Outcome", words) });
    if (entry) wait.entries.push(entry);
  }

  // the rest

  /** @param {Entry} entry */
  _steered(entry) {
    this.#received.set(entry.id, entry.text);
    this.#note(entry, "Message received", entry.text);
  }

  /** @param {Entry} entry */
  _delivered(entry) {
    const texts = entry.message_ids.map((/** @type {string} */ id) => this.#received.get(id) ?? "");
    this.#unread.push(...texts.map((/** @type {string} */ text) => ({ title: "User", text })));
    this.#note(entry, "Message delivered", pluralize(texts.length, "message"));
  }

  /** @param {Entry} entry */
  _informed(entry) {
    this.#note(entry, "Context loaded", pluralize(entry.items?.length ?? 0, "item"));
  }

  /** @param {Entry} entry */
  _noted(entry) {
    if (entry.text) this.#unread.push({ title: "Note of the engine", text: entry.text });
    this.#note(entry, "Note to the model", entry.text || "Time ran out.");
  }

  /** @param {Entry} entry */
  _compacted(entry) {
    this.#note(entry, "Conversation compacted", pluralize(entry.messages, "message"), entry.summary?.notes);
  }

  /** @param {Entry} entry */
  _shortened(entry) {
    this.#note(entry, "Results shortened", pluralize(entry.call_ids.length, "result"));
  }

  /** @param {Entry} entry */
  _overflowed(entry) {
    this.#note(entry, "Request too long", entry.reason ?? "").state = "failed";
  }

  /** @param {Entry} entry */
  _resumed(entry) {
    this.#note(entry, kindOf(entry), "");
    if (this.#turn) Object.assign(this.#turn, { state: "running", end: null });
  }

  /** @param {Entry} entry */
  _forked(entry) {
    this.#note(entry, "Forked", `from run ${entry.run_id}`);
  }

  /** @param {Entry} entry @param {string} name @param {string} brief @param {string} [text] */
  #note(entry, name, brief, text = brief) {
    return this.#add(this.#turn?.children ?? this.#steps, entry, { kind: "note", name, brief, end: entry.at || this.#last,
      output: contentOf(name, text), usage: entry.usage ?? {}, model: entry.model });
  }

  /** @param {Entry} entry */
  #inTurn(entry) {
    this.#turn ??= this.#add(this.#steps, entry, { kind: "turn", name: "Turn 1", state: "running" });
    return this.#turn;
  }

  /** @param {Entry} entry */
  #inRound(entry) {
    return this.#round ?? this.#inTurn(entry);
  }

  /** @param {Step[]} place @param {Entry} entry @param {Partial<Step> & { kind: StepKind, name: string }} given */
  #add(place, entry, given) {
    /** @type {Step} */
    const step = { brief: "", state: "done", start: entry.at || this.#last, end: null, usage: {}, facts: {}, input: [], output: [],
      entries: [entry], children: [], ...given };
    place.push(step);
    return step;
  }
}

/** Give a step the time and the usage of its children. @param {Step} step */
function complete(step) {
  for (const child of step.children) complete(child);
  if (!["turn", "round"].includes(step.kind)) return;
  const ends = step.children.map(({ end }) => end), starts = step.children.map(({ start }) => start);
  step.start = Math.min(step.start, ...starts);
  if (step.kind === "round") step.end = ends.includes(null) ? null : Math.max(...ends.map(Number));
  else if (step.end !== null) step.end = Math.max(step.end, ...ends.map((end) => end ?? 0));
  step.usage = usageOf([step.usage, ...step.children.map(({ usage }) => usage)]);
  if (step.kind !== "round") return;
  const calls = step.children.filter(({ kind }) => kind === "call");
  step.brief = calls.length ? calls.map(({ name }) => name).join(", ") : step.children[0]?.brief ?? "";
  step.state = (/** @type {StepState[]} */ (["running", "waiting"])).find((state) => calls.some((call) => call.state === state)) ?? "done";
}

/** @param {Step} step */
function isTurn({ kind }) {
  return kind === "turn";
}

/** @param {{ part: string, text?: string, name?: string }} part @returns {Content[]} */
function partContent({ part, text = "", name = "" }) {
  if (part === "text") return contentOf("Text", text);
  if (part === "thinking") return contentOf("Reasoning", text);
  return name ? [{ title: `Call of ${name}`, text }] : [];
}

/** @param {string} title @param {string} text @returns {Content[]} */
function contentOf(title, text) {
  return text ? [{ title, text }] : [];
}

/** @param {Content[]} contents */
function firstOf(contents) {
  return (contents.find(({ title }) => title === "Text") ?? contents[0])?.text ?? "";
}

/** @param {unknown} value @param {number} [indent] */
function inText(value, indent = 2) {
  return typeof value === "string" ? value : JSON.stringify(value, null, indent) ?? "";
}

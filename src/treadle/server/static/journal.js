// A run's journal, read: entries as the events that answer.js draws, as turns of a conversation, and as text.

import { pluralize, formatCost, formatNumber, formatDuration } from "./format.js";

/** @type {Record<string, string>} */
const KINDS = {  // what an entry is called in lists
  opened: "Opened", said: "Said", steered: "Message received", delivered: "Message delivered",
  replied: "Replied", called: "Called inside", judged: "Judged", previewed: "Previewed",
  approved: "Approved", refused: "Refused", started: "Started", unclear: "Unclear", settled: "Settled", returned: "Returned",
  awaited: "Waiting", woken: "Woken", noted: "Noted", shortened: "Shortened", compacted: "Compacted", overflowed: "Too long",
  resumed: "Resumed", forked: "Forked", finished: "Finished",
};

/** @type {Record<string, string>} */
const SETTLED = {  // what a person says became of a call
  happened: "It took effect.", not_happened: "It did not take effect.", again: "It is tried again.",
};

const KEPT = 80;  // characters of a title

/** @typedef {{ part: string, text: string, id: string, name: string }} ReplyPart */

/** Makes events of entries, in their order: what an entry leaves out, the ones before it have said. */
export class Reading {
  #names = new Map();  // of calls
  #calls = new Map();
  #isInside = false;   // of a reply that comes in pieces
  #received = new Map();  // messages during a turn

  /** @param {Entry} entry @returns {RunEvent[]} */
  eventsOf(entry) {
    return /** @type {any} */ (this)[`_${entry.kind}`]?.(entry) ?? [];
  }

  /** @param {string} id @returns {string} */
  nameOf(id) {
    return this.#names.get(id) ?? id;
  }

  /** @param {Entry} entry */
  _steered({ id, text }) {
    this.#received.set(id, text);
    return [{ event: "message_received", message_id: id, text }];
  }

  /** @param {Entry} entry */
  _delivered({ message_ids }) {
    return message_ids.map((/** @type {string} */ id) => (
      { event: "message_delivered", message_id: id, text: this.#received.get(id) ?? "" }));
  }

  /** @param {Entry} entry */
  _replied({ parts, more }) {
    const begun = this.#isInside ? [] : [{ event: "model_asked" }];
    this.#isInside = more ?? false;
    return [...begun, ...parts.flatMap((/** @type {ReplyPart} */ part) => this.#partOf(part))];
  }

  /** What a provider keeps for itself in a reply is nothing to show. @param {ReplyPart} given @returns {RunEvent[]} */
  #partOf({ part, text, id, name }) {
    if (part === "text") return [{ event: "text_arrived", text }];
    if (part === "thinking") return [{ event: "thinking_arrived", text }];
    if (part !== "written") return [];
    this.#names.set(id, name);
    return [{ event: "call_arrived", call_id: id, name }];
  }

  /** @param {Entry} entry */
  _called({ call }) {
    this.#names.set(call.id, call.name);
    return [{ event: "call_arrived", call_id: call.id, name: call.name }];
  }

  /** @param {Entry} entry */
  _judged({ call, verdict, mended, at }) {
    this.#names.set(call.id, call.name);
    this.#calls.set(call.id, call);
    const judged = { event: "call_judged", call, verdict, mended };
    return verdict.verdict === "allow" ? [judged, { event: "call_started", call, at }] : [judged];
  }

  /** @param {Entry} entry */
  _approved({ call_id, by, arguments: changed, at }) {
    const call = { id: call_id, name: this.nameOf(call_id), arguments: changed ?? this.#calls.get(call_id)?.arguments ?? {} };
    return [{ event: "call_decided", call_id, name: call.name, approved: true, by }, { event: "call_started", call, at }];
  }

  /** @param {Entry} entry */
  _refused({ call_id, by, reason }) {
    return [{ event: "call_decided", call_id, name: this.nameOf(call_id), approved: false, by, reason }];
  }

  /** @param {Entry} entry */
  _unclear({ call_id }) {
    return [{ event: "approval_needed", call: this.#callOf(call_id) }];
  }

  /** @param {Entry} entry */
  _settled({ call_id, said, by, words = "", at }) {
    const call = this.#callOf(call_id), { name } = call, told = { event: "call_settled", call_id, name, said, by, words };
    if (said === "again") return [told, { event: "call_started", call, at }];
    const result = { call_id, name, problem: said === "happened" ? null : "interrupted", content: words || SETTLED[said] };
    return [told, { event: "call_returned", result, seconds: 0, at }];
  }

  /** @param {string} id */
  #callOf(id) {
    return { id, name: this.nameOf(id), arguments: this.#calls.get(id)?.arguments ?? {} };
  }

  /** @param {Entry} entry */
  _returned({ result, seconds = 0, cached, usage, at }) {
    return [{ event: "call_returned", result, seconds, cached, usage, at }];
  }

  /** @param {Entry} entry */
  _shortened({ call_ids }) {
    return [{ event: "noted", text: `${pluralize(call_ids.length, "result")} shortened, to make room.` }];
  }

  /** @param {Entry} entry */
  _compacted({ messages }) {
    return [{ event: "noted", text: `The conversation was compacted: a summary in place of the first ${pluralize(messages, "message")}.` }];
  }

  /** @param {Entry} entry */
  _forked({ run_id }) {
    return [{ event: "noted", text: `Forked here from run ${run_id}.` }];
  }
}

/**
 * The turns of a journal whose last turn is over, for `Chat.recall`; `approvals` are what waits at its end, `data` is what came
 * with each answer.
 * @param {Entry[]} entries @param {PendingCall[]} [approvals] @param {unknown[]} [data]
 */
export function turnsOf(entries, approvals = [], data = []) {
  /** @type {RecalledTurn[]} */
  const turns = [];
  /** @type {RunEvent[]} */
  let events = [];
  let ends = 0;
  const reading = new Reading();
  for (const entry of entries) {
    if (entry.kind === "said" && turns.every(isBlank)) turns.length = 0;  // a fork from before the first message
    if (entry.kind === "said") turns.push({ message: entry.text, replies: [] });
    else if (entry.kind === "opened") continue;
    events = entry.kind === "said" ? [] : [...events, ...reading.eventsOf(entry)];
    if (entry.kind === "finished") {
      if (!turns.length) turns.push({ message: null, replies: [] });
      turns[turns.length - 1].replies.push({ ...replyOf(entry), events, data: data[ends++] });
      events = [];
    }
  }
  const last = turns.at(-1)?.replies.at(-1);
  if (last) {
    last.approvals = approvals;
    last.events = [...last.events, ...events.filter(({ event }) => event === "message_received")];  // while it waits
  }
  return turns;
}

/** Whether nothing was said in a turn, and nothing happened. @param {RecalledTurn} turn */
function isBlank({ message, replies }) {
  return message === null && replies.every(({ events }) => !events.length);
}

/** @param {Entry} entry */
function replyOf({ stopped, text = "", reason = "" }) {
  return { stopped, reason, message: stopped === "failed" ? reason || text : text, approvals: [] };
}

/** What an entry is called. @param {Entry} entry */
export function kindOf({ kind }) {
  return KINDS[kind] ?? kind;
}

/** @type {Record<string, (entry: Entry, reading: Reading) => string | undefined>} */
const BRIEFS = {
  opened: ({ agent, model }) => [agent, model].filter(Boolean).join(" with "),
  said: ({ text }) => text,
  steered: ({ text }) => text,
  delivered: ({ message_ids }) => pluralize(message_ids.length, "message"),
  replied: ({ parts }) => parts.map((/** @type {ReplyPart} */ part) => (part.part === "written" ? `${part.name}(…)` : part.text))
    .filter(Boolean).join(" "),
  called: ({ call }) => call.name,
  judged: ({ call, verdict }) => `${call.name}: ${verdict.verdict}${verdict.by && verdict.by !== "default" ? ` by ${verdict.by}` : ""}`,
  previewed: ({ call_id, text }, reading) => `${reading.nameOf(call_id)}: ${text ?? ""}`,
  approved: ({ call_id, by }, reading) => `${reading.nameOf(call_id)}${by ? ` by ${by}` : ""}`,
  refused: ({ call_id, reason }, reading) => `${reading.nameOf(call_id)}${reason ? `: ${reason}` : ""}`,
  started: ({ call_id, attempt }, reading) => `${reading.nameOf(call_id)}${attempt > 1 ? `, attempt ${attempt}` : ""}`,
  unclear: ({ call_id, reason }, reading) => `${reading.nameOf(call_id)}: ${reason ?? ""}`,
  settled: ({ call_id, said, by }, reading) => `${reading.nameOf(call_id)}: ${SETTLED[said]}${by ? ` (${by})` : ""}`,
  returned: ({ result: { name, problem }, seconds = 0 }) => `${name}${problem ? ` (${problem})` : ""} after ${formatDuration(seconds)}`,
  awaited: ({ call_id, wait }, reading) => `${reading.nameOf(call_id)}: ${[wait.event, wait.key].filter(Boolean).join(" ") || "a time"}`,
  woken: ({ result: { name, problem } }) => `${name}${problem ? ` (${problem})` : ""}`,
  noted: ({ text }) => text || "time ran out",
  shortened: ({ call_ids }) => pluralize(call_ids.length, "result"),
  compacted: ({ messages, summary }) => `${pluralize(messages, "message")}: ${summary.notes ?? ""}`,
  overflowed: ({ reason }) => reason ?? "",
  forked: ({ run_id, entries }) => `${pluralize(entries, "entry", "entries")} of ${run_id}`,
  finished: ({ stopped, reason }) => (reason ? `${stopped}: ${reason}` : stopped),
};

/** What an entry says, in a line. @param {Entry} entry @param {Reading} reading */
export function inBrief(entry, reading) {
  return (BRIEFS[entry.kind]?.(entry, reading) ?? "").replace(/\s+/g, " ").trim();
}

/**
 * What a run is called: what was asked first, of which lists keep only the beginning.
 * @param {{ title: string, run_id: string }} given
 */
export function titleOf({ title, run_id: id }) {
  return title.length < KEPT ? title || id : `${title}…`;
}

/** What a run has used, as text. @param {Usage} [usage] */
export function usageInWords({ requests = 0, calls = 0, input_tokens = 0, output_tokens = 0, cache_read_tokens = 0, cost } = {}) {
  const tokens = pluralize(input_tokens + output_tokens, "token");
  const cached = cache_read_tokens ? ` (${formatNumber(cache_read_tokens)} cached)` : "";
  return [
    pluralize(requests, "request"), pluralize(calls, "call"), tokens + cached, cost == null ? "" : formatCost(cost),
  ].filter(Boolean).join(" · ");
}

// A conversation as it was at any entry of its journal: forwards an entry at a time, backwards from the start again.

import { Answer } from "./answer.js";
import { Reading } from "./journal.js";
import { element } from "./treadle.js";

/** @type {Record<string, string>} */
const ENDS = { waiting: "Waiting for a decision.", cancelled: "Stopped." };
/** @type {Record<string, string>} */
const LOOKS = { failed: "bad", limit: "warn" };

/** What was said, up to an entry. */
export class Replay {
  #entries;
  #reading = new Reading();
  #shown = 0;  // entries
  /** @type {Answer | null} */
  #answer = null;

  node = element("div", { class: "turns" });

  /** @param {Entry[]} entries */
  constructor(entries) {
    this.#entries = entries;
  }

  /** Show it as it was after so many entries. @param {number} amount */
  show(amount) {
    if (amount < this.#shown) this.#empty();
    for (const entry of this.#entries.slice(this.#shown, amount)) this.#take(entry);
    this.#shown = amount;
    this.#answer?.still(this.#entries[amount - 1]?.at ?? 0);
  }

  #empty() {
    this.#reading = new Reading();
    this.#shown = 0;
    this.#answer = null;
    this.node.replaceChildren();
  }

  /** @param {Entry} entry */
  #take(entry) {
    if (entry.kind === "said") this.#turn(entry.text);
    else if (entry.kind === "finished") this.#finish(entry);
    else for (const event of this.#reading.eventsOf(entry)) this.#open().take(event);
  }

  #open() {
    return this.#answer ?? this.#turn(null);
  }

  /** @param {string | null} message */
  #turn(message) {
    const answer = this.#answer = new Answer();
    const said = element("div", { class: "said" }, element("h3", { class: "unseen" }, "Said"), element("p", {}, message ?? ""));
    this.node.append(element("article", { class: "turn" }, message === null ? null : said, answer.node));
    return answer;
  }

  /** @param {Entry} entry */
  #finish({ stopped, text = "", reason = "" }) {
    const answer = this.#open(), isAnswer = stopped === "answered" || (stopped === "limit" && text !== "");
    const words = ENDS[stopped] ?? reason;
    answer.end();
    if (isAnswer) answer.settle(text);
    answer.foot.replaceChildren(...(isAnswer || !words ? [] : [
      element("p", { class: `notice ${LOOKS[stopped] ?? ""}` }, words)]));
  }
}

// A conversation as it was at any entry of its journal: forwards an entry at a time, backwards from the start again.

import { Answer } from "./answer.js";
import { Reading } from "./journal.js";
import { element } from "./treadle.js";

/** What was said, up to an entry. */
export class Replay {
  #entries;
  #reading;
  #shown;   // how many entries are
  #answer;

  node = element("div", { class: "turns" });

  constructor(entries) {
    this.#entries = entries;
    this.#empty();
  }

  /** Show it as it was after so many entries. */
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

  #take(entry) {
    if (entry.kind === "said") this.#turn(entry.text);
    else if (entry.kind === "finished") this.#finish(entry);
    else for (const event of this.#reading.eventsOf(entry)) this.#open().take(event);
  }

  #open() {
    if (!this.#answer) this.#turn(null);
    return this.#answer;
  }

  #turn(message) {
    this.#answer = new Answer();
    const said = element("div", { class: "said" }, element("h3", { class: "unseen" }, "Said"), element("p", {}, message ?? ""));
    this.node.append(element("article", { class: "turn" }, message === null ? null : said, this.#answer.node));
  }

  #finish({ stopped, text = "", reason = "" }) {
    const answer = this.#open(), isAnswer = stopped === "answered" || (stopped === "limit" && text !== "");
    const words = { waiting: "It waits for a decision.", cancelled: "It was stopped." }[stopped] ?? reason;
    answer.end();
    if (isAnswer) answer.settle(text);
    answer.foot.replaceChildren(...(isAnswer || !words ? [] : [
      element("p", { class: `notice ${{ failed: "bad", limit: "warn" }[stopped] ?? ""}` }, words)]));
  }
}

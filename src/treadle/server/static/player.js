// Plays a journal: entry by entry, each with the conversation as it was then. It is stepped with the arrow keys, or plays by itself, in
// which internal entries pass quickly and words last as long as it takes to read them.

import { inBrief, kindOf, Reading } from "./journal.js";
import { Replay } from "./replay.js";
import { byId, element, query } from "./treadle.js";

const BRIEF = 120, LEAST = 700, MOST = 4000, PER_CHARACTER = 15;  // milliseconds that an entry is shown for while it plays
const WORDS = ["said", "replied", "returned", "approved", "refused", "finished"];
const LONGEST = 100_000;  // characters of an entry that are shown
const slider = byId("slider", HTMLInputElement), speed = byId("speed", HTMLSelectElement);
const [first, back, next, last] = ["first", "back", "next", "last"].map((id) => byId(id, HTMLButtonElement));

/** How long an entry is shown for while it plays, in milliseconds. @param {Entry} entry @param {string} words */
export function paceOf(entry, words) {
  return WORDS.includes(entry.kind) ? Math.min(Math.max(words.length * PER_CHARACTER, LEAST), MOST) : BRIEF;
}

/** The player of a page. `entries` are what it has; `at` is the one that it shows. */
export class Player {
  /** @type {Entry[]} */
  entries = [];
  at = 0;
  /** @type {Replay | null} */
  #replay = null;
  #playing = 0;
  /** @type {string[]} */
  #words = [];  // of each entry, in a line

  constructor() {
    first.addEventListener("click", () => this.step(0));
    back.addEventListener("click", () => this.step(this.at - 1));
    next.addEventListener("click", () => this.step(this.at + 1));
    last.addEventListener("click", () => this.step(this.entries.length - 1));
    byId("play").addEventListener("click", () => this.play());
    slider.addEventListener("input", () => this.step(Number(slider.value)));
    document.addEventListener("keydown", (event) => this.#typed(event));
  }

  get #isLast() {
    return this.at >= this.entries.length - 1;
  }

  /** Take other entries; one at the last entry stays there. @param {Entry[]} entries @param {number} [wanted] */
  take(entries, wanted = this.#isLast ? Infinity : this.at) {
    this.entries = entries;
    this.#replay = new Replay(entries);
    byId("then").replaceChildren(this.#replay.node);
    this.#drawEntries();
    this.go(wanted);
  }

  #drawEntries() {
    const reading = new Reading();
    this.#words = this.entries.map((entry) => {
      reading.eventsOf(entry);
      return inBrief(entry, reading);
    });
    byId("entries").replaceChildren(...this.entries.map((entry, index) => element("li", {}, element("button", {
      type: "button", class: "bare step-to", "data-kind": entry.kind, onclick: () => this.step(index),
    }, element("span", { class: "kind" }, kindOf(entry)), element("span", { class: "brief" }, this.#words[index])))));
    slider.max = `${this.entries.length - 1}`;
  }

  /** Show an entry, and everything as it was then. @param {number} index */
  go(index) {
    this.at = Math.max(0, Math.min(index, this.entries.length - 1));
    if (!this.entries.length) return;
    this.#replay?.show(this.at + 1);
    this.#drawPlace();
    this.#drawEntry(this.entries[this.at]);
    byId("then").scrollTop = byId("then").scrollHeight;
  }

  #drawPlace() {
    const list = byId("entries"), words = `Entry ${this.at + 1} of ${this.entries.length}`;
    slider.value = `${this.at}`;
    slider.setAttribute("aria-valuetext", `${words}: ${kindOf(this.entries[this.at])}`);
    byId("place").textContent = words;
    list.querySelector("[aria-current]")?.removeAttribute("aria-current");
    const current = query(list, `li:nth-child(${this.at + 1}) > button`);
    current.setAttribute("aria-current", "step");
    list.scrollTop = current.offsetTop - list.clientHeight / 2;
    for (const button of [first, back]) button.disabled = this.at === 0;
    for (const button of [next, last]) button.disabled = this.#isLast;
    if (!byId("player").hidden) history.replaceState(null, "", `#entry-${this.at + 1}`);
  }

  /** @param {Entry} entry */
  #drawEntry(entry) {
    const { at: moment, ...rest } = entry, whole = JSON.stringify(rest, null, 2);
    byId("entry-title").textContent = `${this.at + 1}. ${kindOf(entry)}`;
    byId("entry").replaceChildren(
      moment ? element("p", { class: "small soft" }, new Date(moment * 1000).toLocaleString("en"), this.#since(moment)) : "",
      element("pre", { tabindex: "0", "aria-label": "The entry, as it is kept" },
        whole.length > LONGEST ? `${whole.slice(0, LONGEST)}\n… ${whole.length - LONGEST} more characters` : whole));
  }

  /** @param {number} moment */
  #since(moment) {
    const first = this.entries.find((each) => each.at)?.at ?? moment;
    return ` · ${(moment - first).toFixed(2)} s after the first`;
  }

  /** Play, or pause. */
  play() {
    if (this.#playing) return this.pause();
    if (this.#isLast) this.go(0);
    this.#schedule();
    byId("play").textContent = "Pause";
  }

  #schedule() {
    const pace = paceOf(this.entries[this.at], this.#words[this.at]) / Number(speed.value);
    this.#playing = setTimeout(() => {
      this.go(this.at + 1);
      if (this.#isLast) this.pause();
      else this.#schedule();
    }, pace);
  }

  pause() {
    clearTimeout(this.#playing);
    this.#playing = 0;
    byId("play").textContent = "Play";
  }

  /** @param {number} index */
  step(index) {
    this.pause();
    this.go(index);
  }

  /** @param {KeyboardEvent} event */
  #typed(event) {
    const target = /** @type {Element} */ (event.target), isOther = "input, textarea, select, dialog, pre, [role=tab], #then";
    if (event.defaultPrevented || event.altKey || event.ctrlKey || event.metaKey) return;
    if (byId("player").hidden || target.closest(isOther)) return;
    /** @type {Record<string, number>} */
    const places = { ArrowRight: this.at + 1, ArrowLeft: this.at - 1, Home: 0, End: this.entries.length - 1 };
    if (event.key === " " && target === document.body) this.play();
    else if (event.key in places) this.step(places[event.key]);
    else return;
    event.preventDefault();
  }
}

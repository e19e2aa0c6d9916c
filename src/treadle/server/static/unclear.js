// What a person is asked about a call that was running when its process ended: whether it took effect. Nothing here can tell, and
// it isn't run again unless they say so. The box takes the focus, and waits.

import { preview } from "./diff.js";
import { callArguments } from "./call-arguments.js";
import { controlsIn, element, messageOf } from "./treadle.js";
import { visible } from "./visible.js";
import { timeAgo } from "./time-ago.js";

/** @type {[Settled, string, string][]} */
const WAYS = [  // what can be said, what the button says, and what follows from it
  ["happened", "It happened", "It isn't run again. The model is told that it took effect."],
  ["not_happened", "It did not happen", "It isn't run again. The model is told, and may call it once more."],
  ["again", "Try again", "It is run once more, just as it is."],
];
/** @typedef {"happened" | "not_happened" | "again"} Settled */

/** @type {Record<Settled, [string, string]>} */
const SAID = {  // before the tool's name, and after it
  happened: ["You said that ", " happened"], not_happened: ["You said that ", " did not happen"], again: ["You had ", " tried again"],
};
let number = 0;

/** A box that asks. `decide({ settled, reason })` sends the answer, and throws an Error with a sentence where that goes wrong. */
export class Unclear {
  #asked;
  #decide;
  #words = element("input", { type: "text", autocomplete: "off", maxlength: "500" });
  #said = element("p", { class: "bad", role: "alert" });

  /** @param {PendingCall} asked @param {(decision: Decision) => Promise<void>} decide @param {{ above?: Node[] }} [given] */
  constructor(asked, decide, { above = [] } = {}) {
    const id = `unclear-${++number}`, { name, reason, began_at: began } = asked;
    this.#asked = asked;
    this.#decide = decide;
    this.#words.id = `${id}-words`;
    this.node = element("section",
      { class: "approval unclear", role: "group", tabindex: "-1", "aria-labelledby": id, "aria-describedby": `${id}-reason` },
      element("h3", { id }, "The outcome of ", element("code", {}, visible(name)), "?"),
      above,
      element("p", { id: `${id}-reason` }, visible(reason), began ? [" It began ", timeAgo(began * 1000), "."] : null),
      asked.preview ? preview(asked.preview) : null,
      callArguments(asked),
      element("ul", { class: "ways" }, WAYS.map(([way, label, follows]) => this.#way(`${id}-${way}`, way, label, follows))),
      element("div", { class: "why" },
        element("label", { for: this.#words.id }, "Outcome, for the model (optional)"), this.#words),
      this.#said);
  }

  focus() {
    this.node.focus();
  }

  /** Whether it can be answered now. @param {boolean} on */
  busy(on) {
    for (const each of controlsIn(this.node)) each.disabled = on;
  }

  /** What was said, in place of the question. @param {Decision} decision */
  settle({ settled, reason }) {
    const [before, after] = SAID[settled ?? "again"];
    this.node.replaceWith(element("p", { class: "decided small soft" },
      before, element("code", {}, visible(this.#asked.name)), after, reason ? `: ${reason}` : "."));
  }

  /** @param {string} id @param {Settled} way @param {string} label @param {string} follows */
  #way(id, way, label, follows) {
    const button = element("button", { type: "button", class: `quiet ${way}`, "aria-describedby": id }, label);
    button.addEventListener("click", () => this.#answer(way, button));
    return element("li", {}, button, element("span", { id, class: "small soft" }, follows));
  }

  /** @param {Settled} settled @param {HTMLButtonElement} button */
  async #answer(settled, button) {
    this.busy(true);
    this.#said.textContent = "";
    try {
      await this.#decide({ settled, reason: this.#words.value.trim() });
    } catch (error) {
      this.#said.textContent = messageOf(error);
      this.busy(false);
      button.focus();
    }
  }
}

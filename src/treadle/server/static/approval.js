// What a person is asked before something is done: the tool, everything it would be given, what that would change, and why one is
// asked. The box takes the focus, and waits.

import { argumentList } from "./calls.js";
import { preview } from "./diff.js";
import { element } from "./treadle.js";

const MANY = 6;  // lines of arguments from which on they are folded, where there is a preview to go by
let number = 0;

/** A box that asks. `decide({ approved, reason })` sends the answer, and throws an Error with a sentence where that goes wrong. */
export class Approval {
  #asked;
  #decide;
  #why = element("input", { type: "text", autocomplete: "off", maxlength: "500", onkeydown: (event) => this.#typed(event) });
  #yes = element("button", { type: "button", class: "approve", onclick: () => this.#answer(true) }, "Approve");
  #no = element("button", { type: "button", class: "quiet deny", onclick: () => this.#answer(false) }, "Deny");
  #said = element("p", { class: "bad", role: "alert" });

  constructor(asked, decide) {
    const id = `approval-${++number}`, { name, reason } = asked;
    this.#asked = asked;
    this.#decide = decide;
    this.#why.id = `${id}-why`;
    this.node = element("section",
      { class: "approval", role: "group", tabindex: "-1", "aria-labelledby": id, "aria-describedby": `${id}-reason` },
      element("h3", { id }, "Approve ", element("code", {}, name), "?"),
      element("p", { id: `${id}-reason` }, reason || "This needs your approval."),
      asked.preview ? preview(asked.preview) : null,
      argumentsOf(asked),
      element("div", { class: "actions" }, this.#yes, this.#no,
        element("div", { class: "why" }, element("label", { for: `${id}-why` }, "Why not (optional)"), this.#why)),
      this.#said);
  }

  focus() {
    this.node.focus();
  }

  /** Whether it can be answered now. */
  busy(on) {
    for (const each of [this.#yes, this.#no, this.#why]) each.disabled = on;
  }

  /** What was decided, in place of the question. */
  settle({ approved, reason }) {
    this.node.replaceWith(element("p", { class: `decided small ${approved ? "good" : "soft"}` },
      approved ? "You approved " : "You denied ", element("code", {}, this.#asked.name), reason ? `: ${reason}` : "."));
  }

  async #answer(approved) {
    this.busy(true);
    this.#said.textContent = "";
    try {
      await this.#decide({ approved, reason: approved ? "" : this.#why.value.trim() });
    } catch (error) {
      this.#said.textContent = error.message;
      this.busy(false);
      (approved ? this.#yes : this.#no).focus();
    }
  }

  /** Whoever has said why not has said no. */
  #typed(event) {
    if (event.key !== "Enter" || event.isComposing) return;
    event.preventDefault();
    this.#answer(false);
  }
}

function argumentsOf({ arguments: given, preview: words }) {
  const list = argumentList(given), lines = list.textContent.split("\n").length + list.childElementCount;
  if (!list.childElementCount) return null;
  return element("details", { open: !words || lines <= MANY }, element("summary", {}, "Its arguments, in full"), list);
}

// What a person is asked before something is done: the tool, everything it would be given, what that would change, and why one is
// asked. The box takes the focus, and waits. Where the server takes them, its arguments can be changed first. The outcome of a call
// that ran when a process ended is asked by unclear.js.

import { preview } from "./diff.js";
import { callArguments } from "./call-arguments.js";
import { callTitle } from "./call-title.js";
import { controlsIn, element, messageOf, query } from "./treadle.js";
import { Unclear } from "./unclear.js";
import { escaped, visible } from "./visible.js";

const MASK = "[redacted:";
const HIDDEN = "A secret is hidden here. What you leave as [redacted:…] is sent as these very words.";
let number = 0;

/**
 * The box that asks what there is to ask: whether a call may run, or the outcome of one. Both are used alike.
 * @param {PendingCall} asked @param {(decision: Decision) => Promise<void>} decide
 * @param {{ edits?: boolean, above?: Node[] }} [how] @returns {DecisionBox}
 */
export function boxFor(asked, decide, how = {}) {
  return asked.unclear ? new Unclear(asked, decide, how) : new Approval(asked, decide, how);
}

/**
 * A box that asks. `decide({ approved, reason })` sends the answer, and throws an Error with a sentence where that goes wrong. With
 * `edits` there may be `arguments` in it too. `above` are nodes that say more about it.
 */
export class Approval {
  #asked;
  #decide;
  /** @type {ReturnType<typeof editor> | null} */
  #editing = null;  // what is written in place of the arguments: { node, value }
  #why = element("input", { type: "text", autocomplete: "off", maxlength: "500", onkeydown: (event) => this.#typed(event) });
  #yes = element("button", { type: "button", class: "approve", onclick: () => this.#answer(true) }, "Approve");
  /** @type {HTMLElement[]} */
  #scopes = [];  // buttons that also allow calls like it
  #no = element("button", { type: "button", class: "quiet deny", onclick: () => this.#answer(false) }, "Deny");
  #edit = element("button", { type: "button", class: "quiet edit", onclick: () => this.#change() }, "Edit");
  #said = element("p", { class: "bad", role: "alert" });

  /**
   * @param {PendingCall} asked @param {(decision: Decision) => Promise<void>} decide
   * @param {{ edits?: boolean, above?: Node[] }} [given]
   */
  constructor(asked, decide, { edits = false, above = [] } = {}) {
    const id = `approval-${++number}`, { name, reason } = asked;
    this.#asked = asked;
    this.#decide = decide;
    this.#why.id = `${id}-why`;
    this.#edit.hidden = !edits || !Object.keys(asked.arguments).length;
    const [like] = asked.patterns ?? [];
    if (like) this.#offerScopes(`${id}-like`);
    this.#yes.classList.toggle("danger", asked.effect === "destroy");
    this.node = element("section",
      { class: `approval ${asked.effect === "destroy" ? "irreversible" : ""}`.trim(), role: "group", tabindex: "-1",
        "aria-labelledby": id, "aria-describedby": `${id}-reason` },
      element("h3", { id }, visible(callTitle(asked))),
      asked.effect === "destroy" ? element("p", { class: "bad" }, "This can't be undone.") : null,
      above,
      element("p", { class: "small soft" }, "Approve the call of ", element("code", {}, visible(name)), "?"),
      element("p", { id: `${id}-reason` }, visible(reason || "This needs your approval.")),
      asked.preview ? preview(asked.preview) : null,
      callArguments(asked),
      like ? element("p", { class: "small soft", id: `${id}-like` }, "Calls like it: ", patternWords(like), ".") : null,
      element("div", { class: "actions" }, this.#yes, this.#scopes, this.#edit, this.#no,
        element("div", { class: "why" }, element("label", { for: `${id}-why` }, "Reason for the assistant (optional)"), this.#why)),
      this.#said);
  }

  focus() {
    this.node.focus();
  }

  /** Whether it can be answered now. @param {boolean} on */
  busy(on) {
    for (const each of controlsIn(this.node)) each.disabled = on;
  }

  /** Offer to allow calls like it, too. @param {string} like the id of what says which these are */
  #offerScopes(like) {
    /** @type {[Scope, string][]} */
    const scopes = [["conversation", "For this conversation"], ["always", "Always"]];
    this.#yes.textContent = "Allow once";
    this.#scopes = scopes.map(([scope, words]) => element("button",
      { type: "button", class: `quiet scope ${scope}`, "aria-describedby": like, onclick: () => this.#answer(true, scope) }, words));
  }

  /** What was decided, in place of the question. @param {Decision} decision */
  settle({ approved, reason, arguments: changed, scope }) {
    const words = approved ? (changed ? "You changed and approved " : "You approved ") : "You denied ";
    const more = { conversation: ", and calls like it in this conversation.", always: ", and calls like it always.", once: "." };
    this.node.replaceWith(element("p", { class: `decided small ${approved ? "good" : "soft"}` },
      words, element("code", {}, visible(this.#asked.name)), reason ? `: ${reason}` : more[scope ?? "once"]));
  }

  /** @param {boolean} approved @param {Scope} [scope] */
  async #answer(approved, scope = "once") {
    if (approved && this.#editing && !this.#editing.check()) return;
    const changed = { ...(approved && this.#editing ? { arguments: this.#editing.value } : {}), ...(scope === "once" ? {} : { scope }) };
    this.busy(true);
    this.#said.textContent = "";
    try {
      await this.#decide({ approved, reason: approved ? "" : this.#why.value.trim(), ...changed });
    } catch (error) {
      this.#said.textContent = messageOf(error);
      this.busy(false);
      (approved ? this.#yes : this.#no).focus();
    }
  }

  /** Have the arguments written out to be changed; or give that up. */
  #change() {
    const list = query(this.node, ".given");
    if (this.#editing) {
      this.#editing.node.remove();
      this.#editing = null;
    } else {
      this.#editing = editor(this.#asked.arguments, this.#why.id);
      list.after(this.#editing.node);
      this.#editing.focus();
    }
    list.hidden = this.#editing !== null;
    this.#edit.textContent = this.#editing ? "Discard changes" : "Edit";
    this.#yes.textContent = this.#editing ? "Approve with changes" : this.#scopes.length ? "Allow once" : "Approve";
    for (const each of this.#scopes) each.hidden = this.#editing !== null;
  }

  /** A reason is a refusal. @param {KeyboardEvent} event */
  #typed(event) {
    if (event.key !== "Enter" || event.isComposing) return;
    event.preventDefault();
    this.#answer(false);
  }
}

/** What the arguments of calls have to be, for people. @param {Record<string, ArgumentPattern>} patterns */
export function patternWords(patterns) {
  const words = Object.entries(patterns).flatMap(([name, { value }]) => [", ", visible(name), ": ", element("code", {}, visible(value))]);
  return words.length ? words.slice(1) : ["any arguments"];
}

/**
 * Where arguments are changed, as JSON that is checked while it is written.
 * @param {Record<string, unknown>} given @param {string} name
 */
function editor(given, name) {
  const said = element("p", { class: "small", id: `${name}-json-said`, "aria-live": "polite" });
  const text = element("textarea", {
    id: `${name}-json`, class: "json", spellcheck: "false", autocapitalize: "off", autocomplete: "off",
    "aria-describedby": said.id, oninput: () => check(),
  });
  text.value = escaped(JSON.stringify(given, null, 2));
  text.rows = Math.min(text.value.split("\n").length + 1, 20);

  /** @returns {boolean} */
  function check() {
    const problem = problemOf(text.value);
    text.setAttribute("aria-invalid", `${problem !== ""}`);
    said.classList.toggle("bad", problem !== "");
    said.textContent = problem || (text.value.includes(MASK) ? HIDDEN : "");
    return problem === "" || (text.focus(), false);
  }

  check();
  const node = element("div", { class: "field" }, element("label", { for: text.id }, "Arguments, as JSON"), text, said);
  return { node, check, focus: () => text.focus(), get value() { return JSON.parse(text.value); } };
}

/** @param {string} text */
function problemOf(text) {
  try {
    const value = JSON.parse(text);
    return typeof value === "object" && value !== null && !Array.isArray(value) ? "" : "This has to be an object: { … }.";
  } catch (error) {
    return `Invalid JSON: ${messageOf(error)}.`;
  }
}

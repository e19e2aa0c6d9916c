// Another user has changed the problem spec meanwhile: what is there now and what you had, side by side, and you choose. What only
// one of both has changed is chosen already; where both changed the same, nothing is.

import { element, messageOf } from "/static/treadle.js";
/** @typedef {import("./merge.js").Difference} Difference */

import { composed, differences } from "./merge.js";
import { plain, title } from "./format.js";

let number = 0;

/**
 * The question. `save(spec)` puts what was chosen in the place of `theirs`; `drop()` leaves what is there.
 * @param {SpecDraft} base @param {SpecDraft} theirs @param {SpecDraft} mine
 * @param {{ save: (spec: SpecDraft) => Promise<void>, drop: () => unknown }} given
 */
export function specConflict(base, theirs, mine, { save, drop }) {
  const found = differences(base, theirs, mine), rows = found.map(rowOf);
  const said = element("p", { class: "small bad", role: "alert" });
  const go = element("button", {}, found.length ? "Save what is chosen" : "Continue");
  const head = element("h4", { tabindex: "-1" }, "Someone else has changed it");
  const node = element("form", { class: "meanwhile", onsubmit: submit }, head,
    element("p", { class: "small", role: "status" }, found.length
      ? "Nothing of yours is saved yet. This is what differs: choose what is to be kept."
      : "They made the same changes as you: nothing differs."),
    rows, element("div", { class: "actions" }, go, element("button", { type: "button", class: "quiet drop", onclick: drop },
      "Keep what is there now")), said);

  /** @param {SubmitEvent} event */
  async function submit(event) {
    event.preventDefault();
    if (!found.length) return drop();
    const given = new FormData(node), chosen = new Map(rows.map(({ name }, index) => [found[index].key, given.get(name)]));
    go.disabled = true;
    said.textContent = "";
    try {
      await save(composed(theirs, mine, chosen));
    } catch (error) {
      said.textContent = messageOf(error);
    } finally {
      go.disabled = false;
    }
    return undefined;
  }

  return { node, focus: () => head.focus() };
}

/** @param {Difference} difference */
function rowOf({ kind, name, theirs, mine, by }) {
  const group = `choice-${++number}`, isPlain = kind !== "constraint" && kind !== "goal";
  const tag = isPlain ? null : element("span", { class: "tag" }, kind);
  const made = element("fieldset", {}, element("legend", {}, isPlain ? title(kind) : name, tag),
    optionOf(group, "theirs", "There now", worded(kind, theirs), by === "them"),
    optionOf(group, "mine", "Yours", worded(kind, mine), by === "me"));
  made.name = group;
  return made;
}

/** @param {string} group @param {string} value @param {string} whose @param {Child} words @param {boolean} isChosen */
function optionOf(group, value, whose, words, isChosen) {
  return element("label", {}, element("input", { type: "radio", name: group, value, required: true, checked: isChosen }),
    element("span", {}, element("strong", {}, `${whose}: `), words));
}

/** @param {string} kind @param {any} value */
function worded(kind, value) {
  if (value === undefined) return element("em", {}, "not there");
  if (kind === "constraint") return `weight ${value.weight}${value.description ? `, ${value.description}` : ""}`;
  return kind === "goal" ? "there" : plain(value);
}

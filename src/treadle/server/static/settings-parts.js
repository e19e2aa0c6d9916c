// Parts of the settings page: sections, forms that save, and rows with actions. Each says the outcome beside it.

import { controlsIn, element, messageOf } from "./treadle.js";

let number = 0;

/** An id of its own. */
export function newId() {
  return `setting-${++number}`;
}

/** A section with a heading. @param {string} id @param {string} title @param {string} lead @param {...(Child | Child[])} parts */
export function section(id, title, lead, ...parts) {
  return element("section", { class: "card settings-section", id, tabindex: "-1", "aria-labelledby": `${id}-title` },
    element("h2", { id: `${id}-title` }, title), lead ? element("p", { class: "soft" }, lead) : null, ...parts);
}

/** Where an outcome is said; screen readers read it out. */
export function outcome() {
  return element("p", { role: "status", class: "small" });
}

/** @param {HTMLElement} place @param {string} words @param {"good" | "bad" | "soft"} [kind] */
export function tell(place, words, kind = "good") {
  place.className = `small ${kind}`;
  place.textContent = words;
}

/**
 * Do something with the controls of a node disabled, and say the outcome: what it returns, or what went wrong.
 * @param {ParentNode & Element} node @param {HTMLElement} place @param {() => Promise<string | void>} work
 */
export async function carryOut(node, place, work) {
  const controls = [...controlsIn(node)].filter((each) => !each.disabled), focused = document.activeElement;
  for (const each of controls) each.disabled = true;
  place.className = "small busy soft";
  place.textContent = "One moment…";
  try {
    tell(place, (await work()) ?? "");
  } catch (error) {
    tell(place, messageOf(error), "bad");
  }
  for (const each of controls) each.disabled = false;
  if (document.activeElement === document.body && focused instanceof HTMLElement && focused.isConnected) focused.focus();
}

/**
 * A form with fields and a button; `save` returns what to say about the outcome.
 * @param {string} words of the button @param {(Child | Child[])[]} fields @param {(form: HTMLFormElement) => Promise<string | void>} save
 * @param {string} [locked] why nothing can be saved
 */
export function savingForm(words, fields, save, locked = "") {
  const place = outcome();
  const saidAbove = document.getElementById("said")?.textContent === locked; // the page's own notice
  const form = element("form", { class: "settings-form", onsubmit: (/** @type {Event} */ event) => {
    event.preventDefault();
    carryOut(form, place, () => save(form));
  } }, ...fields, locked ? element("p", { class: "small soft", hidden: saidAbove }, locked)
    : element("p", { class: "actions" }, element("button", { class: "slim" }, words)), place);
  if (locked) for (const each of controlsIn(form)) each.disabled = true;
  return form;
}

/** A field with its label and a note. @param {string} label @param {HTMLElement} control @param {Child[]} [notes] */
export function field(label, control, notes = []) {
  control.id ||= newId();
  if (notes.length) control.setAttribute("aria-describedby", `${control.id}-note`);
  return element("div", { class: "field" }, element("label", { for: control.id }, label), control,
    notes.length ? element("p", { class: "small soft", id: `${control.id}-note` }, ...notes) : null);
}

/**
 * A row with what it is about, and its actions, each of which says the outcome below it.
 * @param {Child[]} about @param {{ words: string, label: string, act: () => Promise<string | void>, isDangerous?: boolean }[]} actions
 * @param {Child} [more]
 */
export function row(about, actions, more = null) {
  const place = outcome();
  /** @type {HTMLElement} */
  const node = element("li", {}, element("div", { class: "about-row" }, ...about),
    element("div", { class: "actions" }, actions.map(({ words, label, act, isDangerous }) => element("button",
      { type: "button", class: `quiet slim ${isDangerous ? "bad" : ""}`, "aria-label": label, onclick: () => carryOut(node, place, act) },
      words))), more, place);
  return node;
}

/** Where a value is from. @param {SettingValue} value */
export function sourceWords({ source, locked }) {
  if (locked) return locked;
  return source === "default" ? "The default applies." : source ? `From ${source}.` : "";
}

// Which model answers: a choice of those that the server has, what to do where it has none, and how far one is that is fetched.

import { icon } from "./icons.js";
import { ask, element, hideField, query } from "./treadle.js";

const LOOK = 1000;  // milliseconds between two looks at a model that is being fetched

/**
 * The choice in a `select`; what there is to say about it stands in `notices`.
 * @param {HTMLSelectElement} select @param {HTMLElement} notices
 */
export function modelPicker(select, notices) {
  const place = element("div"), line = element("p", { class: "small soft model-line" });
  let looks = 0;

  async function load() {
    const mine = ++looks;
    const said = await ask("/api/models").catch(({ message }) => ({ problem: message, models: [], fetching: null }));
    if (mine !== looks) return;
    const others = said.models.filter((/** @type {{ name: string }} */ { name }) => name !== said.default);
    fillModels(select, { models: others }, said.default ? titleOf(said, said.default) : "Default");
    hideField(select, said.models.length === 0);
    draw(said);
    line.replaceChildren(...modelLine(said));
    if (said.fetching && !said.fetching.problem) setTimeout(() => mine === looks && load(), LOOK);
  }

  /** @param {ModelList} modelList */
  function draw({ problem, fetching, hint }) {
    if (fetching?.problem) place.replaceChildren(failed(fetching, hint, again));
    else if (fetching) showFetching(place, fetching, hint);
    else place.replaceChildren(...(problem ? [element("p", { class: "notice warn" }, problem)] : []));
  }

  /** Have the model fetched that didn't come. */
  async function again() {
    await ask("/api/models/fetch", {}).catch(({ message }) => place.append(element("p", { class: "notice bad" }, message)));
    await load();
  }

  notices.prepend(place);
  return { line, load, chosen: () => (select.value ? { model: select.value } : {}) };
}

/**
 * The models that may be chosen, after a first choice that is none of them. What was chosen stays so.
 * @param {HTMLSelectElement} select @param {Pick<ModelList, "models">} given @param {string} first
 */
export function fillModels(select, { models }, first) {
  const before = select.value;
  select.replaceChildren(element("option", { value: "" }, first), ...models.map(({ name, title, note }) =>
    element("option", { value: name }, note ? `${title || name} (${note})` : title || name)));
  if (models.some(({ name }) => name === before)) select.value = before;
}

/**
 * A bar that moves, and is the same one all the time.
 * @param {HTMLElement} place @param {Fetching} fetching @param {string | undefined} hint
 */
function showFetching(place, { name, done, total }, hint) {
  let bar = place.querySelector("progress");
  if (!bar) {
    bar = element("progress", { id: "fetching" });
    place.replaceChildren(element("div", { class: "notice fetching" }, element("label", { for: "fetching" }), bar,
      hint ? element("p", { class: "small" }, hint) : null));
  }
  const label = query(place, "label");
  const words = total ? `Fetching ${name}: ${megabytes(done)} of ${megabytes(total)} MB` : `Fetching ${name}…`;
  if (label.textContent !== words) label.textContent = words;
  if (total) {
    bar.max = total;
    bar.value = done;
  } else {
    bar.removeAttribute("value");
  }
}

/**
 * Why a model didn't come, and what can be done about it.
 * @param {Fetching} fetching @param {string | undefined} hint @param {() => void} again
 */
function failed({ problem }, hint, again) {
  return element("div", { class: "notice bad stack" }, element("p", { role: "alert" }, problem),
    hint ? element("p", { class: "small" }, hint) : null,
    element("p", { class: "actions" }, element("button", { type: "button", class: "quiet", onclick: again }, "Try again")));
}

/** Which model answers, where it runs, and what that means. @param {ModelList} said @returns {Node[]} */
function modelLine(said) {
  if (!said.default || said.fetching) return [];
  const name = element("strong", {}, titleOf(said, said.default));
  if (!said.local) return [icon("cpu"), element("span", {}, "Answers come from ", name, ", and what you write is sent to it.")];
  return [icon("cpu"), element("span", {}, name, " runs on this computer: nothing you write leaves it. A small model is slow; the first "
    + "answer can take a minute. ", said.hint ?? "")];
}

/** @param {ModelList} modelList @param {string} name */
function titleOf({ models }, name) {
  return models.find((each) => each.name === name)?.title || name;
}

/** @param {number} bytes */
function megabytes(bytes) {
  return Math.round(bytes / 1_000_000).toLocaleString("en");
}

// Has a spec written from a description.

import { show } from "/static/markdown.js";
import { ask, byId, messageOf } from "/static/treadle.js";

const form = byId("generate", HTMLFormElement), description = byId("description", HTMLTextAreaElement);
const go = byId("generate-go"), said = byId("generate-said");
const explained = byId("explained");
/** @typedef {(spec: string, findings: Finding[]) => Promise<boolean>} Replace */

/** @type {AbortController | null} */
let running = null;
let began = 0;

/** Show the form, or put it away. @param {boolean} [on] */
export function describe(on = Boolean(form.hidden)) {
  form.hidden = !on;
  byId("describe").setAttribute("aria-expanded", String(on));
  if (on) description.focus();
}

/** No explanation belongs to what is shown now. */
export function unexplained() {
  explained.hidden = true;
}

/**
 * Have the form work. `replace(spec, findings)` shows what was written, and is false where the person doesn't want that.
 * @param {{ replace: Replace }} given
 */
export function describing({ replace }) {
  byId("describe").addEventListener("click", () => describe());
  form.addEventListener("submit", (event) => {
    event.preventDefault();
    if (running) running.abort();
    else if (description.value.trim()) generate(description.value.trim(), replace);
    else tell("Say in a sentence what it should run.", "bad");
  });
  description.addEventListener("keydown", (event) => {
    if (event.key !== "Enter" || event.shiftKey || event.isComposing) return;
    event.preventDefault();
    form.requestSubmit();
  });
}

/** @param {string} words @param {Replace} replace */
async function generate(words, replace) {
  const ticking = setInterval(tick, 1000), { signal } = running = new AbortController();
  began = Date.now();
  go.textContent = "Stop";
  tick();
  try {
    const { spec, explanation, findings } = await ask("/api/ai/generate-spec", { description: words }, { signal });
    tell("");
    if (!await replace(spec, findings)) return;
    show(explained, explanation);
    explained.hidden = false;
    describe(false);
  } catch (error) {
    tell(signal.aborted ? "Stopped." : messageOf(error), signal.aborted ? "soft" : "bad");
  } finally {
    clearInterval(ticking);
    running = null;
    go.textContent = "Generate";
  }
}

function tick() {
  const seconds = Math.floor((Date.now() - began) / 1000);
  tell(`Writing it…${seconds ? ` ${seconds} s` : ""}`, "soft busy");
}

/** @param {string} words @param {string} [kind] */
function tell(words, kind = "") {
  said.textContent = words;
  said.className = `small ${kind}`;
}

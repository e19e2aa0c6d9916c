// The mode of a session: what runs without asking. A choice beside the conversation, which counts from the next call on.

import { ask, byId, element, messageOf } from "/static/treadle.js";

const ALL = "/api/coding/modes";

/**
 * Have the choice work. `mode()` is the one that a new session starts in; `show(runId)` shows a session's, `""` a new one's.
 * @returns {{ mode: () => string, show: (runId: string) => Promise<void> }}
 */
export function modeChoice() {
  const choice = byId("mode", HTMLSelectElement), help = byId("mode-help"), said = byId("mode-said");
  let session = "", current = "ask";
  /** @type {CodingModeInfo[]} */
  let known = [];

  const draw = () => {
    choice.replaceChildren(...known.map(({ name, title }) => element("option", { value: name, selected: name === current }, title)));
    choice.disabled = !known.length;
    describe();
  };
  const describe = () => { help.textContent = known.find(({ name }) => name === current)?.summary ?? ""; };

  const show = async (/** @type {string} */ runId) => {
    session = runId;
    const found = await ask(runId ? pathOf(runId) : ALL);
    if (session !== runId) return;
    [current, known] = [runId ? found.mode : current, found.modes];
    draw();
  };

  const change = async () => {
    const wanted = choice.value;
    said.textContent = "";
    try {
      if (session) await ask(pathOf(session), { mode: wanted });
      current = wanted;
    } catch (error) {
      said.textContent = messageOf(error);
      choice.value = current;
    }
    describe();
  };

  choice.addEventListener("change", change);
  return { mode: () => current, show };
}

/** @param {string} runId */
const pathOf = (runId) => `/api/coding/sessions/${encodeURIComponent(runId)}/mode`;

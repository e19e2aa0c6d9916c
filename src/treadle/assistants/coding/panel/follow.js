// The form in which a follow-up is begun: a new job that goes on from the one that is shown.

import { ask, byId, messageOf, query } from "/static/treadle.js";


/**
 * Have it work. `path()` is where it is posted, `begun(id)` hears of the job. `open()` shows it, `close()` forgets what was written.
 * @param {{ path: () => string, begun: (id: string) => void }} given
 */
export function followUp({ path, begun }) {
  const form = byId("follow"), said = byId("follow-said"), [go] = form.querySelectorAll("button");
  const what = byId("follow-what", HTMLTextAreaElement);

  const open = () => {
    form.hidden = false;
    what.focus();
  };

  const close = () => {
    form.hidden = true;
    what.value = said.textContent = "";
  };

  form.addEventListener("submit", async (event) => {
    event.preventDefault();
    go.disabled = true;
    said.textContent = "";
    try {
      const { job } = await ask(path(), { what: what.value });
      close();
      begun(job.id);
    } catch (error) {
      said.textContent = messageOf(error);
    } finally {
      go.disabled = false;
    }
  });
  byId("no-follow").addEventListener("click", () => {
    close();
    query(document, "[data-does=follow]").focus();
  });
  return { open, close };
}

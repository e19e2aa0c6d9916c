// Earlier conversations and deployments: the last few, each of which can be shown again.

import { titleOf } from "/static/journal.js";
import { mark } from "/static/states.js";
import { ask, element } from "/static/treadle.js";
import { timeAgo } from "/static/time-ago.js";

const FEW = 5;

/** The list of them, and what fills it. `open(runId)` shows one. @param {{ open: (runId: string) => void }} given */
export function recentRuns({ open }) {
  const list = element("ul");
  const node = element("section", { id: "earlier", hidden: true, "aria-labelledby": "earlier-title" },
    element("h3", { id: "earlier-title" }, "Earlier"), list);

  async function load() {
    /** @type {{ runs: RunInfo[] }} */
    const { runs } = await ask(`/api/runs?assistant=platform&limit=${FEW}`).catch(() => ({ runs: [] }));
    node.hidden = !runs.length;
    list.replaceChildren(...runs.map((run) => element("li", {},
      element("button", { type: "button", class: "bare", onclick: () => open(run.run_id) }, titleOf(run)),
      element("span", { class: "small soft" }, timeAgo(run.updated_at * 1000)), run.status === "answered" ? null : mark(run.status))));
  }

  return { node, load };
}

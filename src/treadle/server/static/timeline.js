// When calls of one reply began and ended, as bars on a common line. Shown where there are several: one has nothing to compare to.

import { formatDuration } from "./format.js";
import { element } from "./treadle.js";

/**
 * @typedef {{ name: string, from: number, to: number | null, bar: HTMLElement, row: HTMLElement, took: HTMLElement }} Lane
 */

/** The time line of some calls. Moments are seconds; what is still running ends now. */
export class Timeline {
  /** @type {Map<string, Lane>} */
  #rows = new Map();  // by call
  #list = element("div", { class: "lanes" });
  #scale = element("div", { class: "scale small soft", "aria-hidden": "true" });
  #latest = 0;

  node = element("figure", { class: "timeline", role: "img", hidden: true }, this.#list, this.#scale);

  /** @param {string} id @param {string} name @param {number} at */
  begin(id, name, at) {
    const known = this.#rows.get(id);
    if (known) return known;
    const bar = element("span", { class: "stretch" }), took = element("span", { class: "took" });
    const row = element("div", { class: "lane" },
      element("span", { class: "name" }, name), element("span", { class: "track" }, bar), took);
    /** @type {Lane} */
    const lane = { name, from: at, to: null, bar, row, took };
    this.#rows.set(id, lane);
    this.#list.append(row);
    this.draw(at);
    return lane;
  }

  /**
   * It came back after so many seconds. `at` is when, where that is known; one that never began counts from then.
   * @param {string} id @param {string} name @param {number} seconds @param {{ at: number, isFine: boolean }} given
   */
  end(id, name, seconds, { at, isFine }) {
    const row = this.begin(id, name, at - seconds);
    row.to = row.from + seconds;
    row.row.dataset.state = isFine ? "done" : "failed";
    this.draw(row.to);
  }

  /** Nothing more is heard of those that still run. */
  stop() {
    for (const row of this.#rows.values()) row.to ??= Math.max(this.#latest, row.from);
    this.draw(this.#latest);
  }

  /** @param {number} now */
  draw(now) {
    this.#latest = Math.max(this.#latest, now);
    const rows = [...this.#rows.values()], first = Math.min(...rows.map(({ from }) => from));
    const last = Math.max(...rows.map(({ to, from }) => to ?? Math.max(now, from))), whole = Math.max(last - first, 0.001);
    this.node.hidden = rows.length < 2;
    if (this.node.hidden) return;
    for (const { from, to, bar, took } of rows) {
      const end = to ?? Math.max(now, from);
      bar.style.left = `${((from - first) / whole) * 100}%`;
      bar.style.width = `${((end - from) / whole) * 100}%`;
      took.textContent = to === null ? "…" : formatDuration(to - from);
    }
    this.#scale.replaceChildren(element("span", {}, "0"), element("span", {}, formatDuration(whole)));
    this.node.setAttribute("aria-label", `When each ran: ${rows.map((row) => inWords(row, first)).join("; ")}`);
  }
}

/** @param {Lane} lane @param {number} first */
function inWords({ name, from, to }, first) {
  const began = `${name} from ${(from - first).toFixed(1)}`;
  return to === null ? `${began} s on` : `${began} to ${(to - first).toFixed(1)} s`;
}

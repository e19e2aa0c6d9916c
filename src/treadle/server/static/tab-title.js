// What a conversation does, in the title and the icon of its tab: that an answer is under way, that it is done, or that it waits for a
// decision.

/** @type {Record<string, string>} */
const SIGNS = { running: "…", done: "✓", waiting: "!" };
/** @type {Record<string, string>} */
const ICONS = { "✓": "/static/treadle-done.svg", "!": "/static/treadle-waiting.svg" };
const ICON = "/static/treadle.svg";
let shown = "";

/** @param {"running" | "done" | "waiting" | ""} state */
export function showState(state) {
  const sign = state === "done" && document.visibilityState === "visible" ? "" : SIGNS[state] ?? "";
  const title = shown && document.title.startsWith(`${shown} `) ? document.title.slice(shown.length + 1) : document.title;
  shown = sign;
  document.title = sign ? `${sign} ${title}` : title;
  document.querySelector("link[rel=icon]")?.setAttribute("href", ICONS[sign] ?? ICON);
}

/** Name the tab, with the sign of what its conversation does. @param {string} title */
export function nameTab(title) {
  document.title = shown ? `${shown} ${title}` : title;
}

/** What is done counts as seen once the tab is. */
export function clearWhenSeen() {
  document.addEventListener("visibilitychange", () => {
    if (document.visibilityState === "visible" && shown === SIGNS.done) showState("");
  });
}

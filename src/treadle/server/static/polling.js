/**
 * Call a function regularly while the page is visible, and when it becomes visible.
 * @param {() => unknown} act @param {number} pause milliseconds
 */
export function pollWhileVisible(act, pause) {
  setInterval(() => document.visibilityState === "visible" && act(), pause);
  document.addEventListener("visibilitychange", () => document.visibilityState === "visible" && act());
}

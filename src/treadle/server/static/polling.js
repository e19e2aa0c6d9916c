/** Do something now and then, while the page is looked at. @param {() => unknown} act @param {number} pause milliseconds */
export function pollWhileVisible(act, pause) {
  setInterval(() => document.visibilityState === "visible" && act(), pause);
  document.addEventListener("visibilitychange", () => document.visibilityState === "visible" && act());
}

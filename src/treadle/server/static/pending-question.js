// A question that is asked on one page and answered on another, in the same tab. It isn't in the address: a link from elsewhere must
// not have anything asked.

const KEY = "treadle-question";

/** Go to a page, which asks this there. @param {string} path @param {string} message */
export function openWithQuestion(path, message) {
  try {
    sessionStorage.setItem(KEY, JSON.stringify({ path, message }));
    location.assign(path);
  } catch {
    location.assign(`${path}?question=${encodeURIComponent(message)}`);  // a browser that keeps nothing: it is there to be sent
  }
}

/** What this page is to ask, once; "" where there is nothing. */
export function takePendingQuestion() {
  try {
    const { path, message } = JSON.parse(sessionStorage.getItem(KEY) ?? "{}");
    if (path !== location.pathname) return "";
    sessionStorage.removeItem(KEY);
    return String(message ?? "");
  } catch {
    return "";
  }
}

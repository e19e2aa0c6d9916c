// A question that is asked on one page and answered on another, in the same tab. It isn't in the address: a link from elsewhere must
// not have anything asked.

const KEY = "treadle-question";

/** Open a page with a question that it asks at once. @param {string} path @param {string} message */
export function openWithQuestion(path, message) {
  try {
    sessionStorage.setItem(KEY, JSON.stringify({ path, message }));
    location.assign(path);
  } catch {
    location.assign(`${path}?question=${encodeURIComponent(message)}`);  // a browser that keeps nothing: it is there to be sent
  }
}

/** Return the question that this page was opened with, once; "" if there is none. */
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

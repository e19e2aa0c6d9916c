// What was written and not sent yet stands there again after the page is loaded again, in the same tab.

/** Keep what is written in a field of this page. @param {HTMLTextAreaElement} field */
export function draftOf(field) {
  const key = `treadle-draft:${location.pathname}`;

  function keep() {
    try {
      if (field.value) sessionStorage.setItem(key, field.value);
      else sessionStorage.removeItem(key);
    } catch {
      // then it is gone with the page
    }
  }

  function kept() {
    try {
      return sessionStorage.getItem(key) ?? "";
    } catch {
      return "";
    }
  }

  return { keep, kept };
}

// The runs that are shown, in the page's address: `run` is the conversation, `deploy` the deployment beside it.

/** The run of this name; "" where none is shown. @param {string} name */
export function remembered(name) {
  return new URLSearchParams(location.search).get(name) ?? "";
}

/** Have the address name a run, or none. @param {string} name @param {string | null} runId */
export function remember(name, runId) {
  const url = new URL(location.href);
  url.searchParams.delete("question");
  if (runId) url.searchParams.set(name, runId);
  else url.searchParams.delete(name);
  if (url.href !== location.href) history.replaceState(null, "", url);
}

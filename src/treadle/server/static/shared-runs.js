// Runs that other users of the server share: their addresses, and which of them match a filter. Needs no page.

/** @typedef {{ owner: string, run: RunInfo }} SharedRun as `GET /api/shared` lists it */

/** The address of a run's page. @param {string} runId @param {string} [owner] the user who shares it, "" for a run of one's own */
export function runPath(runId, owner = "") {
  return owner ? `/shared/${encodeURIComponent(owner)}/${encodeURIComponent(runId)}` : `/runs/${encodeURIComponent(runId)}`;
}

/** The run and its owner that the address of a page names. @param {string} pathname */
export function runInPath(pathname) {
  const [place, ...parts] = pathname.split("/").slice(1).map(decodeURIComponent);
  return place === "shared" ? { owner: parts[0], runId: parts[1] } : { owner: "", runId: parts[0] };
}

/** The address at which the API has a run. @param {string} runId @param {string} [owner] */
export function runApiPath(runId, owner = "") {
  return `/api${runPath(runId, owner)}`;
}

/**
 * The shared runs that match, the newest first: those with all words in their titles or owners, or with this id.
 * @param {SharedRun[]} shared @param {{ search?: string, status?: string, assistant?: string }} filter
 */
export function matchingRuns(shared, { search = "", status = "", assistant = "" }) {
  const words = search.toLowerCase().split(/\s+/).filter(Boolean);
  return shared
    .filter(({ owner, run }) => {
      const text = `${run.title} ${owner}`.toLowerCase();
      return (!status || run.status === status) && (!assistant || run.agent === assistant)
        && (run.run_id === search.trim() || words.every((word) => text.includes(word)));
    })
    .sort((one, other) => other.run.updated_at - one.run.updated_at);
}

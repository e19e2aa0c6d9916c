// Notes of earlier conversations: which of them match a search, and where they are from. Needs no page.

/**
 * A note, as `GET /api/notes` lists it.
 * @typedef {{ name: string, description: string, text: string, scope: string, by: string, run_id: string, at: string,
 *   untrusted: boolean, folder: string }} Note
 */

/** The notes with all words of a search in their names, descriptions, texts or folders. @param {Note[]} notes @param {string} search */
export function matchingNotes(notes, search) {
  const words = search.toLowerCase().split(/\s+/).filter(Boolean);
  return notes.filter(({ name, description, text, folder }) => {
    const all = `${name} ${description} ${text} ${folder}`.toLowerCase();
    return words.every((word) => all.includes(word));
  });
}

/** What a note is about: the folder of a project's notes ends in a digest, which says nothing to people. @param {Note} note */
export function placeOf({ scope, folder }) {
  return scope === "project" ? `about the project ${folder.replace(/-[0-9a-f]{8}$/, "")}` : "about you";
}

/** Who wrote a note, and when. @param {Note} note */
export function originOf({ run_id, at }) {
  return [run_id ? `written in run ${run_id}` : "written by hand", at.slice(0, 10)].filter(Boolean).join(", ");
}

// Adding material: files, folders and archives that are chosen, or the URL of one; how far they are, and what was left out.

import { ask, byId, element, messageOf } from "/static/treadle.js";
import { pluralize } from "/static/format.js";

const SOON = 500;  // milliseconds until one looks again how far indexing is
const form = byId("adding", HTMLFormElement), said = byId("adding-said");

/** @typedef {{ source: string, reason: string }} Skipped */

/** Have it work. `changed()` hears that courses may have come. @param {{ changed: () => void }} given */
export function material({ changed }) {
  for (const id of ["files", "folder"]) {
    const input = byId(id, HTMLInputElement);
    input.addEventListener("change", () => input.files?.length && careful(() => send([...input.files ?? []]), changed));
  }
  form.addEventListener("submit", (event) => {
    event.preventDefault();
    const url = byId("url", HTMLInputElement).value.trim();
    if (url) careful(async () => told(await ask("/api/courses/files", { url })), changed);
  });
}

/** @param {File[]} files */
async function send(files) {
  /** @type {Skipped[]} */
  const skipped = [];
  for (const [index, file] of files.entries()) {
    said.textContent = `Uploading ${index + 1} of ${files.length}…`;
    const body = { files: [{ name: file.webkitRelativePath || file.name, content: await base64(file) }] };
    await ask("/api/courses/files", body).then((stored) => skipped.push(...stored.skipped),
      (error) => skipped.push({ source: file.name, reason: messageOf(error) }));
  }
  await told({ skipped });
}

/** Say how far indexing is until it is done, and then what was left out. @param {{ skipped: Skipped[] }} given */
async function told({ skipped }) {
  for (;;) {
    const { indexing, skipped: unread } = await ask("/api/courses/files");
    if (!indexing) return done([...skipped, ...unread]);
    said.textContent = indexing.total ? `Reading ${indexing.done} of ${indexing.total} ${indexing.what}…` : "Reading…";
    await new Promise((resolve) => setTimeout(resolve, SOON));
  }
}

/** @param {Skipped[]} skipped */
function done(skipped) {
  form.reset();
  said.replaceChildren(skipped.length ? `${pluralize(skipped.length, "file")} left out:` : "Added.",
    element("ul", {}, skipped.map(({ source, reason }) => element("li", {}, `${source}: ${reason}`))));
}

/** @param {() => Promise<void>} act @param {() => void} changed */
async function careful(act, changed) {
  try {
    await act();
  } catch (error) {
    said.textContent = messageOf(error);
  }
  changed();
}

/** @param {File} file @returns {Promise<string>} */
function base64(file) {
  return new Promise((resolve, reject) => {
    const reader = new FileReader();
    reader.addEventListener("load", () => resolve(String(reader.result).replace(/^[^,]*,/, "")));
    reader.addEventListener("error", () => reject(reader.error));
    reader.readAsDataURL(file);
  });
}

// Adding material: files, folders and archives that are chosen, or the URL of one; how far they are, and what was left out.

import { ask, element } from "/static/treadle.js";
import { counted } from "/static/words.js";

const SOON = 500;  // milliseconds until one looks again how far indexing is
const byId = (id) => document.getElementById(id);
const form = byId("adding"), said = byId("adding-said");

/** Have it work. `changed()` hears that courses may have come. */
export function material({ changed }) {
  for (const input of [byId("files"), byId("folder")]) {
    input.addEventListener("change", () => input.files.length && careful(() => send([...input.files]), changed));
  }
  form.addEventListener("submit", (event) => {
    event.preventDefault();
    const url = byId("url").value.trim();
    if (url) careful(async () => told(await ask("/api/courses/files", { url })), changed);
  });
}

async function send(files) {
  const skipped = [];
  for (const [index, file] of files.entries()) {
    said.textContent = `Uploading ${index + 1} of ${files.length}…`;
    const body = { files: [{ name: file.webkitRelativePath || file.name, content: await base64(file) }] };
    await ask("/api/courses/files", body).then((stored) => skipped.push(...stored.skipped), (error) => skipped.push({ source: file.name, reason: error.message }));
  }
  await told({ skipped });
}

/** Say how far indexing is until it is done, and then what was left out. */
async function told({ skipped }) {
  for (;;) {
    const { indexing, skipped: unread } = await ask("/api/courses/files");
    if (!indexing) return done([...skipped, ...unread]);
    said.textContent = indexing.total ? `Reading ${indexing.done} of ${indexing.total} ${indexing.what}…` : "Reading…";
    await new Promise((resolve) => setTimeout(resolve, SOON));
  }
}

function done(skipped) {
  form.reset();
  said.replaceChildren(skipped.length ? `${counted(skipped.length, "file")} left out:` : "Added.",
    element("ul", {}, skipped.map(({ source, reason }) => element("li", {}, `${source}: ${reason}`))));
}

async function careful(act, changed) {
  try {
    await act();
  } catch (error) {
    said.textContent = error.message;
  }
  changed();
}

function base64(file) {
  return new Promise((resolve, reject) => {
    const reader = new FileReader();
    reader.addEventListener("load", () => resolve(reader.result.slice(reader.result.indexOf(",") + 1)));
    reader.addEventListener("error", () => reject(reader.error));
    reader.readAsDataURL(file);
  });
}

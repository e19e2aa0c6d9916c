// The record of a decision for a candidate, in Markdown: read here, copied, or downloaded.

import { markdown } from "/static/markdown.js";
import { element, messageOf, refused } from "/static/treadle.js";

/** Show it in a dialog. @param {string} project @param {string} candidate @param {string} label */
export async function showRecord(project, candidate, label) {
  const path = `/projects/${encodeURIComponent(project)}/candidates/${encodeURIComponent(candidate)}/adr`;
  const place = element("div", { class: "words", tabindex: "0" }, element("p", { class: "soft busy", role: "status" }, "Looking…"));
  const said = element("p", { class: "small", role: "status" });
  const dialog = element("dialog", { class: "modal record", "aria-label": `Decision record: ${label}` });
  const copy = element("button", { type: "button", class: "quiet small", disabled: true }, "Copy Markdown");
  const close = () => dialog.close();
  dialog.append(place,
    element("div", { class: "actions" }, copy, element("a", { class: "button quiet small", href: path, download: "" }, "Download"),
      element("button", { type: "button", class: "quiet small close", autofocus: true, onclick: close }, "Close")), said);
  dialog.addEventListener("close", () => dialog.remove());
  document.body.append(dialog);
  dialog.showModal();
  try {
    const text = await load(path);
    place.replaceChildren(...markdown(text));
    copy.addEventListener("click", async () => (said.textContent = await copied(text)));
    copy.disabled = false;
  } catch (error) {
    place.replaceChildren(element("p", { class: "notice bad", role: "alert" }, messageOf(error)));
  }
}

/** @param {string} path */
async function load(path) {
  const response = await fetch(path);
  if (!response.ok) throw refused(response.status, await response.json().catch(() => null));
  return response.text();
}

/** @param {string} text */
async function copied(text) {
  try {
    await navigator.clipboard.writeText(text);
    return "Copied.";
  } catch {
    return "This browser doesn't let the page copy; download it instead.";
  }
}

// Where a message is written: Enter sends it, also during an answer, Shift+Enter begins a new line, Escape stops the answer that is
// under way.

import { draftOf } from "./draft.js";
import { element } from "./treadle.js";

const TALLEST = 0.4;  // of the window

/**
 * The form. `send(text)` gets what was written, `stop()` is called to end an answer.
 * @param {{ label: string, send: (text: string) => void, stop: () => void }} given
 */
export function composer({ label, send, stop }) {
  const text = element("textarea", { id: "message", rows: "1", placeholder: label, enterkeyhint: "send" });
  const go = element("button", { class: "send" }, "Send");
  const end = element("button", { type: "button", class: "quiet stop", hidden: true, onclick: stop }, "Stop");
  const named = element("label", { class: "unseen", for: "message" }, label);
  const node = element("form", { class: "composer" }, named, text, go, end);
  const draft = draftOf(text);
  let state = "ready";  // or "running", or "locked" while something else has to be answered first

  function grow() {
    text.style.height = "auto";
    text.style.height = `${Math.min(text.scrollHeight + 2, innerHeight * TALLEST)}px`;
  }

  function submit() {
    const written = text.value.trim();
    if (!written || state === "locked") return;
    fill("");
    send(written);
  }

  /** Have something stand there, as if it had been written. @param {string} words */
  function fill(words) {
    text.value = words;
    draft.keep();
    grow();
  }

  /** What is said where one writes. @param {string} words */
  function rename(words) {
    if (text.placeholder === label) text.placeholder = words;
    label = words;
    named.textContent = words;
  }

  /** What was sent stands there again, before what was written since. @param {string} words */
  function giveBack(words) {
    fill(text.value ? `${words}\n\n${text.value}` : words);
    text.focus();
  }

  /** @param {"ready" | "running" | "locked"} now @param {string} [placeholder] */
  function set(now, placeholder = label) {
    const hadFocus = document.activeElement === end;
    state = now;
    end.hidden = now !== "running";
    node.classList.toggle("both", now === "running");
    go.disabled = now === "locked";
    text.placeholder = placeholder;
    if (hadFocus) text.focus();
  }

  node.addEventListener("submit", (event) => {
    event.preventDefault();
    submit();
  });
  text.addEventListener("input", () => {
    draft.keep();
    grow();
  });
  text.addEventListener("keydown", (event) => {
    if (event.key !== "Enter" || event.shiftKey || event.isComposing) return;
    event.preventDefault();
    submit();
  });
  document.addEventListener("keydown", (event) => {
    if (event.key === "Escape" && state === "running" && document.querySelector("dialog[open]") === null) stop();
  });
  if (draft.kept()) {
    text.value = draft.kept();
    queueMicrotask(grow);
  }
  return { node, fill, giveBack, rename, set, focus: () => text.focus() };
}

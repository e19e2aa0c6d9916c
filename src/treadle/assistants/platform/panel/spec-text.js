// What a spec says of itself, and what is said of its findings. No page is needed.

import { pluralize } from "/static/format.js";

/** The name of the application in a spec; "" where it has none. @param {string} spec */
export function nameIn(spec) {
  return /^metadata:.*\n(?:[ \t].*\n|\n)*?[ \t]+name:[ \t]*["']?([\w.-]+)/m.exec(spec)?.[1] ?? "";
}

/** What is said of so many errors and warnings. @param {number} wrong @param {number} doubtful */
export function verdict(wrong, doubtful) {
  const told = [wrong && pluralize(wrong, "error"), doubtful && pluralize(doubtful, "warning")].filter(Boolean);
  if (!told.length) return "No problems found.";
  return `${told.join(", ")}: ${wrong ? "it would be refused." : "it can be deployed."}`;
}

// What panels share: asking the server, building elements, and the question that somebody came with. An ES module:
//   import { ask, element, question } from "/static/treadle.js";

/** What the server says at a path. With a body it is posted as JSON. Throws an Error whose message is a sentence for people. */
export async function ask(path, body, { signal } = {}) {
  const sent = body === undefined
    ? { method: "GET" }
    : { method: "POST", headers: { "content-type": "application/json" }, body: JSON.stringify(body) };
  let response;
  try {
    response = await fetch(path, { ...sent, headers: { accept: "application/json", ...sent.headers }, signal });
  } catch (error) {
    if (error.name === "AbortError") throw error;
    throw new Error("The server doesn't answer. Is it still running?", { cause: error });
  }
  const said = await response.json().catch(() => null);
  if (response.ok && said !== null && said.success !== false) return said;
  throw new Error(said?.error ?? `The server answered with ${response.status}, and not in JSON.`);
}

/** An element: element("p", { class: "soft" }, "words", other). Words are text, never HTML; on… are listeners. */
export function element(tag, attributes = {}, ...children) {
  const made = document.createElement(tag);
  for (const [name, value] of Object.entries(attributes)) {
    if (name.startsWith("on")) made.addEventListener(name.slice(2), value);
    else if (value === true) made.setAttribute(name, "");
    else if (value !== false && value != null) made.setAttribute(name, value);
  }
  made.append(...children.flat().filter((child) => child != null));
  return made;
}

/** The sample question that somebody followed to this panel, or "". */
export function question() {
  return new URLSearchParams(location.search).get("question") ?? "";
}

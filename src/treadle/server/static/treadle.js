// What panels share: asking the server, building elements, and the question that somebody came with. An ES module:
//   import { ask, element, fill, question } from "/static/treadle.js";

import "./theme.js";

/**
 * What the server says at a path; null where that is nothing. A body is posted as JSON, or sent with another `method`.
 * Throws an Error whose message is a sentence for people, with `status` and `said`, the whole answer, where there was one. Where the
 * server doesn't know any more who asks, they are led to where they sign in.
 */
export async function ask(path, body, { signal, method } = {}) {
  const sent = body === undefined
    ? { method: method ?? "GET" }
    : { method: method ?? "POST", headers: { "content-type": "application/json" }, body: JSON.stringify(body) };
  let response;
  try {
    response = await fetch(path, { ...sent, headers: { accept: "application/json", ...sent.headers }, signal });
  } catch (error) {
    if (error.name === "AbortError") throw error;
    throw new Error("The server doesn't answer. Is it still running?", { cause: error });
  }
  if (response.status === 401 && response.headers.has("www-authenticate")) signIn();  // not one that an assistant means
  if (response.status === 204) return null;
  const said = await response.json().catch(() => null);
  if (response.ok && said !== null && said.success !== false) return said;
  throw refused(response.status, said);
}

/** Nobody is signed in here any more: they can be again, and come back to where they are. */
function signIn() {
  location.assign(`/login?next=${encodeURIComponent(location.pathname + location.search + location.hash)}`);
}

/** What an answer that is none says, as an Error. Assistants say it as `error`, or as `detail`. */
export function refused(status, said) {
  const sentence = said?.error ?? said?.detail ?? `The server answered with ${status}, and not in JSON.`;
  return Object.assign(new Error(sentence), { status, said });
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

/**
 * Have nodes stand in a place. One that looks as one there does gives way to it: that isn't touched, so that it keeps the focus, and
 * a mouse button that was pressed on it is released on it. Nodes that look the same do the same.
 */
export function fill(place, nodes) {
  const there = [...place.children];
  const wanted = nodes.map((node) => {
    const at = there.findIndex((each) => each.isEqualNode(node));
    return at < 0 ? node : there.splice(at, 1)[0];
  });
  for (const gone of there) gone.remove();
  wanted.forEach((node, at) => place.children[at] === node || place.insertBefore(node, place.children[at] ?? null));
}

/** The sample question that somebody followed to this panel, or "". */
export function question() {
  return new URLSearchParams(location.search).get("question") ?? "";
}

// What panels share: asking the server, building elements, and the question in the address. An ES module:
//   import { ask, element, fill, question } from "/static/treadle.js";

import { isAbort, refused } from "./errors.js";
import "./theme.js";

export { messageOf, refused, ServerError } from "./errors.js";

/**
 * The JSON that the server responds with; null where there is none. A body is posted as JSON, or sent with another `method`. Throws
 * an Error whose message is a sentence for people: a `ServerError` where the server responded. A request without a valid session
 * leads to the login page.
 * @param {string} path @param {unknown} [body] @param {{ signal?: AbortSignal, method?: string }} [options]
 * @returns {Promise<any>}
 */
export async function ask(path, body, { signal, method } = {}) {
  /** @type {Record<string, string>} */
  const headers = { accept: "application/json", ...(body === undefined ? {} : { "content-type": "application/json" }) };
  let response;
  try {
    response = await fetch(path, { method: method ?? (body === undefined ? "GET" : "POST"), headers, body: JSON.stringify(body), signal });
  } catch (error) {
    if (isAbort(error)) throw error;
    throw new Error("The server isn't responding. Is it still running?", { cause: error });
  }
  if (response.status === 401 && response.headers.has("www-authenticate")) signIn();  // not one that an assistant means
  if (response.status === 204) return null;
  const said = await response.json().catch(() => null);
  if (response.ok && said !== null && said.success !== false) return said;
  throw refused(response.status, said);
}

/** Go to the login page, which leads back here. */
function signIn() {
  location.assign(`/login?next=${encodeURIComponent(location.pathname + location.search + location.hash)}`);
}

/**
 * An element: element("p", { class: "soft" }, "words", other). Words are text, never HTML; on… are listeners.
 * @template {string} Tag
 * @param {Tag} tag @param {Attributes} [attributes] @param {...(Child | Child[])} children
 * @returns {ElementOf<Tag>}
 */
export function element(tag, attributes = {}, ...children) {
  const made = document.createElement(tag);
  for (const [name, value] of Object.entries(attributes)) {
    if (typeof value === "function") made.addEventListener(name.slice(2), value);
    else if (value === true) made.setAttribute(name, "");
    else if (value !== false && value != null) made.setAttribute(name, String(value));
  }
  made.append(...children.flat().filter((child) => child != null));
  return /** @type {any} */ (made);
}

/**
 * The page's element with this id, of the class `kind`. An Error where the page has none.
 * @template {HTMLElement} [E=HTMLElement]
 * @param {string} id @param {new () => E} [kind]
 */
export function byId(id, kind) {
  return query(document, `#${CSS.escape(id)}`, kind);
}

/**
 * The first element below `root` that fits a selector, of the class `kind`. An Error where there is none.
 * @template {HTMLElement} [E=HTMLElement]
 * @param {ParentNode} root @param {string} selector @param {new () => E} [kind] @returns {E}
 */
export function query(root, selector, kind) {
  const found = root.querySelector(selector);
  if (found instanceof (kind ?? HTMLElement)) return /** @type {E} */ (found);
  throw new Error(`This page has no ${selector} of the expected kind.`);
}

/**
 * What is written in the fields of a form, without those that are empty.
 * @param {HTMLFormElement} form @returns {[string, string][]}
 */
export function fieldsOf(form) {
  return [...new FormData(form)].flatMap(([name, value]) => (String(value).trim() ? [[name, String(value).trim()]] : []));
}

/** Hide a control with its label, or show them. @param {Element} control @param {boolean} isHidden */
export function hideField(control, isHidden) {
  control.closest(".field")?.toggleAttribute("hidden", isHidden);
}

/**
 * The buttons and fields below a node.
 * @param {ParentNode} root @returns {NodeListOf<HTMLButtonElement | HTMLInputElement | HTMLSelectElement | HTMLTextAreaElement>}
 */
export function controlsIn(root) {
  return root.querySelectorAll("button, input, select, textarea");
}

/**
 * Have nodes stand in a place. One that looks as one there does gives way to it: that isn't touched, so that it keeps the focus, and
 * a mouse button that was pressed on it is released on it. Nodes that look the same do the same.
 * @param {Element} place @param {Element[]} nodes
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

/** The sample question in the address, or "". */
export function question() {
  return new URLSearchParams(location.search).get("question") ?? "";
}

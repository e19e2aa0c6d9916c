// Draws the diagrams of blocks of code in the language "mermaid": as an image, above their source, which can be shown and copied. An
// image runs no script and loads nothing, and the styles in it are its own, so that the policy of the page stays as it is.

import DOMPurify from "/static/dompurify/purify.js";
import { isDark } from "./theme-button.js";
import { element } from "./treadle.js";

const BLOCKS = 'pre[data-language="mermaid"]:not([data-open])';  // one that isn't complete yet can't be drawn
const BROKEN = "This diagram can't be drawn; its source is below.";
const CHECKED = {
  USE_PROFILES: { svg: true, svgFilters: true },
  FORBID_TAGS: ["a", "image", "style"],
  RETURN_DOM_FRAGMENT: /** @type {const} */ (true),
};
const SVG_TAG = /^<svg[^>]*>/;
/** @type {WeakMap<Element, string>} */
const shown = new WeakMap();  // the source and colours that a block shows, or is about to

/** Draw the diagrams below a node, or the node itself, that aren't yet. @param {Element} node */
export function drawDiagrams(node) {
  const blocks = [...(node.matches(BLOCKS) ? [node] : []), ...node.querySelectorAll(BLOCKS)];
  for (const block of blocks) draw(block);
}

for (const name of ["storage", "themechange"]) addEventListener(name, redraw);
matchMedia("(prefers-color-scheme: dark)").addEventListener("change", redraw);

function redraw() {
  for (const block of document.querySelectorAll(BLOCKS)) if (shown.has(block)) draw(block);
}

/** @param {Element} block */
async function draw(block) {
  const source = block.querySelector("code")?.textContent ?? "", dark = isDark(), key = `${dark} ${source}`;
  if (!source.trim() || shown.get(block) === key) return;
  shown.set(block, key);
  let image = null;
  try {
    const { renderDiagram } = await import("./mermaid-frame.js"), { svg, css } = await renderDiagram(source, dark);
    image = imageOf(svg, css);
  } catch {
    // the source says it, too
  }
  if (shown.get(block) === key) put(block, image);
}

/** A picture of an SVG. @param {string} text @param {string} css */
export function imageOf(text, css) {
  const svg = DOMPurify.sanitize(text, CHECKED).querySelector("svg");
  const [, , width, height] = svg?.getAttribute("viewBox")?.split(/[\s,]+/) ?? [];
  if (!svg || !(Number(width) > 0 && Number(height) > 0)) throw new Error("This is no picture.");
  svg.setAttribute("width", width);
  svg.setAttribute("height", height);
  const sheet = new XMLSerializer().serializeToString(document.createTextNode(css));
  const whole = new XMLSerializer().serializeToString(svg).replaceAll(" data-style=", " style=")
    .replace(SVG_TAG, (tag) => `${tag}<style>${sheet}</style>`);
  const image = element("img", { class: "diagram", alt: "Diagram, of which the source can be shown" });
  image.src = `data:image/svg+xml,${encodeURIComponent(whole)}`;
  return image;
}

/** Show the picture, or that there is none. @param {Element} block @param {HTMLImageElement | null} image */
function put(block, image) {
  const code = block.querySelector("code");
  for (const each of block.querySelectorAll(":scope > :is(.diagram, .undrawn, .source)")) each.remove();
  block.classList.toggle("drawn", image !== null);
  if (!image) return code?.before(element("span", { class: "undrawn", role: "note" }, BROKEN));
  const toggle = element("button", { type: "button", class: "quiet source", "aria-expanded": "false", onclick: show }, "Show source");
  code?.before(image, toggle);

  function show() {
    const isShown = block.classList.toggle("with-source");
    toggle.setAttribute("aria-expanded", `${isShown}`);
    toggle.textContent = isShown ? "Hide source" : "Show source";
  }
}

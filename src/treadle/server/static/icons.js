// Icons, all of one set (Lucide, vendored), and how assistants are told apart: by an icon and a hue.

const SPRITE = "/static/lucide/icons.svg", SVG = "http://www.w3.org/2000/svg";
/** @type {Record<string, string>} */
const ICONS = { coding: "code", courses: "graduation-cap", guidance: "compass", platform: "cloud", reading: "book-open" };
const HUES = 6;  // that shell.css has

/** An icon by its name in the set; what it means is said beside it. @param {string} name */
export function icon(name) {
  const node = document.createElementNS(SVG, "svg"), use = document.createElementNS(SVG, "use");
  node.setAttribute("class", "icon");
  node.setAttribute("aria-hidden", "true");
  use.setAttribute("href", `${SPRITE}#${name}`);
  node.append(use);
  return node;
}

/** An assistant's icon in its hue. @param {string} assistant */
export function assistantIcon(assistant) {
  const node = icon(ICONS[assistant] ?? "sparkles");
  node.setAttribute("data-hue", `${hueOf(assistant)}`);
  return node;
}

/** The number of an assistant's hue: those that come with Treadle have each their own. @param {string} assistant */
export function hueOf(assistant) {
  const known = Object.keys(ICONS).indexOf(assistant);
  if (known >= 0) return known;
  return [...assistant].reduce((sum, char) => sum + (char.codePointAt(0) ?? 0), 0) % HUES;
}

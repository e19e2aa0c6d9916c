// Mermaid, in a hidden frame of its own: it is loaded with the first diagram, and what it changes there the page doesn't see. The
// frame has the policy of the page, which forbids style elements and style attributes; so what would become either of them is set
// through the CSSOM, which the policy allows, and comes back with the picture. diagrams.js shows that as an image.

const MERMAID = "./mermaid/mermaid.min.js";
const PLACE = "position: fixed; left: -20000px; top: 0; width: 1200px; height: 800px; border: 0; visibility: hidden";
const FONT = "system-ui, sans-serif";  // a picture can't load one
const STYLE_ATTRIBUTE = /(<[a-z][^<>]*?\s)style(\s*=)/gi, STYLE_TAG = /(<\/?)style\b/gi;
const SETTINGS = {
  startOnLoad: false, securityLevel: "strict", suppressErrorRendering: true, maxTextSize: 20_000, maxEdges: 300, fontFamily: FONT,
  htmlLabels: false, flowchart: { htmlLabels: false }, class: { htmlLabels: false },  // HTML in a picture isn't let through
  secure: ["secure", "securityLevel", "startOnLoad", "maxTextSize", "suppressErrorRendering", "maxEdges", "fontFamily", "altFontFamily",
    "htmlLabels", "theme", "themeCSS"],  // what a source can't set
};
/** @type {Promise<MermaidWindow> | null} */
let opening = null;
/** @type {Promise<unknown>} */
let last = Promise.resolve();  // one after the other: Mermaid has its settings for all
let number = 0;

/** @typedef {Window & typeof globalThis & { mermaid: any, rules: string[] }} MermaidWindow */

/**
 * A diagram: an SVG as text, not checked yet, with `data-style` in place of style attributes, and its CSS. What isn't a diagram, or a
 * wrong one, is thrown; so is that Mermaid can't be loaded.
 * @param {string} source @param {boolean} isDark @returns {Promise<{ svg: string, css: string }>}
 */
export function renderDiagram(source, isDark) {
  const drawn = last.then(() => render(source, isDark));
  last = drawn.catch(() => {});
  return drawn;
}

/** @param {string} source @param {boolean} isDark */
async function render(source, isDark) {
  opening ??= open().catch((error) => {
    opening = null;  // the next diagram may have more luck
    throw error;
  });
  const view = await opening;
  view.rules.length = 0;
  view.document.adoptedStyleSheets = [];
  view.mermaid.initialize({ ...SETTINGS, theme: isDark ? "dark" : "default" });
  const { svg } = await view.mermaid.render(`diagram-${++number}`, source);
  return { svg: withoutStyles(svg), css: view.rules.join("\n") };
}

/** @returns {Promise<MermaidWindow>} */
async function open() {
  const frame = document.createElement("iframe");
  frame.title = "Diagrams";
  frame.setAttribute("aria-hidden", "true");
  frame.tabIndex = -1;
  frame.style.cssText = PLACE;
  document.body.append(frame);
  try {
    const view = /** @type {MermaidWindow} */ (frame.contentWindow);
    useStyleObjects(view);
    await new Promise((resolve, reject) => {
      const script = view.document.createElement("script");
      script.src = new URL(MERMAID, import.meta.url).href;
      script.onload = resolve;
      script.onerror = () => reject(new Error("Mermaid can't be loaded."));
      view.document.head.append(script);
    });
    return view;
  } catch (error) {
    frame.remove();
    throw error;
  }
}

/**
 * Have the frame's elements take styles without style attributes and style elements. In place of a style element there is one that is
 * drawn nowhere, and its content is a style sheet of the document.
 * @param {MermaidWindow} view
 */
function useStyleObjects(view) {
  const { CSSStyleSheet, document: page } = view;
  const { createElement, createElementNS } = view.Document.prototype, { setAttribute } = view.Element.prototype;
  const { parseFromString } = view.DOMParser.prototype;
  const inner = /** @type {Required<PropertyDescriptor>} */ (Object.getOwnPropertyDescriptor(view.Element.prototype, "innerHTML"));
  const content = /** @type {Required<PropertyDescriptor>} */ (Object.getOwnPropertyDescriptor(view.Node.prototype, "textContent"));
  const sheets = new WeakSet();  // elements in place of style elements
  view.rules = [];

  /** @param {Element} made */
  const noted = (made) => (sheets.add(made), made);
  const addRules = (/** @type {string} */ css) => {
    const sheet = new CSSStyleSheet();
    sheet.replaceSync(css);
    view.rules.push(css);
    page.adoptedStyleSheets = [...page.adoptedStyleSheets, sheet];
  };

  Object.assign(view.Document.prototype, {
    /** @this {Document} @param {string} name @param {any[]} more */
    createElement(name, ...more) {
      return `${name}`.toLowerCase() === "style" ? noted(createElement.call(this, "template")) : createElement.call(this, name, ...more);
    },
    /** @this {Document} @param {string} space @param {string} name @param {any[]} more */
    createElementNS(space, name, ...more) {
      return `${name}`.toLowerCase() === "style" ? noted(createElementNS.call(this, space, "defs"))
        : createElementNS.call(this, space, name, ...more);
    },
  });
  /** @this {any} @param {string} name @param {string} value */
  view.Element.prototype.setAttribute = function set(name, value) {
    if (`${name}`.toLowerCase() === "style") this.style.cssText = value;
    else setAttribute.call(this, name, value);
  };
  Object.defineProperty(view.Element.prototype, "innerHTML", {
    ...inner,
    /** @this {Element} @param {string} html */
    set(html) {
      if (sheets.has(this)) {
        addRules(html);
        return;
      }
      inner.set.call(this, withoutStyles(html));
      for (const each of this.querySelectorAll("[data-style]")) {
        /** @type {any} */ (each).style.cssText = each.getAttribute("data-style");
        each.removeAttribute("data-style");
      }
    },
  });
  Object.defineProperty(view.Node.prototype, "textContent", {
    ...content,
    /** @this {Node} @param {string} text */
    set(text) {
      if (sheets.has(this)) addRules(text);
      else content.set.call(this, text);
    },
  });
  /** @this {DOMParser} @param {string} text @param {DOMParserSupportedType} type */
  view.DOMParser.prototype.parseFromString = function parse(text, type) {
    return parseFromString.call(this, withoutStyles(text), type);  // a document without a view reports styles, too
  };
}

/** @param {string} html */
function withoutStyles(html) {
  return `${html}`.replace(STYLE_ATTRIBUTE, "$1data-style$2").replace(STYLE_TAG, "$1x-style");
}

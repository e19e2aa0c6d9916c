// Plots as SVG, made of nodes: bars over time, bars in a list, dots on a scale of times. Colours are classes (stats.css), and every
// plot says in a sentence what it shows; the table beside it has the figures.

import { formatCompact, formatShortDuration } from "./format.js";

/** @typedef {Record<string, number>} Parts numbers by class */
/** @typedef {{ name: string, words: string, title: string }} Row */

const NAMESPACE = (() => {  // written nowhere, so that no page names another host
  const template = document.createElement("template");
  template.innerHTML = "<svg></svg>";
  return template.content.firstElementChild?.namespaceURI ?? null;
})();
const LINE = 44, BAR = 12;  // of a list: what a row takes, and the bar in it

/**
 * A node of an SVG: words in it are text.
 * @param {string} tag @param {Record<string, string | number>} [attributes] @param {...any} children
 */
function node(tag, attributes = {}, ...children) {
  const made = document.createElementNS(NAMESPACE, tag);
  for (const [name, value] of Object.entries(attributes)) made.setAttribute(name, String(value));
  made.append(...children.flat(Infinity));
  return made;
}

/**
 * A place for a plot, which is drawn again whenever its width changes: `draw(width)` gives an SVG.
 * @param {(width: number) => Node} draw
 */
export function plot(draw) {
  const place = document.createElement("div");
  let drawn = 0;
  place.className = "plot";
  new ResizeObserver(() => {
    const width = Math.floor(place.clientWidth);
    if (width === drawn || width === 0) return;
    drawn = width;
    place.replaceChildren(draw(width));
  }).observe(place);
  return place;
}

/** @param {number} width @param {number} height @param {string} label @param {...any} children */
function picture(width, height, label, ...children) {
  return node("svg", { width, height, viewBox: `0 0 ${width} ${height}`, role: "img", "aria-label": label }, ...children);
}

/**
 * Bars over time. `columns` are {name, title, parts}, `parts` are numbers by class, from the ground up.
 * @param {{ name: string, title: string, parts: Parts }[]} columns @param {string} label @returns {(width: number) => Element}
 */
export function bars(columns, label) {
  return (width) => {
    const height = 220, left = 40, bottom = 24, top = 8;
    const sums = columns.map((column) => sum(column.parts)), most = ceiling(Math.max(1, ...sums));
    const step = (width - left) / columns.length, scale = (height - top - bottom) / most;
    const ground = height - bottom;
    const grid = [0, most / 2, most].map((value) => [
      node("line", { class: "grid", x1: left, x2: width, y1: ground - value * scale, y2: ground - value * scale }),
      node("text", { class: "tick end", x: left - 6, y: ground - value * scale + 4 }, formatCompact(value)),
    ]);
    const drawn = columns.map((column, place) => {
      const thick = Math.max(1, Math.min(28, step - Math.min(3, step / 4))), x = left + place * step + (step - thick) / 2;
      let y = ground;
      const parts = Object.entries(column.parts).filter(([, value]) => value > 0).map(([name, value]) => {
        y -= value * scale;
        return node("rect", { class: `part ${name}`, x, y, width: thick, height: Math.max(value * scale, 0.5) });
      });
      return node("g", {}, node("title", {}, column.title), hit(left + place * step, top, step, ground - top), parts);
    });
    return picture(width, height, label, grid, drawn, names(columns, left, step, height - 6));
  };
}

/** @param {{ name: string }[]} columns @param {number} left @param {number} step @param {number} y */
function names(columns, left, step, y) {
  const every = Math.max(1, Math.ceil(56 / step));  // so many pixels for a name
  return columns.flatMap((column, place) => place % every ? [] : [
    node("text", { class: "tick middle", x: Math.max(left + (place + 0.5) * step, left + 16), y }, column.name),
  ]);
}

/**
 * Bars in a list, the longest as wide as there is room. `rows` are {name, words, title, parts}.
 * @param {(Row & { parts: Parts })[]} rows @param {string} label @returns {(width: number) => Element}
 */
export function list(rows, label) {
  return (width) => {
    const most = Math.max(1, ...rows.map((row) => sum(row.parts)));
    return picture(width, rows.length * LINE, label, rows.map((row, place) => {
      let x = 0;
      const y = place * LINE;
      const parts = Object.entries(row.parts).filter(([, value]) => value > 0).map(([name, value]) => {
        const made = node("rect", { class: `part ${name}`, x, y: y + 22, width: Math.max(value / most * width, 1), height: BAR });
        x += value / most * width;
        return made;
      });
      return node("g", {}, node("title", {}, row.title), hit(0, y, width, LINE), heading(row, y, width), parts);
    }));
  };
}

/**
 * Two dots a row on one scale of times: `rows` are {name, words, title, low, high}, in seconds.
 * @param {(Row & { low: number, high: number })[]} rows @param {string} label @returns {(width: number) => Element}
 */
export function dots(rows, label) {
  return (width) => {
    const lows = rows.map((row) => log(row.low)), highs = rows.map((row) => log(row.high));
    const ends = [Math.floor(Math.min(...lows)), Math.ceil(Math.max(...highs))];
    if (ends[0] === ends[1]) ends[1] += 1;
    const margin = 8, place = (/** @type {number} */ value) => margin + (log(value) - ends[0]) / (ends[1] - ends[0]) * (width - 2 * margin);
    const bottom = rows.length * LINE, decades = [];
    const every = Math.ceil((ends[1] - ends[0]) * 56 / width);
    for (let power = ends[0]; power <= ends[1]; power += every) decades.push(10 ** power);
    const scale = decades.map((value) => [
      node("line", { class: "grid", x1: place(value), x2: place(value), y1: 22, y2: bottom }),
      node("text", { class: `tick ${edge(place(value), width)}`, x: place(value), y: bottom + 16 },
        value < 1 ? formatShortDuration(value) : `${value} s`),
    ]);
    return picture(width, bottom + 22, label, scale, rows.map((row, at) => {
      const y = at * LINE + 28, low = place(row.low), high = place(row.high);
      return node("g", {}, node("title", {}, row.title), hit(0, at * LINE, width, LINE), heading(row, at * LINE, width),
        node("line", { class: "span", x1: low, x2: high, y1: y, y2: y }),
        node("circle", { class: "low", cx: low, cy: y, r: 5 }), node("circle", { class: "high", cx: high, cy: y, r: 5 }));
    }));
  };
}

/** @param {Row} row @param {number} y @param {number} width */
function heading(row, y, width) {
  const room = Math.max(8, Math.floor((width - row.words.length * 7 - 16) / 7.5));
  const name = row.name.length > room ? `${row.name.slice(0, room - 1)}…` : row.name;
  return [
    node("text", { class: "name", x: 0, y: y + 15 }, name),
    node("text", { class: "tick end", x: width, y: y + 15 }, row.words),
  ];
}

/** @param {number} x @param {number} y @param {number} width @param {number} height */
function hit(x, y, width, height) {
  return node("rect", { class: "hit", x, y, width, height });
}

/** @param {number} x @param {number} width */
function edge(x, width) {
  return x < 24 ? "" : x > width - 24 ? "end" : "middle";
}

/** @param {Parts} parts */
function sum(parts) {
  return Object.values(parts).reduce((total, value) => total + value, 0);
}

/** @param {number} seconds */
function log(seconds) {
  return Math.log10(Math.max(seconds, 0.0001));
}

/** The next round number, of which half is round too. @param {number} value */
function ceiling(value) {
  const size = 10 ** Math.floor(Math.log10(value));
  return Math.max(2, [1, 2, 4, 6, 10].map((times) => times * size).find((round) => round >= value) ?? value);
}

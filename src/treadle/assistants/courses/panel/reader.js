// The reader: a passage with what stands before and after it, or a whole lesson. What it says is text with formulas, never
// Markdown: a passage may begin in the middle of anything, and passages carry no format.

import { formulaNode } from "/static/math.js";
import { ask, byId, element, messageOf, query } from "/static/treadle.js";
import { partsOf, piecesOf, placeIn } from "./lesson.js";
import { outward } from "./links.js";
import { aboutCourse, aboutLesson } from "./samples.js";
import { chooseShared } from "./scope.js";

const place = byId("reader"), text = byId("reader-text");
const [before, after] = ["reader-before", "reader-after"].map((id) => byId(id, HTMLButtonElement));
const narrow = matchMedia("(max-width: 56rem)");

/**
 * @typedef {{ before?: () => Promise<Page>, after?: () => Promise<Page> }} Ways what the two buttons show
 * @typedef {{ course?: string, title: string, where?: string, nodes: Node[], more?: (Node | null)[], named?: string, to?: Ways,
 *   at?: Element | null }} Page
 * @typedef {{ courseOf: CourseOf, fill: (words: string) => void }} Able
 * @typedef {(key: string, owner: string) => Course | undefined} CourseOf
 * @typedef {{ course: string, owner: string }} SharedIn the course that another user shares, and who
 */

/** @type {HTMLElement | null} */
let opener = null;
let opens = 0;
/** @type {Ways} */
let steps = {};

/**
 * Have it work. `courseOf(key)` is a course, `fill(words)` the next question; while `isBusy()`, Escape is for the answer.
 * @param {{ courseOf: CourseOf, fill: (words: string) => void, isBusy: () => boolean }} given
 */
export function reader({ courseOf, fill, isBusy }) {
  const able = { courseOf, fill };
  before.addEventListener("click", () => step("before"));
  after.addEventListener("click", () => step("after"));
  byId("reader-close").addEventListener("click", close);
  place.addEventListener("keydown", (event) => {
    if (event.key !== "Escape") return;
    event.stopPropagation();
    close();
  });
  document.addEventListener("keydown", ({ key, target }) => {
    const isSearching = target instanceof HTMLInputElement && target.type === "search" && target.value;
    const isElsewhere = isBusy() || document.querySelector("dialog[open]") || isSearching;
    if (key === "Escape" && !isElsewhere) close();
  });
  narrow.addEventListener("change", cover);
  return {
    /** @param {string} id @param {AnswerSource["passages"]} [others] @param {SharedIn | null} [shared] */
    passage: (id, others = [], shared = null) => come(() => showPassage(id, others, able, shared)),
    lesson: (/** @type {Course} */ course, /** @type {Lesson | null} */ lesson) => come(() => showLesson(course, lesson, able)),
    close,
  };
}

// opening and closing

/** Open it; what can't be shown is said in it. @param {() => Promise<Page>} show */
async function come(show) {
  const from = document.activeElement;
  if (from instanceof HTMLElement && from !== document.body && !place.contains(from)) opener = from;
  place.hidden = false;
  document.body.dataset.reading = "";
  cover();
  await turnTo(show);
  byId("reader-title").focus();
}

function close() {
  if (place.hidden) return;
  opens++;
  place.hidden = true;
  delete document.body.dataset.reading;
  cover();
  (opener?.isConnected ? opener : byId("message")).focus();
}

/** Where it is narrow it lies over everything, and nothing below it can be reached. */
function cover() {
  const isCovered = narrow.matches && !place.hidden;
  for (const each of [query(document, ".bar"), byId("library"), byId("chat")]) each.inert = isCovered;
}

/** Show something else in it, unless something else again is wanted meanwhile. @param {() => Promise<Page>} show */
async function turnTo(show) {
  const mine = ++opens;
  let page;
  try {
    page = await show();
  } catch (error) {
    page = { title: "This can't be shown", nodes: [element("p", { class: "notice bad", role: "alert" }, messageOf(error))] };
  }
  if (mine === opens) draw(page);
}

/** @param {"before" | "after"} way */
async function step(way) {
  const had = document.activeElement, show = steps[way];
  if (!show) return;
  await turnTo(show);
  if (had instanceof HTMLButtonElement && had.disabled) ([before, after].find((each) => !each.disabled) ?? text).focus();
}

/** @param {Page} page */
function draw({ course = "", title, where = "", nodes, more = [], named = "", to = {}, at = null }) {
  byId("reader-course").textContent = course;
  byId("reader-title").textContent = title;
  byId("reader-place").textContent = where;
  steps = to;
  for (const [button, act, words] of /** @type {const} */ ([[before, to.before, "Previous"], [after, to.after, "Next"]])) {
    button.disabled = !act;
    button.textContent = `${words} ${named}`;
  }
  byId("reader-steps").hidden = !to.before && !to.after;
  byId("reader-more").replaceChildren(...more.filter((each) => each !== null));
  text.replaceChildren(...nodes);
  text.scrollTop = 0;
  at?.scrollIntoView({ block: "start" });
}

// what is shown

/**
 * @param {string} id @param {{ id: string, place: string }[]} others @param {Able} able @param {SharedIn | null} shared
 * @returns {Promise<Page>}
 */
async function showPassage(id, others, able, shared) {
  const within = shared ? `&course=${encodeURIComponent(shared.course)}&owner=${encodeURIComponent(shared.owner)}` : "";
  /** @type {Passage} */
  const passage = await ask(`/api/courses/passage?id=${encodeURIComponent(id)}${within}`), { headings } = passage;
  const course = able.courseOf(passage.course, shared?.owner ?? ""), lesson = lessonOf(course, passage.lesson, headings[0]);
  const to = (/** @type {string | undefined} */ other) => (other ? () => showPassage(other, others, able, shared) : undefined);
  return {
    course: lesson && course ? course.name : "", title: titleOf(course, lesson) ?? passage.source, where: placeIn(passage.place, headings),
    nodes: [element("p", { class: "text" }, nodesOf([passage.text])[0]), ...othersOf(others, passage, able, shared)],
    named: "passage", to: { before: to(passage.before), after: to(passage.after) },
    more: [...(course ? [whole(course, lesson, id, able), asking(course, lesson, able)] : []), page(passage.url)],
  };
}

/**
 * @param {Course} course @param {Lesson | null | undefined} lesson @param {Able} able @param {string | null} [marked]
 * @returns {Promise<Page>}
 */
async function showLesson(course, lesson, able, marked = null) {
  const passages = await passagesOf(course, lesson), index = course.lessons.findIndex((each) => each === lesson);
  const body = element("p", { class: "text" }, passageNodes(piecesOf(passages), marked));
  const to = (/** @type {Lesson | undefined} */ other) => (lesson && other ? () => showLesson(course, other, able) : undefined);
  return {
    course: lesson ? course.name : course.instructor, title: titleOf(course, lesson) ?? "", nodes: [passages.length ? body : nothing()],
    named: "lesson", to: { before: to(course.lessons[index - 1]), after: to(course.lessons[index + 1]) },
    more: [asking(course, lesson, able), page(lesson?.link ?? course.link)],
    at: body.querySelector(".marked"),
  };
}

/**
 * The passages of a lesson. Lessons without a number come together, each passage under its lesson's title.
 * @param {Course} course @param {Lesson | null | undefined} lesson @returns {Promise<Passage[]>}
 */
async function passagesOf(course, lesson) {
  const number = lesson?.number ?? "", owner = course.owner ? `&owner=${encodeURIComponent(course.owner)}` : "";
  const path = `/api/courses/lesson?course=${encodeURIComponent(course.key)}&lesson=${number}${owner}`;
  /** @type {{ passages: Passage[] }} */
  const { passages } = await ask(path);
  return lesson && number === "" ? passages.filter(({ headings }) => headings[0] === lesson.title) : passages;
}

/**
 * The text of a lesson, each passage in an element; what stands before its first word isn't marked with it.
 * @param {{ passage: Passage, text: string }[]} pieces @param {string | null} marked
 */
function passageNodes(pieces, marked) {
  const starts = pieces.map(({ text: words }) => words.search(/\S|$/));
  const nodes = nodesOf(pieces.flatMap(({ text: words }, index) => [words.slice(0, starts[index]), words.slice(starts[index])]));
  return pieces.flatMap(({ passage }, index) =>
    [...nodes[2 * index], element("span", { class: passage.id === marked ? "marked" : null }, nodes[2 * index + 1])]);
}

/** The nodes of each of some texts that stand one behind the other. @param {string[]} texts @returns {(string | Node)[][]} */
function nodesOf(texts) {
  return partsOf(texts).map((parts) => parts.map((part) => (typeof part === "string" ? part : formulaNode(part))));
}

function nothing() {
  return element("p", { class: "soft" }, "There is no text for this one.");
}

/**
 * The other passages that were looked at for the same answer, in the same lesson.
 * @param {{ id: string, place: string }[]} others @param {Passage} passage @param {Able} able @param {SharedIn | null} shared
 */
function othersOf(others, { id, headings }, able, shared) {
  if (others.length < 2) return [];
  const rows = others.map((other) => element("li", {}, element("button", {
    type: "button", class: "quiet small", "aria-current": other.id === id ? "true" : null,
    onclick: () => come(() => showPassage(other.id, others, able, shared)),
  }, placeIn(other.place, headings) || other.place)));
  return [element("section", { class: "others", "aria-label": "Used for this answer" },
    element("h3", {}, "Used for this answer"), element("ul", { class: "row" }, rows))];
}

/** @param {Course | undefined} course @param {number | null} number @param {string} heading */
function lessonOf(course, number, heading) {
  const isIt = (/** @type {Lesson} */ each) => each.number === number && (number !== null || each.title === heading);
  return course?.lessons.find(isIt);
}

/** @param {Course | undefined} course @param {Lesson | null | undefined} lesson */
function titleOf(course, lesson) {
  if (!lesson) return course?.name;
  return lesson.number === null ? lesson.title : `${lesson.number} ${lesson.title}`.trim();
}

/** @param {Course} course @param {Lesson | undefined} lesson @param {string} id @param {Able} able */
function whole(course, lesson, id, able) {
  const words = lesson ? "Whole lesson" : "All of it", show = () => come(() => showLesson(course, lesson, able, id));
  return element("button", { type: "button", class: "quiet small", onclick: show }, words);
}

/** @param {string | undefined} address */
function page(address) {
  return outward(address, "Open ↗", "Open its page");
}

/** @param {Course} course @param {Lesson | null | undefined} lesson @param {Able} able */
function asking(course, lesson, { fill }) {
  const words = lesson ? aboutLesson(course, lesson) : aboutCourse(course.name);
  const choose = () => {
    chooseShared(course);
    fill(words);
  };
  return element("button", { type: "button", class: "quiet small", onclick: choose }, "Ask about it");
}

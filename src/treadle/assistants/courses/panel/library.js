// The courses there are: a list that opens to their lessons, each of which can be read or asked about.

import { openShareDialog } from "/static/share-dialog.js";
import { confirmDialog } from "/static/confirm-dialog.js";
import { ask, byId, element, messageOf, query } from "/static/treadle.js";
import { pluralize } from "/static/format.js";
import { outward } from "./links.js";
import { aboutCourse, aboutLesson } from "./samples.js";
import { chooseShared, documentName } from "./scope.js";

const SOON = 2000;  // milliseconds until one looks again whether there are courses
const ABOUT = "They can read it and ask about it, also what is added later. They can't change or delete it.";
const list = byId("courses"), fold = byId("fold");
const me = ask("/api/me").then(({ name }) => name, () => "");  // a server without users has no name for its one person
let user = "";
/** @type {Course[]} */
let courses = [];
/** @type {Map<string, string>} */
let uploads = new Map();
/** @type {() => Promise<unknown>} */
let reload = async () => {};

/**
 * @typedef {(course: Course, lesson: Lesson | null) => unknown} Read
 * @typedef {(words: string) => void} Fill
 */

/**
 * Have it work. `read(course, lesson)` opens the reader, `fill(words)` the next question, `drawn(courses)` hears what there is.
 * @param {{ read: Read, fill: Fill, drawn: (courses: Course[]) => unknown }} given
 */
export function library({ read, fill, drawn }) {
  const load = async () => {
    try {
      user = await me;
      ({ courses } = await ask("/api/courses"));
      /** @type {{ owner: string, course: Course }[]} */
      const shared = await ask("/api/courses/shared");
      courses = [...courses, ...shared.map(({ owner, course }) => ({ ...course, owner }))];
      /** @type {{ files: { source: string, name: string }[] }} */
      const { files } = await ask("/api/courses/files");
      uploads = new Map(files.map(({ source, name }) => [source, name]));
    } catch (error) {
      return trouble(messageOf(error), load);
    }
    if (!courses.length) return none(load, drawn);
    amount(pluralize(courses.length, "course"));
    list.replaceChildren(...courses.map((course) => courseOf(course, read, fill)));
    return drawn(courses);
  };
  reload = load;
  fold.addEventListener("click", () => unfold(fold.getAttribute("aria-expanded") === "false"));
  const find = (/** @type {string} */ key, owner = "") => courses.find((each) => each.key === key && (each.owner ?? "") === owner);
  return { load, filter, reveal, fold: () => unfold(false), find };
}

// drawing

/** @param {string} words @param {Node | null} [notice] */
function amount(words, notice = null) {
  byId("amount").textContent = fold.textContent = words;
  byId("finding").hidden = !courses.length;
  byId("notices").replaceChildren(...(notice ? [notice] : []));
}

/**
 * How to begin; later the courses are here.
 * @param {() => Promise<unknown>} load @param {(courses: Course[]) => unknown} drawn
 */
function none(load, drawn) {
  if (!byId("notices").querySelector(".beginning")) {
    list.replaceChildren();
    drawn([]);
    amount("No courses yet", beginning());
    unfold(true);
  }
  setTimeout(load, SOON);
}

/** @param {string} words @param {() => Promise<unknown>} load */
function trouble(words, load) {
  const again = element("button", { type: "button", class: "quiet small", onclick: load }, "Try again");
  amount("Courses", element("div", { class: "notice bad", role: "alert" }, element("p", {}, words), again));
}

function beginning() {
  return element("div", { class: "notice beginning" },
    element("p", {}, "Your courses will be here. Add a folder of them in a terminal:"),
    element("pre", { tabindex: "0" }, element("code", {}, "treadle courses add FOLDER")),
    element("p", {}, "Or try it with a few that are there already:"),
    element("pre", { tabindex: "0" }, element("code", {}, "treadle courses demo")),
    element("p", { class: "small soft" }, "Text, Markdown, PDF, Word, web pages, subtitles and notebooks can be read. "
      + "As soon as there is one, it appears here."));
}

/** @param {Course} course @param {Read} read @param {Fill} fill */
function courseOf(course, read, fill) {
  const { key, name, instructor, link, lessons, owner } = course;
  const many = element("span", { class: "amount", title: pluralize(lessons.length, "lesson") },
    String(lessons.length), element("span", { class: "unseen" }, lessons.length === 1 ? " lesson" : " lessons"));
  const does = element("div", { class: "row" },
    lessons.length ? null : small("Read it", () => read(course, null)), asking(course, aboutCourse(name), fill),
    outward(link, "Course page ↗", `Course page of ${name}`), user && !owner ? small("Share", () => share(course)) : null,
    owner ? null : small("Delete", () => remove(course)));
  return element("li", { "data-key": key, "data-owner": owner }, element("details", { class: "course" },
    element("summary", {}, element("span", { class: "name" }, name), " ", lessons.length ? many : null),
    element("div", { class: "within" },
      instructor ? element("p", { class: "small soft instructor" }, `by ${instructor}`) : null,
      owner ? element("p", { class: "small soft" }, `shared by ${owner}`) : null, does,
      lessons.length ? element("ol", { class: "lessons" }, lessons.map((lesson) => lessonOf(course, lesson, read, fill))) : null,
      course.sources.length > 1 ? documentsOf(course) : null)));
}

/** The documents of a course. Those that were uploaded can be deleted one by one. @param {Course} course */
function documentsOf(course) {
  return element("details", { class: "documents" },
    element("summary", { class: "small soft" }, pluralize(course.sources.length, "document")),
    element("ul", {}, course.sources.map((source) => {
      const words = documentName(source, course);
      const remove = { type: "button", class: "bare", "aria-label": `Delete ${words}`, onclick: () => removeDocument(course, source) };
      return element("li", {}, element("span", { class: "name" }, words), uploads.has(source) ? element("button", remove, "Delete") : null);
    })));
}

/** @param {Course} course @param {Lesson} lesson @param {Read} read @param {Fill} fill */
function lessonOf(course, lesson, read, fill) {
  const number = lesson.number === null ? "·" : String(lesson.number), title = lesson.title || `Lesson ${number}`;
  return element("li", {}, element("details", { class: "lesson", name: "lesson" },
    element("summary", {}, element("span", { class: "number" }, number), " ", element("span", { class: "name" }, title)),
    element("div", { class: "row" },
      small("Read it", () => read(course, lesson)), asking(course, aboutLesson(course, lesson), fill),
      outward(lesson.link, "Open ↗", `Open ${title}`))));
}

/** @param {Course} course @param {string} words @param {Fill} fill */
function asking(course, words, fill) {
  return small("Ask about it", () => {
    chooseShared(course);
    fill(words);
  });
}

/** Share a course with users of the server. @param {Course} course */
async function share({ key }) {
  const path = `/api/courses/shares?course=${encodeURIComponent(key)}`;
  const link = `/courses/?course=${encodeURIComponent(key)}&owner=${encodeURIComponent(user)}`;
  await openShareDialog({ path, link, owner: user, what: "course", about: ABOUT })
    .catch((error) => trouble(messageOf(error), reload));
}

/** Delete a course for good, if that is what they want; one that wasn't uploaded says where it is. @param {Course} course */
async function remove({ key, name }) {
  if (!await confirmDialog(`Delete “${name}”? Its uploaded files are deleted for good.`, "Delete it")) return;
  await deleted(`/api/courses?course=${encodeURIComponent(key)}`);
}

/** Delete one document of a course for good, if that is what they want. @param {Course} course @param {string} source */
async function removeDocument(course, source) {
  const words = documentName(source, course), path = (uploads.get(source) ?? "").split("/").map(encodeURIComponent).join("/");
  if (!await confirmDialog(`Delete “${words}” of “${course.name}”? The file is deleted for good.`, "Delete it")) return;
  await deleted(`/api/courses/files/${path}`);
  reveal(course.key);
}

/** @param {string} path */
async function deleted(path) {
  await ask(path, undefined, { method: "DELETE" }).then(reload, (error) => trouble(messageOf(error), reload));
}

/** @param {string} words @param {() => unknown} does */
function small(words, does) {
  return element("button", { type: "button", class: "quiet small", onclick: does }, words);
}

// finding one's way

/** Show the courses whose names or lessons have all these words in them; whether there are any. @param {string} words */
function filter(words) {
  const wanted = words.toLocaleLowerCase().split(/\s+/).filter(Boolean);
  return courses.map((course, index) => narrow(list.children[index], course, wanted)).some(Boolean) || !courses.length;
}

/** @param {Element} row @param {Course} course @param {string[]} wanted */
function narrow(row, { name, instructor, lessons }, wanted) {
  const isIn = (/** @type {string} */ text) => wanted.every((word) => text.toLocaleLowerCase().includes(word));
  const isWhole = isIn(`${name} ${instructor}`), fitting = lessons.map(({ title }) => isWhole || isIn(`${name} ${title}`));
  const isOpened = !isWhole && fitting.some(Boolean), details = query(row, "details", HTMLDetailsElement);
  row.toggleAttribute("hidden", !isWhole && !isOpened);
  for (const [index, each] of row.querySelectorAll(".lessons > li").entries()) each.toggleAttribute("hidden", !fitting[index]);
  if (isOpened !== details.hasAttribute("data-found")) details.open = isOpened;
  details.toggleAttribute("data-found", isOpened);
  return isWhole || isOpened;
}

/** Show a course by its key. @param {string} key */
function reveal(key) {
  const row = [...list.children].find((each) => each.getAttribute("data-key") === key);
  if (!row) return;
  unfold(true);
  row.removeAttribute("hidden");
  query(row, "details", HTMLDetailsElement).open = true;
  query(row, "summary").focus();
  row.scrollIntoView({ block: "nearest" });
}

/** Where it is narrow, the courses are folded away until they are wanted. @param {boolean} on */
function unfold(on) {
  fold.setAttribute("aria-expanded", String(on));
}

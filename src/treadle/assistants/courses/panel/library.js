// The courses there are: a list that opens to their lessons, each of which can be read or asked about.

import { sure } from "/static/sure.js";
import { ask, element } from "/static/treadle.js";
import { counted } from "/static/words.js";
import { outward } from "./links.js";
import { aboutCourse, aboutLesson } from "./samples.js";
import { documentName } from "./scope.js";

const byId = (id) => document.getElementById(id);
const SOON = 2000;  // milliseconds until one looks again whether there are courses
const list = byId("courses"), fold = byId("fold");
let courses = [], uploads = new Map(), reload = () => {};

/** Have it work. `read(course, lesson)` opens the reader, `fill(words)` the next question, `drawn(courses)` hears what there is. */
export function library({ read, fill, drawn }) {
  const load = async () => {
    try {
      ({ courses } = await ask("/api/courses"));
      uploads = new Map((await ask("/api/courses/files")).files.map(({ source, name }) => [source, name]));
    } catch (error) {
      return trouble(error.message, load);
    }
    if (!courses.length) return none(load, drawn);
    amount(counted(courses.length, "course"));
    list.replaceChildren(...courses.map((course) => courseOf(course, read, fill)));
    return drawn(courses);
  };
  reload = load;
  fold.addEventListener("click", () => unfold(fold.getAttribute("aria-expanded") === "false"));
  return { load, filter, reveal, fold: () => unfold(false), find: (key) => courses.find((course) => course.key === key) };
}

// drawing

function amount(words, notice = null) {
  byId("amount").textContent = fold.textContent = words;
  byId("finding").hidden = !courses.length;
  byId("notices").replaceChildren(...(notice ? [notice] : []));
}

/** How to begin; once somebody has, the courses are here. */
function none(load, drawn) {
  if (!byId("notices").querySelector(".beginning")) {
    list.replaceChildren();
    drawn([]);
    amount("No courses yet", beginning());
    unfold(true);
  }
  setTimeout(load, SOON);
}

function trouble(words, load) {
  const again = element("button", { type: "button", class: "quiet small", onclick: load }, "Try again");
  amount("Courses", element("div", { class: "notice bad", role: "alert" }, element("p", {}, words), again));
}

function beginning() {
  return element("div", { class: "notice beginning" },
    element("p", {}, "Your courses will be here. Add a folder of them in a terminal:"),
    element("pre", {}, element("code", {}, "treadle courses add FOLDER")),
    element("p", {}, "Or try it with a few that are there already:"),
    element("pre", {}, element("code", {}, "treadle courses demo")),
    element("p", { class: "small soft" }, "Text, Markdown, PDF, Word, web pages, subtitles and notebooks can be read. "
      + "As soon as there is one, it appears here."));
}

function courseOf(course, read, fill) {
  const { key, name, instructor, link, lessons } = course;
  const many = element("span", { class: "amount", title: counted(lessons.length, "lesson") },
    String(lessons.length), element("span", { class: "unseen" }, lessons.length === 1 ? " lesson" : " lessons"));
  const does = element("div", { class: "row" },
    lessons.length ? null : small("Read it", () => read(course, null)), small("Ask about it", () => fill(aboutCourse(name))),
    outward(link, "Course page ↗", `Course page of ${name}`), small("Delete", () => remove(course)));
  return element("li", { "data-key": key }, element("details", { class: "course" },
    element("summary", {}, element("span", { class: "name" }, name), " ", lessons.length ? many : null),
    element("div", { class: "within" },
      instructor ? element("p", { class: "small soft instructor" }, `by ${instructor}`) : null, does,
      lessons.length ? element("ol", { class: "lessons" }, lessons.map((lesson) => lessonOf(course, lesson, read, fill))) : null,
      course.sources.length > 1 ? documentsOf(course) : null)));
}

/** The documents of a course. Those that were uploaded can be deleted one by one. */
function documentsOf(course) {
  return element("details", { class: "documents" }, element("summary", { class: "small soft" }, counted(course.sources.length, "document")),
    element("ul", {}, course.sources.map((source) => {
      const words = documentName(source, course);
      return element("li", {}, element("span", { class: "name" }, words), uploads.has(source)
        ? element("button", { type: "button", class: "bare", "aria-label": `Delete ${words}`, onclick: () => removeDocument(course, source) }, "Delete")
        : null);
    })));
}

function lessonOf(course, lesson, read, fill) {
  const number = lesson.number === null ? "·" : String(lesson.number), title = lesson.title || `Lesson ${number}`;
  return element("li", {}, element("details", { class: "lesson", name: "lesson" },
    element("summary", {}, element("span", { class: "number" }, number), " ", element("span", { class: "name" }, title)),
    element("div", { class: "row" },
      small("Read it", () => read(course, lesson)), small("Ask about it", () => fill(aboutLesson(course, lesson))),
      outward(lesson.link, "Open ↗", `Open ${title}`))));
}

/** Delete a course for good, if that is what they want; one that wasn't uploaded says where it is. */
async function remove({ key, name }) {
  if (!await sure(`Delete “${name}”? Its uploaded files are deleted for good.`, "Delete it")) return;
  await deleted(`/api/courses?course=${encodeURIComponent(key)}`);
}

/** Delete one document of a course for good, if that is what they want. */
async function removeDocument(course, source) {
  const words = documentName(source, course), path = uploads.get(source).split("/").map(encodeURIComponent).join("/");
  if (!await sure(`Delete “${words}” of “${course.name}”? The file is deleted for good.`, "Delete it")) return;
  await deleted(`/api/courses/files/${path}`);
  reveal(course.key);
}

async function deleted(path) {
  await ask(path, undefined, { method: "DELETE" }).then(reload, (error) => trouble(error.message, reload));
}

function small(words, does) {
  return element("button", { type: "button", class: "quiet small", onclick: does }, words);
}

// finding one's way

/** Show the courses whose names or lessons have all these words in them; whether there are any. */
function filter(words) {
  const wanted = words.toLocaleLowerCase().split(/\s+/).filter(Boolean);
  return courses.map((course, index) => narrow(list.children[index], course, wanted)).some(Boolean) || !courses.length;
}

function narrow(row, { name, instructor, lessons }, wanted) {
  const isIn = (text) => wanted.every((word) => text.toLocaleLowerCase().includes(word));
  const isWhole = isIn(`${name} ${instructor}`), fitting = lessons.map(({ title }) => isWhole || isIn(`${name} ${title}`));
  const isOpened = !isWhole && fitting.some(Boolean), details = row.firstElementChild;
  row.hidden = !isWhole && !isOpened;
  for (const [index, each] of [...row.querySelectorAll(".lessons > li")].entries()) each.hidden = !fitting[index];
  if (isOpened !== details.hasAttribute("data-found")) details.open = isOpened;
  details.toggleAttribute("data-found", isOpened);
  return !row.hidden;
}

/** Show a course by its key. */
function reveal(key) {
  const row = [...list.children].find(({ dataset }) => dataset.key === key);
  if (!row) return;
  unfold(true);
  row.hidden = false;
  row.firstElementChild.open = true;
  row.querySelector("summary").focus();
  row.scrollIntoView({ block: "nearest" });
}

/** Where it is narrow, the courses are folded away until they are wanted. */
function unfold(on) {
  fold.setAttribute("aria-expanded", String(on));
}

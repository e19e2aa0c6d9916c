// Which questions one might begin with: samples whose courses are there, or questions about the courses that are.

const FEW = 4;
const NAMING = / of \p{Lu}/u;  // a question that names a course

/**
 * Questions for these courses. Samples belong together: where no course that they name is there, none of them fits.
 * @param {Course[]} courses @param {string[]} samples
 */
export function samplesFor(courses, samples) {
  const names = courses.map(({ name }) => name);
  const isThere = (/** @type {string} */ words) => names.some((name) => words.includes(name));
  const fitting = samples.some(isThere) ? samples.filter((words) => isThere(words) || !NAMING.test(words)) : [];
  return [...new Set([...fitting, ...ownFor(courses)])].slice(0, FEW);
}

/** Questions made from titles: one about the lessons of each course, then one about a lesson of each. @param {Course[]} courses */
function ownFor(courses) {
  const few = courses.slice(0, FEW / 2), withLessons = few.filter(({ lessons }) => lessons.length);
  return [
    ...few.map(({ name, lessons }) => (lessons.length ? `What are the lessons of ${name}?` : aboutCourse(name))),
    ...withLessons.map((course) => aboutLesson(course, course.lessons[course.lessons.length - 1])),
  ];
}

/** A question about a course. @param {string} name */
export function aboutCourse(name) {
  return `What is ${name} about?`;
}

/** A question about a lesson. @param {Pick<Course, "name">} given @param {Lesson} lesson */
export function aboutLesson({ name }, { number, title }) {
  return number === null ? `What is ${title} in ${name} about?` : `What is lesson ${number} of ${name} about?`;
}

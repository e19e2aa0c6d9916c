"""Guided plan for small models: code finds course, lesson and tool; the model classifies the message and words the answer.

Pure. Which model is guided is decided by `plugins.assistants`.
"""

import re
from collections.abc import Callable, Generator, Sequence

from treadle import Options, Result
from treadle.assistants.courses.catalogue import Catalogue, replace_brackets, significant_words
from treadle.assistants.courses.sources import FoundPassage, lookup_from_result
from treadle.assistants.courses.tools import course_to_markdown, format_passage_block
from treadle.models import Request
from treadle.plans import FindingsQuestion, IntentClassifier, PlanQuestion, PlanStep, format_plan_question, last_turn

Plan = Generator[PlanQuestion | FindingsQuestion, str, PlanStep]

ABOUT = {
    "content": "what the material says about something: facts, reasons, steps, terms",
    "outline": "which lessons a course has, what it covers, its link or who teaches it",
    "alike": "which other course or lesson has the same topic as a certain lesson",
    "courses": "which courses there are",
    "talk": "greetings, thanks, and what has nothing to do with the courses",
}
_EXAMPLES = (
    ("How hot should the oil be?", "content"),
    ("What does lesson 3 of the cooking course say about salt?", "content"),
    ("Why does a violin have a sound post?", "content"),
    ("Explain interest rates", "content"),
    ("What is in lesson 2 of Sailing for Beginners?", "content"),
    ("Which course explains how tides work?", "content"),
    ("What are the lessons of the sailing course?", "outline"),
    ("Outline of Sailing for Beginners", "outline"),
    ("Who teaches the cooking course?", "outline"),
    ("Is there another course about the same thing as lesson 4 of Cooking?", "alike"),
    ("Which courses do you have?", "courses"),
    ("What can I learn here?", "courses"),
    ("Hello!", "talk"),
    ("Write a poem about spring", "talk"),
)
CHOICE = IntentClassifier("Messages to an assistant that knows course material. Say what each is about.", ABOUT, _EXAMPLES)
ANSWER = (
    "You are a teacher. A student asks something, and you have the pages of the course that fit best. Answer the question in a few "
    "short sentences with what stands on these pages: its reasons, numbers and names. Don't speak of the pages themselves."
)
NOTHING = "The courses don't say anything about that."
TALK = "Answer briefly. You are an assistant for students; about their courses make nothing up."
MAX_BLOCKS = 3  # passages that it reads: the best of them, and soon read

_NUMBER = re.compile(r"\b(?:lesson|chapter|unit|module|week|lecture|part)s?\s+(?:no\.?\s*|number\s+|#)?(\d{1,4})\b", re.IGNORECASE)
_NAMED = re.compile(  # "the lessons of Chess for All?", "lesson 3 of Chess", "who teaches Chess?"
    r"(?:\blessons? (?:\d+ )?(?:of|in|from)|\boutline (?:of|for)|\b[Ww]ho (?:teaches|taught))\s+(?:the (?:course )?)?"
    r"[\"'“]?([A-Z][^?.!,\"”]{1,80}?)(?:[\"'”]| course\b| say\b| about\b| teach\b| cover\b|[?.!,]|$)"
)
_OF_ITSELF = re.compile(
    r"\b(?:instructors?|taught|teach(?:es|ers?)|syllabus|outline|(?:course|web) ?link|link (?:to|of))\b", re.IGNORECASE
)
_TOPIC = re.compile(r"\b(?:about|on|explain|mean)\s+\w", re.IGNORECASE)  # "what does lesson 3 say about salt"
_GOES_ON = re.compile(  # begins where the last question ended, or speaks of what was named there
    r"^\s*(?:and|but|so|what about|how about|more|also)\b|^\s*why\W*$"
    r"|\b(?:it|its|they|them|their|that|this|those|these|there)\b[^\n]{0,20}\??\s*$",
    re.IGNORECASE,
)


def build_course_plan(catalogue: Catalogue) -> Callable[[Request], Plan]:
    """Build the plan for these courses."""

    def plan(request: Request) -> Plan:
        message, results = last_turn(request.history)
        asked = _with_previous_question(message, request)
        following = _next_step(message, results) if len(results) == 1 and request.tools else None
        if following is not None:
            return following
        if results:
            return (yield from _build_answer(request, asked, results))
        about = CHOICE.read((yield CHOICE.question(message)))
        return (yield from _first_step(about, asked, catalogue))

    return plan


def _with_previous_question(message: str, request: Request) -> str:
    """Return the message, after the previous question if it can't be understood without it: "and what steers it?"."""
    said = [each.text for each in request.history if each.role == "person"]
    if len(said) < 2 or not _GOES_ON.search(message):
        return message
    return f"{said[-2]}\n{message}"


def _first_step(about: str, message: str, catalogue: Catalogue) -> Plan:
    """Return the first step for a message: a search, or an answer that needs none."""
    name, number = _find_course_name(message, catalogue), find_lesson_number(message)
    if name and number is None and _OF_ITSELF.search(message):
        about = "outline"
    match about:
        case "courses" if not name:
            return PlanStep(text=_format_courses(catalogue))
        case "outline" | "courses" if name and number is None:
            return PlanStep((("get_course_outline", {"course_name": name}),))
        case "alike" if name and number is not None:
            return PlanStep((("get_course_outline", {"course_name": name}),))
        case "talk" if not name:
            words = yield PlanQuestion(message, TALK, Options(temperature=0, max_tokens=300), answers=True)
            return PlanStep(text=words.strip() or "I don't know.")
        case _:
            where = {"course_name": name} if name else {}
            lesson = {"lesson_number": number} if number is not None else {}
            return PlanStep((("search_course_content", {"query": message[:2000], **where, **lesson}),))


def _find_course_name(message: str, catalogue: Catalogue) -> str:
    """Return the course that a message names; an unknown one as written, if it is clearly meant as one."""
    course = catalogue.find_mentioned(message)
    if course is not None:
        return course.name
    found = _NAMED.search(message)
    return found[1].strip() if found else ""


def _next_step(message: str, results: list[Result]) -> PlanStep | None:
    """Return the search in all courses that follows the outline a lesson's title was needed from."""
    outline, number = lookup_from_result(results[0]), find_lesson_number(message)
    if results[0].name != "get_course_outline" or outline is None or number is None:
        return None
    titles = {lesson.number: lesson.title for course in outline.courses for lesson in course.lessons if lesson.title}
    return PlanStep((("search_course_content", {"query": titles[number]}),)) if number in titles else None


def _build_answer(request: Request, message: str, results: list[Result]) -> Plan:
    """Word what was found; an outline, and what isn't there, are returned as they are."""
    last, lookup = results[-1], lookup_from_result(results[-1])
    if lookup is not None and lookup.status == "nothing":
        return PlanStep(text=NOTHING)
    if lookup is not None and lookup.status != "found":
        return PlanStep(text=lookup.message)
    if last.problem is not None:
        return PlanStep(text=last.content)
    if lookup is not None and lookup.courses:
        return PlanStep(text="\n\n".join(map(course_to_markdown, lookup.courses)))
    first = lookup_from_result(results[0])
    if lookup is not None and first is not None and first.courses:
        return PlanStep(text=_list_other_courses(first.courses[0].name, lookup.passages))
    found = (
        "\n\n".join(_best_blocks(message, list(map(format_passage_block, lookup.passages)))) if lookup is not None else last.content
    )
    if _has_topic(message) and (yield FindingsQuestion(message, found, facts_only=False)) == "no":
        return PlanStep(text=NOTHING)
    asked = f"{found}\n\n{format_plan_question(message, request)}"
    words = yield PlanQuestion(asked, ANSWER, Options(temperature=0, max_tokens=300), answers=True)
    return PlanStep(text=words.strip() or found)


def _best_blocks(message: str, blocks: list[str]) -> list[str]:
    """Return the few blocks that the model reads: those with most of the question's words first."""
    asked = set(significant_words(message))
    return sorted(blocks, key=lambda each: -len(asked & set(significant_words(each))))[:MAX_BLOCKS]


def _has_topic(message: str) -> bool:
    """Return whether a message asks for something that may not be on a page; what a whole lesson is about always is."""
    return find_lesson_number(message) is None or _TOPIC.search(message) is not None


def _list_other_courses(course: str, found: Sequence[FoundPassage]) -> str:
    """Return which other courses have what was found, by each passage's heading."""
    own = replace_brackets(course)
    under = dict.fromkeys([each.heading for each in found])
    others = [each for each in under if each != own and not each.startswith(f"{own} - ")]
    if not others:
        return f"No, only {own} is about that."
    return "Yes:\n\n" + "\n".join([f"- {each}" for each in others[:MAX_BLOCKS]])


def _format_courses(catalogue: Catalogue) -> str:
    if not catalogue.courses:
        return "There are no courses yet."
    listed = "\n".join([f"- {course.name}, {_format_lesson_count(len(course.lessons))}" for course in catalogue.courses])
    return f"There are these courses:\n\n{listed}"


def _format_lesson_count(lessons: int) -> str:
    return "1 lesson" if lessons == 1 else f"{lessons} lessons"


def find_lesson_number(message: str) -> int | None:
    """Return the lesson number in a message."""
    found = _NUMBER.search(message)
    return int(found[1]) if found else None

"""Where lessons begin and where they don't; and whatever the text, nothing is lost, too long, or mixed."""

import re

import pytest
from hypothesis import given
from hypothesis import strategies as st

from assistants.courses.material.sample_files import course, read
from treadle.assistants.courses.material.course_types import normalize_material_text
from treadle.assistants.courses.material.layout import MAX_LAYOUT_LESSONS, parse_layout
from treadle.assistants.courses.material.line_parsing import parse_head_line, parse_line_mark
from treadle.passages import UnreadableDocument


def lessons(text, *, markdown=False, lessons_only=False):
    return [(each.number, each.title) for each in parse_layout(text, markdown=markdown, lessons_only=lessons_only).lessons]


def texts_by_lesson(text, *, markdown=False):
    parts = parse_layout(text, markdown=markdown).parts
    return [(part.lesson.number if part.lesson else None, text[part.start : part.end]) for part in parts]


def test_the_head_may_be_in_any_order_and_have_gaps():
    found = parse_layout("\nCOURSE INSTRUCTOR: Ada\n\n\ncourse link:https://e.org\nCourse Title:  A   \tB \n\nText", markdown=False)
    assert (found.title, found.link, found.instructor) == ("A B", "https://e.org", "Ada")
    assert texts_by_lesson("Course Title: A\n\nText") == [(None, "\nText")]


def test_what_isnt_at_the_beginning_is_no_head():
    found = parse_layout("Text.\nCourse Title: A\nCourse Link: https://e.org", markdown=False)
    assert (found.title, found.link) == ("", "")
    twice = parse_layout("Course Title: A\nCourse Title: B\nText", markdown=False)
    assert (twice.title, [part.start for part in twice.parts]) == ("A", [16])


def test_a_heading_may_stand_before_the_head_of_markdown():
    text = "# Git\n\nCourse Link: https://e.org\n\nText"
    found = parse_layout(text, markdown=True)
    assert (found.link, found.heading_one) == ("https://e.org", "Git")
    assert [text[part.start : part.end].strip() for part in found.parts] == ["# Git", "Text"]
    assert parse_layout("# Course Title: Git\n\nText", markdown=True).heading_one == ""


@pytest.mark.parametrize(
    "line",
    [
        "## Lesson 3: Branches",
        "# Lesson 3 - Branches",
        "### Lesson 3 — Branches ###",
        "# lesson #3. Branches",
        "## **Lesson 3:** Branches",
        "## Lesson 03: [Branches](https://e.org)",
        "Lesson 3: Branches",
        "LESSON 3:Branches",
        "**Lesson 3: Branches**",
        "**Lesson 3**: Branches",
        "Lesson 3: Branches\n===",
        "# Chapter 3: Branches",
        "## Week 3: Branches",
        "# Module 3 | Branches",
        "Unit 3: Branches\n-------",
        "# Lecture No. 3: Branches",
        "#### Part 3) Branches",
    ],
)
def test_a_lesson_of_markdown_begins_with_a_heading_or_a_line(line):
    text = f"Before.\n\n{line}\n\nText."
    assert lessons(text, markdown=True) == [(3, "Branches")]
    assert texts_by_lesson(text, markdown=True) == [(None, "Before."), (3, "\nText.")]


@pytest.mark.parametrize(
    "line",
    [
        "## Lesson three: Branches",
        "## Lessons 3: Branches",
        "## Lesson 3.1: Branches",
        "## Lesson 3-4: Branches",
        "Chapter 3: Branches",
        "Lesson 3 - Branches",
        "    ## Lesson 3: Branches",
        "- Lesson 3: Branches",
        "See Lesson 3: Branches",
        "## In Lesson 3: Branches",
        f"Lesson 3: {'long ' * 50}",
        f"## Lesson 3: {'long ' * 50}",
        f"Lesson 3: {'x' * 500}",
        "Lesson 3: as we saw, branches are cheap.",
        "```\nLesson 3: Branches\n```",
        "~~~~md\n```\n## Lesson 3: Branches\n~~~~",
        "```\n## Lesson 3: Branches",
        "Lesson 3",
    ],
)
def test_what_only_looks_like_a_lesson_begins_none(line):
    text = f"Before.\n\n{line}\n\nText."
    assert lessons(text, markdown=True) == []
    assert texts_by_lesson(text, markdown=True) == [(None, text)]


def test_a_sentence_in_a_paragraph_begins_no_lesson():
    assert lessons("Lesson 2: Two\nThis follows from\nLesson 3: Branches\nand more.") == [(2, "Two")]
    assert lessons("Lesson 2: Two\nThis is said.\nLesson 3: as we saw, it is so\nand more.") == [(2, "Two")]
    assert lessons("Lesson 2: Two\nThis is said.\nLesson 9: Branches\nand more.") == [(2, "Two")]


def test_a_lesson_may_follow_right_behind_the_last_sentence_of_the_one_before():
    assert lessons("Lesson 2: Two\nThis is said.\nLesson 3: Branches\nMore.") == [(2, "Two"), (3, "Branches")]


def test_a_line_before_a_link_begins_a_lesson_anywhere():
    text = "Text goes on\nLesson 3: Branches\nLesson Link: https://e.org/3\nMore."
    assert texts_by_lesson(text) == [(None, "Text goes on"), (3, "More.")]
    assert parse_layout(text, markdown=False).lessons[0].link == "https://e.org/3"


def test_links_that_lead_nowhere_are_dropped_with_their_line():
    text = "Lesson 3: Branches\n\nLesson Link: javascript:alert(1)\n\nMore."
    assert parse_layout(text, markdown=False).lessons[0].link == ""
    assert [words.strip() for _, words in texts_by_lesson(text)] == ["More."]


def test_lessons_without_text_and_with_one_number_are_kept():
    assert lessons("Lesson 0: A\nLesson 1: B\n\nLesson 1: C\nText.") == [(0, "A"), (1, "B"), (1, "C")]
    assert lessons("## Lesson 1\n\n## Lesson 2:\n\nText.", markdown=True) == [(1, ""), (2, "")]


def test_a_list_of_contents_isnt_told_again():
    assert lessons("Lesson 0: A\nLesson 1: B\n\nLesson 0: A\nText.\n\nLesson 1: B\nText.") == [(0, "A"), (1, "B")]


def test_titles_keep_html_as_it_is_written():
    assert lessons("## Lesson 1: <b>Bold</b> & <script>x</script>", markdown=True) == [(1, "<b>Bold</b> & <script>x</script>")]
    assert lessons("Lesson 1: *a* \x07 `b`") == [(1, "*a* \x07 `b`".replace("\x07 ", ""))]


def test_what_there_is_most_of_are_the_lessons():
    book = "# Part 1: A\n\n## Chapter 1: B\n\nx\n\n## Chapter 2: C\n\ny\n\n# Part 2: D\n\n## Chapter 3: E\n\nz"
    assert lessons(book, markdown=True) == [(1, "B"), (2, "C"), (3, "E")]
    assert lessons(book + "\n\n## Lesson 1: F\n\nw", markdown=True) == [(1, "F")]
    assert lessons(book, markdown=True, lessons_only=True) == []


def test_there_is_a_limit_to_lessons_and_what_is_behind_it_is_text():
    text = "\n\n".join(f"Lesson {number}: A\nText." for number in range(MAX_LAYOUT_LESSONS + 5))
    found = parse_layout(text, markdown=False)
    assert len(found.lessons) == MAX_LAYOUT_LESSONS
    assert f"Lesson {MAX_LAYOUT_LESSONS + 4}: A" in text[found.parts[-1].start :]


def test_front_matter_is_no_head_and_has_no_lessons():
    text = '---\ntitle: "A title"\nauthor: Ada\n\nLesson 1: no\n---\nCourse Link: https://e.org\n\nText.'
    found = parse_layout(text, markdown=True)
    assert (found.front, found.link, found.lessons) == ("A title", "https://e.org", ())
    assert parse_layout("---\nno end", markdown=True).front == ""
    assert parse_layout("---\na: b\n...\nText", markdown=True).front == ""


BITS = [
    "Course Title: A b\n", "course link: https://e.org\n", "Course Instructor: Ada\n", "Lesson Link: https://e.org/1\n",
    "Lesson 0: Zero\n",
    "Lesson 1: One <b>\n", "Lesson 12: Twelve\n\n", "## Lesson 2: Two\n", "# Chapter 3: Three\n\n", "Lesson 4: Four\n====\n",
    "\n", "\n\n",
    "# Title\n", "### Sub\n", "```\n", "~~~\n", "---\n", "title: x\n", "A sentence. Another one! ", "word " * 30, "x" * 120,
    "\r\n", "\r", "\t",
    "| a | b |\n", "- item\n", "\x01", "\x1b[31m", "\u2028", "\x85", "*Lesson 5: Five*\n", "    Lesson 6: Six\n",
    "\u202e", "#", "a",
]  # fmt: skip
texts = st.lists(
    st.sampled_from(BITS) | st.text(st.characters(codec="utf-8", exclude_characters="\0\ufeff"), max_size=30), max_size=40
).map("".join)


def words_of(text: str, *, markdown: bool) -> set[str]:
    """The words of a text without lines that may be marks or of the head."""
    bare = [
        line
        for line in normalize_material_text(text).split("\n")
        if not parse_head_line(line) and not re.search(r"(?i)lesson|chapter|title", line)
    ]
    bare = [line for line in bare if not parse_line_mark(line, markdown=markdown)]
    return {word for line in bare for word in line.split() if re.search(r"\w", word)}


@pytest.mark.parametrize("source", ["x.txt", "x.md", "all/git/03-x.md", "all/git/x.txt"])
@given(text=texts, size=st.integers(50, 300), share=st.floats(0, 0.5))
def test_passages_hold_all_words_and_none_is_too_long_or_of_two_lessons(source, text, size, share):
    markdown = source.endswith("md")
    if not normalize_material_text(text).strip():
        with pytest.raises(UnreadableDocument, match="empty"):
            read(source, text)
        return
    document = read(source, text, size=size, overlap=int(size * share))
    assert all(0 < len(each.text) <= size for each in document.passages)
    told = " ".join([document.title, *(f"{each.text} {' '.join(each.headings)}" for each in document.passages)])
    missing = {word for word in words_of(text, markdown=markdown) if word not in told and not longer_than(word, size)}
    assert not missing
    lessons = {each.number for each in course(document).lessons}
    assert {each.tags["lesson"] for each in document.passages if "lesson" in each.tags} <= lessons
    lines = normalize_material_text(text).split("\n")
    for each in document.passages:
        assert each.text.strip() in "\n".join(lines[each.first_line - 1 : each.last_line])


def longer_than(word: str, size: int) -> bool:
    """Whether a word may have been cut because no passage could hold it whole."""
    return len(word) > size // 2


@given(numbered=st.lists(st.integers(0, 9999), min_size=1, max_size=8), markdown=st.booleans())
def test_every_lesson_has_its_own_text_and_nothing_else(numbered, markdown):
    mark = "## " if markdown else ""
    parts = [f"{mark}Lesson {number}: Of {place}\n\nText {place} is here.\n" for place, number in enumerate(numbered)]
    document = read("x.md" if markdown else "x.txt", "Course Title: A\n\n" + "\n".join(parts))
    assert [(each.tags["lesson"], each.text) for each in document.passages] == [
        (number, f"Text {place} is here.") for place, number in enumerate(numbered)
    ]

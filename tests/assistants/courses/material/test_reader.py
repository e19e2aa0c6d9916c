"""Files of all formats made into courses: which course, which lessons, which passages, and where they stand."""

import asyncio
from contextlib import closing

import pytest

from assistants.courses.material.sample_files import (
    COURSES,
    LESSONS,
    LINK,
    TEACHER,
    TITLE,
    course,
    numbers,
    read,
    said,
    write_all,
)
from treadle.assistants.courses.material.format_registry import MAX_MATERIAL_BYTES, PATTERNS
from treadle.assistants.courses.material.reader import CourseReader
from treadle.passages import HashedEmbedder, Passages, UnreadableDocument, index_folders


@pytest.mark.parametrize("source", COURSES)
def test_equal_content_is_the_same_course_in_every_format(source):
    document = read(source, COURSES[source]())
    about = course(document)
    assert (about.course, about.title, about.link, about.instructor) == (source, TITLE, LINK, TEACHER)
    assert [(each.number, each.title, each.link) for each in about.lessons] == [lesson[:3] for lesson in LESSONS]
    for number, title, link, text in LESSONS:
        assert said(document, number) == text
        of_lesson = [each for each in document.passages if each.tags.get("lesson") == number]
        assert {each.link for each in of_lesson} == {link or LINK}
        assert {each.headings for each in of_lesson} == {(f"Lesson {number}: {title}",)}
    assert {each.title for each in document.passages} == {document.title} == {TITLE}
    assert {each.tags["course"] for each in document.passages} == {source}
    assert not said(document, None)  # the head isn't text


def test_passages_know_their_place():
    assert [(each.first_line, each.last_line, each.at) for each in read("bread.txt", COURSES["bread.txt"]()).passages] == [
        (7, 7, ""), (10, 10, ""), (14, 14, ""),
    ]  # fmt: skip
    assert [each.at for each in read("bread.pdf", COURSES["bread.pdf"]()).passages] == ["page 2", "page 3", "page 4"]
    assert [each.at for each in read("bread.vtt", COURSES["bread.vtt"]()).passages] == ["00:00:20", "00:00:28", "00:00:40"]
    found = read("bread.ipynb", COURSES["bread.ipynb"]()).passages
    assert [each.at for each in found] == ["cell 3", "cell 5", "cell 7"]
    assert {each.first_line for each in found} == {0}


def test_the_files_of_a_folder_become_documents_that_are_found(tmp_path):
    async def main():
        folder = tmp_path / "baking"
        folder.mkdir()
        write_all(folder)
        (folder / "broken.pdf").write_bytes(b"%PDF-1.4 and no more")
        (folder / "notes.rtf").write_text("left alone")
        with closing(Passages(tmp_path / "store.db", HashedEmbedder())) as store:
            report = await index_folders(store, [folder], patterns=PATTERNS, reader=CourseReader(), largest=MAX_MATERIAL_BYTES)
            found = await store.search("tight skin", where={"course": "baking/bread.pdf", "lesson": 2})
        return report, found

    report, found = asyncio.run(main())
    assert report.added == len(COURSES)
    assert [each.source for each in report.skipped] == ["baking/broken.pdf"]
    assert found[0].passage.place == "Lesson 2: Shaping the loaf, page 4"


def test_a_file_with_a_course_title_is_a_course_wherever_it_lies():
    document = read("baking/week1/a.txt", "Course title : Rye\n\nText.", titles={"baking": "Baking"})
    assert (course(document).course, document.title, course(document).lessons) == ("baking/week1/a.txt", "Rye", ())
    assert document.passages[0].tags == {"course": "baking/week1/a.txt", "document": "baking/week1/a.txt"}


def test_a_folder_with_a_title_is_one_course_and_its_files_are_lessons():
    read_in = {"titles": {"git": "Learn <i>Git</i>"}}
    deep = read(
        "git/basics/03-branches.md", "# Branches\n\nCourse Instructor: Ada\nLesson Link: https://e.org/3\n\nA branch.", **read_in
    )
    assert course(deep).course == "git"
    assert (deep.title, course(deep).instructor) == ("Learn <i>Git</i>", "Ada")
    assert numbers(deep) == [(3, "Branches")]
    assert [(each.text, each.headings, each.tags, each.link) for each in deep.passages] == [
        (
            "A branch.",
            ("Lesson 3: Branches",),
            {"course": "git", "document": "git/basics/03-branches.md", "lesson": 3},
            "https://e.org/3",
        )
    ]
    assert course(read("git/Lesson 0.txt", "Hello.", **read_in)).lessons[0].number == 0
    assert read("git/00-start.txt", "Hello.", titles={"git": ""}).title == "Git"


def test_a_file_in_a_sub_folder_is_a_lesson_of_the_first_one():
    document = read("courses/01-git_from_the-start/deep/week2.vtt", "WEBVTT\n\n00:01.000 --> 00:02.000\nHi there.")
    assert (course(document).course, document.title) == ("courses/01-git_from_the-start", "Git from the start")
    assert numbers(document) == [(2, "")]
    assert document.passages[0].headings == ("Lesson 2",)


def test_a_file_in_the_added_folder_or_by_itself_is_a_course():
    assert course(read("courses/02-rye_bread.srt", "1\n00:00:01,000 --> 00:00:02,000\nHi.")).course == "courses/02-rye_bread.srt"
    assert read("courses/02-rye_bread.srt", "1\n00:00:01,000 --> 00:00:02,000\nHi.").title == "Rye bread"
    assert course(read("alone.md", "# Alone\n\nText.")).course == "alone.md"


def test_a_name_of_several_parts_is_a_folder_if_it_is_said_to_be_one():
    assert course(read("a/courses/git/1.md", "Text.", folders=("a/courses",))).course == "a/courses/git"
    assert course(read("a/courses/git.md", "Text.", folders=("a/courses",))).course == "a/courses/git.md"
    assert course(read("a/courses/git/1.md", "Text.", titles={"a": "No", "a/courses": "All"})).course == "a/courses"


@pytest.mark.parametrize(
    ("source", "data", "title"),
    [
        ("x.md", "---\ntitle: 'From the front'\n---\n\nText.", "From the front"),
        ("x.md", "## Small\n\n# Large\n\nText.", "Large"),
        ("x.md", "Underlined\n==========\n\nText.", "Underlined"),
        ("x.md", "# The *good* [`git`](https://e.org) course {#id} ##\n\nText.", "The good git course"),
        ("01-some_name.md", "# Lesson 1: One\n\nText.", "Some name"),
        ("x.txt", "\n  A first line  \n\nText.", "A first line"),
        ("some-name.txt", "word " * 30, "Some name"),
        ("some-name.txt", "Lesson 1: One\nText.", "Some name"),
        ("x.html", "<title>Only a title</title><p>Text.", "Only a title"),
        ("x.html", "<title>A title</title><h1>A heading</h1><p>Text.", "A heading"),
    ],
)
def test_a_course_has_the_title_that_its_file_gives_it(source, data, title):
    assert read(source, data).title == title


@pytest.mark.parametrize(
    ("name", "data", "lesson"),
    [
        ("03-branches.md", "Text.", (3, "Branches")),
        ("03-branches.md", "## All about branches\n\nText.", (3, "All about branches")),
        ("03-x.md", "---\ntitle: In front\n---\nText.", (3, "In front")),
        ("week2.md", "# Week 2: Merging\n\nText.\n\n## Part 1: Fast\n\nText.", (2, "Merging")),
        ("notes.md", "Text.", (None, "Notes")),
        ("03-x.html", "<title>Trees</title><p>Text.", (3, "Trees")),
        ("lesson_00.txt", "Text.", (0, "")),
    ],
)
def test_a_lesson_has_number_and_title_from_its_file(name, data, lesson):
    document = read(f"all/git/{name}", data)
    assert numbers(document) == [lesson]
    assert {each.tags.get("lesson") for each in document.passages} == {lesson[0]}


def test_a_lesson_file_with_lessons_in_it_has_these():
    document = read("all/git/07-more.md", "Before.\n\n## Lesson 8: Rebase\n\nOne.\n\n## Lesson 9: Bisect\n\nTwo.")
    assert numbers(document) == [(8, "Rebase"), (9, "Bisect")]
    assert [each.tags.get("lesson") for each in document.passages] == [None, 8, 9]
    chapters = read("all/git/book.md", "# Chapter 1: One\n\nA.\n\n# Chapter 2: Two\n\nB.")
    assert numbers(chapters) == [(1, "One"), (2, "Two")]


def test_headings_inside_a_lesson_come_after_it():
    document = read("x.md", "# X\n\n## Lesson 1: One\n\n### Why\n\nBecause.\n\n#### Deep\n\nDown.")
    assert [each.headings for each in document.passages] == [("Lesson 1: One", "Why"), ("Lesson 1: One", "Why", "Deep")]


def test_a_title_alone_is_no_passage_unless_there_is_nothing_else():
    assert [each.text for each in read("x.txt", "Rye\n\nLesson 1: Rye\nText.").passages] == ["Text."]
    assert [each.text for each in read("x.txt", "Rye").passages] == ["Rye"]
    assert [each.text for each in read("x.txt", "Course Title: Rye\nLesson 1: One\nOne\n\nLesson 2: Two\nB").passages] == [
        "One",
        "B",
    ]


def test_a_course_without_lessons_loses_nothing():
    document = read("x.txt", "Course Title: Rye\n\nFirst.\n\nSecond.")
    assert course(document).lessons == ()
    assert [(each.text, each.tags) for each in document.passages] == [
        ("First.\n\nSecond.", {"course": "x.txt", "document": "x.txt"})
    ]


def test_a_course_of_empty_lessons_has_its_outline():
    document = read("x.txt", "Course Title: Rye\nLesson 1: One\nLesson 2: Two")
    assert numbers(document) == [(1, "One"), (2, "Two")]
    assert document.passages == ()


@pytest.mark.parametrize(("source", "data", "reason"), [
    ("x.rtf", "text", ".rtf can't be read here"),
    ("x", "text", "nothing can't be read here"),
    ("x.txt", "", "empty"),
    ("x.md", " \n\t \n", "empty"),
    ("x.html", "<script>only()</script>", "empty"),
    ("x.ipynb", "  ", "empty"),
    ("x.txt", b"caf\xe9", "not UTF-8"),
])  # fmt: skip
def test_what_cant_be_read_is_said_with_why(source, data, reason):
    with pytest.raises(UnreadableDocument, match=reason):
        read(source, data)


def test_what_is_set_is_part_of_the_version():
    versions = {CourseReader().version, CourseReader(size=500).version, CourseReader(overlap=0).version}
    versions |= {CourseReader(titles={"a": "A"}).version, CourseReader(folders=("a/b",)).version}
    assert len(versions) == 5


def test_what_is_set_for_another_folder_is_nothing_to_a_file():
    alone = CourseReader(titles={"git": "Git"})
    more = CourseReader(titles={"git": "Git", "rye": "Rye"}, folders=("a/b",))
    for source in ("git/1.md", "all/x/1.md", "alone.md"):
        assert alone.version_of(source) == more.version_of(source)
    for source, other in (("git/1.md", CourseReader(titles={"git": "Learn Git"})), ("a/b/c/1.md", more)):
        assert alone.version_of(source) != other.version_of(source)
    assert len({each.version_of("x/y/z.md") for each in (alone, CourseReader(size=500), CourseReader(overlap=0))}) == 3


def test_a_folder_that_is_added_leaves_the_others_alone(tmp_path):
    async def main():
        for name in ("git", "rye"):
            (tmp_path / name).mkdir()
            (tmp_path / name / "1.md").write_text("# One\n\nText.")

        async def indexed(store, **titles):
            return await index_folders(store, [tmp_path / name for name in titles], reader=CourseReader(titles=titles))

        with closing(Passages(tmp_path / "store.db", HashedEmbedder())) as store:
            await indexed(store, git="Git")
            added = await indexed(store, git="Git", rye="Rye")
            renamed = await indexed(store, git="Learn Git", rye="Rye")
            return added, renamed, await store.abouts()

    added, renamed, abouts = asyncio.run(main())
    assert (added.added, added.changed, added.unchanged) == (1, 0, 1)
    assert (renamed.added, renamed.changed, renamed.unchanged) == (0, 1, 1)
    assert abouts["git/1.md"]["title"] == "Learn Git"

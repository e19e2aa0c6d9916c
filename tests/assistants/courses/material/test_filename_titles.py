"""What names of files and folders say."""

import pytest

from treadle.assistants.courses.material.reader import file_stem, parse_lesson_name, readable_name


@pytest.mark.parametrize(
    ("name", "shown"),
    [
        ("01-git_from_the-start", "Git from the start"),
        ("Git", "Git"),
        ("3. Trees", "Trees"),
        ("2024", "2024"),
        ("007", "007"),
        ("2024-spring", "2024 spring"),
        ("3d-models", "3d models"),
        ("node.js", "Node.js"),
        ("  ", ""),
        ("01__", "01"),
        ("---", "---"),
        ("über_uns", "Über uns"),
        ("a\x1b[31mb", "A [31mb"),
    ],
)
def test_a_name_is_made_readable(name, shown):
    assert readable_name(name) == shown


@pytest.mark.parametrize(
    ("stem", "number", "title"),
    [
        ("03-branches", 3, "Branches"),
        ("Lesson 3 - Branches", 3, "Branches"),
        ("week2", 2, ""),
        ("lesson_00", 0, ""),
        ("0", 0, ""),
        ("git-chapter-04-trees", 4, "Git trees"),
        ("MODULE.7_remote", 7, "Remote"),
        ("lecture#12", 12, ""),
        ("Unit 1", 1, ""),
        ("03-branches-part-2", 3, "Branches part 2"),
        ("03 Lesson 3 Trees", 3, "Trees"),
        ("3.1 Trees", 3, "Trees"),
        ("03trees", 3, "Trees"),
        ("apartment2", None, "Apartment2"),
        ("2024-01-02 notes", None, "2024 01 02 notes"),
        ("3d-models", None, "3d models"),
        ("notes", None, "Notes"),
        ("lesson_three", None, "Lesson three"),
        ("lesson123456", None, "Lesson123456"),
        ("part 2", 2, ""),
    ],
)
def test_the_name_of_a_lesson_says_its_number_and_title(stem, number, title):
    found = parse_lesson_name(stem)
    assert (found.number, found.title) == (number, title)


@pytest.mark.parametrize(
    ("path", "stem"),
    [
        ("a/b.c.md", "b.c"),
        ("a/b.en.vtt", "b"),
        ("b.zh-Hans.SRT", "b"),
        ("b.en.md", "b.en"),
        ("week.2.srt", "week.2"),
        (".en.srt", ".en"),
    ],
)
def test_the_stem_is_the_name_without_ending_and_language(path, stem):
    assert file_stem(path) == stem

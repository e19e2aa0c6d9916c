"""The material: added, brought up to date, searched; whatever is in it, and whatever happens meanwhile."""

import asyncio
import subprocess
import sys
from contextlib import suppress

import pytest

from assistants.courses.course_setup import ASTRONOMY, SAILING, write
from treadle import TreadleError
from treadle.assistants.courses.course_folders import CourseFolder, CourseFolderList
from treadle.assistants.courses.library import CourseLibrary
from treadle.assistants.courses.settings import CoursesSettings
from treadle.errors import SettingsError
from treadle.passages import HashedEmbedder


def using(home, work, **settings):
    async def main():
        async with CourseLibrary(home, CoursesSettings(**settings)) as library:
            return await work(library)

    return asyncio.run(main())


def added(home, *paths, title="", **settings):
    """What indexing reports, and the titles there are then."""

    async def work(library):
        for path in paths:
            library.shelf.add(path, title)
        report = await library.refresh()
        return report, [course.name for course in (await library.catalogue()).courses]

    return using(home, work, **settings)


def found(home, *asked, **settings):
    async def work(library):
        return await library.search(*asked)

    return using(home, work, **settings)


@pytest.fixture
def material(tmp_path):
    return write(tmp_path / "material", sailing=SAILING, moon=ASTRONOMY)


def test_a_folder_of_courses_is_found_by_words_course_and_lesson(tmp_path, material):
    report, titles = added(tmp_path / "home", material)
    assert (report.added, titles) == (2, ["Sailing for Beginners", "The Moon and Her Effects"])
    home = tmp_path / "home"
    source = "material/sailing.txt"
    assert found(home, "what keeps the boat upright").found[0].passage.tags == {"course": source, "document": source, "lesson": 1}
    spring = found(home, "spring tides", "moon").found
    assert {each.passage.tags["course"] for each in spring} == {"material/moon.txt"}
    assert spring[0].passage.link == "https://example.org/moon/2"
    assert {each.passage.tags["lesson"] for each in found(home, "moon", "", 4).found} == {4}


def test_lesson_zero_is_a_lesson(tmp_path, material):
    added(tmp_path / "home", material)
    (only,) = found(tmp_path / "home", "before", "Sailing", 0).found
    assert only.passage.headings == ("Lesson 0: Before you cast off",)


@pytest.mark.parametrize("embeddings", ["auto", "none"])
def test_of_a_lesson_something_is_found_whatever_is_asked(tmp_path, material, embeddings):
    added(tmp_path / "home", material, embeddings=embeddings)
    asked = found(tmp_path / "home", "zyzzyva", "Sailing", 1, embeddings=embeddings)
    assert [each.passage.tags["lesson"] for each in asked.found] == [1]
    assert found(tmp_path / "home", "zyzzyva", "Sailing", 7, embeddings=embeddings).found == ()


def test_a_wrong_name_is_said_to_be_wrong_and_near_ones_are_offered(tmp_path, material):
    added(tmp_path / "home", material)
    wrong = found(tmp_path / "home", "tides", "Sailing round the whole wide world")
    assert (wrong.unknown, [course.title for course in wrong.near], wrong.found) == (True, ["Sailing for Beginners"], ())
    assert found(tmp_path / "home", "tides", "Chess").near == ()


def test_only_what_changed_is_indexed_and_what_is_gone_goes(tmp_path, material):
    home = tmp_path / "home"
    added(home, material)
    assert added(home)[0].unchanged == 2
    (material / "moon.txt").write_text(ASTRONOMY.replace("ocean", "sea"))
    (material / "sailing.txt").unlink()
    report, titles = added(home)
    assert (report.changed, report.removed, titles) == (1, 1, ["The Moon and Her Effects"])
    assert found(home, "keel").found == ()


def test_a_folder_that_was_taken_off_is_forgotten_and_its_files_stay(tmp_path, material):
    home = tmp_path / "home"
    added(home, material)

    async def remove(library):
        assert library.shelf.remove(material)
        assert not library.shelf.remove(material)
        return (await library.refresh()).removed

    assert using(home, remove) == 2
    assert found(home, "keel").found == ()
    assert (material / "moon.txt").exists()


def test_a_folder_can_be_one_course(tmp_path):
    folder = tmp_path / "talks"
    folder.mkdir()
    (folder / "01-hello.md").write_text("# Hello\n\nWe begin with flamingos.")
    (folder / "02-more.md").write_text("# More\n\nThen come pelicans.")
    assert added(tmp_path / "home", folder, title="Birds")[1] == ["Birds"]
    asked = found(tmp_path / "home", "pelicans", "Birds", 2).found
    assert asked[0].passage.headings[0] == "Lesson 2: More"


def test_settled_folders_count_like_added_ones_and_none_counts_twice(tmp_path, material):
    home = tmp_path / "home"
    assert added(home, folders=(str(material),))[0].added == 2
    assert added(home, material, folders=(str(material),))[0].unchanged == 2


def test_an_empty_folder_is_fine_and_a_missing_one_is_a_sentence(tmp_path):
    (tmp_path / "empty").mkdir()
    report, titles = added(tmp_path / "home", tmp_path / "empty")
    assert (report.added, report.skipped, titles) == (0, (), [])
    assert found(tmp_path / "home", "anything").found == ()
    with pytest.raises(SettingsError, match="There is no"):
        added(tmp_path / "home", tmp_path / "nowhere")


def test_what_cant_be_read_is_named_and_the_rest_is_there(tmp_path, material):
    (material / "broken.pdf").write_bytes(b"%PDF-1.7\nnothing of the kind")
    (material / "empty.md").write_text("  \n")
    report, titles = added(tmp_path / "home", material)
    assert len(titles) == 2
    assert sorted(each.source for each in report.skipped) == ["material/broken.pdf", "material/empty.md"]
    assert all(each.reason for each in report.skipped)


def test_a_course_without_lessons_is_a_course(tmp_path):
    folder = write(tmp_path / "m", plain="Course Title: Plain\n\nNothing but text about wombats, and no lessons.")
    assert added(tmp_path / "home", folder)[1] == ["Plain"]
    (only,) = found(tmp_path / "home", "wombats").found
    assert "lesson" not in only.passage.tags


def test_two_courses_with_one_title_are_both_there(tmp_path):
    folder = write(
        tmp_path / "m", a="Course Title: Twin\n\nLesson 1: A\nAbout wombats.", b="Course Title: Twin\n\nLesson 1: B\nAbout emus."
    )
    assert added(tmp_path / "home", folder)[1] == ["Twin (m/a.txt)", "Twin (m/b.txt)"]
    assert {each.passage.source for each in found(tmp_path / "home", "wombats emus", "Twin").found} == {"m/a.txt", "m/b.txt"}
    assert {each.passage.source for each in found(tmp_path / "home", "emus", "Twin (m/b.txt)").found} == {"m/b.txt"}


def test_html_in_a_title_stays_as_it_is(tmp_path):
    folder = write(tmp_path / "m", a="Course Title: <img src=x onerror=alert(1)> & Co\n\nLesson 1: <b>Bold</b>\nAbout wombats.")
    assert added(tmp_path / "home", folder)[1] == ["<img src=x onerror=alert(1)> & Co"]


def test_a_query_of_100_kilobytes_is_answered(tmp_path, material):
    added(tmp_path / "home", material)
    assert found(tmp_path / "home", "What does the keel of a boat do? " * 3_200).found[0].passage.tags["lesson"] == 1


def test_a_killed_indexing_goes_on_where_it_was(tmp_path):
    material = tmp_path / "m"
    many = 300
    write(material, **{f"course{number:03}": SAILING.replace("Sailing", f"Sailing {number}") for number in range(many)})
    home = tmp_path / "home"
    using(home, lambda library: asyncio.sleep(0, library.shelf.add(material)))
    script = (
        "import asyncio, sys\nfrom pathlib import Path\nfrom treadle.assistants.courses.library import CourseLibrary\n"
        "from treadle.assistants.courses.settings import CoursesSettings\n"
        "async def main():\n"
        "    async with CourseLibrary(Path(sys.argv[1]), CoursesSettings()) as library:\n"
        "        await library.refresh(lambda told: print(told.done, flush=True))\n"
        "asyncio.run(main())\n"
    )
    with subprocess.Popen([sys.executable, "-c", script, str(home)], stdout=subprocess.PIPE, text=True) as process:
        for line in process.stdout:
            if int(line) >= 64:
                process.kill()
                break
    report, titles = added(home)
    assert 64 <= report.unchanged < many
    assert (report.added + report.unchanged, len(titles)) == (many, many)
    assert found(home, "keel", "Sailing 7 for Beginners").found[0].passage.source == "m/course007.txt"


def test_questions_are_answered_although_the_folders_cant_be_looked_at(tmp_path, material):
    home = tmp_path / "home"
    added(home, material)
    (home / "courses.json").write_text("no JSON")

    async def work(library):
        await library.keep_fresh()
        await library.keep_fresh()
        return await library.search("keel")

    assert using(home, work).found
    with pytest.raises(SettingsError, match="add the courses again"):
        added(home)


def test_what_stands_beside_a_passage_is_of_the_same_lesson(tmp_path):
    text = "Course Title: Long\n\nLesson 1: One\n" + "All about wombats. " * 150 + "\n\nLesson 2: Two\nAll about emus."
    added(tmp_path / "home", write(tmp_path / "m", long=text))

    async def work(library):
        course = (await library.catalogue()).courses[0]
        passages = await library.lesson(course, 1)
        first, last = await library.around(passages[0]), await library.around(passages[-1])
        assert len(passages) > 2
        assert (first[0], first[1].id) == (None, passages[1].id)
        assert (last[0].id, last[1]) == (passages[-2].id, None)
        assert (await library.passage(passages[1].id)).text == passages[1].text
        assert await library.passage("nothing#0") is None

    using(tmp_path / "home", work)


def test_another_process_sees_what_was_added(tmp_path, material):
    home = tmp_path / "home"

    async def work(library):
        assert (await library.catalogue()).courses == ()
        await asyncio.to_thread(added, home, material)
        library._known_until = 0  # two seconds later
        return len((await library.catalogue()).courses)

    assert using(home, work) == 2


def test_the_shelf_is_written_whole_or_not_at_all(tmp_path):
    shelf = CourseFolderList(tmp_path / "home")
    (tmp_path / "a").mkdir()
    shelf.add(tmp_path / "a")
    shelf.add(tmp_path / "a", "Titled")
    assert shelf.places() == [CourseFolder(str(tmp_path / "a"), "Titled")]
    assert sorted(path.name for path in (tmp_path / "home").iterdir()) == ["courses.json", "courses.lock"]


def test_many_who_add_at_once_lose_nothing(tmp_path):
    code = "import sys; from pathlib import Path; from treadle.assistants.courses.course_folders import CourseFolderList\n"
    code += "for name in sys.argv[2:]: CourseFolderList(Path(sys.argv[1])).add(Path(name))"
    folders = [tmp_path / f"d{number}" for number in range(24)]
    for folder in folders:
        folder.mkdir()
    several = [
        subprocess.Popen([sys.executable, "-c", code, str(tmp_path / "home"), *map(str, folders[start::6])]) for start in range(6)
    ]
    assert [process.wait(60) for process in several] == [0] * 6
    assert {place.path for place in CourseFolderList(tmp_path / "home").places()} == set(map(str, folders))


def test_what_lies_in_another_place_is_there_once(tmp_path, material):
    home = tmp_path / "home"
    (material / "more").mkdir()
    (material / "more" / "1-one.md").write_text("# One\n\nAbout wombats.")

    async def inner_first(library):
        library.add(material / "more")
        library.add(material)
        with pytest.raises(SettingsError, match="lies in"):
            library.add(material / "more")
        await library.refresh()
        return [place.path for place in library.places()], len((await library.search("wombats")).found)

    assert using(home, inner_first) == ([str(material)], 1)
    assert using(home, inner_first_places, folders=(str(material / "more"),)) == [str(material)]


async def inner_first_places(library):
    return [place.path for place in library.places()]


def test_a_refresh_goes_by_what_was_added_while_it_waited(tmp_path, material):
    home = tmp_path / "home"
    other = write(tmp_path / "other", birds="Course Title: Birds\n\nAbout wombats.")

    async def work(library):
        library.add(material)
        async with library._indexing:
            waiting = asyncio.create_task(library.refresh())
            await asyncio.sleep(0)
            CourseFolderList(home).add(other)
        await waiting
        return len((await library.catalogue()).courses)

    assert using(home, work) == 3


def test_nobody_waits_for_a_look_at_the_folders(tmp_path, material):
    home = tmp_path / "home"
    added(home, material)

    async def work(library):
        async with library._indexing:  # somebody is indexing, for a long time
            await asyncio.wait_for(library.keep_fresh(), 120)
            return len((await library.search("keel")).found)

    assert using(home, work)


def test_a_home_that_nobody_has_is_a_sentence(tmp_path):
    with pytest.raises(SettingsError, match=r"correct `folders` under \[assistants.courses\]"):
        using(tmp_path, inner_first_places, folders=("~nobody-by-this-name/x",))


def test_a_book_without_lessons_gives_all_that_is_wanted(tmp_path):
    text = "\n\n".join(f"Chapter words about wombats, part {number}. " + "They dig burrows at night. " * 25 for number in range(12))
    added(tmp_path / "home", write(tmp_path / "m", book=f"Course Title: Wombats\n\n{text}"))
    assert len(found(tmp_path / "home", "wombats dig burrows").found) == 5


def test_an_embedder_of_ones_own_can_be_used(tmp_path, material):
    async def main():
        async with CourseLibrary(tmp_path / "home", CoursesSettings(), HashedEmbedder()) as library:
            library.shelf.add(material)
            await library.refresh()
            return await library.search("keel")

    with suppress(TreadleError):
        assert asyncio.run(main()).found

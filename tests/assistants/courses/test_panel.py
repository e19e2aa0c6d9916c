"""The panel in a real browser, over real material and a model whose replies are written in advance."""

import asyncio
import json
from pathlib import Path

import pytest

from browser import needs_browser
from server.pages.axe import findings, needs_axe
from server.pages.cable import Cable
from server.pages.shop import Held
from server.running import Serving
from treadle import open_home
from treadle.assistants.courses import assistant
from treadle.assistants.courses.library import CourseLibrary
from treadle.assistants.courses.settings import CoursesSettings
from treadle.core.requests import TextDelta
from treadle.errors import ModelError
from treadle.testing import Scripted, calls

pytestmark = needs_browser

BAD = "<img src=x onerror=window.taken=1>"
LONG = "Donaudampfschifffahrtsgesellschaftskapitänsmützenhersteller" * 2
KNEADING = " ".join(f"Kneading step {number} folds the dough over itself once more." for number in range(1, 41))
BREAD = f"""\
Course Title: Bread for Beginners
Course Link: https://example.org/bread
Course Instructor: Ada Baker

Lesson 0: Welcome
Lesson Link: https://example.org/bread/0
Flour, water, salt and yeast are all that bread needs.

Lesson 1: Kneading
Lesson Link: javascript:window.taken=1
{KNEADING}

Lesson 2: Proofing
Yeast proofs best at 26 degrees, away from any draught.
"""
TEA = """\
Course Title: All About Tea
Course Instructor: Bo Leaf

Lesson 1: Water
Green tea wants water at 75 degrees.
"""
DONE = "document.querySelectorAll('.facts').length === {}"
FITS = "document.documentElement.scrollWidth === document.documentElement.clientWidth"
FOCUS = "document.activeElement"
OPEN = "!document.querySelector('#reader').hidden"
READY = "document.querySelectorAll('#courses > li').length === {} && document.querySelectorAll('.start .chip').length > 0"
SHOWN = "[...document.querySelectorAll('{}')].filter(each => each.checkVisibility()).map(each => each.innerText)"
WORDS = ".part:last-child .words"
TURNS = "document.querySelectorAll('.turn').length === {}"
KNEAD = calls(("search_course_content", {"query": "kneading the dough", "course_name": "bread", "lesson_number": 1}))


@pytest.fixture
def library(tmp_path, monkeypatch):
    """The library of the panel, for another process that adds courses: `library()`."""
    monkeypatch.setenv("HOME", str(tmp_path))
    monkeypatch.setenv("TREADLE_CONFIG", str(tmp_path / "own.toml"))
    (tmp_path / "own.toml").touch()
    return lambda: CourseLibrary(open_home(tmp_path / "data").folder, CoursesSettings(embeddings="none"))


@pytest.fixture
def visit(browser, library, tmp_path):
    """Shows the panel, with these courses in it, to `look(page)`; nothing may go wrong meanwhile."""
    runner, started = browser

    async def run(look, url, ready, how):
        page = await started.open(url, **how)
        await page.wait_for(ready)
        await look(page)
        page.check()
        await page.close()

    def visiting(look, *replies, courses=(BREAD, TEA), at="", ready="", chunk=40, **how):
        if courses:
            shelve(library, write(tmp_path / "material", courses))
        with Serving(tmp_path, [assistant], Scripted(*replies, chunk=chunk)) as server:
            runner.run(run(look, f"{server.url}/courses/{at}", ready or READY.format(len(courses)), how))

    return visiting


def write(folder: Path, courses) -> Path:
    folder.mkdir(exist_ok=True)
    for number, text in enumerate(courses):
        (folder / f"course{number}.txt").write_text(text)
    return folder


def shelve(library, folder):
    opened = library()
    opened.shelf.add(folder)
    opened.close()


async def ask(page, words, until):
    await page.click("#message")
    await page.write(words)
    await page.press("Enter")
    await page.wait_for(until)


async def again(page, until):
    """Load the page once more."""
    await page.go(await page.evaluate("location.href"))
    await page.wait_for(until)


async def says(page, selector, words):
    await page.wait_for(f"document.querySelector({json.dumps(selector)})?.innerText.includes({json.dumps(words)})")


async def tab(page, to):
    """Press Tab until the focus is where it is wanted."""
    for _ in range(60):
        if await page.evaluate(f"{FOCUS}.matches({json.dumps(to)})"):
            return
        await page.press("Tab")
    raise AssertionError(f"{to} can't be reached; the focus is at {await page.evaluate(f'{FOCUS}.outerHTML')}")


async def fold_out(page, course, lesson):
    """Open a course, and one of its lessons, by their places in the lists."""
    await page.click(f"#courses > li:nth-child({course}) summary")
    await page.click(f"#courses > li:nth-child({course}) .lessons > li:nth-child({lesson}) summary")


def lesson(course, number, what):
    return f"#courses > li:nth-child({course}) .lessons > li:nth-child({number}) {what}"


# the courses


def test_courses_open_to_their_lessons_and_links_lead_to_pages_only(visit):
    async def look(page):
        assert await page.text("#amount") == "2 courses"
        assert await page.evaluate(SHOWN.format(".course > summary .name")) == ["All About Tea", "Bread for Beginners"]
        await page.click("#courses > li:nth-child(2) summary")
        assert await page.text("#courses > li:nth-child(2) .instructor") == "by Ada Baker"
        rows = await page.evaluate(SHOWN.format(".lesson > summary"))
        assert [row.replace("\n", " ") for row in rows] == ["0 Welcome", "1 Kneading", "2 Proofing"]
        links = "[...document.querySelectorAll('#courses a')].map(each => [each.href, each.target, each.rel])"
        assert await page.evaluate(links) == [
            ["https://example.org/bread", "_blank", "noopener noreferrer"],
            ["https://example.org/bread/0", "_blank", "noopener noreferrer"],
        ]

    visit(look)


def test_a_lesson_is_read_from_its_beginning_to_its_end_and_on_to_the_next(visit):
    async def look(page):
        await fold_out(page, 2, 2)
        await page.click(lesson(2, 2, "button"))
        await says(page, "#reader-title", "1 Kneading")
        assert await page.text("#reader-course") == "Bread for Beginners"
        assert await page.evaluate("document.querySelectorAll('#reader .text span').length") > 2
        assert await page.text("#reader .text") == KNEADING
        await page.click("#reader-before")
        await says(page, "#reader-title", "0 Welcome")
        assert await page.text("#reader .text") == "Flour, water, salt and yeast are all that bread needs."
        assert await page.evaluate("document.querySelector('#reader-before').disabled")
        assert await page.evaluate(f"{FOCUS}.id") == "reader-after"
        assert await page.evaluate("document.querySelector('#reader-more a').href") == "https://example.org/bread/0"

    visit(look)


def test_citations_open_their_passages_and_others_are_dropped(visit):
    async def look(page):
        await ask(page, "How do I knead?", DONE.format(1))
        await page.wait_for("document.querySelector('.cite') !== null")
        assert await page.evaluate(SHOWN.format(".cite")) == ["[1]"]
        assert "[9]" not in await page.text(WORDS)
        await page.click(".cite")
        await page.wait_for("document.querySelector('#reader .text')?.innerText.includes('Kneading step')")

    visit(look, KNEAD, "Fold it [1], and fold it again [9].")


def test_a_file_is_uploaded_in_the_browser_and_its_course_deleted(visit):
    chosen = """(() => {
        const data = new DataTransfer();
        data.items.add(new File(["Course Title: Knots\\n\\nA bowline makes a loop."], "knots.txt"));
        document.querySelector("#files").files = data.files;
        document.querySelector("#files").dispatchEvent(new Event("change"));
    })()"""

    async def look(page):
        await page.evaluate(chosen)
        await says(page, "#amount", "3 courses")
        await page.click("#courses > li:nth-child(3) summary")
        assert await page.text("#courses > li:nth-child(3) .name") == "Knots"
        await page.click("#courses > li:nth-child(3) .within .row button:last-child")
        await page.click(".modal button[value=yes]")
        await says(page, "#amount", "2 courses")

    visit(look)


def test_a_document_of_a_course_is_deleted_and_the_others_stay(visit):
    sent = """fetch("/api/courses/files", {method: "POST", headers: {"content-type": "application/json"}, body: JSON.stringify(
        {files: ["01-bowline", "02-clove hitch"].map(name => ({name: `knots/${name}.md`, content: btoa(`${name} holds.`)}))})})"""
    documents = "#courses > li:nth-child(3) .documents"

    async def look(page):
        await page.evaluate(sent)
        await page.wait_for("fetch('/api/courses/files').then(said => said.json()).then(said => said.indexing === null)")
        await again(page, READY.format(3))
        await page.click("#courses > li:nth-child(3) summary")
        await page.click(f"{documents} summary")
        assert await page.evaluate(SHOWN.format(f"{documents} .name")) == ["01-bowline.md", "02-clove hitch.md"]
        await page.click(f"{documents} li:last-child button")
        await says(page, ".modal", "Delete “02-clove hitch.md” of “")
        await page.click(".modal button[value=yes]")
        await page.wait_for(f"!document.querySelector({json.dumps(documents)})")
        assert await page.text("#amount") == "3 courses"
        await page.becomes(f"{FOCUS}.closest('li')?.querySelectorAll('.lessons > li').length", 1)

    visit(look)


def test_questions_are_answered_from_one_course_and_that_stays_after_a_reload(visit):
    chosen = "document.querySelector('#scope').selectedOptions[0].text"
    choose = """(words => {{
        const box = document.querySelector("#scope");
        box.selectedIndex = [...box.options].findIndex(each => each.text === words);
        box.dispatchEvent(new Event("change"));
    }})({})"""
    sources = "[...document.querySelectorAll('.turn:last-child .sources .chip')].map(each => each.innerText).sort()"

    async def look(page):
        assert await page.evaluate(chosen) == "All courses"
        await page.evaluate(choose.format(json.dumps("All About Tea")))
        await ask(page, "How many degrees?", DONE.format(1))
        assert await page.evaluate(sources) == ["All About Tea - Lesson 1"]
        await again(page, TURNS.format(1))
        await page.becomes(chosen, "All About Tea")
        await page.evaluate(choose.format(json.dumps("All courses")))
        await ask(page, "And in general?", DONE.format(1))
        assert await page.evaluate(sources) == ["All About Tea - Lesson 1", "Bread for Beginners - Lesson 2"]

    degrees = calls(("search_course_content", {"query": "degrees"}))
    visit(look, degrees, "It is 75.", degrees, "It is 26 or 75.")


@needs_axe
def test_formulas_in_lessons_and_answers_are_typeset_and_amounts_are_not(visit):
    circles = "Course Title: Circles\n\nLesson 1: Area\nThe area is $\\pi r^2$. Tiles cost $2 or $3.\n\n$$\nA = \\pi r^2\n$$\n"
    loaded = "performance.getEntriesByType('resource').some(each => each.name.includes('katex'))"
    typeset = "[...document.querySelectorAll('{} math annotation')].map(each => each.textContent)"

    async def look(page):
        assert not await page.evaluate(loaded)
        await fold_out(page, 1, 1)
        await page.click(lesson(1, 1, "button"))
        await page.becomes(typeset.format("#reader"), ["\\pi r^2", "A = \\pi r^2"])
        assert "Tiles cost $2 or $3." in await page.text("#reader .text")
        await ask(page, "What is it for 2?", DONE.format(1))
        assert await page.evaluate(typeset.format(WORDS)) == ["4\\pi"]
        assert await findings(page) == []

    visit(look, "It is \\(4\\pi\\), and costs $5 or $6.", courses=[circles])


def test_a_course_without_lessons_is_read_as_a_whole(visit):
    course = "Course Title: Knots\n\nA bowline makes a loop that holds.\n"

    async def look(page):
        await page.click("#courses summary")
        assert await page.evaluate(SHOWN.format(".amount")) == []
        await page.click("#courses button")
        await says(page, "#reader .text", "A bowline makes a loop that holds.")
        assert await page.text("#reader-title") == "Knots"
        assert await page.evaluate("document.querySelector('#reader-steps').hidden")
        await page.click("#find")
        await page.write("bowline loop")
        await page.press("Enter")
        await page.click(".result")
        await says(page, "#reader-more", "All of it")
        await page.click("#reader-more button")
        await page.wait_for("document.querySelector('.marked') !== null")

    visit(look, courses=(course,))


def test_a_lesson_is_asked_about_in_words_that_can_be_changed(visit):
    async def look(page):
        await fold_out(page, 2, 1)
        await page.click(lesson(2, 1, "button:nth-of-type(2)"))
        assert await page.evaluate("document.querySelector('#message').value") == "What is lesson 0 of Bread for Beginners about?"
        assert await page.evaluate(f"{FOCUS}.id") == "message"
        await page.click(lesson(2, 1, "button"))
        await says(page, "#reader-title", "0 Welcome")
        await page.click("#reader-more button")
        assert not await page.evaluate(OPEN)
        assert await page.evaluate(f"{FOCUS}.id") == "message"

    visit(look)


def test_the_courses_are_filtered_as_one_types(visit):
    names = SHOWN.format(".course > summary .name")

    async def look(page):
        await page.click("#find")
        await page.write("proof")
        assert await page.evaluate(names) == ["Bread for Beginners"]
        assert [row.split()[0] for row in await page.evaluate(SHOWN.format(".lesson > summary"))] == ["2"]
        await page.write("zzz")
        assert await page.evaluate(names) == []
        assert "Enter searches in them" in await page.text("#found-said")
        await page.press("Escape")
        await page.wait_for(f"{names}.length === 2")
        assert await page.evaluate(SHOWN.format(".lesson > summary")) == []
        await page.write("ada")
        assert await page.evaluate(names) == ["Bread for Beginners"]

    visit(look)


def test_the_material_is_searched_though_no_model_answers(visit):
    async def look(page):
        await ask(page, "Hello?", "document.querySelector('.notice.bad') !== null")
        assert "There is no such model." in await page.text(".notice.bad")
        await page.click("#find")
        await page.write("green tea water")
        await page.press("Enter")
        await says(page, "#found", "All About Tea - Lesson 1")
        assert await page.text("#found-said") == "1 passage found"
        assert (await page.evaluate(SHOWN.format("#found mark")))[:3] == ["Green", "tea", "water"]
        await page.click(".result")
        await says(page, "#reader .text", "Green tea wants water at 75 degrees.")
        await page.click("#find")
        await page.write(" xylophone quartet")
        assert await page.evaluate("document.querySelector('#found').hidden")
        await page.evaluate("document.querySelector('#find').value = 'xylophone'")
        await page.press("Enter")
        await says(page, "#found-said", "Nothing was found")

    visit(look, ModelError("There is no such model."))


def test_without_courses_it_says_how_to_add_some_and_shows_them_then(visit, library, tmp_path):
    async def look(page):
        assert await page.text("#amount") == "No courses yet"
        shown = await page.text("#notices")
        assert "treadle courses add FOLDER" in shown
        assert "treadle courses demo" in shown
        async with library() as added:
            added.shelf.add(write(tmp_path / "material", [TEA]))
            await added.refresh()
        await page.wait_for(READY.format(1))
        assert await page.text("#amount") == "1 course"
        assert await page.text("#notices") == ""

    visit(look, courses=(), ready="document.querySelector('.beginning') !== null")


# conversations


def test_an_answer_streams_and_its_sources_open_the_passages_it_is_from(visit):
    passage = "document.querySelector('#reader .text').innerText"
    places = "[...document.querySelectorAll('.others button')].map(each => each.getAttribute('aria-current'))"

    async def look(page):
        await ask(page, "How do I knead?", DONE.format(1))
        assert await page.evaluate("document.querySelector('.part:last-child .words em').innerText") == "often"
        assert await page.text(".call .name") == "search_course_content"
        assert await page.evaluate(SHOWN.format(".sources .chip")) == ["Bread for Beginners - Lesson 1"]
        await page.click(".sources .chip")
        await page.wait_for("document.querySelector('#reader .text') !== null")
        assert await page.text("#reader-title") == "1 Kneading"
        assert (await page.text("#reader-place")).startswith("line")
        assert (await page.evaluate(places))[0] == "true"
        first = await page.evaluate(passage)
        assert await page.evaluate(f"{FOCUS}.id") == "reader-title"
        while not await page.evaluate("document.querySelector('#reader-before').disabled"):
            before = await page.evaluate(passage)
            await page.click("#reader-before")
            await page.wait_for(f"{passage} !== {json.dumps(before)}")
        assert (await page.evaluate(passage)).startswith("Kneading step 1 ")
        await page.click("#reader-after")
        await page.wait_for(f"!{passage}.startsWith('Kneading step 1 ')")
        await page.click(".others button")
        await page.wait_for(f"{passage} === {json.dumps(first)}")
        await page.click("#reader-more button")
        await page.wait_for("document.querySelector('.marked') !== null")
        assert await page.text("#reader .text") == KNEADING
        await page.press("Escape")
        assert not await page.evaluate(OPEN)
        assert await page.evaluate(f"{FOCUS}.matches('.sources .chip')")

    visit(look, KNEAD, "Fold it *often*.", chunk=5)


def test_a_course_that_is_a_source_is_shown_among_the_courses(visit):
    outlines = calls(("get_course_outline", {"course_name": "tea"}), ("get_course_outline", {"course_name": "bread"}))

    async def look(page):
        await ask(page, "Which lessons are there?", DONE.format(1))
        assert await page.evaluate(SHOWN.format(".sources .chip")) == ["All About Tea", "Bread for Beginners"]
        assert await page.evaluate("document.querySelector('.sources a').href") == "https://example.org/bread"
        await page.click(".sources li:nth-child(2) .chip")
        assert await page.evaluate(f"{FOCUS}.innerText.includes('Bread for Beginners') && {FOCUS}.parentElement.open")
        assert not await page.evaluate(OPEN)

    visit(look, outlines, "A few.")


def test_a_source_whose_material_is_gone_says_so(visit, library, tmp_path):
    async def look(page):
        await ask(page, "How do I knead?", DONE.format(1))
        async with library() as changed:
            write(tmp_path / "material", ["Course Title: Something else\n\nNothing of it is left.\n"])
            await changed.refresh()
        await page.click(".sources .chip")
        await says(page, "#reader", "There is no such passage any more")
        page.problems.clear()  # the browser says itself that there is none
        await page.press("Escape")
        assert not await page.evaluate(OPEN)

    visit(look, KNEAD, "Fold it.")


def test_a_conversation_is_there_again_after_a_reload_and_after_a_restart(visit):
    address = []
    sources = SHOWN.format(".sources .chip")

    async def first(page):
        await ask(page, "How do I knead?", DONE.format(1))
        await again(page, TURNS.format(1))
        assert await page.text(".said p") == "How do I knead?"
        assert await page.evaluate(sources) == ["Bread for Beginners - Lesson 1"]
        await ask(page, "And then?", DONE.format(1))
        address.append(await page.evaluate("location.search"))

    async def second(page):
        assert await page.evaluate(SHOWN.format(".said p")) == ["How do I knead?", "And then?"]
        await page.click(".sources .chip")
        await says(page, "#reader .text", "Kneading step")
        await page.wait_for("document.querySelectorAll('#conversations .pick').length === 1")
        assert await page.text("#conversations .pick[aria-current] .name") == "How do I knead?"

    visit(first, KNEAD, "Fold it.", "Let it rest.")
    assert address[0].startswith("?session=")
    visit(second, at=address[0], ready=TURNS.format(2))


def test_an_answer_under_way_is_there_after_a_reload_and_in_a_second_tab(browser, library, tmp_path):
    runner, started = browser
    held = Held("Fold it, ", "turn it.")
    shelve(library, write(tmp_path / "material", (BREAD, TEA)))

    async def look(url):
        page = await started.open(f"{url}/courses/")
        await page.wait_for(READY.format(2))
        await ask(page, "How do I knead?", "document.querySelector('.doing') !== null")
        held.free()
        await says(page, WORDS, "Fold it,")
        await again(page, f"document.querySelector('{WORDS}')?.innerText === 'Fold it,'")
        second = await started.open(await page.evaluate("location.href"))
        await says(second, WORDS, "Fold it,")
        held.free()
        for tab in (page, second):
            await tab.wait_for(DONE.format(1))
            assert await tab.evaluate(SHOWN.format(".said p")) == ["How do I knead?"]
            assert await tab.text(WORDS) == held.words
            assert await tab.evaluate(SHOWN.format(".sources .chip")) == ["Bread for Beginners - Lesson 1"]
            tab.check()
            await tab.close()

    with Serving(tmp_path, [assistant], Scripted(KNEAD, held)) as server:
        runner.run(look(server.url))


def test_an_answer_survives_that_the_server_is_started_again_while_the_page_is_open(browser, library, tmp_path):
    runner, started = browser
    before, after = Held("Fold it, ", "never."), Held("Press it, ", "turn it.")
    shelve(library, write(tmp_path / "material", (BREAD, TEA)))

    async def look(cable):
        page = await started.open(f"{cable.url}/courses/")
        await page.wait_for(READY.format(2))
        await ask(page, "How do I knead?", "document.querySelector('.doing') !== null")
        before.free()
        await says(page, WORDS, "Fold it,")
        await asyncio.to_thread(servers[0].__exit__)
        await asyncio.to_thread(servers[1].__enter__)
        cable.port = servers[1].port
        after.free()
        await says(page, WORDS, "Press it,")
        after.free()
        await page.wait_for(DONE.format(1))
        assert await page.evaluate(SHOWN.format(".said p")) == ["How do I knead?"]
        assert await page.text(WORDS) == after.words
        assert await page.evaluate(SHOWN.format(".sources .chip")) == ["Bread for Beginners - Lesson 1"]
        await again(page, TURNS.format(1))
        assert await page.text(WORDS) == after.words
        await page.close()

    servers = [Serving(tmp_path, [assistant], model) for model in (Scripted(KNEAD, before), Scripted(after))]
    servers[0].__enter__()
    with Cable(servers[0].port) as cable:
        runner.run(look(cable))
    servers[1].__exit__()


def test_a_conversation_that_is_not_there_begins_anew_quietly(visit):
    async def look(page):
        await page.wait_for("location.search === ''")
        page.problems.clear()  # the browser says itself that there is none
        assert await page.evaluate(TURNS.format(0))
        assert await page.evaluate("document.querySelector('.notice')") is None

    visit(look, at="?session=session_gone")


def test_earlier_conversations_are_shown_again_and_removed_for_good(visit):
    rows = SHOWN.format("#conversations .pick .name")

    async def look(page):
        await ask(page, "One?", DONE.format(1))
        await page.click("#anew")
        await page.wait_for(f"{TURNS.format(0)} && location.search === ''")
        await ask(page, "Two?", DONE.format(1))
        await page.wait_for(f"{rows}.length === 2")
        assert await page.evaluate(rows) == ["Two?", "One?"]
        await page.click("#conversations li:nth-child(2) .pick")
        await says(page, ".said p", "One?")
        await page.wait_for("document.querySelector('#conversations li:nth-child(2) .pick[aria-current]') !== null")
        await page.click("#conversations li:nth-child(2) .bare")
        await page.click("dialog .quiet")
        assert len(await page.evaluate(rows)) == 2
        await page.click("#conversations li:nth-child(2) .bare")
        await page.click("dialog button")
        await page.wait_for(f"{rows}.length === 1 && {TURNS.format(0)} && location.search === ''")
        assert await page.evaluate(rows) == ["Two?"]
        await again(page, f"{rows}.length === 1")

    visit(look, "First.", "Second.")


def test_an_answer_that_is_left_goes_on_and_is_there_when_one_comes_back(visit):
    async def slow():
        for number in range(1000):
            yield TextDelta(f"word {number} ")
            await asyncio.sleep(0.02)

    async def look(page):
        await ask(page, "Everything?", "document.querySelector('.words')?.innerText.includes('word 5')")
        await fold_out(page, 2, 1)
        await page.click(lesson(2, 1, "button"))
        await says(page, "#reader-title", "0 Welcome")
        await page.press("Escape")  # closes the reader, and leaves the answer alone
        assert not await page.evaluate(OPEN)
        await page.click("#anew")
        await page.wait_for(TURNS.format(0))
        await page.click("#conversations .pick")
        await page.wait_for("document.querySelector('.words')?.innerText.includes('word 15')")
        await page.click(".stop")
        await page.wait_for("document.querySelector('.stop').hidden")

    visit(look, lambda request: slow())


def test_messages_during_an_answer_are_asked_after_it_and_given_back_when_it_is_stopped(visit):
    first, last = Held("Fold it, ", "turn it."), Held("Again, ", "never.")

    async def look(page):
        await ask(page, "How do I knead?", "document.querySelector('.doing') !== null")
        first.free()
        await says(page, WORDS, "Fold it,")
        await ask(page, "And then?", "document.querySelectorAll('.pending .said').length === 1")
        await ask(page, "And last?", "document.querySelectorAll('.pending .said').length === 2")
        first.free()
        await page.wait_for(f"{TURNS.format(3)} && {DONE.format(2)}")
        assert await page.evaluate(SHOWN.format(".turn .said p")) == ["How do I knead?", "And then?", "And last?"]
        last.free()
        await says(page, ".turn:last-child .words", "Again,")
        await ask(page, "Never asked", "document.querySelectorAll('.pending .said').length === 1")
        await page.click(".stop")
        await page.wait_for("document.querySelector('#message').value === 'Never asked'")
        assert await page.evaluate("document.querySelectorAll('.pending .said').length") == 0

    visit(look, KNEAD, first, "Let it rest.", last)


def test_a_question_that_is_too_long_is_given_back(visit):
    async def look(page):
        await ask(page, "x" * 100_001, "document.querySelector('.notice.bad') !== null")
        assert "100,000 are taken at most" in await page.text(".notice.bad")
        assert await page.evaluate("document.querySelector('#message').value.length") == 100_001
        assert await page.evaluate(f"{FOCUS}.id") == "message"
        page.problems.clear()  # the browser says itself that the server didn't take it
        await page.evaluate("document.querySelector('#message').value = 'Short?'")
        await page.press("Enter")
        await page.wait_for(f"{DONE.format(1)} && {TURNS.format(1)}")

    visit(look, "Yes.")


def test_the_samples_are_about_courses_that_are_there(visit):
    chips = SHOWN.format(".start .chip")
    baking = BREAD.replace("Bread for Beginners", "Baking Bread at Home")

    async def own(page):
        assert await page.evaluate(chips) == [
            "What are the lessons of All About Tea?",
            "What are the lessons of Bread for Beginners?",
            "What is lesson 1 of All About Tea about?",
            "What is lesson 2 of Bread for Beginners about?",
        ]

    async def samples(page):
        assert (await page.evaluate(chips))[:3] == list(assistant.questions[:3])
        assert await page.evaluate("document.querySelector('#message').value") == "Is it?"

    visit(own)
    visit(samples, courses=(baking,), at="?question=Is+it%3F", ready=READY.format(2))


# what must not happen


def test_what_looks_like_html_stays_text(visit):
    course = f"Course Title: Tags {BAD}\nCourse Instructor: {BAD}\n\nLesson 1: About {BAD}\nThis is written {BAD} in a page.\n"
    look_up = calls(("search_course_content", {"query": "written in a page"}))

    async def look(page):
        await fold_out(page, 1, 1)
        assert BAD in await page.text(".course > summary .name")
        assert await page.text(".instructor") == f"by {BAD}"
        await ask(page, BAD, DONE.format(1))
        assert BAD in await page.text(".part:last-child .words")
        assert BAD in await page.text(".sources .chip")
        await page.click(".sources .chip")
        await says(page, "#reader .text", f"This is written {BAD} in a page.")
        await page.click("#find")
        await page.write("written page")
        await page.press("Enter")
        await says(page, "#found", BAD)
        await again(page, f"{TURNS.format(1)} && document.querySelectorAll('#conversations .pick').length === 1")
        assert BAD in await page.text("#conversations")
        assert await page.evaluate("[window.taken === undefined, document.querySelectorAll('img').length]") == [True, 1]

    visit(look, look_up, f"It says {BAD}.", courses=(course,))


def test_a_telephone_shows_it_without_scrolling_sideways(visit):
    course = f"Course Title: {LONG}\nCourse Instructor: {LONG}\n\nLesson 1: {LONG}\nWords {LONG}\n"
    look_up = calls(("search_course_content", {"query": "words", "course_name": LONG, "lesson_number": 1}))
    inert = "document.querySelector('#chat').inert"

    async def look(page):
        assert not await page.evaluate("document.querySelector('#shelf').checkVisibility()")
        assert await page.evaluate(FITS)
        await page.click("#fold")
        await fold_out(page, 1, 1)
        assert await page.evaluate(FITS)
        await ask(page, LONG, DONE.format(1))
        assert not await page.evaluate("document.querySelector('#shelf').checkVisibility()")
        assert await page.evaluate(FITS)
        await page.click(".sources .chip")
        await says(page, "#reader .text", LONG)
        box = "(({ width, height }) => [width, height])(document.querySelector('#reader').getBoundingClientRect())"
        assert await page.evaluate(box) == [360, 740]
        assert await page.evaluate(f"{inert} && {FITS}")
        await page.press("Escape")
        assert not await page.evaluate(inert)
        assert await page.evaluate(f"{FOCUS}.matches('.sources .chip')")

    visit(look, look_up, LONG, courses=(course,), width=360, height=740)


def test_everything_can_be_reached_with_the_keyboard(visit):
    async def look(page):
        await page.evaluate("document.querySelector('#find').focus()")
        await tab(page, "#courses > li:nth-child(2) summary")
        await page.press("Enter")
        await tab(page, lesson(2, 3, "summary"))
        await page.press("Enter")
        await tab(page, lesson(2, 3, "button"))
        await page.press("Enter")
        await says(page, "#reader .text", "26 degrees")
        await tab(page, "#reader-before")
        await page.press("Enter")
        await says(page, "#reader-title", "1 Kneading")
        await page.press("Enter")
        await says(page, "#reader-title", "0 Welcome")
        await page.press("Escape")
        assert await page.evaluate(f"{FOCUS}.matches({json.dumps(lesson(2, 3, 'button'))})")

    visit(look)

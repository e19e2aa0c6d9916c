"""The panel in a real browser, over routes whose answers are laid down here."""

import asyncio

import pytest

from assistants.reading.fake_routes import Pretended, answer, block
from browser import needs_browser
from server.running import Serving

pytestmark = needs_browser

STOCK = "".join([f"value_{number} = {number}\n" for number in range(1, 201)])
FILES = {"stock.py": STOCK, "more/orders.py": "orders = 1\n"}
SAID = answer(
    block("Counting items", (1, 3), (90, 92), (180, 185), functions=["value_91"], constants=["value_182", "gone"]),
    block("Ordering more", (10, 12)),
    block("Talking to people", (60, 79)),
)
PHASE = "document.body.dataset.phase"
LINES = "[...document.querySelectorAll('.line.{}')].map(line => +line.dataset.n)"
LIT, PINNED = LINES.format("lit"), LINES.format("pinned")
COUNTING = [1, 2, 3, 90, 91, 92, 180, 181, 182, 183, 184, 185]
SEEN = """(number => {{
    const pane = document.querySelector("#source").getBoundingClientRect();
    const line = document.querySelector(`.line[data-n="${{number}}"]`).getBoundingClientRect();
    return line.height > 0 && line.top >= pane.top - 1 && line.bottom <= pane.bottom + 1;
}})({})"""
COUNT = "document.querySelector('.count')?.textContent"


@pytest.fixture
def visit(browser, tmp_path):
    """Shows the panel for a folder with files to `look(page, pretended)`; nothing may go wrong meanwhile."""
    runner, started = browser
    folder = tmp_path / "shop"
    folder.mkdir()

    async def run(look, pretended, url, how):
        page = await started.open(url, **how)
        await look(page, pretended)
        page.check()
        await page.close()

    def visiting(look, said=SAID, files=FILES, at="", no_model=None, **how):
        for name, text in files.items():
            (folder / name).parent.mkdir(exist_ok=True)
            (folder / name).write_text(text)
        pretended = Pretended(folder, said, no_model=no_model)
        with Serving(tmp_path, [pretended.assistant]) as server:
            runner.run(run(look, pretended, f"{server.url}/reading/{at}", how))

    return visiting


async def shown(page, phase="analyzed"):
    await page.wait_for(f"{PHASE} === '{phase}' && document.querySelector('.line') !== null")


async def read(page):
    await shown(page, "idle")
    await page.click("#read")
    await shown(page)


async def changed(page):
    """Have the page look for changes now, and not in two seconds."""
    await page.evaluate("dispatchEvent(new Event('focus'))")


async def press_with_control(page, key):
    code = {"ArrowUp": 38, "ArrowDown": 40}[key]
    await page.send("Input.dispatchKeyEvent", type="rawKeyDown", key=key, code=key, windowsVirtualKeyCode=code, modifiers=2)


async def double_click(page, selector):
    await page.click(selector)
    x, y = await page.evaluate(
        f"(box => [box.x + box.width / 2, box.y + 9])(document.querySelector('{selector}').getBoundingClientRect())"
    )
    for kind in ("mousePressed", "mouseReleased"):
        await page.send("Input.dispatchMouseEvent", type=kind, x=x, y=y, button="left", clickCount=2)


def test_a_file_is_found_by_typing_and_read_with_enter(visit):
    async def look(page, pretended):
        await page.wait_for("document.querySelectorAll('#list li').length === 2")
        await page.write("st o")
        assert await page.evaluate("[...document.querySelectorAll('#list li')].map(each => each.innerText)") == ["stock.py"]
        await page.press("Enter")
        await shown(page)
        side = await page.text("#side")
        for words in ("Keeps a shop's stock.", "Counting items", "All about counting items.", "90–92", "Talking to people"):
            assert words in side
        for words in ("Read by ollama:qwen2.5-coder", "12.4 s", "5,120 tokens in (2,048 of them cached), 640 out", "larger than"):
            assert words in side
        assert "Sketch" not in side
        assert pretended.asked == [{"filename": "stock.py", "source_code": STOCK, "language": "python", "metadata": {}}]
        assert await page.text("#facts") == "Python · 200 lines"
        assert await page.text("#said") == "stock.py was read: 3 blocks."

    visit(look)


def test_the_arrow_keys_choose_a_file_and_a_click_only_opens_one(visit):
    async def look(page, pretended):
        await page.wait_for("document.querySelectorAll('#list li').length === 2")
        await page.press("ArrowDown")
        assert await page.text('#list [aria-selected="true"]') == "stock.py"
        await page.press("ArrowUp")
        await page.press("Enter")
        await shown(page)
        assert [asked["filename"] for asked in pretended.asked] == ["more/orders.py"]
        await page.press("/")
        await page.click("#list li:last-child")
        await shown(page, "idle")
        assert await page.text("#name") == "stock.py"
        assert len(pretended.asked) == 1

    visit(look)


def test_reading_can_be_cancelled_and_is_not_started_twice(visit):
    async def look(page, pretended):
        pretended.free.clear()
        await page.click("#list li:last-child")
        await shown(page, "idle")
        for_cancel = "document.querySelector('#cancel').click()"  # which is where "Read" was when a double click began
        await page.evaluate(f"document.querySelector('#read').click(); document.querySelector('#read').click(); {for_cancel}")
        await shown(page, "analyzing")
        assert "Reading…" in await page.text("#phase")
        await page.wait_for("document.querySelector('#phase').innerText.endsWith('1 s')")
        await page.click("#cancel")
        await shown(page, "idle")
        assert len(pretended.asked) == 1
        pretended.free.set()
        await read(page)
        assert len(pretended.asked) == 2

    visit(look)


def test_pointing_at_a_block_lights_exactly_its_lines(visit):
    async def look(page, pretended):
        await read(page)
        await page.hover(".block:nth-child(1) .head")
        assert await page.evaluate(LIT) == COUNTING
        await page.hover(".block:nth-child(3) .head")
        assert await page.evaluate(LIT) == [*range(60, 80)]
        await page.hover(".intent")
        assert await page.evaluate(LIT) == []
        await page.evaluate("document.querySelector('.block .head').focus()")
        await page.press("ArrowDown")
        assert await page.evaluate(LIT) == [10, 11, 12]

    visit(look, at="#file=stock.py")


def test_a_block_is_pinned_and_its_places_are_gone_through(visit):
    async def look(page, pretended):
        await read(page)
        await page.click(".block:nth-child(3) .head")
        await page.wait_for(SEEN.format(60))
        await page.click(".block:nth-child(1) .head")
        await page.wait_for(SEEN.format(1))
        assert await page.evaluate(PINNED) == COUNTING
        pressed = "[...document.querySelectorAll('.head')].map(each => each.ariaPressed)"
        assert await page.evaluate(pressed) == ["true", "false", "false"]
        for key, count, line in (("]", "2/3", 90), ("]", "3/3", 180), ("]", "1/3", 1), ("[", "3/3", 180)):
            await page.press(key)
            await page.wait_for(f"{COUNT} === '{count}' && {SEEN.format(line)}")
        for key, count, line in (("ArrowDown", "1/3", 1), ("ArrowUp", "3/3", 180)):
            await press_with_control(page, key)
            await page.wait_for(f"{COUNT} === '{count}' && {SEEN.format(line)}")
        await page.click('.navigator [data-key="next"]')
        assert await page.text("#said") == "Counting items, place 1 of 3: lines 1 to 3."
        await page.click(".block:nth-child(1) .place:nth-child(2)")
        await page.wait_for(f"{COUNT} === '2/3' && {SEEN.format(90)}")
        await page.press("Escape")
        assert await page.evaluate(PINNED) == []
        assert await page.evaluate(COUNT) is None

    visit(look, at="#file=stock.py")


def test_a_line_that_is_clicked_pins_its_block_and_names_lead_to_their_lines(visit):
    async def look(page, pretended):
        await read(page)
        await page.click('.line[data-n="91"]')
        assert await page.evaluate(COUNT) == "2/3"
        await page.click('.line[data-n="20"]')
        assert await page.evaluate(PINNED) == COUNTING
        chips = "[...document.querySelectorAll('.chip')].map(each => each.innerText)"
        assert await page.evaluate(chips) == ["value_91", "value_182", "gone"]
        await page.evaluate("document.querySelectorAll('.chip')[1].click()")
        await page.wait_for(SEEN.format(182))
        assert await page.evaluate("+document.querySelector('.spot').dataset.n") == 182

    visit(look, at="#file=stock.py")


def test_a_double_click_shows_a_block_alone(visit):
    unfolded = "[...document.querySelectorAll('.line')].filter(line => line.offsetHeight).map(line => +line.dataset.n)"
    gaps = "[...document.querySelectorAll('.gap')].map(gap => gap.innerText)"

    async def look(page, pretended):
        await read(page)
        await double_click(page, ".block:nth-child(1) .head")
        await page.wait_for(f"{gaps}.length === 3")
        assert await page.evaluate(gaps) == ["⋯ 86 lines", "⋯ 87 lines", "⋯ 15 lines"]
        assert await page.evaluate(unfolded) == COUNTING
        await page.click(".gap")
        assert await page.evaluate(unfolded) == [*range(1, 93), *range(180, 186)]
        await double_click(page, ".block:nth-child(1) .head")
        await page.wait_for(f"{gaps}.length === 0")
        assert await page.evaluate(PINNED) == COUNTING
        await page.click(".fold")
        assert len(await page.evaluate(gaps)) == 3
        await page.press("Escape")
        assert len(await page.evaluate(unfolded)) == 200

    visit(look, at="#file=stock.py")


def test_what_was_read_goes_stale_when_the_file_changes_and_reading_again_heals_it(visit):
    async def look(page, pretended):
        file = pretended.folder / "stock.py"
        file.write_text(STOCK + "# not read yet\n")
        await changed(page)
        await page.wait_for("document.querySelectorAll('.line').length === 201")
        await read(page)
        file.write_text(STOCK)
        await shown(page, "stale")  # noticed without any help
        assert "The file has changed since it was read." in await page.text("#status")
        await page.hover(".block:nth-child(2) .head")
        assert await page.evaluate(LIT) == [10, 11, 12]
        file.write_text(STOCK + "# not read yet\n")
        await changed(page)
        await shown(page)
        file.write_text("shorter = 1\n" * 90)
        await changed(page)
        await shown(page, "stale")
        await page.click("#read")
        await shown(page)
        assert pretended.asked[-1]["source_code"] == "shorter = 1\n" * 90
        assert await page.evaluate("document.querySelectorAll('.line').length") == 90
        assert await page.evaluate("document.querySelector('.block .places').innerText.split(/\\s+/)") == ["1–3", "90"]

    visit(look, at="#file=stock.py")


def test_a_file_that_changes_while_it_is_read_is_stale_at_once(visit):
    async def look(page, pretended):
        await shown(page, "idle")
        pretended.free.clear()
        await page.click("#read")
        assert await asyncio.to_thread(pretended.reached.wait, 20)
        (pretended.folder / "stock.py").write_text("changed = 1\n")
        await changed(page)
        await page.wait_for("import('/reading/state.js').then(({ state }) => state.latest !== state.source.hash)")
        pretended.free.set()
        await shown(page, "stale")

    visit(look, at="#file=stock.py")


def test_what_goes_wrong_is_said_and_can_be_tried_again(visit):
    async def look(page, pretended):
        pretended.said = {"success": False, "error": "The model is <i>asleep</i>."}
        await shown(page, "idle")
        await page.click("#read")
        await page.wait_for("document.querySelector('.notice.bad') !== null")
        assert "The model is <i>asleep</i>." in await page.text(".notice.bad")
        pretended.said = SAID
        await page.click(".notice.bad button")
        await shown(page)
        assert await page.evaluate("document.querySelector('.notice') === null")
        (pretended.folder / "stock.py").unlink()
        await changed(page)
        await page.wait_for("document.querySelector('#notices').innerText.includes('There is no file stock.py.')")
        assert "Counting items" in await page.text("#result")
        assert {problem for problem in page.problems if "400" not in problem} == set()
        page.problems.clear()

    visit(look, at="#file=stock.py")


def test_a_server_that_is_gone_is_noticed(visit):
    async def cut_off(page, off):
        speed = 0 if off else -1
        limits = {"latency": 0, "downloadThroughput": speed, "uploadThroughput": speed}
        await page.send("Network.emulateNetworkConditions", offline=off, **limits)

    async def look(page, pretended):
        await shown(page, "idle")
        await cut_off(page, off=True)
        await page.click("#read")
        await page.wait_for("document.querySelector('.notice.bad') !== null")
        assert "The server isn't responding. Is it still running?" in await page.text(".notice.bad")
        await cut_off(page, off=False)
        await page.click(".notice.bad button")
        await shown(page)
        assert {problem for problem in page.problems if "ERR_INTERNET_DISCONNECTED" not in problem} == set()
        page.problems.clear()

    visit(look, at="#file=stock.py")


def test_a_folder_without_files_a_missing_model_and_a_sketch_are_said(visit):
    how = {"execution_path": "sketch", "model": "", "why": "no model: none is set up.", "seconds": 0.01, "tokens": {}}
    how["fallbacks"] = [{"path": "run", "reason": "its server answered with 401"}]

    async def look(page, pretended):
        await page.wait_for("document.querySelector('#amount').innerText.startsWith('No source files were found in shop')")
        await page.wait_for("document.querySelector('.notice')?.innerText.includes('what you get is a sketch')")
        await page.click("#paste-tab")
        await page.click("#draft-name")
        await page.write("main.go")
        await page.click("#draft-text")
        await page.write("package main\n")
        await page.click("#draft-read")
        await shown(page)
        assert await page.text(".sketch") == "Sketch, made without a model"
        assert await page.text(".fallback") == "Fallback: run failed: its server answered with 401"
        assert "Reason: no model: none is set up.\n" in await page.text(".how") + "\n"

    visit(look, said=answer(block("Main part", (1, 1)), **how), files={}, no_model="Nothing is set up: start Ollama.")


def test_a_file_with_nothing_in_it_is_not_sent(visit):
    async def look(page, pretended):
        await page.wait_for("document.querySelector('#phase').innerText === 'This file is empty; there is nothing to read.'")
        assert await page.evaluate("document.querySelector('#read').hidden")

    visit(look, files={"none.py": ""}, at="#file=none.py")


def test_pasted_source_is_read_and_goes_stale_when_it_is_edited(visit):
    async def look(page, pretended):
        await page.click("#paste-tab")
        await page.click("#draft-text")
        await page.write("let a = 1;\nlet b = 2;\n")
        await page.click("#draft-read")
        assert "Choose what it is written in" in await page.text("#draft-said")
        await page.click("#draft-name")
        await page.write("small.ts")
        assert await page.evaluate("document.querySelector('#draft-language').selectedOptions[0].text") == "TypeScript, by its name"
        await page.click("#draft-read")
        await shown(page)
        asked = {"filename": "small.ts", "source_code": "let a = 1;\nlet b = 2;\n", "language": "", "metadata": {}}
        assert pretended.asked == [asked]
        await page.click("#file")
        await page.click("#draft-text")
        await page.write("// more")
        await page.click("#close")
        await shown(page, "stale")
        assert "The text has changed since it was read." in await page.text("#status")
        await page.click("#read")
        await shown(page)
        assert "// more" in pretended.asked[1]["source_code"]
        assert "// more" in await page.text("#source")

    visit(look)


def test_a_file_that_is_dropped_is_pasted(visit):
    drop = """(words => {
        const carried = new DataTransfer();
        carried.items.add(new File([words], "dropped.rs"));
        document.dispatchEvent(new DragEvent("drop", { dataTransfer: carried, cancelable: true }));
    })"""

    async def look(page, pretended):
        await page.evaluate(f"{drop}('fn main() {{}}\\r\\n')")
        await page.wait_for("document.querySelector('#draft-name').value === 'dropped.rs'")
        await page.click("#draft-read")
        await shown(page)
        assert pretended.asked[0]["source_code"] == "fn main() {}\n"
        await page.evaluate(f"{drop}('\\0')")
        await page.wait_for("document.querySelector('#draft-said').innerText === 'dropped.rs is too large, empty or not text.'")

    visit(look)


def test_what_looks_like_html_stays_text(visit):
    bad = "<img src=x onerror=window.taken=1>"
    evil = block(bad, (1, 1), functions=[bad]) | {"id": f"{bad}&block=a", "description": bad}
    said = answer(evil, intent=bad, why=bad, notes=bad, model=bad, tool_reads=[{"start_line": 1, "end_line": 1, "reason": bad}])

    async def look(page, pretended):
        await page.wait_for("document.querySelectorAll('#list li').length === 1")
        assert await page.text("#list li") == f"{bad}.py"
        await page.press("Enter")
        await shown(page)
        await page.click(".head")
        places = ("#source", "#name", ".intent", ".label", ".description", ".chip", ".how", "#said")
        for place in places:
            assert bad in await page.evaluate(f"document.querySelector('{place}').textContent")
        assert await page.evaluate("document.querySelectorAll('img').length") == 1
        await page.evaluate("location.reload()")
        await page.wait_for("document.querySelector('.block.pinned') !== null")
        assert await page.evaluate("window.taken") is None

    visit(look, said=said, files={f"{bad}.py": f"'''{bad}'''\n"})


def test_ten_thousand_lines_are_shown_and_can_be_copied(visit):
    text = "".join([f'def function_{number}(value):\n\treturn "{number}"  # why\n\n\n' for number in range(2500)])
    said = answer(block("First part", (1, 4), (9990, 10000)), block("Second part", (5, 9000)))
    copied = """(() => {
        const line = number => document.querySelector(`.line[data-n="${number}"]`);
        getSelection().setBaseAndExtent(line(9), 0, line(13), 0);
        return getSelection().toString();
    })()"""

    async def look(page, pretended):
        await read(page)
        assert await page.evaluate("document.querySelectorAll('.line').length") == 10_000
        assert await page.evaluate(copied) == "\n".join(text.split("\n")[8:12]) + "\n"
        await page.evaluate("getSelection().removeAllRanges()")
        await page.hover(".block:nth-child(2) .head")
        assert len(await page.evaluate(LIT)) == 8996
        await page.click(".block:nth-child(1) .head")
        await page.press("]")
        await page.wait_for(SEEN.format(9990))
        await page.click(".fold")
        await page.wait_for(f"{SEEN.format(1)} && {SEEN.format(9990)}")
        await page.press("Escape")
        assert await page.evaluate("document.querySelector('#source').scrollHeight") > 10_000 * 20

    visit(look, said=said, files={"large.py": text}, at="#file=large.py")


def test_the_address_brings_back_the_file_and_the_pinned_block(visit):
    async def look(page, pretended):
        await shown(page)
        await page.wait_for(f"{COUNT} === '1/1'")
        assert await page.evaluate(PINNED) == [10, 11, 12]
        await page.click(".block:nth-child(1) .head")
        await page.wait_for("location.hash === '#file=stock.py&block=counting-items'")
        await page.evaluate("window.isOld = true; location.reload()")
        await page.wait_for(f"!window.isOld && {COUNT} === '1/3'")
        await page.press("Escape")
        await page.wait_for("location.hash === '#file=stock.py'")
        await page.press("/")
        await page.wait_for("document.querySelectorAll('#list li').length === 2")
        await page.click("#list li:first-child")
        await page.wait_for("location.hash === '#file=more/orders.py' && document.querySelectorAll('.line').length === 1")
        await page.evaluate("history.back()")
        await page.wait_for("document.querySelector('#name').innerText === 'stock.py'")

    visit(look, at="#file=stock.py&block=ordering-more")


def test_a_question_that_names_a_file_finds_it(visit):
    async def look(page, pretended):
        await page.wait_for("document.querySelector('#list').innerText.includes('orders.py')")
        assert "stock.py" not in await page.text("#list")

    visit(look, at="?question=What+is+orders.py+for%3F")


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_it_fits_a_telephone_and_every_text_can_be_read(visit, scheme):
    weakest = """(() => {
        const canvas = new OffscreenCanvas(1, 1).getContext("2d", { willReadFrequently: true });
        const rgb = colour => {
            canvas.clearRect(0, 0, 1, 1);
            canvas.fillStyle = colour;
            canvas.fillRect(0, 0, 1, 1);
            return [...canvas.getImageData(0, 0, 1, 1).data];
        };
        const light = ([r, g, b]) => [r, g, b].map(each => each / 255)
            .map(each => each <= 0.03928 ? each / 12.92 : ((each + 0.055) / 1.055) ** 2.4)
            .reduce((sum, each, index) => sum + each * [0.2126, 0.7152, 0.0722][index], 0);
        const ground = found => {
            for (; found; found = found.parentElement) {
                const colour = rgb(getComputedStyle(found).backgroundColor);
                if (colour[3] === 255) return colour;
            }
        };
        const contrast = (one, other) => {
            const [low, high] = [light(one), light(other)].sort((a, b) => a - b);
            return (high + 0.05) / (low + 0.05);
        };
        const inked = [...document.querySelectorAll("body *")].filter(each => each.checkVisibility()
            && [...each.childNodes].some(node => node.nodeType === 3 && node.data.trim()));
        const all = inked.map(each => [contrast(rgb(getComputedStyle(each).color), ground(each)), each.className || each.id]);
        const numbers = [...document.querySelectorAll(".line")]
            .map(each => [contrast(rgb(getComputedStyle(each, "::before").color), ground(each)), `number ${each.className}`]);
        return [...all, ...numbers].filter(([ratio]) => ratio < 4.5);
    })()"""
    labels = ("Counting items", "Ordering more", "Talking to people", "Paying bills", "Sending parcels", "Keeping accounts")
    said = answer(*[block(label, (number * 3 + 1, number * 3 + 2), types=["Value"]) for number, label in enumerate(labels)])
    text = 'class Value:  # a comment\n    name = "text"\n\n' * 6
    fits = "document.documentElement.scrollWidth === 390 && document.body.scrollWidth === 390"

    async def look(page, pretended):
        await page.wait_for("document.querySelectorAll('#list li').length === 1")
        assert await page.evaluate(fits)
        assert await page.evaluate(weakest) == []
        await page.click("#list li")
        await read(page)
        for number in range(len(labels)):
            await page.click(f".block:nth-child({number + 1}) .head")
            assert await page.evaluate(fits)
            assert await page.evaluate(weakest) == []
        (pretended.folder / "value.py").write_text(text + "# more\n")
        await changed(page)
        await shown(page, "stale")
        assert await page.evaluate(fits)
        assert await page.evaluate(weakest) == []

    visit(look, said=said, files={"value.py": text}, width=390, height=844, scheme=scheme)

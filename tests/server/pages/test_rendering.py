"""Large and hostile content in a real browser: a conversation of 500 messages, a diff of 5,000 lines, and texts that attack a page.

Long tasks are those that keep the page from reacting for 50 ms or more. How long they are depends on the machine, so that tests
check how much is drawn at once; with TREADLE_TASKS=1 and `-s` they print the tasks.
"""

import asyncio
import json
import os
import time

from browser import needs_browser
from server.pages.kept import asked
from server.pages.shop import clerk
from server.test_static_markdown import ATTACKS
from treadle.core.calls import Allow, Call, Result, Written
from treadle.core.entries import Finished, Judged, Opened, Replied, Returned, Said
from treadle.core.messages import Text
from treadle.home import close_home, open_home

pytestmark = needs_browser

TURNS = 250  # a message and an answer each
LINES = 5000
AT_ONCE = 30  # turns
ANSWER = """## Step {0}

**Words** with `code`, [a link](https://docs.example/{0}) and a list:

- one
- two

| Item | Stock |
|---|--:|
| lamp | {0} |

```python
def total(prices):
    return sum(prices) * {0}
```
"""
WATCH = """window.tasks = []; window.added = [];
    new PerformanceObserver(list => tasks.push(...list.getEntries().map(each => each.duration)))
        .observe({type: 'longtask', buffered: true});
    document.addEventListener('DOMContentLoaded', () => new MutationObserver(records => added.push(records.flatMap(
        ({addedNodes}) => [...addedNodes].filter(each => each.matches?.('.turn, [role=treeitem]'))).length))
        .observe(document.body, {childList: true, subtree: true}))"""
DIAGRAMS = """\
```mermaid
flowchart TD
  A[Start] -->|yes| B{Is it?}
  style B fill:#bbf
```

```mermaid
sequenceDiagram
  Alice->>Bob: Hello
```

```mermaid
flowchart TD
  A -->
```
"""
ELSEWHERE = """[window, ...Array.from(frames)].flatMap(each => each.performance.getEntriesByType('resource').map(({name}) => name))
    .filter(name => !name.startsWith(location.origin) && !name.startsWith('data:'))"""
HAS_MERMAID = "!!document.querySelector('iframe[title=Diagrams]')"
TASKS = "new Promise(resolve => requestAnimationFrame(() => setTimeout(() => resolve([...tasks]), 100)))"


def keep_conversation(folder):
    """A run with all of the turns, each with a call."""
    entries = [Opened(agent="shop", origin={"face": "server", "assistant": "shop"}, at=time.time())]
    for number in range(TURNS):
        call, at = Call(f"c{number}", "count_items", {"item": "lamp"}), time.time()
        entries += [
            Said(f"How many in step {number}?", at=at),
            Replied((Written(call.id, call.name, "{}"),), at=at),
            Judged(call=call, verdict=Allow(), at=at),
            Returned(Result(call.id, call.name, "3"), seconds=0.2, at=at),
            Replied((Text(ANSWER.format(number)),), at=at),
            Finished("answered", ANSWER.format(number), at=at),
        ]

    async def keep():
        home = open_home(folder / "data")
        await home.journal.append("long", 0, entries)
        close_home(home)

    asyncio.run(keep())


async def watched(page, url):
    """The page at an address, watched from its beginning."""
    await page.send("Page.addScriptToEvaluateOnNewDocument", source=WATCH)
    await page.go(url)


async def tell(page, what):
    """Print the long tasks since the last time, if they are wanted."""
    tasks = await page.evaluate(TASKS)
    await page.evaluate("window.tasks.length = 0")
    if os.environ.get("TREADLE_TASKS"):
        print(f"\n{what}: {len(tasks)} long tasks, longest {max(tasks, default=0):.0f} ms, together {sum(tasks):.0f} ms")


def test_a_conversation_of_500_messages_stays_responsive(serve, visit, tmp_path):
    async def look(page):
        await watched(page, f"{await page.evaluate('location.origin')}/?run=long")
        await page.wait_for(f"document.querySelectorAll('.turn').length === {TURNS}")
        assert AT_ONCE <= max(await page.evaluate("added")) <= AT_ONCE + 5
        numbers = await page.evaluate("[...document.querySelectorAll('.turn .said p')].map(each => each.textContent)")
        assert numbers == [f"How many in step {number}?" for number in range(TURNS)]
        assert await page.evaluate("document.title") == "How many in step 0? · Treadle"
        assert await page.evaluate("document.querySelectorAll('.regenerate').length") == 1
        await page.wait_for("document.querySelector('.turn:last-child .words table') !== null")
        await tell(page, "opening")
        await page.evaluate("document.querySelector('.log').scrollTo(0, 0)")
        await page.click(".composer textarea")
        await page.write("And now a question that is typed below all of it.")
        await tell(page, "scrolling and writing")
        await page.press("Enter")
        await page.wait_for(f"document.querySelectorAll('.turn').length === {TURNS + 1}")
        await page.wait_for("document.querySelector('.turn:last-child .words')?.innerText.includes('Three.')")
        await tell(page, "an answer")

    with serve(clerk("Three.")) as server:
        keep_conversation(tmp_path)
        visit(server.url, look)


def test_the_trace_of_500_messages_stays_responsive(serve, visit, tmp_path):
    async def look(page):
        await watched(page, f"{await page.evaluate('location.origin')}/runs/long")
        await page.wait_for(f"document.querySelectorAll('#steps > [role=treeitem]').length === {TURNS}")
        assert sum(await page.evaluate("added")) < TURNS + 10
        await tell(page, "opening the trace")
        await page.evaluate("document.querySelector('#steps [tabindex=\"0\"]').focus()")
        for _ in range(10):
            await page.press("ArrowDown")
        await tell(page, "walking the tree")

    with serve(clerk()) as server:
        keep_conversation(tmp_path)
        visit(f"{server.url}/runs", look)


def test_a_diff_of_5000_lines_stays_responsive(standing, visit):
    lines = [f"{'+-  '[number % 4]}line {number} of a file that is long" for number in range(LINES)]
    text = "\n".join(["Writes a.py.", "--- a.py", "+++ a.py", f"@@ -1,{LINES} +1,{LINES} @@", *lines])

    async def look(page):
        await watched(page, f"{standing.url}/approvals")
        await page.evaluate(
            f"""import('/static/diff.js').then(({{ preview }}) => {{
                document.querySelector('main').prepend(preview({json.dumps(text)}));
                document.querySelector('.preview .cut button').click();
            }})"""
        )
        assert await page.evaluate("document.querySelectorAll('.preview .diff > *').length") >= LINES
        await tell(page, "drawing the diff")
        await page.evaluate("(box => box.scrollTo(0, box.scrollHeight))(document.querySelector('.preview .diff'))")
        await tell(page, "scrolling the diff")

    visit(f"{standing.url}/audit", look)


def test_an_answer_that_attacks_the_page_is_shown_as_text(serve, visit):
    async def look(page):
        await page.wait_for("document.querySelectorAll('.turn .words > *').length > 30 && !!document.querySelector('.hljs-tag')")
        forbidden = "script, iframe, object, embed, style, link, base, meta, form, input, video, img, svg:not(.icon)"
        assert await page.evaluate(f"document.querySelectorAll('.words :is({forbidden})').length") == 0
        assert await page.evaluate("window.taken ?? null") is None
        await page.evaluate("document.querySelector('#journal').click()")
        await page.wait_for("document.querySelectorAll('#steps [role=treeitem]').length > 0")
        await page.click("#tab-journal")
        await page.wait_for("document.querySelectorAll('#then .words > *').length > 30")
        assert await page.evaluate("window.taken ?? null") is None

    with serve(clerk("\n\n".join(ATTACKS))) as server:
        visit(f"{server.url}/?run={asked(server.url, 'Attack.')}", look)


def test_what_the_model_does_is_said_while_one_waits(standing, visit):
    async def look(page):
        said = await page.evaluate(
            """import('/static/answer.js').then(({ Answer }) => {
                const answer = new Answer(), doing = answer.node.querySelector('.doing'), said = [];
                const take = (event) => { answer.take(event); said.push(doing.textContent); };
                answer.begin();
                take({ event: 'model_asked', model: 'llamacpp:qwen' });
                take({ event: 'model_progressed', stage: 'waiting', ahead: 2 });
                take({ event: 'model_progressed', stage: 'loading', done: 0.5, total: 1 });
                take({ event: 'model_progressed', stage: 'reading', done: 420, total: 1000 });
                take({ event: 'model_progressed', stage: 'writing', done: 3 });
                take({ event: 'call_started', call: { id: 'c', name: 'count', arguments: {} } });
                answer.end();
                return [...said, doing.textContent];
            })"""
        )
        reading = "Reading the prompt 42 % of 1,000 tokens…"
        queued = "Waiting for qwen: 2 runs ahead of yours…"
        assert said == ["Thinking…", queued, "Loading qwen 50 %…", reading, "Writing 3 tokens…", "Using count…", ""]

    visit(f"{standing.url}/audit", look)


def test_the_draft_of_an_answer_is_shown_until_the_answer_comes(standing, visit):
    async def look(page):
        said = await page.evaluate(
            """import('/static/answer.js').then(({ Answer }) => {
                const answer = new Answer(), draft = answer.node.querySelector('.draft'), said = [];
                const take = (event) => { answer.take(event); said.push(draft.textContent); };
                answer.begin();
                take({ event: 'model_progressed', stage: 'writing', done: 3, draft: 'The key' });
                take({ event: 'model_progressed', stage: 'writing', done: 6, draft: 'The key is <b>' });
                take({ event: 'model_progressed', stage: 'waiting', draft: '' });
                said.push(answer.text);
                take({ event: 'text_arrived', text: 'The key is new.' });
                answer.end();
                return [...said, answer.text];
            })"""
        )
        assert said == ["The key", "The key is <b>", "The key is <b>", "", "", "The key is new."]

    visit(f"{standing.url}/audit", look)


def test_diagrams_are_drawn_in_the_colours_of_the_page_and_loaded_with_the_first(serve, visit):
    pictures = "[...document.querySelectorAll('img.diagram')]"

    async def look(page):
        await page.wait_for("document.querySelector('.words')?.innerText === 'Plain.'")
        assert not await page.evaluate(HAS_MERMAID)
        await page.click("#message")
        await page.write("Draw.")
        await page.press("Enter")
        await page.wait_for(f"{pictures}.length === 2 && {pictures}.every(each => each.naturalWidth > 50)")
        await page.wait_for("document.querySelector('.undrawn') !== null")
        assert await page.text(".undrawn") == "This diagram can't be drawn; its source is below."
        assert "A -->" in await page.text("pre:has(.undrawn) code")
        assert not await page.evaluate("document.querySelector('pre.drawn code').checkVisibility()")
        await page.click("pre.drawn .source")
        assert "style B fill:#bbf" in await page.text("pre.drawn code")
        assert await page.evaluate("document.querySelectorAll('pre[data-language=mermaid] > .copy').length") == 3
        light = await page.evaluate(f"{pictures}[0].src")
        await page.prefer("dark")
        await page.wait_for(f"{pictures}.length === 2 && {pictures}[0].src !== {json.dumps(light)}")
        assert await page.evaluate("document.querySelectorAll('style, .words [style]').length") == 0
        assert await page.evaluate(ELSEWHERE) == []

    with serve(clerk("Plain.", DIAGRAMS)) as server:
        visit(f"{server.url}/?run={asked(server.url, 'Hello.')}", look)

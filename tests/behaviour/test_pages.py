"""What pages show and change, in a real browser: settings, approvals, the trace of a run, and diagrams."""

import re

from browser import needs_browser
from server.pages.conftest import serve, shop, visit
from server.pages.kept import asked
from server.pages.shop import LAMPS, LOOK, clerk
from server.pages.test_approvals import BOXES, WAITING, order
from server.pages.test_rendering import ELSEWHERE
from server.pages.test_settings import KEY, READY, own, owned, sign_in, write
from server.pages.test_trace import CHOSEN, CONTENT, OUTSIDE, SEEN, choose
from server.pages.test_trace import READY as STEPS
from treadle.settings.provider_keys import load_provider_key

pytestmark = needs_browser
BAD_DIAGRAMS = (
    "flowchart TD\n A[\"<img src=x onerror=window.taken=1><b style='color:red'>x</b>\"] --> B",
    'flowchart TD\n A --> B\n click A "javascript:window.taken=1" "tip"\n click B call taken()',
    'flowchart TD\n A["</text></svg><script>window.taken=1</script><svg onload=window.taken=1>"]',
    "flowchart TD\n A --> B\n classDef bad fill:url(https://docs.example/x),background:url(https://docs.example/y)\n class A bad",
    (
        "%%{init: {'securityLevel': 'loose', 'htmlLabels': true, 'themeCSS': '* { background: url(https://docs.example/z) }'}}%%\n"
        "flowchart TD\n A[\"<iframe src='https://docs.example/'></iframe>\"] --> B"
    ),
    "sequenceDiagram\n Alice->>Bob: <style>* { display: none }</style><img src=x onerror=window.taken=1>",
)
__all__ = ["own", "owned", "serve", "shop", "visit"]  # fixtures of the pages' own tests


def test_settings_page(owned, visit):
    async def look(page):
        await sign_in(page, server.url, token)
        await page.wait_for(READY)
        await write(page, "input[name=key]", KEY)
        await page.press("Enter")
        await page.wait_for("document.querySelectorAll('#providers li').length === 1")
        assert "OpenAI · a key that ends in stuv, added just now" in await page.text("#providers")
        assert KEY not in await page.evaluate("document.documentElement.outerHTML")
        assert await page.evaluate("document.querySelector('input[name=key]').value") == ""
        assert load_provider_key("openai") == KEY
        await page.evaluate("[...document.querySelectorAll('#providers button')].find(each => each.innerText === 'Remove').click()")
        await page.click("dialog.modal button[value=yes]")
        await page.wait_for("document.querySelector('#providers').hidden")
        assert load_provider_key("openai") == ""

    server, token = owned()
    with server:
        visit(f"{server.url}/login", look)


def test_settings_page__without_authentication(serve, visit):
    async def look(page):
        await page.wait_for(READY)
        assert "--no-token" in await page.text("#said")
        assert await page.evaluate("document.querySelector('input[name=key]').disabled")

    with serve(clerk()) as server:
        visit(f"{server.url}/settings", look)


def test_approvals_page(serve, visit, shop):
    async def look(page):
        await page.wait_for(f"{BOXES} === 3")
        await page.wait_for("document.querySelector('#said').innerText === '3 calls need your approval.'")
        await page.wait_for(f"({WAITING}).startsWith('3')")
        assert {"Orders 1 of lamp.", "Orders 2 of lamp."} <= set((await page.text("#approvals")).split("\n"))
        assert "In Order 3." in await page.text(".approval")
        await page.click(".approval .approve")
        await page.wait_for(f"{BOXES} === 2 && document.querySelector('#said').innerText === '2 calls need your approval.'")
        await page.click(".approval .why input")
        await page.write("Not now.")
        await page.click(".approval .deny")
        await page.wait_for(f"{BOXES} === 1")
        await page.click(".approval .edit")
        await page.evaluate('document.querySelector(\'.json\').value = \'{"item": "chair", "amount": 5}\'')
        await page.click(".approval .approve")
        await page.wait_for("document.querySelector('#said').innerText === 'Nothing needs your approval.'")
        await page.wait_for(f"({WAITING}) === ''")
        assert "You denied order_items: Not now." in await page.text("#approvals")

    with serve(clerk(order(1), order(2), order(3), *["Done."] * 3)) as server:
        runs = [asked(server.url, f"Order {number}.", status="waiting") for number in (1, 2, 3)]
        visit(f"{server.url}/approvals", look)
        for run in runs:
            asked(server.url, run_id=run)
    assert sorted(shop.ordered) == [("chair", 5), ("lamp", 3)]


def test_trace_page(serve, visit):
    async def look(page):
        await page.wait_for(STEPS)
        rounds = ["Round 1", "Model request", "count_items", "price_of", "next_delivery", "Round 2", "Model request"]
        assert await page.evaluate(SEEN) == ["Turn 1", *rounds]
        widths = await page.evaluate("[...document.querySelectorAll('#steps .stretch')].map(each => each.offsetWidth)")
        assert widths[0] >= max(widths[1:]) > 0
        assert await page.text("#step-title") == "Turn 1"
        assert "How many?" in await page.evaluate(CONTENT)
        await page.evaluate(choose("price_of"))
        assert await page.evaluate(CONTENT) == "item\nlamp"
        await page.click("#step-output")
        assert "$12.00 <img src=x" in await page.evaluate(CONTENT)
        await page.click("#step-raw")
        assert '"kind": "judged"' in await page.evaluate(CONTENT)
        await page.evaluate(choose("next_delivery"))
        assert await page.text("#step-title") == "next_delivery (failed)"
        await page.evaluate(choose("Model request", 1))
        assert (await page.evaluate(CHOSEN)).startswith("Model request: There are")
        await page.click("#step-input")
        assert "Result of count_items" in await page.evaluate(CONTENT)
        await page.click("#to-journal")
        assert await page.evaluate("document.querySelector('#entries [aria-current] .kind').innerText") == "Replied"
        assert await page.evaluate("document.querySelector('#trace').hidden")
        assert await page.evaluate("window.taken") is None
        assert await page.evaluate(OUTSIDE) == []

    with serve(clerk(LOOK, LAMPS)) as server:
        visit(f"{server.url}/runs/{asked(server.url, 'How many?')}", look)


def test_diagram_image(serve, visit):
    over = "document.querySelectorAll('pre > :is(.diagram, .undrawn)').length === {}"

    async def look(page):
        await page.wait_for(over.format(len(BAD_DIAGRAMS)))
        assert await page.evaluate("document.querySelectorAll('img.diagram').length") >= 4
        frame = "document.querySelector('iframe[title=Diagrams]').contentWindow"
        assert await page.evaluate(f"window.taken ?? {frame}.taken ?? null") is None
        sources = await page.evaluate("[...document.querySelectorAll('img.diagram')].map(({src}) => decodeURIComponent(src))")
        for tag in ("script", "foreignObject", "image", "iframe", "a", "use"):
            assert [source for source in sources if f"<{tag} " in source or f"<{tag}>" in source] == []
        assert [source for source in sources if re.search(r"<[^>]*\son\w+=", source) or "javascript:" in source] == []
        assert await page.evaluate(ELSEWHERE) == []

    text = "\n\n".join(f"```mermaid\n{each}\n```" for each in BAD_DIAGRAMS)
    with serve(clerk(text)) as server:
        visit(f"{server.url}/?run={asked(server.url, 'Attack.')}", look, expected=("Content Security Policy",))

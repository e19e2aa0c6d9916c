"""Tests' own clicks: they reach what they are for, also while a page is being drawn."""

import asyncio

import pytest

from browser import BrowserError, needs_browser

pytestmark = needs_browser

PUT = """const put = (id, style) => {
    const made = Object.assign(document.createElement("button"), {id});
    Object.assign(made.style, {position: "fixed", left: 0, top: 0, width: "20px", height: "20px", zIndex: 1000, ...style});
    document.body.append(made);
    made.addEventListener("click", () => window.clicked.push(id));
    return made;
};
window.clicked = [];"""
MOVES_WHEN_PRESSED = (
    PUT
    + """
const it = put("it");
it.addEventListener("mousedown", () => it.style.top = "300px", {once: true});"""
)
COVERED = (
    PUT
    + """
put("it");
put("cover", {width: "100%", height: "100%"});"""
)


def test_what_moves_while_it_is_clicked_is_clicked_again(standing, visit):
    async def look(page):
        await page.evaluate(f"(() => {{{MOVES_WHEN_PRESSED}}})()")
        await page.click("#it")
        assert await page.evaluate("clicked") == ["it"]

    visit(f"{standing.url}/runs", look)


def test_what_lies_over_it_for_a_while_gets_no_click(standing, visit):
    async def look(page):
        await page.evaluate(f"(() => {{{COVERED}}})()")
        async with asyncio.TaskGroup() as group:
            group.create_task(page.click("#it"))
            await asyncio.sleep(0.2)
            await page.evaluate("document.querySelector('#cover').remove()")
        assert await page.evaluate("clicked") == ["it"]

    visit(f"{standing.url}/runs", look)


def test_what_lies_over_it_for_good_is_named(standing, visit, monkeypatch):
    async def look(page):
        await page.evaluate(f"(() => {{{COVERED}}})()")
        monkeypatch.setattr("browser.PATIENCE", 0.3)  # seconds
        with pytest.raises(BrowserError, match=r'a click on #it can\'t reach it: <button id="cover"'):
            await page.click("#it")
        monkeypatch.undo()

    visit(f"{standing.url}/runs", look)

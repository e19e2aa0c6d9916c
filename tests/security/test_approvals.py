"""Attempts to have a person approve something else than what they see: on the page, at the terminal, at a client of MCP.

`visible.json` is the table that the Python function and the page's script are both held to.
"""

import asyncio
import io
import json
from pathlib import Path

import msgspec
import pytest

from browser import Browser, needs_browser
from server.running import Serving
from treadle.cli.ui.approval_prompt import ApprovalPrompt, print_settle_commands
from treadle.cli.ui.screen import Screen
from treadle.engine.setup import Approval
from treadle.guard.visible_text import escape_hidden, make_visible
from treadle.server.mcp.elicitation import format_question

CASES = json.loads(Path(__file__).with_name("visible.json").read_text())
DECEIVING = [case for case in CASES if case["text"] != case["visible"]]
HONEST = [case for case in CASES if case["text"] == case["visible"]]


def asked(text: str) -> Approval:
    return Approval(
        "run-1", "call_1", "send_mail", {"to": text, "nested": {"deep": [text]}}, text, "digest", 0.0, 0.0, f"Sends:\n{text}"
    )


def named(case: dict[str, str]) -> str:
    return case["name"]


# at the terminal, and at a client of MCP


@pytest.mark.parametrize("case", DECEIVING, ids=named)
def test_nothing_reaches_a_terminal_that_could_deceive(case, monkeypatch):
    out, err = io.StringIO(), io.StringIO()
    monkeypatch.setattr("sys.stdout", out)
    monkeypatch.setattr("sys.stderr", err)
    screen = Screen()
    ApprovalPrompt(screen)._show(asked(case["text"]))
    print_settle_commands(screen, asked(case["text"]))
    shown = err.getvalue()
    assert make_visible(shown) == shown
    assert case["text"] not in shown


@pytest.mark.parametrize("case", DECEIVING, ids=named)
def test_nothing_reaches_a_client_that_could_deceive(case):
    shown = format_question(asked(case["text"]))
    assert make_visible(shown) == shown
    assert case["text"] not in shown


# on the page

ALL = """import('/static/visible.js').then(({{ visible, escaped }}) =>
    {cases}.map(({{ text }}) => [visible(text), JSON.parse(escaped(JSON.stringify(text))) === text]))"""
CARDS = """import('/static/approval.js').then(({{ boxFor }}) => {cases}.map(({{ text }}) => {{
    const given = {{ to: text, [text]: {{ deep: [text] }} }};
    const asked = {{ name: "send_mail", arguments: given, reason: text, preview: `Sends:\\n${{text}}` }};
    const box = boxFor(asked, () => null, {{ edits: true }}).node;
    box.querySelector(".edit").click();
    const unclear = boxFor({{ ...asked, unclear: true }}, () => null).node;
    return [box.textContent, box.querySelector("textarea").value, unclear.textContent];
}}))"""
LONG = """import('/static/approval.js').then(({{ boxFor }}) => {{
    const box = boxFor({{ name: "write_file", arguments: {{ content: {text} }}, reason: "" }}, () => null).node;
    const value = () => box.querySelector(".arguments dd").textContent;
    const before = value();
    [...box.querySelectorAll("button")].find((each) => each.textContent === "Show everything")?.click();
    return [before, value(), box.querySelector("summary").textContent];
}})"""


@pytest.fixture(scope="module")
def page(tmp_path_factory):
    """Evaluates a script in a page of the server's."""
    with asyncio.Runner() as runner, Serving(tmp_path_factory.mktemp("home")) as server:
        browser = runner.run(Browser().__aenter__())
        opened = runner.run(browser.open(server.url))
        yield lambda script: runner.run(opened.evaluate(script))
        opened.check()
        runner.run(browser.__aexit__(None, None, None))


@pytest.fixture(scope="module")
def by_script(page):
    return dict(zip([case["name"] for case in CASES], page(ALL.format(cases=json.dumps(CASES))), strict=True))


@pytest.fixture(scope="module")
def cards(page):
    return dict(zip([case["name"] for case in CASES], page(CARDS.format(cases=json.dumps(CASES))), strict=True))


@needs_browser
@pytest.mark.parametrize("case", CASES, ids=named)
def test_the_page_sees_what_the_terminal_sees(case, by_script):
    assert by_script[case["name"]] == [case["visible"], True]


@needs_browser
@pytest.mark.parametrize("case", DECEIVING, ids=named)
def test_no_card_has_anything_that_could_deceive(case, cards):
    card, written, unclear = cards[case["name"]]
    assert (make_visible(card), make_visible(unclear), escape_hidden(written)) == (card, unclear, written)
    assert case["text"] not in card
    assert msgspec.json.decode(written)["to"] == case["text"]


@needs_browser
@pytest.mark.parametrize("case", HONEST, ids=named)
def test_honest_words_are_shown_as_they_are(case, cards):
    assert case["text"] in cards[case["name"]][0]
    assert msgspec.json.decode(cards[case["name"]][1])["to"] == case["text"]


@needs_browser
@pytest.mark.parametrize(
    ("text", "says"),
    [
        ("x" * 1_999 + "; rm", "3 characters more are not shown."),
        ("x" * 50_000, "48,000 characters more are not shown."),
        ("line\n" * 100 + "; rm", "355 characters on 71 lines more are not shown."),
        ("a " * 30 + "\n.\n" * 31 + "; rm", "more are not shown."),
    ],
)
def test_what_is_long_says_how_much_is_not_shown_and_shows_it_on_request(page, text, says):
    before, after, summary = page(LONG.format(text=json.dumps(text)))
    assert says in before
    assert "; rm" not in before or text.startswith("x" * 1_999)
    assert after == text
    assert summary == f"Its arguments, in full ({len(json.dumps({'content': text}, separators=(',', ':'))):,} characters)"

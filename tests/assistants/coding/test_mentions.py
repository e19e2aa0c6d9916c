"""Mentions in a coding session: symbols with their source, images by path, and nothing that a file says."""

import asyncio
from pathlib import Path

import pytest

from attachments import png
from treadle import Image
from treadle.assistants.coding.mentions import (
    MAX_LINES,
    MAX_PLACES,
    SymbolDefinition,
    expand_session_mentions,
)
from treadle.assistants.coding.project_symbols import ProjectSymbols
from treadle.core.messages import Quote

CART = """\
class Cart:
    def total(self):
        return 3


def total(cart):
    return cart.total()
"""


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    folder = tmp_path / "shop"
    (folder / "src").mkdir(parents=True)
    (folder / "src" / "cart.py").write_text(CART)
    monkeypatch.chdir(folder)
    return folder


def expanded(folder: Path, text: str) -> tuple[str, list[str]]:
    prompt = asyncio.run(expand_session_mentions(text, ProjectSymbols(folder).find_definitions))
    quotes = [f"\n<{each.source}>\n{each.text}" for each in prompt.attachments if isinstance(each, Quote)]
    return prompt.text + "".join(quotes), [each.name for each in prompt.attachments if isinstance(each, Image)]


def test_a_symbol_comes_with_its_source(folder: Path):
    said, _ = expanded(folder, "why is @Cart.total wrong?")
    assert said == ("why is @Cart.total wrong?\n<Cart.total in src/cart.py, lines 2-3>\n    def total(self):\n        return 3")


def test_a_symbol_of_another_language_comes_with_its_source(folder: Path):
    pytest.importorskip("tree_sitter_go", reason="tree-sitter-go isn't installed")
    (folder / "cart.go").write_text("package shop\n\nfunc Price(n int) int {\n\treturn n\n}\n")
    said, _ = expanded(folder, "what does @Price do?")
    assert said.endswith("<Price in cart.go, lines 3-5>\nfunc Price(n int) int {\n\treturn n\n}")


def test_without_grammars_python_is_read(folder: Path, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr("treadle.assistants.coding.project_symbols.find_spec", lambda _: None)
    assert "<Cart.total in src/cart.py, lines 2-3>" in expanded(folder, "@Cart.total")[0]


def test_an_exact_name_comes_before_the_methods_of_that_name(folder: Path):
    found = asyncio.run(ProjectSymbols(folder).find_definitions("total"))
    assert [(each.name, each.start) for each in found] == [("total", 6), ("Cart.total", 2)]


@pytest.mark.parametrize("text", ["@nothing here", "ann@example.org", "mail @ann", r"\@Cart", "@Cart/x/", "a decorator: @property"])
def test_what_is_no_symbol_stays_as_it_is_typed(folder: Path, text: str):
    (folder / "Cart").mkdir()
    (folder / "Cart" / "x").mkdir()
    if "/" in text:
        text = "Cart/x"
    assert expanded(folder, text)[0] == text.replace(r"\@", "@")


def test_a_file_comes_before_a_symbol_and_its_words_mention_nothing(folder: Path):
    (folder / "Cart").write_text("see @total and /etc/shot.png\n")
    said, images = expanded(folder, "look at @Cart")
    assert said == "look at @Cart\n<Cart>\nsee @total and /etc/shot.png\n"
    assert images == []


def test_images_are_sent_by_their_paths(folder: Path, tmp_path: Path):
    (folder / "shot.png").write_bytes(png())
    (tmp_path / "my shot.PNG").write_bytes(png())
    (folder / "fake.png").write_text("no image")
    escaped = str(tmp_path / "my shot.PNG").replace(" ", "\\ ")
    said, images = expanded(folder, f"compare shot.png, {escaped}, fake.png and gone.png")
    assert images == ["shot.png", "my shot.PNG"]
    assert said.startswith("compare shot.png")


def test_an_image_that_is_mentioned_is_sent_once(folder: Path):
    (folder / "shot.png").write_bytes(png())
    assert expanded(folder, "look at @shot.png")[1] == ["shot.png"]


def test_long_and_many_definitions_are_shortened():
    long = SymbolDefinition("a.py", "f", 1, 500, "\n".join(["x"] * 500))

    async def find(name: str) -> list[SymbolDefinition]:
        return [long] * 9

    quotes = asyncio.run(expand_session_mentions("@f", find)).attachments
    more = f"[{500 - MAX_LINES} more lines]"
    assert [isinstance(quote, Quote) and quote.text.endswith(more) for quote in quotes] == [True] * MAX_PLACES

"""The documentation site: every page is in its navigation, links work in it, and nothing is loaded from another host."""

import sys
from pathlib import Path
from typing import Any

import pytest
import yaml

from docs.test_public_surface import PUBLIC

ROOT = Path(__file__).parents[2]
DOCS = ROOT / "docs"
CONFIG = yaml.safe_load((ROOT / "mkdocs.yml").read_text())
PARTS = ["Home", "Tutorial", "How-to guides", "Reference", "Explanation"]


@pytest.fixture(scope="module")
def hooks():
    sys.path.insert(0, str(ROOT / "scripts"))
    try:
        import site_hooks
    finally:
        sys.path.pop(0)
    return site_hooks


def pages_of(nav: Any) -> list[str]:
    match nav:
        case str():
            return [nav]
        case list():
            return [page for item in nav for page in pages_of(item)]
        case _:
            return [page for item in nav.values() for page in pages_of(item)]


def test_the_navigation_has_four_parts():
    assert [next(iter(part)) for part in CONFIG["nav"]] == PARTS


def test_every_page_is_in_the_navigation_once(hooks):
    listed = pages_of(hooks.expand_nav(CONFIG["nav"]))
    pages = [path.relative_to(DOCS).as_posix() for path in DOCS.rglob("*.md")]
    outside = [page for page in hooks.outside_pages() if not page.startswith("bench/results/")]
    assert sorted(listed) == sorted(pages + outside)


def test_every_public_module_has_a_page_of_its_names():
    pages = {path.stem: path.read_text() for path in (DOCS / "api").glob("treadle*.md")}
    assert sorted(pages) == sorted(PUBLIC)
    assert [name for name, text in pages.items() if f"\n::: {name}\n" not in text] == []
    index = (DOCS / "api" / "README.md").read_text()
    assert [name for name in PUBLIC if f"[`{name}`]({name}.md)" not in index] == []


def test_links_between_pages_are_those_of_the_site(hooks):
    outside = ["ARCHITECTURE.md", "bench/README.md"]

    def translated(text: str, page: str) -> str:
        return hooks.translate_links(text, page, outside)

    assert translated("[a](../ARCHITECTURE.md#words)", "docs/tools.md") == "[a](ARCHITECTURE.md#words)"
    assert translated("[t](docs/tools.md)", "ARCHITECTURE.md") == "[t](tools.md)"
    assert translated("[t](../docs/tools.md)", "bench/README.md") == "[t](../tools.md)"
    assert (
        translated("[d](../tools.md) ![p](../pictures/a.png)", "docs/decisions/0001.md")
        == "[d](../tools.md) ![p](../pictures/a.png)"
    )
    assert translated("[`x.py`](../tests/x.py) is a file", "docs/tools.md") == "`x.py` is a file"
    assert translated("[w](https://example.org) [h](#here)", "docs/tools.md") == "[w](https://example.org) [h](#here)"
    assert translated("```\n[a](../tests/x.py)\n```\n", "docs/tools.md") == "```\n[a](../tests/x.py)\n```\n"


def test_what_a_page_would_load_from_another_host_is_found(hooks):
    page = """<link rel="stylesheet" href="https://a.example/x.css"><script src="//b.example/y.js"></script>
    <img src="assets/logo.png"><a href="https://c.example">read</a><p style="background: url('http://d.example/z.png')">
    <style>@import "https://e.example/f.css"; a { color: red }</style>"""
    assert hooks.external_resources(page) == [
        "https://a.example/x.css",
        "//b.example/y.js",
        "http://d.example/z.png",
        "https://e.example/f.css",
    ]


def test_the_theme_asks_for_no_fonts():
    assert CONFIG["theme"]["font"] is False
    assert CONFIG["strict"] is True

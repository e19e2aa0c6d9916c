"""The colours that pages and panels share can be read, light and dark, by the measure of WCAG AA."""

import gzip
import json
import re
from hashlib import sha256
from pathlib import Path

import pytest

from treadle.server.app import STATIC
from treadle.server.pages import PAGES, render_page

CSS = (STATIC / "treadle.css").read_text()
TEXT = [(ink, ground) for ink in ("ink", "soft", "accent", "good", "warn", "bad") for ground in ("paper", "surface", "sunken")] + [
    ("on-accent", "accent"),
    ("on-accent", "accent-strong"),
    ("accent-strong", "surface"),
    ("ink", "tint"),
]
EDGES = [(edge, ground) for edge in ("edge", "accent") for ground in ("paper", "surface")]


def colours(scheme):
    known = re.findall(r"--([\w-]+): light-dark\((#[0-9a-f]{6}), (#[0-9a-f]{6})\);", CSS)
    return {name: light if scheme == "light" else dark for name, light, dark in known}


def luminance(colour):
    channels = [int(colour[at : at + 2], 16) / 255 for at in (1, 3, 5)]
    linear = [channel / 12.92 if channel <= 0.04045 else ((channel + 0.055) / 1.055) ** 2.4 for channel in channels]
    return 0.2126 * linear[0] + 0.7152 * linear[1] + 0.0722 * linear[2]


def contrast(one, other):
    bright, dim = sorted((luminance(one), luminance(other)), reverse=True)
    return (bright + 0.05) / (dim + 0.05)


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_words_and_edges_stand_out(scheme):
    known = colours(scheme)
    faint = [(a, b, round(contrast(known[a], known[b]), 2)) for a, b in TEXT if contrast(known[a], known[b]) < 4.5]
    thin = [(a, b, round(contrast(known[a], known[b]), 2)) for a, b in EDGES if contrast(known[a], known[b]) < 3]
    assert (faint, thin) == ([], [])


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_code_in_a_diff_stands_out(scheme):
    known = colours(scheme)
    changed = re.findall(
        r"\.diff (?:ins|del) \{ background: color-mix\(in srgb, var\(--(\w+)\) (\d+)%, var\(--(\w+)\)\)",
        (STATIC / "chat.css").read_text(),
    )
    assert [name for name, *_ in changed] == ["good", "bad"]
    grounds = {name: mixed(known[name], known[other], int(share) / 100) for name, share, other in changed}
    inks = ("ink", "soft", "accent", "good", "warn")  # code, its number and comments, and what highlight.js tells apart
    faint = [(ink, name) for ink in inks for name, ground in grounds.items() if contrast(known[ink], ground) < 4.5]
    assert faint == []


def mixed(one, other, share):
    pairs = [(int(one[at : at + 2], 16), int(other[at : at + 2], 16)) for at in (1, 3, 5)]
    return "#" + "".join([f"{round(a * share + b * (1 - share)):02x}" for a, b in pairs])


def test_every_page_of_a_panel_has_the_sidebar():
    panels = sorted((STATIC.parents[1] / "assistants").glob("*/panel/*.html"))
    assert len(panels) >= 6
    without = [f"{path.parents[1].name}/{path.name}" for path in panels if "/static/shell.js" not in path.read_text()]
    assert without == []


def load_with_imports(path: Path, found: dict[Path, bytes]) -> None:
    """Collect a file of a page, and what it imports or uses, as a browser loads it; not what is loaded on demand."""
    if path in found:
        return
    text = path.read_text() if path.suffix in (".js", ".css") else ""
    found[path] = path.read_bytes()
    for name in re.findall(r'^(?:import|export) (?:[^;]*? from )?"(?:\./|/static/)([\w./-]+)";', text, re.MULTILINE):
        load_with_imports(STATIC / name, found)
    for name in re.findall(r'"/static/((?:inter|lucide)/[\w.-]+)"', text):
        load_with_imports(STATIC / name, found)


def test_the_first_page_is_at_most_250_kb_compressed():
    page, found = render_page(PAGES["/"]), dict[Path, bytes]()
    for name in re.findall(r'"/static/([\w.-]+)"', page):
        load_with_imports(STATIC / name, found)
    assert {"shell.js", "chat.js", "markdown.js", "treadle.css", "inter.woff2", "icons.svg"} <= {path.name for path in found}
    assert {"markdown-it.min.js", "purify.js"} <= {path.name for path in found}
    assert not {"palette.js", "highlight.min.js", "katex.min.js"} & {path.name for path in found}
    assert sum(len(gzip.compress(content)) for content in (page.encode(), *found.values())) < 250_000


def test_nothing_is_fetched_from_elsewhere():
    files = [path for path in STATIC.iterdir() if path.suffix in (".css", ".js")]
    assert {"treadle.css", "treadle.js", "chat.css", "chat.js"} <= {path.name for path in files}
    assert [
        path.name for path in files if re.search(r"url\((?!\"/static/)|@import|https?://(?!www.w3.org/)", path.read_text())
    ] == []


@pytest.mark.parametrize(
    ("folder", "name", "terms", "owner"),
    [
        ("katex", "katex", "MIT", "Khan Academy"),
        ("lucide", "lucide-static", "ISC", "Lucide Icons and Contributors"),
        ("inter", "@fontsource-variable/inter", "OFL-1.1", "Inter Project Authors"),
        ("markdown-it", "markdown-it", "MIT", "Vitaly Puzrin"),
        ("dompurify", "dompurify", "(MPL-2.0 OR Apache-2.0)", "Apache License"),
        ("highlight", "@highlightjs/cdn-assets", "BSD-3-Clause", "Ivan Sagalaev"),
        ("mermaid", "@mermaid-js/tiny", "MIT", "Knut Sveidqvist"),
    ],
)
def test_what_is_vendored_is_what_was_checked_when_it_was(folder, name, terms, owner):
    folder = STATIC / folder
    vendored = json.loads((folder / "vendored.json").read_text())
    assert (vendored["name"], vendored["license"]) == (name, terms)
    assert owner in (folder / "LICENSE").read_text()
    there = {path.name: sha256(path.read_bytes()).hexdigest() for path in folder.iterdir() if path.name != "vendored.json"}
    assert there == vendored["sha256"]

"""The recordings in the pages: whole, light, for everyone to read, and without a trace of the machine that made them."""

import re
from pathlib import Path
from xml.etree import ElementTree

import pytest

DOCS = Path(__file__).parents[2] / "docs"
JOBS, SESSION = DOCS / "coding.svg", DOCS / "code-session.svg"
SVG = "{http://www.w3.org/2000/svg}"
WIDE = 7.8  # pixels of a character


def texts(picture: Path, *, gone: bool) -> list[ElementTree.Element]:
    """The texts on the screen, with those that are gone at the end or without."""
    hidden = re.findall(r"@keyframes (\w+) \{.* ([\d.%,]+)\{visibility:hidden\}", picture.read_text())
    going = [name for name, times in hidden if times != "0%"]
    screen = ElementTree.parse(picture).getroot().find(f"{SVG}svg")
    assert screen is not None
    groups = [each for each in screen.iter(f"{SVG}g") if gone or each.get("style", "").removeprefix("animation-name:") not in going]
    return [text for group in groups for text in group.findall(f"{SVG}text")]


def shown(picture: Path) -> str:
    """All rows at the end, those that have scrolled away too."""
    rows: dict[float, str] = {}
    for text in sorted(texts(picture, gone=False), key=lambda each: (float(each.get("y", "")), float(each.get("x", "")))):
        y, column = float(text.get("y", "")), round(float(text.get("x", "")) / WIDE)
        assert len(rows.get(y, "")) <= column, "words are over one another"
        rows[y] = f"{rows.get(y, ''):{column}}{text.text}"
    return "\n".join(rows.values())


def test_it_shows_work_that_is_verified_what_it_cost_and_how_to_take_it_back():
    said = shown(JOBS)
    for words in ('$ treadle debug "', "and verified: 2 tests pass", "$ treadle diff", "$ treadle jobs", "$ treadle undo --all"):
        assert words in said
    assert re.search(r"tokens in, .* \$0\.\d+", said)


def test_a_session_shows_what_is_asked_and_what_is_not_and_all_that_its_person_does():
    said = shown(SESSION)
    steps = (
        "$ treadle code\n",
        "ask> The price in @shop.py is one too high",
        '→ read_file(path="shop.py") ← ',
        "-    return count * 3 + 1\n+    return count * 3\n",
        "[e]dit: y\n",
        "> Add a test of a large order, too\n",
        "» Add a test of a large order, too\n",
        "Passed: 3 passed (pytest",
        "accept-edits> Give the 3 a name\n",
        "accept-edits> /diff\n",
        "accept-edits> /undo\nPut back: shop.py\n",
        "accept-edits> /cost\n",
        "accept-edits> /quit\n$",
    )
    places = [said.find(words) for words in steps]
    assert -1 not in places
    assert places == sorted(places)
    keys = [text.text for text in ElementTree.parse(SESSION).getroot().findall(f"{SVG}g/{SVG}text")]
    assert keys == ["Tab", "Shift-Tab"]


@pytest.mark.parametrize("picture", [JOBS, SESSION], ids=lambda picture: picture.stem)
def test_it_names_no_place_of_the_machine_that_made_it(picture):
    said = "\n".join([text.text or "" for text in texts(picture, gone=True)])
    assert re.findall(r"(?<![\w.~])/(?:\w|\.)+/\S*|127\.0\.0\.1|localhost", said) == []


@pytest.mark.parametrize("picture", [JOBS, SESSION], ids=lambda picture: picture.stem)
def test_it_needs_nothing_from_elsewhere_and_stands_still_for_those_who_want_that(picture):
    text = picture.read_text()
    assert len(text) < 150_000
    assert re.findall(r"<script|href|@import|url\(|https?://(?!www\.w3\.org/2000/svg)", text) == []
    assert "prefers-reduced-motion" in text

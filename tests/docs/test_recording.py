"""The recording in the pages: whole, light, for everyone to read, and without a trace of the machine that made it."""

import re
from pathlib import Path
from xml.etree import ElementTree

PICTURE = Path(__file__).parents[2] / "docs" / "coding.svg"
SVG = "{http://www.w3.org/2000/svg}"


def shown() -> str:
    rows = ElementTree.parse(PICTURE).getroot().iter(f"{SVG}text")
    return "\n".join("".join(row.itertext()) for row in rows)


def test_it_shows_work_that_is_verified_what_it_cost_and_how_to_take_it_back():
    said = shown()
    for words in ('$ treadle debug "', "and verified: 2 tests pass", "$ treadle diff", "$ treadle jobs", "$ treadle undo --all"):
        assert words in said
    assert re.search(r"tokens in, .* \$0\.\d+", said)


def test_it_names_no_place_of_the_machine_that_made_it():
    assert re.findall(r"(?<![\w.~])/(?:\w|\.)+/\S*|127\.0\.0\.1|localhost", shown()) == []


def test_it_needs_nothing_from_elsewhere_and_stands_still_for_those_who_want_that():
    text = PICTURE.read_text()
    assert len(text) < 200_000
    assert re.findall(r"<script|href|@import|url\(|https?://(?!www\.w3\.org/2000/svg)", text) == []
    assert "prefers-reduced-motion" in text

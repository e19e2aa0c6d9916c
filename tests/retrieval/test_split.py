"""Texts in pieces: nothing lost, nothing too long, every piece where it says it is."""

from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st

from treadle.core.errors import SettingsError
from treadle.retrieval.format_splitting import split_markdown, split_yaml
from treadle.retrieval.splitting import split_sentences, split_text

WAYS = {
    "markdown": lambda text, size, overlap: split_markdown(text, size=size, overlap=overlap),
    "text": lambda text, size, overlap: split_text(text, size=size, overlap=overlap),
    "yaml": lambda text, size, overlap: split_yaml(text, size=size),
}

BITS = [
    "# Title\n", "## Part two ##\n", "###\n", "Under\n=====\n", "Below\n---\n", "```python\n", "```\n", "~~~\n", "| a | b |\n",
    "\n", "\n\n", "    ", "\t", "\r\n", "\x0b", "\x0c", "\u2028", "\x85", "- item one\n", "1. first. Second\n", "key: value\n",
    "  nested:\n", "- name: x\n", "# comment\n", "---\n", "...\n", "title: 'A B'\n", "A sentence. Another one! A third? ",
    "e.g. this one, Dr. No. ", "word " * 30, "x" * 120, "终于\u3002好\uff01", "\0", "\ud800", "{}", "<!-- -->", "#", "a",
]  # fmt: skip
texts = st.lists(st.sampled_from(BITS) | st.text(max_size=40), max_size=40).map("".join)
sizes = st.integers(50, 300)


def check(text, pieces, size):
    """What holds of all pieces, whatever the text."""
    covered = [False] * len(text)
    last = -1
    for piece in pieces:
        assert piece.text == text[piece.start : piece.end]
        assert piece.text.strip()
        assert len(piece.text) <= size
        assert piece.start > last
        last = piece.start
        body = piece.start + len(piece.text) - len(piece.text.lstrip())
        assert piece.first_line == text.count("\n", 0, body) + 1
        assert piece.last_line == text.count("\n", 0, piece.end - 1) + 1
        covered[piece.start : piece.end] = [True] * (piece.end - piece.start)
    assert all(done or char.isspace() for done, char in zip(covered, text, strict=True))


@pytest.mark.parametrize("way", WAYS)
@given(text=texts, size=sizes, share=st.floats(0, 0.5))
def test_pieces_hold_all_of_a_text_and_none_is_too_long(way, text, size, share):
    check(text, WAYS[way](text, size, int(size * share)).pieces, size)


@given(text=texts)
def test_sentences_tile_a_text(text):
    spans = split_sentences(text, (0, len(text)))
    assert "".join(text[start:end] for start, end in spans) == text
    assert all(start < end for start, end in spans)


@pytest.mark.parametrize("way", WAYS)
def test_nothing_is_in_no_pieces(way):
    assert WAYS[way]("", 800, 100).pieces == ()
    assert WAYS[way](" \n\t\n", 800, 100).pieces == ()


@pytest.mark.parametrize(("size", "overlap"), [(49, 0), (100, 51), (100, -1)])
def test_sizes_that_cannot_be_are_said_so(size, overlap):
    with pytest.raises(SettingsError, match="at least 50"):
        split_text("x", size=size, overlap=overlap)


def words(split):
    return [(piece.headings, piece.first_line, piece.last_line) for piece in split.pieces]


def test_markdown_follows_headings_and_knows_where_it_is():
    text = "# Guide\n\nHello.\n\n## Install\n\npip it.\n\n### Linux\n\napt it.\n\n## Use\n\nRun it.\n"
    split = split_markdown(text)
    assert split.title == "Guide"
    assert words(split) == [
        (("Guide",), 1, 3),
        (("Guide", "Install"), 5, 7),
        (("Guide", "Install", "Linux"), 9, 11),
        (("Guide", "Use"), 13, 15),
    ]


def test_a_heading_without_text_goes_with_what_follows():
    assert words(split_markdown("# Guide\n\n## Install\n\npip it.\n")) == [(("Guide", "Install"), 1, 5)]
    assert words(split_markdown("Text.\n\n# End\n")) == [((), 1, 1), (("End",), 3, 3)]
    assert words(split_markdown("# One\n\nA.\n\n##\n\nB.\n")) == [(("One",), 1, 3), (("One",), 5, 7)]


def test_front_matter_gives_the_title():
    split = split_markdown('---\ntitle: "My page"\ntags: [a]\n---\n# Other\n\nText.\n')
    assert (split.title, words(split)) == ("My page", [(("Other",), 1, 7)])
    assert split_markdown("---\ntags: [a]\n---\n# Other\n\nText.\n").title == "Other"
    assert split_markdown("Text alone.\n").title == ""


def test_headings_are_read_without_their_decoration():
    text = "# The [guide](https://x.org) to `it` {#anchor}\n\nText.\n\nSetext *two*\n---\n\nMore.\n"
    assert [piece.headings for piece in split_markdown(text).pieces] == [
        ("The guide to it",),
        ("The guide to it", "Setext two"),
    ]


def test_what_looks_like_a_heading_in_code_is_none():
    text = "# One\n\n```sh\n# not a heading\n``` no end\n# nor this\n```\n\n## Two\n\nText.\n"
    assert [piece.headings for piece in split_markdown(text).pieces] == [("One",), ("One", "Two")]


def test_a_fence_or_table_that_fits_is_not_cut():
    prose = "Some words that fill the room. " * 20
    fence = "```python\n" + "value = 1\n" * 40 + "```\n"
    table = "| a | b |\n|---|---|\n" + "| 1 | 2 |\n" * 40
    split = split_markdown(f"# T\n\n{prose}\n\n{fence}\n{table}\n{prose}\n")
    assert sum(fence.strip() in piece.text for piece in split.pieces) == 1
    assert sum(table.strip() in piece.text for piece in split.pieces) == 1


def test_a_fence_that_does_not_fit_is_cut_at_line_ends():
    lines = [f"value_{number} = {number}" for number in range(100)]
    split = split_markdown("```python\n" + "\n".join(lines) + "\n```\n", size=200, overlap=0)
    assert [line for piece in split.pieces for line in piece.text.splitlines()][1:-1] == lines


def test_pieces_overlap_by_whole_sentences():
    text = " ".join(f"This is sentence number {number:03}." for number in range(60))
    pieces = split_text(text, size=200, overlap=80).pieces
    for before, after in pairwise(pieces):
        shared = text[after.start : before.end]
        assert 0 < len(shared) <= 80
        assert shared.startswith("This is")
        assert shared.endswith(".")


def test_a_piece_that_the_next_one_would_repeat_wholly_is_left_out():
    headings, code = "# Title\n" * 4 + "Below\n---\n", "```python\n\n" + "# Title\n" * 5
    (piece,) = split_markdown(f"\n{headings}{code}", size=93, overlap=46).pieces
    assert piece.text == f"{headings}{code}".strip()


def test_without_overlap_nothing_is_said_twice():
    text = " ".join(f"Sentence {number:03}." for number in range(60))
    pieces = split_text(text, size=100, overlap=0).pieces
    assert " ".join(piece.text for piece in pieces) == text


def test_paragraphs_are_kept_whole_where_that_costs_little():
    first, second = "One two three. " * 30, "Four five six. " * 30
    assert [piece.text for piece in split_text(f"{first}\n\n{second}").pieces] == [first.strip(), second.strip()]


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("One. Two! Three? Four", ["One. ", "Two! ", "Three? ", "Four"]),
        ("See e.g. Berlin. Dr. Who is J. Smith. Yes", ["See e.g. Berlin. ", "Dr. Who is J. Smith. ", "Yes"]),
        ("Version 1.2 is out. it says", ["Version 1.2 is out. it says"]),
        ('He said "Stop." Then (it ended.) Really', ['He said "Stop." ', "Then (it ended.) ", "Really"]),
        ("one\n- two\n- three\n", ["one\n", "- two\n", "- three\n"]),
        ("para one\n\npara two", ["para one\n\n", "para two"]),
        ("好\u3002吗\uff1f", ["好\u3002", "吗\uff1f"]),
        (". A", [". ", "A"]),
    ],
)
def test_where_sentences_end(text, expected):
    assert [text[start:end] for start, end in split_sentences(text, (0, len(text)))] == expected


SCORE = """\
# The shop, as it runs.
---
apiVersion: score.dev/v1b1
metadata:
  name: shop
# How it runs
containers:
  web:
    image: nginx
"""


def test_yaml_keeps_keys_together_with_their_comments():
    assert words(split_yaml(SCORE)) == [(("apiVersion, metadata, containers",), 1, 9)]
    small = split_yaml(SCORE, size=70).pieces
    assert [piece.text.splitlines()[0] for piece in small] == ["# The shop, as it runs.", "metadata:", "# How it runs"]


def test_a_long_key_is_cut_and_says_what_it_lies_under():
    text = "paths:\n" + "".join(f"  /things{number}:\n    get:\n      summary: Thing {number}\n" for number in range(40))
    headings = [piece.headings for piece in split_yaml(text, size=300).pieces]
    assert headings[0] == ("paths",)
    assert all(path[0] == "paths" and len(path) <= 3 for path in headings)
    assert any(len(path) > 1 and path[1].startswith("/things") for path in headings)


def test_documents_and_lists_of_yaml_are_told_apart():
    text = "name: one\n---\nname: two\nlist:\n- name: a\n  value: 1\n- name: b\n"
    assert split_yaml(text).title == "one"
    assert split_yaml("- a\n- b\n").pieces[0].headings == ()

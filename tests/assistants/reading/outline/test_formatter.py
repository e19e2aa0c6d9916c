import sysconfig
from itertools import pairwise
from pathlib import Path

import pytest

from assistants.reading.outline import samples
from treadle.assistants.reading.outline.builder import build_outline
from treadle.assistants.reading.outline.formatter import STEPS, format_nodes, format_outline
from treadle.assistants.reading.outline.nodes import iter_definitions
from treadle.assistants.reading.outline.source_text import estimate_tokens

STDLIB = Path(sysconfig.get_path("stdlib"))
LONG = [
    "argparse.py",
    "typing.py",
    "subprocess.py",
    "inspect.py",
    "tarfile.py",
    "doctest.py",
    "difflib.py",
    "threading.py",
    "enum.py",
    "socket.py",
    "uuid.py",
    "codecs.py",
    "unittest/mock.py",
    "asyncio/base_events.py",
    "http/client.py",
    "email/message.py",
    "logging/__init__.py",
    "json/scanner.py",
]


def test_an_outline_is_a_line_a_node_with_its_lines_first():
    text = (
        "import os, re\nfrom x import y\n\nLIMIT = 3  # rows\n\nclass Shelf(Base):\n    '''Where stock lies.'''\n\n"
        "    def put(self, item: str) -> None:\n        pass\n\nprint(1)\nprint(2)\n"
    )
    assert format_outline(build_outline(text, "python")).splitlines() == [
        "1-2 import os, re, x (y)",
        "4 LIMIT = 3 # rows",
        "6-10 class Shelf(Base) # Where stock lies.",
        " 9-10 def put(self, item: str) -> None",
        "12-13 print(1) …",
    ]


def test_imports_are_told_in_the_same_words_for_every_language():
    firsts = {
        language: format_outline(build_outline(text, language)).splitlines() for language, text in samples.BY_LANGUAGE.items()
    }
    told = {language: next(line for line in lines if " import " in line) for language, lines in firsts.items()}
    assert told["python"] == "8-18 import __future__ (annotations), os, re as regex, .place (R, Bay), words (*), fast"
    assert told["javascript"] == "7-12 import ./place.js (base, Row, B), words, ./side.js, fs, path (join, divider), ./all.js (*)"
    assert told["go"] == "7-13 import fmt, os, strings as str, math (*), embed, gopkg.in/yaml.v3 as yaml"
    assert told["java"] == "3-4 import java.util (List), java.lang.Math (*)"
    assert told["rust"] == "6-9 import std (io, fmt, collections, Map, HashSet), crate::place (*), serde"
    assert told["c"] == "5-6 import stdio.h, row.h"
    assert told["csharp"] == "1-3 import System (*), System.Math (*), System.Collections.Generic as Col"


def test_a_files_own_words_and_its_damage_come_first():
    lines = format_outline(build_outline('"""Keeps stock."""\ndef f(:\n    pass\n', "python")).splitlines()
    assert lines[0] == "# Keeps stock."
    assert lines[1].startswith("# The grammar could not read all of it")


def test_what_one_statement_defines_is_told_once():
    assert format_outline(build_outline("a = b = []\n", "python")) == "1 a = b = []"


@pytest.mark.parametrize("name", LONG)
def test_the_outline_of_a_long_file_takes_at_most_a_quarter_of_its_tokens(name: str):
    text = (STDLIB / name).read_text(encoding="utf-8")
    told = format_outline(build_outline(text, "python"))
    if text.count("\n") > 500:
        assert len(told) <= len(text) / 4
        assert estimate_tokens(told) <= estimate_tokens(text) / 4
    assert len(told) <= len(text)


@pytest.mark.parametrize("name", ["argparse.py", "typing.py", "tarfile.py", "unittest/mock.py"])
def test_every_definition_at_the_top_of_a_long_file_keeps_its_lines(name: str):
    made = build_outline((STDLIB / name).read_text(encoding="utf-8"), "python")
    lines = format_outline(made).splitlines()
    starts = {line.partition(" ")[0] for line in lines if not line.startswith((" ", "#"))}
    for node in made.nodes:
        if node.kind in ("class", "function") and node.end > node.start:
            assert f"{node.start}-{node.end}" in starts


@pytest.mark.parametrize("most", [0, 1, 40, 300, 1000, 3000, 10_000, 100_000])
@pytest.mark.parametrize("name", ["argparse.py", "typing.py"])
def test_an_outline_fits_where_it_has_to(name: str, most: int):
    told = format_outline(build_outline((STDLIB / name).read_text(encoding="utf-8"), "python"), most)
    assert len(told) <= most


def test_comments_go_first_then_parameters_then_members_then_definitions():
    text = (STDLIB / "argparse.py").read_text(encoding="utf-8")
    made = build_outline(text, "python")
    tops = [node for node in made.nodes if node.kind in ("class", "function")]
    much, less, some, little, least = [format_outline(made, most) for most in (20_000, 7_000, 4_700, 2_600, 600)]
    assert "# Abstract base class" in much
    assert "def exit(self, status=0" in much
    assert "# Abstract base class" not in less
    assert "def exit(…)" in less
    assert " exit()" in some
    assert " exit()" not in little
    assert all(f"{node.start}-{node.end} " in little for node in tops)
    assert "… " in least


def test_each_step_takes_less_than_the_one_before():
    for language, text in samples.BY_LANGUAGE.items():
        made = build_outline(text * 6 if language != "php" else text, language)
        sizes = [len("\n".join(format_nodes(made.nodes, step))) for step in STEPS]
        assert all(later <= earlier * 1.05 + 30 for earlier, later in pairwise(sizes))  # a count may take more than what it counts


def test_members_left_out_are_counted_with_their_lines():
    text = "class A:\n" + "".join([f"    def f{number}(self, a, b):\n        return 1\n\n" for number in range(100)])
    told = format_outline(build_outline(text, "python"), 700)
    assert told.splitlines()[0].startswith("1-300 class A")
    assert "more methods" in told


def test_short_nodes_of_a_kind_share_a_line_where_it_is_tight():
    text = "class A {\n" + "".join([f"  private static final int LIMIT_{number} = {number};\n" for number in range(40)]) + "}\n"
    made = build_outline(text, "java")
    assert len(format_outline(made, 10_000).splitlines()) == 41
    told = format_outline(made, 900).splitlines()
    assert told[1].startswith(" 2-41 private static final int LIMIT_0 = 0; LIMIT_1 = 1; LIMIT_2 = 2")


def test_a_small_file_is_told_in_no_more_than_it_takes_itself():
    text = "".join([f"int f{number}(void);\n" for number in range(200)])
    assert len(format_outline(build_outline(text, "c"))) <= len(text)


def test_every_language_can_be_told():
    for language, text in samples.BY_LANGUAGE.items():
        made = build_outline(text, language)
        told = format_outline(made)
        assert all(str(node.start) in told for node in iter_definitions(made))

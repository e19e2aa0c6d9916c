"""What can be said of a file without a model."""

import pytest

from assistants.reading.sample_outlines import SHOP, node, outline
from treadle.assistants.reading.file_parts import split_parts
from treadle.assistants.reading.outline.builder import build_outline as read_outline
from treadle.assistants.reading.outline.nodes import Outline
from treadle.assistants.reading.sketch import sketch_outline


def sketched(*nodes, **more):
    found = outline(*nodes, **more)
    return sketch_outline(found, split_parts(found))


def test_what_uses_each_other_is_one_block():
    settled = sketched(*SHOP)
    blocks = {
        name: found.id for found in settled.blocks for names in (found.elements.functions, found.elements.types) for name in names
    }
    assert blocks["Shelf.put"] == blocks["Shelf.take"] == blocks["Shelf"] == blocks["Empty"]
    assert blocks["price"] == blocks["total"] != blocks["Shelf.put"]


def test_the_intent_is_in_the_files_own_words():
    assert sketched(*SHOP, doc="A shop.\nWith a shelf.").file_intent == "A shop.\nWith a shelf."
    assert sketched(*SHOP).file_intent == "Defines RATE, Empty, Shelf, price and 2 more."
    assert sketched(node("statement", "", 1, 3)).file_intent == "Runs top-level code in python; it defines nothing."


NAMESPACED = {
    "csharp": "using System;\nnamespace Shop.Stock\n{\n  public class Shelf\n  {\n    public void Put(int x) { }\n  }\n"
    "  public interface IPrice\n  {\n    int Price();\n  }\n}\n",
    "cpp": "#include <vector>\nnamespace shop {\nclass Shelf {\n public:\n  void put(int x);\n};\nvoid Shelf::put(int x) {\n}\n"
    "int total() {\n  return 3;\n}\n}\n",
    "ruby": "require 'set'\nmodule Shop\n  class Shelf\n    def put(x)\n      @n = x\n    end\n  end\n  class Till\n  end\nend\n",
}


@pytest.mark.parametrize(
    ("language", "intent", "functions"),
    [
        ("csharp", "Defines Shelf, IPrice.", {"Shelf.Put", "IPrice.Price"}),
        ("cpp", "Defines Shelf, total.", {"Shelf.put", "total"}),
        ("ruby", "Defines Shelf, Till.", {"Shelf.put"}),
    ],
)
def test_a_file_in_a_namespace_is_described_by_what_is_in_it(language, intent, functions):
    found = read_outline(NAMESPACED[language], language)
    settled = sketch_outline(found, split_parts(found))
    assert settled.file_intent == intent
    assert {name for block in settled.blocks for name in block.elements.functions} == functions


def test_it_says_that_it_is_one():
    assert "sketch" in sketched(*SHOP).notes[0]


def test_a_block_is_described_in_its_own_words():
    settled = sketched(
        node("function", "parse_head", 1, 9, doc="Reads the head."),
        node("function", "parse_body", 11, 12, uses=["parse_head"]),
        node("function", "burn", 14, 15),
        node("function", "burn_all", 17, 18, uses=["burn"]),
    )
    assert [found.description for found in settled.blocks] == ["Reads the head.", "Holds burn, burn_all."]
    assert [found.label for found in settled.blocks] == ["Parse functions", "Burn functions"]


def test_no_line_is_in_two_blocks_and_every_definition_in_one():
    many = [node("function", f"step_{n}", 10 * n + 1, 10 * n + 8, uses=[f"step_{n - 1}"] if n % 7 else []) for n in range(40)]
    settled = sketched(*many)
    assert 3 <= len(settled.blocks) <= 6
    lines = [line for found in settled.blocks for start, end in found.ranges for line in range(start, end + 1)]
    assert len(lines) == len(set(lines))
    assert sum(len(found.elements.functions) for found in settled.blocks) == 40


def test_a_file_without_parts_has_no_blocks():
    assert sketch_outline(Outline("python", 0), []).blocks == ()

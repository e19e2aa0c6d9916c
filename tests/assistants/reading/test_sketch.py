"""What can be said of a file without a model."""

import re

import pytest

from assistants.reading.sample_outlines import SHOP, node, outline
from assistants.reading.sketch_samples import SAMPLES
from treadle.assistants.reading.analysis_program import sketch_outline
from treadle.assistants.reading.file_parts import split_parts
from treadle.assistants.reading.outline.builder import build_outline as read_outline
from treadle.assistants.reading.outline.nodes import Outline


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
    assert sketched(*SHOP, doc="A shop\nwith a shelf. And prices.").file_intent == "A shop with a shelf."
    assert sketched(*SHOP).file_intent == "Defines the classes Shelf and Empty."
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
        ("csharp", "Defines the class Shelf with the method Put.", {"Shelf.Put", "IPrice.Price"}),
        ("cpp", "Defines the class Shelf with the method put.", {"Shelf.put", "total"}),
        ("ruby", "Defines the classes Shelf and Till.", {"Shelf.put"}),
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
        node("function", "parse_body", 11, 17, uses=["parse_head"]),
        node("function", "parse_tail", 19, 24, uses=["parse_head"]),
        node("function", "burn", 26, 27),
        node("function", "burn_all", 29, 30, uses=["burn"]),
        node("function", "save", 32, 36),
        node("function", "save_all", 38, 39, uses=["save"]),
    )
    assert [(found.label, found.description) for found in settled.blocks] == [
        ("Parse functions", "parse_head: Reads the head. Also parse_body and parse_tail."),
        ("burn and burn_all functions", "Defines burn and burn_all."),
        ("save function", "Defines save and save_all."),
    ]


def test_no_line_is_in_two_blocks_and_every_definition_in_one():
    many = [node("function", f"step_{n}", 10 * n + 1, 10 * n + 8, uses=[f"step_{n - 1}"] if n % 7 else []) for n in range(40)]
    settled = sketched(*many)
    assert 3 <= len(settled.blocks) <= 6
    lines = [line for found in settled.blocks for start, end in found.ranges for line in range(start, end + 1)]
    assert len(lines) == len(set(lines))
    assert sum(len(found.elements.functions) for found in settled.blocks) == 40


def test_a_file_without_parts_has_no_blocks():
    assert sketch_outline(Outline("python", 0), []).blocks == ()


def sketched_sample(language):
    found = read_outline(SAMPLES[language], language)
    return sketch_outline(found, split_parts(found))


@pytest.mark.parametrize("language", SAMPLES)
def test_a_file_without_a_description_is_described_by_the_first_sentence_of_its_largest_public_type(language):
    words = sketched_sample(language).file_intent.partition(" keeps" if language == "go" else ": Keeps")
    assert (words[0], words[2]) == ("Ledger", " entries in the order in which they were made.")


@pytest.mark.parametrize("language", SAMPLES)
def test_a_type_is_whole_with_methods_that_are_written_outside_of_it(language):
    found = read_outline(SAMPLES[language], language)
    settled = sketch_outline(found, split_parts(found))
    homes = [
        block.label
        for block in settled.blocks
        for name in (*block.elements.types, *block.elements.functions)
        if name.lower() in ("ledger", "ledger.add", "ledger.total", "display for ledger")
    ]
    assert len(homes) >= 2
    assert {*homes} == {homes[0]}
    assert homes[0] in ("Ledger class", "Ledger structure")
    assert 3 <= len(settled.blocks) <= 6


@pytest.mark.parametrize("language", SAMPLES)
def test_no_text_of_a_sketch_names_what_is_private_an_alias_a_type_variable_or_a_comment_above_imports(language):
    settled = sketched_sample(language)
    words = " ".join([settled.file_intent, *[f"{block.label} {block.description}" for block in settled.blocks]])
    for hidden in ("scan", "sort", "_AnyCallable", "TypeVar", "dependencies", "opyright", "icense", "limit", "LIMIT"):
        assert hidden not in words
    assert not re.search(r"\bT\b|\bKey\b|\bRows\b", words)
    assert words.count("Find an entry by its key") <= 1


@pytest.mark.parametrize("language", SAMPLES)
def test_a_label_names_what_is_in_its_block(language):
    for block in sketched_sample(language).blocks:
        names = [name for names in (block.elements.types, block.elements.functions) for name in names]
        assert any(word.strip(",").lower() in name.lower() for word in block.label.split() for name in names), block.label


def test_overloads_are_one_definition_with_the_documentation_of_the_last():
    (block,) = [block for block in sketched_sample("python").blocks if block.label == "find function"]
    assert block.elements.functions == ("find", "_scan")
    assert block.description == "Find an entry by its key, or a key by its entry."


def test_a_file_that_is_one_class_is_grouped_by_its_members():
    methods = [node("method", name, start, start + 15) for start, name in ((3, "open_file"), (20, "open_url"), (40, "close"))]
    settled = sketched(node("class", "Source", 1, 60, *methods, doc="Where lines come from."))
    assert settled.file_intent == "Source: Where lines come from."
    assert sorted(name for block in settled.blocks for name in block.elements.functions) == [
        "Source.close",
        "Source.open_file",
        "Source.open_url",
    ]
    assert len(settled.blocks) >= 3


def test_definitions_that_are_all_private_are_called_internal():
    settled = sketched(
        *[node("function", f"_{name}", line, line + 8) for line, name in ((1, "load_all"), (10, "keep"), (20, "drop"))]
    )
    assert [block.label for block in settled.blocks] == [
        "Internal load all function",
        "Internal keep function",
        "Internal drop function",
    ]
    assert settled.blocks[0].description == "Internal: what the rest of the file uses."
    assert settled.file_intent == "Nothing in it is public."


def test_a_file_that_exports_nothing_is_described_by_all_of_it():
    text = "package main\n\nfunc run() {\n\tload()\n}\n\nfunc load() {\n}\n"
    found = read_outline(text, "go")
    assert sketch_outline(found, split_parts(found)).file_intent == "Defines the functions run and load."

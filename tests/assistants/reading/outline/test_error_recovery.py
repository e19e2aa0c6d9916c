import pytest
from hypothesis import given
from hypothesis import strategies as st

from assistants.reading.outline import samples
from assistants.reading.outline.outline_text import check_ranges
from properties import examples
from treadle.assistants.reading.outline.builder import build_outline
from treadle.assistants.reading.outline.formatter import format_outline
from treadle.assistants.reading.outline.languages import language_names
from treadle.assistants.reading.outline.nodes import iter_definitions
from treadle.assistants.reading.outline.shallow_tree import build_shallow_tree

BRACKETS = "(){}[]"
LARGE = ("class", "function", "method", "struct", "enum", "interface", "trait", "impl", "module")


def names(text: str, language: str) -> set[str]:
    return {node.name for node in iter_definitions(build_outline(text, language)) if node.kind in LARGE}


@pytest.mark.parametrize("language", language_names())
def test_most_definitions_survive_the_loss_of_any_bracket(language: str):
    text = samples.BY_LANGUAGE[language]
    whole = names(text, language)
    places = [at for at, sign in enumerate(text) if sign in BRACKETS]
    shares: list[float] = []
    for at in places[:: max(1, len(places) // 25)]:
        shares.append(len(whole & names(text[:at] + text[at + 1 :], language)) / len(whole))
    assert sum(shares) / len(shares) > 0.78
    assert min(shares) > 0.45


@pytest.mark.parametrize("language", language_names())
def test_a_file_cut_off_in_the_middle_keeps_its_first_definitions(language: str):
    text = samples.BY_LANGUAGE[language]
    first = next(node.name for node in iter_definitions(build_outline(text, language)))
    assert first in {node.name for node in iter_definitions(build_outline(text[: len(text) * 2 // 3], language))}


def test_damage_is_said_with_its_lines():
    made = build_outline("def f(:\n    pass\n\ndef g():\n    pass\n", "python")
    assert made.broken
    assert made.note == "The grammar could not read all of it: lines 1."
    assert [(node.name, node.start, node.end) for node in made.nodes] == [("f", 1, 2), ("g", 4, 5)]


def test_many_damaged_places_are_counted():
    made = build_outline("\n".join(["x = = 1", "y = 1"] * 9), "python")
    assert made.note.endswith("and 4 more places.")


def test_a_function_that_lost_its_bracket_does_not_swallow_the_next():
    made = build_outline("func a() {\n\tif x {\n\t\ty()\n}\n\nfunc b() {\n\tz()\n}\n\nfunc c() {\n}\n", "go")
    assert [(node.name, node.start, node.end) for node in made.nodes] == [("a", 1, 4), ("b", 6, 8), ("c", 10, 11)]


def test_a_class_that_lost_its_head_gets_its_methods_back():
    text = "class Shelf(Base:\n    def put(self):\n        pass\n\n    def take(self):\n        pass\n\ndef other():\n    pass\n"
    made = build_outline(text, "python")
    assert [(node.kind, node.name, len(node.children)) for node in made.nodes] == [("class", "Shelf", 2), ("function", "other", 0)]
    assert [child.kind for child in made.nodes[0].children] == ["method", "method"]


def test_annotations_belong_to_a_lost_definition():
    text = "class A {\n  void f() { if (x { }\n\n  @Override\n  @Checked\n  public void g(\n      int a) {\n    h();\n  }\n}\n"
    lost = next(node for node in iter_definitions(build_outline(text, "java")) if node.name == "g")
    assert (lost.start, lost.end) == (4, 9)


def test_words_in_a_string_are_no_definition_in_damaged_text():
    made = build_outline('x = (\ntext = """\ndef no(): pass\n"""\n\ndef yes(): pass\n', "python")
    assert "yes" in {node.name for node in made.nodes}
    assert "no" not in {node.name for node in made.nodes}


@pytest.mark.parametrize("language", language_names())
@examples(12)
@given(text=st.text(max_size=300))
def test_any_text_has_an_outline(language: str, text: str):
    made = build_outline(text, language)
    check_ranges(made)
    format_outline(made)
    start, end = build_shallow_tree(text, language)["line_range"]
    assert 1 <= start <= end


@pytest.mark.parametrize("language", language_names())
@examples(12)
@given(data=st.data())
def test_any_mutilation_of_a_file_has_an_outline(language: str, data: st.DataObject):
    text = samples.BY_LANGUAGE[language]
    start = data.draw(st.integers(0, len(text)))
    end = data.draw(st.integers(start, min(len(text), start + 200)))
    instead = data.draw(st.text(alphabet="(){}[]\"'`:;=<>/*#@\n\t abc", max_size=20))
    check_ranges(build_outline(text[:start] + instead + text[end:], language))


@pytest.mark.parametrize("language", ["python", "javascript", "c", "rust", "java"])
@pytest.mark.parametrize("sign", ["(", "[", "{"])
def test_brackets_nested_a_hundred_thousand_deep_are_survived(language: str, sign: str):
    made = build_outline(sign * 100_000, language)
    assert made.broken
    check_ranges(made)


@pytest.mark.parametrize(
    ("language", "text"),
    [
        ("python", "".join([f"{' ' * level}class A{level}:\n" for level in range(300)])),
        ("python", "@a\n" * 3000 + "class A: pass\n"),
        ("python", "a = " * 3000 + "1\n"),
        ("javascript", "if (a) {\n" * 300 + "function f() {}\n"),
        ("javascript", "x = " + "{a: " * 2000),
        ("c", "#if A\n" + "#elif B\nint x;\n" * 2000 + "#endif\n"),
        ("c", "int " + "*" * 5000 + "x;\n"),
        ("cpp", "template <class T> " * 2000 + "int x;\n"),
        ("cpp", "namespace a {\n" * 500),
        ("rust", "mod a {\n" * 500),
        ("java", "".join([f"{' ' * level}void f{level}() {{\n" for level in range(400)])),
    ],
)
def test_deep_nesting_is_survived(language: str, text: str):
    made = build_outline(text, language)
    check_ranges(made)
    assert len(format_outline(made, 500)) <= 500

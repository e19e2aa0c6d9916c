import pytest

from assistants.reading.outline import expected, samples
from assistants.reading.outline.outline_text import check_ranges, found, told
from treadle.assistants.reading.outline.builder import build_outline
from treadle.assistants.reading.outline.languages import language_names


def test_every_language_has_a_sample():
    assert list(samples.BY_LANGUAGE) == list(expected.BY_LANGUAGE) == language_names()


@pytest.mark.parametrize("language", samples.BY_LANGUAGE)
def test_a_sample_is_outlined_to_the_last_word(language: str):
    assert told(samples.BY_LANGUAGE[language], language) == expected.BY_LANGUAGE[language].strip()


@pytest.mark.parametrize("language", samples.BY_LANGUAGE)
def test_a_whole_file_is_not_broken(language: str):
    made = build_outline(samples.BY_LANGUAGE[language], language)
    assert (made.broken, made.note) == (False, "")
    assert made.lines == samples.BY_LANGUAGE[language].count("\n")
    assert made.chars == len(samples.BY_LANGUAGE[language])
    check_ranges(made)


@pytest.mark.parametrize("language", samples.BY_LANGUAGE)
def test_lines_ended_as_on_windows_and_on_old_macs_are_the_same_lines(language: str):
    text = samples.BY_LANGUAGE[language]
    assert (
        build_outline(text.replace("\n", "\r\n"), language)
        == build_outline(text.replace("\n", "\r"), language)
        == build_outline(text, language)
    )


def test_parts_that_are_not_listed_are_counted():
    made = build_outline("def f():\n    # why\n    a = 1\n    return a\n\nprint(1)\nprint(2)\n\nclass A:\n    x = 1\n", "python")
    assert [(node.kind, node.extra_children) for node in made.nodes] == [("function", 2), ("statement", 2), ("class", 0)]


def test_the_grammars_own_types_are_kept():
    made = build_outline("export const f = () => 1;\ninterface A {}\n", "typescript")
    assert [node.type for node in made.nodes] == ["variable_declarator", "interface_declaration"]


def test_an_empty_file_has_an_empty_outline():
    made = build_outline("", "python")
    assert (made.nodes, made.lines, made.broken, made.doc) == ((), 0, False, "")


def test_a_comment_after_a_blank_line_is_no_leading_comment():
    made = build_outline("# far\n\n# near\n# and nearer\nx = 1\n\n# away\n\ny = 2\n", "python")
    assert found(made, "x").leading_comment == "near\nand nearer"
    assert found(made, "y").leading_comment == ""


def test_what_looks_like_a_comment_in_a_string_is_none():
    made = build_outline('text = """\n# no comment\n"""\nx = "# neither"\n', "python")
    assert [(node.leading_comment, node.trailing_comment) for node in made.nodes] == [("", ""), ("", "")]


def test_a_comment_among_parameters_is_not_in_the_signature():
    made = build_outline("int put(int a, /* where */ int b) {}\n", "c")
    assert made.nodes[0].signature == "int put(int a, int b)"


def test_a_name_reached_through_something_else_is_not_used():
    made = build_outline("def put(): pass\ndef take(): other.put(); put=1; g(put=2)\n", "python")
    assert made.nodes[1].uses == ()


def test_a_parameter_hides_what_has_its_name():
    made = build_outline("import path\ndef f(path): return path\ndef g(): return path\n", "python")
    assert [node.uses for node in made.nodes] == [(), (), ("path",)]


def test_a_file_that_says_whose_it_is_first_is_documented_by_what_follows():
    text = "// Copyright 2020 Somebody.\n// SPDX-License-Identifier: MIT\n\n// Keeps stock.\n\nconst a = 1;\n"
    assert build_outline(text, "javascript").doc == "Keeps stock."


def test_a_comment_directly_above_the_first_definition_is_about_that():
    made = build_outline("// Keeps stock.\nfunc f() {}\n", "swift")
    assert (made.doc, made.nodes[0].leading_comment) == ("", "Keeps stock.")


def test_definitions_more_than_twelve_levels_deep_are_counted():
    text = "".join([f"{'  ' * level}class A{level}:\n" for level in range(20)]) + "  " * 20 + "x = 1\n"
    node = build_outline(text, "python").nodes[0]
    levels = 0
    while node.children:
        node, levels = node.children[0], levels + 1
    assert (levels, node.extra_children) == (12, 1)


@pytest.mark.parametrize(
    ("language", "text", "kinds"),
    [
        ("javascript", "if (x) { function f() {} } else { var a = 1; }", ["function", "variable"]),
        ("javascript", "if (x) { run(); } else { stop(); }", ["statement"]),
        ("javascript", "(function () {\n" + "  run();\n" * 10 + "  function inner() {}\n})();", ["statement"]),
        ("javascript", "export default { a() {} }", ["constant"]),
        ("javascript", "const A = class { b() {} };", ["class"]),
        ("javascript", "x.y = 1; [a] = [2]; z = 3", ["statement"]),
        ("javascript", "f(() => 1)", ["statement"]),
        ("javascript", "const a = f(g(1)), b = f(), c = (d)", ["constant", "constant", "constant"]),
        ("javascript", "const [a, [b = 1]] = c;", ["constant", "constant"]),
        ("javascript", "export { a };\nexport default 5;", ["statement", "constant"]),
        ("javascript", "const { a } = require();", ["constant"]),
        ("typescript", "export = foo;\nexport as namespace A;", ["statement"]),
        ("typescript", "const a = {} as const, b = <T>x;", ["constant", "constant"]),
        ("typescript", "import {} from 'a';", ["import"]),
        ("python", "if __name__ == '__main__':\n    def main(): pass\n    main()\n", ["function", "statement"]),
        ("python", "with a:\n    import b\nfor c in d:\n    e()\n", ["import", "statement"]),
        ("python", "'just a string'\n...\npass\n", []),
        ("python", "a.b, c = 1\nx[0] = 2\n", ["variable", "statement"]),
        ("go", "package a\n;", ["module"]),
        ("go", 'package a\nimport ""\n', ["module", "import"]),
        ("rust", "use {a, b};\nuse self::c;\nuse super::d as e;", ["import", "import", "import"]),
        ("c", "int a = 1, f(void);\nFOO(1);\n;", ["variable", "function", "statement"]),
        ("c", "struct { int x; } one, two;", ["struct", "variable"]),
        ("c", "typedef struct node { int x; } node_t;", ["struct", "type"]),
        ("cpp", "namespace a = b;\nvoid f() = delete;\nauto [x, y] = g();", ["type", "function", "variable"]),
        ("csharp", "namespace A;\nclass B {}\nvar x = 1;", ["module", "class", "variable"]),
        ("csharp", "Console.WriteLine(1);\nint F(int a) => a;", ["statement", "function"]),
        ("ruby", "A.b = 1\nX = 1 unless defined?(X)\nputs 1 if x", ["statement", "constant", "statement"]),
        ("ruby", "begin\n  require 'a'\nrescue LoadError\n  b\nend", ["import", "statement"]),
        ("ruby", "describe 'a' do\n  it 'b' do\n    c\n  end\n" + "  x\n" * 8 + "end\n", ["statement"]),
        ("php", "<?php\n$a->b = 1;\ndefine();\nnamespace A { class B {} }", ["statement", "module"]),
        ("php", "<?php\ntry { function f() {} } finally { g(); }\nuse X as Y, Z;", ["function", "statement", "import", "import"]),
        ("kotlin", "fun main() { }\nval x get() = 1\nprintln(1)", ["function", "variable", "statement"]),
        ("swift", "macro m() = x\ninfix operator <>\nvar a = 1, b: Int", ["macro", "statement", "variable", "variable"]),
    ],
)  # fmt: skip
def test_less_common_ways_to_write_things_are_read(language: str, text: str, kinds: list[str]):
    made = build_outline(text, language)
    assert [node.kind for node in made.nodes] == kinds
    check_ranges(made)


def test_whose_a_file_is_says_nothing_of_its_first_definition():
    made = build_outline(
        "// Copyright 2020 Somebody.\n// Licensed under MIT.\npackage a\n\n// F is free: no licence.\nfunc F() {}\n", "go"
    )
    assert [node.leading_comment for node in made.nodes] == ["", "F is free: no licence."]
    assert made.doc == ""

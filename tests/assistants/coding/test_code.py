"""Code is found in a model's words, and put where it belongs; what makes no sense there is left out."""

import ast

from hypothesis import given
from hypothesis import strategies as st

from treadle.assistants.coding.code import (
    extract_code,
    fill_hole,
    find_holes,
    find_relative_imports,
    mark_hole,
    replace_definition,
    splice_code,
)

SOURCE = '''"""Sums."""

import math


@cached
def area(r):
    return math.pi * r


def double(x):
    return x + 1
'''


def test_the_longest_block_is_the_code() -> None:
    words = "Look:\n```python\nx\n```\nand then\n```python\ndef f():\n    return 1\n```\nThat's it."
    assert extract_code(words) == "def f():\n    return 1\n"


def test_a_block_that_was_cut_off_and_words_without_any_are_taken_as_they_are() -> None:
    assert extract_code("```py\nx = 1") == "x = 1\n"
    assert extract_code("x = 1") == "x = 1\n"
    assert extract_code("  \n") == ""


def test_a_fence_inside_of_a_longer_one_is_code() -> None:
    assert extract_code("````md\n```\nx\n```\n````\n") == "```\nx\n```\n"


def test_a_whole_file_keeps_imports_that_were_left_out() -> None:
    code = "def area(r):\n    return math.pi * r * r\n\ndef double(x):\n    return 2 * x\n"
    assert splice_code(SOURCE, code, "a.py").startswith("import math\n")


def test_one_function_is_put_in_place_of_its_namesake_and_nothing_else_is_touched() -> None:
    mended = splice_code(SOURCE, "import cmath\n\ndef double(x):\n    return 2 * x\n", "a.py")
    assert mended == SOURCE.replace("x + 1", "2 * x").replace("import math\n", "import math\nimport cmath\n")


def test_a_decorated_function_is_replaced_with_its_decorator() -> None:
    mended = splice_code(SOURCE, "def area(r):\n    return 1\n", "a.py")
    assert "@cached" not in mended
    assert ast.parse(mended)


def test_what_is_no_python_or_about_something_else_is_left_out() -> None:
    for code in ("def double(x:\n", "Sure! Here it is.", "def other():\n    pass\n", "print(1)\n", ""):
        assert splice_code(SOURCE, code, "a.py") == ""


def test_a_file_that_was_broken_before_is_replaced_as_a_whole() -> None:
    assert splice_code("def f(:\n", "def f():\n    pass\n", "a.py") == "def f():\n    pass\n"


def test_other_languages_are_taken_as_whole_files() -> None:
    assert splice_code("let a = 1", "let a = 2\n", "a.js") == "let a = 2\n"


def test_imports_of_a_javascript_project_are_found() -> None:
    assert find_relative_imports("const { f } = require('./lib/f.js')\nimport g from '../g.js'\nimport h from 'h'\n") == [
        "./lib/f.js",
        "../g.js",
    ]


CART = """import math


class Cart:
    @property
    def total(self):
        return 1

    def count(self):
        return 2


LIMIT = 3
"""


def test_a_method_is_replaced_by_its_namesake_however_it_is_indented() -> None:
    expected = CART.replace("return 1", "return 5")
    for code in (
        "def total(self):\n    return 5\n",
        "    def total(self):\n        return 5\n",
        "class Cart:\n    def total(self):\n        return 5\n",
    ):
        assert replace_definition(CART, "Cart.total", 5, 7, code) == expected
    decorated = "@cached\ndef total(self):\n    return 5\n"
    assert "    @cached\n    def total" in replace_definition(CART, "Cart.total", 5, 7, decorated)
    assert "@property" not in replace_definition(CART, "Cart.total", 5, 7, decorated)


def test_a_variable_is_replaced_and_new_imports_are_added() -> None:
    code = "import re\nLIMIT: int = 4\n"
    assert replace_definition(CART, "LIMIT", 13, 13, code) == CART.replace("LIMIT = 3", "LIMIT: int = 4").replace(
        "import math\n", "import math\nimport re\n"
    )


def test_code_without_the_definition_replaces_nothing() -> None:
    for code in ("def other():\n    pass\n", "def total(:\n", "Sorry.", ""):
        assert replace_definition(CART, "Cart.total", 5, 7, code) == ""
    assert replace_definition("def f(:\n", "f", 1, 1, "def f():\n    pass\n") == ""


PIECES = """def f(items):
    é = 1
    for item in items:
        if item > é: é += item
    print(é)
    return é * 2
"""


def test_pieces_are_what_decides_wherever_it_stands() -> None:
    assert [PIECES[hole.start : hole.end] for hole in find_holes(PIECES)] == [
        "1",
        "items",
        "item > é",
        "é += item",
        "print(é)",
        "é * 2",
    ]
    assert [hole.line for hole in find_holes(PIECES)] == [2, 3, 4, 4, 5, 6]
    assert "if ____: é += item" in mark_hole(PIECES, find_holes(PIECES)[2], "____")


def test_other_languages_have_lines() -> None:
    source = "import x from 'y'\n// words\nfunction f(a) {\n  return a + 1\n}\n"
    assert [source[hole.start : hole.end] for hole in find_holes(source)] == ["function f(a) {", "return a + 1"]


def test_what_a_model_writes_around_a_piece_is_left_out() -> None:
    value, condition, last = find_holes(PIECES)[0], find_holes(PIECES)[2], find_holes(PIECES)[5]
    for words in ('{"code": "é = 7"}', '{"code": "7"}', "```python\n7\n```", "`7`"):
        assert fill_hole(PIECES, value, words) == PIECES.replace("é = 1", "é = 7")
    for words in ('{"code": "if item < é:"}', '{"code": "item < é"}'):
        assert fill_hole(PIECES, condition, words) == PIECES.replace("item > é", "item < é")
    assert fill_hole(PIECES, last, '{"code": "return {1: 2}[é]"}') == PIECES.replace("é * 2", "{1: 2}[é]")
    assert fill_hole(PIECES, value, '{"code": ""}') == fill_hole(PIECES, value, "") == ""


@given(st.text(alphabet="def f():\n return`x=1~", max_size=60), st.text(alphabet="def f():\n return`x=1~", max_size=60))
def test_whatever_is_written_there_is_no_crash_and_never_broken_python(source: str, words: str) -> None:
    mended = splice_code(source, extract_code(words), "a.py")
    if mended:
        ast.parse(mended)

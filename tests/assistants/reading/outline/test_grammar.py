import subprocess
import sys

import pytest

from treadle import TreadleError
from treadle.assistants.reading.outline.builder import build_outline
from treadle.assistants.reading.outline.errors import UnknownLanguage
from treadle.assistants.reading.outline.grammar import load_grammar
from treadle.assistants.reading.outline.languages import language_names


def run(program: str) -> str:
    return subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True).stdout


def test_every_language_has_a_grammar():
    assert all(load_grammar(name).rules for name in language_names())


def test_a_language_may_be_called_by_any_of_its_names():
    assert build_outline("int a;", "C++").language == "cpp"


def test_a_language_without_a_grammar_is_refused_with_those_that_have_one():
    with pytest.raises(UnknownLanguage, match=r"no outline for 'cobol'; there is one for python, .*swift\."):
        build_outline("", "cobol")


def test_a_missing_package_is_said_with_what_to_install():
    program = """
import sys
sys.modules["tree_sitter_go"] = None  # as if it weren't installed
from treadle.assistants.reading.outline.builder import build_outline
print(build_outline("x = 1", "python").language)
try:
    build_outline("package a", "go")
except Exception as error:
    print(type(error).__name__, error)
"""
    assert run(program).splitlines() == [
        "python",
        "GrammarMissing Outlines need the grammars of tree-sitter: pip install 'treadle[reading]'.",
    ]


def test_only_the_grammar_that_is_used_is_loaded():
    program = """
import sys
from treadle.assistants.reading.outline import builder, formatter, languages, outliner, source_text
print([name for name in sys.modules if name.startswith("tree_sitter")])
builder.build_outline("x = 1", "python")
print(sorted([name for name in sys.modules if name.startswith("tree_sitter") and "." not in name]))
"""
    assert run(program).splitlines() == ["[]", "['tree_sitter', 'tree_sitter_python']"]


def test_every_error_is_one_of_treadles():
    assert issubclass(UnknownLanguage, TreadleError)

import sys

import pytest

from treadle.core.errors import BadTool, SettingsError
from treadle.plugins.tool_loader import load_tools, make_spec_absolute
from treadle.tools.tool import FunctionTool

SOURCE = """
import sibling_of_tools
from treadle import tool

@tool(effect="read")
def stock(item: str) -> int:
    return sibling_of_tools.COUNT

also = stock

class Shelf:
    @tool
    def order(self, item: str) -> str:
        return item

shelf = Shelf()

def plain(item: str) -> str:
    return item
"""


@pytest.fixture(autouse=True)
def path():
    """What a test makes importable is forgotten after it."""
    before, modules = list(sys.path), set(sys.modules)
    yield
    sys.path[:] = before
    for name in set(sys.modules) - modules:
        del sys.modules[name]


@pytest.fixture
def folder(tmp_path):
    (tmp_path / "sibling_of_tools.py").write_text("COUNT = 40")
    (tmp_path / "json.py").write_text(SOURCE)
    (tmp_path / "shoptools.py").write_text(SOURCE)
    return tmp_path


def names(tools):
    return [tool.tool.name if isinstance(tool, FunctionTool) else tool.__name__ for tool in tools]


@pytest.mark.parametrize("place", ["shoptools", "{folder}/shoptools.py", "{folder}/json.py"])
def test_tools_are_found_in_modules_and_files(folder, place):
    place = place.format(folder=folder)
    assert names(load_tools([place], str(folder))) == ["stock"]
    assert names(load_tools([f"{place}:plain", f"{place}:shelf.order"], str(folder))) == ["plain", "order"]


def test_a_file_with_the_name_of_a_module_replaces_nothing(folder):
    import json

    load_tools([f"{folder}/json.py"], str(folder))
    assert sys.modules["json"] is json


def test_nothing_becomes_importable_where_no_tools_are_named(folder):
    before = list(sys.path)
    assert load_tools([], str(folder)) == []
    assert sys.path == before


@pytest.mark.parametrize(
    ("spec", "words"),
    [
        ("no_such_module_here", "There is no module no_such_module_here"),
        ("shoptools:nothing", "there is no nothing. There are: stock"),
        ("./missing.py", "There is no file missing.py"),
        ("sibling_of_tools", "has no @tool"),
        ("folder/", "There is no file"),
    ],
)
def test_what_is_not_there_is_named(folder, spec, words):
    with pytest.raises(BadTool, match=words):
        load_tools([spec], str(folder))


@pytest.mark.parametrize("source", ["1 / 0", "raise SystemExit(3)", "import no_such_module_either", "def ("])
def test_a_module_that_cannot_be_imported_is_a_sentence(folder, source):
    (folder / "broken_tools.py").write_text(source)
    for spec in ("broken_tools", f"{folder}/broken_tools.py"):
        with pytest.raises(SettingsError, match=r"broken_tools.* can't be imported"):
            load_tools([spec], str(folder))


def test_files_are_named_wherever_they_are_read(folder, monkeypatch):
    monkeypatch.chdir(folder)
    assert make_spec_absolute("shoptools.py:stock") == f"{folder}/shoptools.py:stock"
    assert make_spec_absolute("shoptools.py") == f"{folder}/shoptools.py"
    assert make_spec_absolute("shoptools:stock") == "shoptools:stock"
    assert make_spec_absolute("C:\\tools\\shop.py").endswith("shop.py")

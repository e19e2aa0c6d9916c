from treadle.assistants.reading.outline.builder import build_outline
from treadle.assistants.reading.outline.nodes import ImportInfo, iter_definitions, walk_nodes

TEXT = "import os\n\nclass A:\n    def f(self):\n        pass\n\n    def g(self): pass\n\nprint(1)\n"


def test_all_nodes_are_walked_in_the_order_of_the_file():
    assert [node.name for node in walk_nodes(build_outline(TEXT, "python").nodes)] == ["os", "A", "f", "g", ""]


def test_definitions_are_neither_imports_nor_statements():
    assert [node.name for node in iter_definitions(build_outline(TEXT, "python"))] == ["A", "f", "g"]


def test_an_import_knows_the_names_it_binds():
    assert ImportInfo("mixed", "m", ("a", "*"), "d", "n").bound() == ("d", "n", "a")

from treadle.assistants.reading.outline.tree import outline
from treadle.assistants.reading.outline.values import Imported, definitions, node_at, walk

TEXT = "import os\n\nclass A:\n    def f(self):\n        pass\n\n    def g(self): pass\n\nprint(1)\n"


def test_all_nodes_are_walked_in_the_order_of_the_file():
    assert [node.name for node in walk(outline(TEXT, "python").nodes)] == ["os", "A", "f", "g", ""]


def test_definitions_are_neither_imports_nor_statements():
    assert [node.name for node in definitions(outline(TEXT, "python"))] == ["A", "f", "g"]


def test_the_innermost_node_at_a_line_is_found():
    made = outline(TEXT, "python")
    at = [node_at(made, line) for line in range(1, 10)]
    assert [node and (node.name or node.kind) for node in at] == ["os", None, "A", "f", "f", "A", "g", None, "statement"]


def test_an_import_knows_the_names_it_binds():
    assert Imported("mixed", "m", ("a", "*"), "d", "n").bound() == ("d", "n", "a")

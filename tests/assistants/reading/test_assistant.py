"""The reading assistant is a plug-in like anyone's, and can be asked in conversation."""

import asyncio

import pytest

from treadle import Call, RunContext, ToolProblem
from treadle.assistants.reading import assistant
from treadle.assistants.reading.tools import toolset
from treadle.testing import check_assistant


def test_it_keeps_the_contract():
    check_assistant(assistant)


@pytest.fixture
def tools(tmp_path):
    (tmp_path / "shop.py").write_text("def price(item):\n    return 1\n")
    (tmp_path / "web").mkdir()
    (tmp_path / "web" / "page.js").write_text("function page() {}\n")
    return toolset(tmp_path)


def call(tools, name, /, **arguments):
    async def make():
        async with tools:
            return str(await tools.call(Call("c", name, arguments), RunContext()))

    return asyncio.run(make())


def test_files_are_listed_outlined_and_read(tools):
    assert call(tools, "list_source_files") == "shop.py\nweb/page.js"
    assert call(tools, "list_source_files", under="web") == "web/page.js"
    assert "1-2 def price(item)" in call(tools, "outline_file", path="shop.py")
    assert call(tools, "refer_to_source_code", path="shop.py", start_line=2, end_line=9) == "    return 1"


def test_a_name_is_found_where_it_is_defined_called_and_mentioned(tools, tmp_path):
    (tmp_path / "till.py").write_text(
        "from shop import price\n\n\nclass Till:\n    def total(self, items):\n        return price(items)\n"
    )
    assert call(tools, "find_references", name="price").splitlines() == [
        "shop.py:1 definition in price: def price(item):",
        "till.py:1 mention in price: from shop import price",
        "till.py:6 call in Till.total: return price(items)",
    ]
    assert call(tools, "find_references", name="price", under="web") == "price isn't mentioned in any source file here."


@pytest.mark.parametrize(
    ("name", "arguments", "said"),
    [
        ("outline_file", {"path": "../x.py"}, "outside of the workspace"),
        ("outline_file", {"path": "gone.py"}, "There is no file"),
        ("list_source_files", {"under": "/etc"}, "outside of the workspace"),
        ("refer_to_source_code", {"path": "/etc/passwd", "start_line": 1, "end_line": 2}, "outside of the workspace"),
        ("refer_to_source_code", {"path": "shop.py", "start_line": 7, "end_line": 9}, "The file has lines 1 to 2."),
    ],
)
def test_what_can_not_be_done_is_a_problem_for_the_model(tools, name, arguments, said):
    with pytest.raises(ToolProblem, match=said):
        call(tools, name, **arguments)

"""The reading assistant is a plug-in like anyone's, and can be asked in conversation."""

import asyncio

import pytest

from treadle import Call, RunContext, ToolProblem
from treadle.assistants.reading import assistant
from treadle.assistants.reading.tools import build_reading_toolset
from treadle.testing import check_assistant


def test_it_keeps_the_contract():
    check_assistant(assistant)


@pytest.fixture
def tools(tmp_path):
    (tmp_path / "shop.py").write_text("def price(item):\n    return 1\n")
    (tmp_path / "web").mkdir()
    (tmp_path / "web" / "page.js").write_text("function page() {}\n")
    return build_reading_toolset(tmp_path)


def result(tools, name, /, **arguments):
    async def make():
        async with tools:
            return await tools.call(Call("c", name, arguments), RunContext())

    return asyncio.run(make())


def call(tools, name, /, **arguments):
    return str(result(tools, name, **arguments))


def data(tools, name, /, **arguments):
    return result(tools, name, **arguments).data


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
        "till.py:1 mention in the file: from shop import price",
        "till.py:6 call in Till.total: return price(items)",
    ]
    assert call(tools, "find_references", name="price", under="web") == "price isn't mentioned in any source file here."


def test_the_callers_of_a_function_are_found_and_references_beyond_a_hundred_are_counted(tools, tmp_path):
    (tmp_path / "till.py").write_text("from shop import price\n\n\ndef total(items):\n    return price(items)\n")
    assert call(tools, "find_references", name="price", kind="call") == "till.py:5 call in total: return price(items)"
    nobody = "There is no call of page in any source file here, but 1 other references."
    assert call(tools, "find_references", name="page", kind="call") == nobody
    (tmp_path / "till.py").write_text("from shop import price\n" + "price(1)\n" * 120)
    assert call(tools, "find_references", name="price", kind="call").endswith("… and 20 more; name a folder beneath.")


def test_text_is_searched_in_all_files_but_not_in_those_with_secrets(tools, tmp_path):
    (tmp_path / "notes.txt").write_text("What is the PRICE?\n")
    (tmp_path / "server.key").write_text("price of a secret\n")
    assert call(tools, "search_text", pattern="pri.e") == "shop.py:1:def price(item):"
    found = data(tools, "search_text", pattern="price", case_insensitive=True)
    assert [(hit.path, hit.line) for hit in found.hits] == [("notes.txt", 1), ("shop.py", 1)]
    assert found.complete
    assert call(tools, "search_text", pattern="price", file_pattern="*.js").startswith("No line fits 'price'.")
    (tmp_path / "many.txt").write_text("price\n" * 300)
    assert call(tools, "search_text", pattern="price").endswith("[There is more: search beneath a folder, or for less.]")


def test_a_map_has_the_definitions_first_that_other_files_refer_to_most(tools, tmp_path):
    (tmp_path / "till.py").write_text(
        "from shop import price\n\n\nclass Till:\n    def total(self, items):\n        return price(items)\n"
    )
    assert call(tools, "repository_map").splitlines() == [
        "shop.py (2 references from other files)",
        "  1 def price(item) [2]",
        "till.py (0 references from other files)",
        "  4 class Till [0]",
        "  5 Till.total: def total(self, items) [0]",
        "web/page.js (0 references from other files)",
        "  1 function page() [0]",
    ]
    assert [file.path for file in data(tools, "repository_map", under="web").files] == ["web/page.js"]


def test_a_map_keeps_to_its_budget_and_says_what_it_leaves_out(tools, tmp_path):
    (tmp_path / "broken.py").write_bytes(bytes(range(256)) * 40)
    for number in range(40):
        (tmp_path / f"part_{number}.py").write_text(f"import shop\n\n\ndef part_{number}():\n    return shop.price(1)\n")
    text, found = call(tools, "repository_map", max_characters=600), data(tools, "repository_map", max_characters=600)
    *shown, left_out, unreadable = text.splitlines()
    assert shown[:2] == ["shop.py (40 references from other files)", "  1 def price(item) [40]"]
    assert sum(len(line) + 1 for line in shown) <= 600
    assert left_out.startswith(f"[Left out: {found.omitted_definitions} definitions and {found.omitted_files} files.")
    assert (len(found.files) + found.omitted_files, unreadable) == (42, "[Files that couldn't be read: 1.]")
    assert sum(len(file.definitions) for file in found.files) + found.omitted_definitions == 42
    assert call(tools, "repository_map", max_characters=1) == call(tools, "repository_map", max_characters=500)


def test_a_word_that_is_neither_imported_nor_qualified_is_no_reference(tools, tmp_path):
    (tmp_path / "till.py").write_text("def total(price):\n    return price\n\n\nclass Till:\n    def close(self): ...\n")
    (tmp_path / "other.py").write_text("import shop\nfrom till import Till\n\nshop.price(1)\nfile.close()\nfile.close\n")
    (tmp_path / "third.py").write_text("file.close()\nprice = 1\n")
    counted = {each.name: each.references for file in data(tools, "repository_map").files for each in file.definitions}
    assert (counted["Till"], counted["Till.close"]) == (1, 1)
    assert [file.references for file in data(tools, "repository_map").files if file.path == "shop.py"] == [1]


def test_references_to_a_name_that_several_files_define_go_to_where_it_is_imported_from_or_are_divided(tools, tmp_path):
    (tmp_path / "other.py").write_text("def price(item):\n    return price\n")
    (tmp_path / "till.py").write_text("from shop import price\n\nprice, price, price\n")
    (tmp_path / "one.go").write_text("package one\nfunc Cost() {}\n")
    (tmp_path / "two.go").write_text("package two\nfunc Cost() {}\n")
    (tmp_path / "user.go").write_text("package user\nfunc Use() { Cost(); Cost(); Cost(); Cost() }\n")
    counted = {file.path: file.references for file in data(tools, "repository_map").files}
    assert (counted["shop.py"], counted["other.py"]) == (4, 0)
    assert (counted["one.go"], counted["two.go"]) == (2, 2)


def test_a_folder_without_source_code_has_an_empty_map(tmp_path):
    assert call(build_reading_toolset(tmp_path), "repository_map") == "There are no source files here."


@pytest.mark.parametrize(
    ("name", "arguments", "said"),
    [
        ("outline_file", {"path": "../x.py"}, "outside of the workspace"),
        ("outline_file", {"path": "gone.py"}, "There is no file"),
        ("list_source_files", {"under": "/etc"}, "outside of the workspace"),
        ("repository_map", {"under": "../.."}, "outside of the workspace"),
        ("search_text", {"pattern": "x", "under": "/etc"}, "outside of the workspace"),
        ("search_text", {"pattern": "("}, "The search failed"),
        ("refer_to_source_code", {"path": "/etc/passwd", "start_line": 1, "end_line": 2}, "outside of the workspace"),
        ("refer_to_source_code", {"path": "shop.py", "start_line": 7, "end_line": 9}, "The file has lines 1 to 2."),
    ],
)
def test_what_can_not_be_done_is_a_problem_for_the_model(tools, name, arguments, said):
    with pytest.raises(ToolProblem, match=said):
        call(tools, name, **arguments)

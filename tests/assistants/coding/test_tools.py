"""The coding assistant's tools know the repository, and a language server checks edits where that is wanted."""

import asyncio

from treadle import Call, RunContext
from treadle.admin import doctor
from treadle.assistant import Settings
from treadle.assistants.coding.tools import make_coding_toolset
from treadle.toolsets.diagnostics.toolset import DiagnosedToolset


def call(tools, name, /, **arguments):
    assert name in [tool.name for tool in tools.tools()]
    return str(asyncio.run(tools.call(Call("c", name, arguments), RunContext(run_id="run"))))


def test_definitions_references_callers_and_a_map_come_from_the_symbol_index(tmp_path):
    work = tmp_path / "work"
    work.mkdir()
    (work / "shop.py").write_text("def price(item):\n    return 1\n")
    (work / "till.py").write_text("from shop import price\n\n\ndef total(items):\n    return price(items)\n")
    flat = make_coding_toolset("review", work, Settings(), flat=True, data=tmp_path / "data")
    assert call(flat, "find_definition", name="price") == "shop.py:1 definition in price: def price(item):"
    assert call(flat, "find_references", name="price", calls_only=True) == "till.py:5 call in total: return price(items)"
    assert call(flat, "repository_map", task="total in till.py", max_tokens=1).startswith("till.py (0 references")
    grouped = make_coding_toolset("build", work, Settings(), flat=False, data=tmp_path / "data")
    assert call(grouped, "search", action="find_callers", name="price") == call(
        flat, "find_references", name="price", calls_only=True
    )
    assert "def price(item) [2]" in call(grouped, "navigate", action="repository_map")
    assert (tmp_path / "data" / "symbols.db").is_file()


def test_edits_are_checked_only_where_that_is_wanted(tmp_path):
    assert isinstance(make_coding_toolset("build", tmp_path, Settings(), flat=False, diagnostics=True), DiagnosedToolset)
    assert not isinstance(make_coding_toolset("build", tmp_path, Settings(), flat=False), DiagnosedToolset)


def test_the_doctor_says_how_to_get_a_language_server(tmp_path, monkeypatch):
    async def findings():
        return [found async for found in doctor._check_language_servers(tmp_path)]

    monkeypatch.setattr("shutil.which", lambda name: None)
    found = asyncio.run(findings())
    assert [each.state for each in found] == ["note", "note"]
    assert "pip install pyright" in found[0].do
    assert "npm install -g typescript-language-server" in found[1].do

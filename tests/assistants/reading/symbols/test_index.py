"""The symbol index: only what has changed is parsed, questions don't wait for all of it, and it stays in Treadle's folder."""

import asyncio
import os

import pytest

from treadle.assistants.reading.outline.outliner import Outliner
from treadle.assistants.reading.repository_search import format_map, map_repository
from treadle.assistants.reading.symbols import index as index_module
from treadle.assistants.reading.symbols.index import IndexState, SymbolIndex, format_pending
from treadle.assistants.reading.symbols.store import FILE, SymbolStore
from treadle.errors import SettingsError
from treadle.files import Workspace

SHOP = (
    "import os\n\n\nclass Cart:\n    @property\n    def total(self):\n        return price(1)\n\n\ndef price(item):\n    return 1\n"
)
TILL = (
    "from shop import Cart, price\n\n\ndef pay():\n    # price of it\n    cart = Cart()\n    return cart.total(), price(item=2)\n"
)


@pytest.fixture
def folder(tmp_path):
    work = tmp_path / "work"
    work.mkdir()
    (work / "shop.py").write_text(SHOP)
    (work / "till.py").write_text(TILL)
    for path in work.iterdir():
        os.utime(path, (1_000_000_000, 1_000_000_000))
    return work


@pytest.fixture
def parsed(monkeypatch):
    """The texts that were parsed."""
    texts = []
    ask = Outliner.symbols_sync
    monkeypatch.setattr(Outliner, "symbols_sync", lambda self, text, language: texts.append(text) or ask(self, text, language))
    return texts


def find(index, name, kind="any", under="."):
    found, _ = asyncio.run(index.find(name, kind, under))
    return [(each.path, each.line, each.kind, each.inside) for each in found]


def write_old(path, text, seconds=1_000_000_001):
    path.write_text(text)
    os.utime(path, (seconds, seconds))


def test_definitions_calls_and_mentions_are_found_with_the_definition_around_them(folder, tmp_path):
    index = SymbolIndex(Workspace(folder), tmp_path / "data")
    assert find(index, "price") == [
        ("shop.py", 7, "call", "Cart.total"),
        ("shop.py", 10, "definition", "price"),
        ("till.py", 1, "mention", ""),
        ("till.py", 7, "call", "pay"),
    ]
    assert find(index, "total", "definition") == [("shop.py", 6, "definition", "Cart.total")]
    assert find(index, "Cart.total", "definition") == find(index, "total", "definition")
    assert find(index, "Till.total", "definition") == []
    assert [row[0] for row in find(index, "item")] == ["shop.py"]  # a parameter's name at a call refers to nothing
    assert find(index, "") == []


def test_only_what_has_changed_is_parsed_again_also_by_another_process(folder, tmp_path, parsed):
    data = tmp_path / "data"
    assert asyncio.run(SymbolIndex(Workspace(folder), data).refresh()) == IndexState(2, 0)
    assert len(parsed) == 2
    index = SymbolIndex(Workspace(folder), data)
    asyncio.run(index.refresh())
    assert len(parsed) == 2
    write_old(folder / "till.py", TILL.replace("pay", "settle"))
    (folder / "shop.py").rename(folder / "store.py")  # its content is known
    assert find(index, "pay") == []
    assert [row[0] for row in find(index, "settle")] == ["till.py"]
    assert [row[0] for row in find(index, "price", "definition")] == ["store.py"]
    assert len(parsed) == 3


def test_a_private_copy_of_a_project_is_not_parsed(folder, tmp_path, parsed):
    asyncio.run(SymbolIndex(Workspace(folder), tmp_path / "data").refresh())
    copy = tmp_path / "copy"
    copy.mkdir()
    write_old(copy / "shop.py", SHOP)
    assert find(SymbolIndex(Workspace(copy), tmp_path / "data"), "price", "definition") == [("shop.py", 10, "definition", "price")]
    assert len(parsed) == 2


def test_a_file_that_changes_twice_at_one_time_is_not_missed(folder, tmp_path):
    index = SymbolIndex(Workspace(folder), tmp_path / "data")
    (folder / "new.py").write_text("def one(): ...\n")
    when = (folder / "new.py").stat().st_mtime_ns
    assert find(index, "one")
    (folder / "new.py").write_text("def two(): ...\n")
    os.utime(folder / "new.py", ns=(when, when))
    assert find(index, "two")
    assert not find(index, "one")


def test_hidden_ignored_installed_and_secret_files_are_left_out_and_nothing_is_written_to_the_workspace(folder, tmp_path):
    for name in (".hidden/a.py", "node_modules/b.js", "ignored/c.py", "build/d.py"):
        (folder / name).parent.mkdir()
        (folder / name).write_text("function price() {}\n" if name.endswith("js") else "def price(): ...\n")
    (folder / ".gitignore").write_text("ignored/\n")
    (tmp_path / "outside.py").write_text("def price(): ...\n")
    (folder / "link.py").symlink_to(tmp_path / "outside.py")
    before = sorted(folder.rglob("*"))
    assert {row[0] for row in find(SymbolIndex(Workspace(folder), tmp_path / "data"), "price")} == {"shop.py", "till.py"}
    assert sorted(folder.rglob("*")) == before
    assert (tmp_path / "data" / FILE).stat().st_mode & 0o077 == 0


def test_a_question_waits_only_so_long_and_the_rest_is_parsed_in_the_background(folder, tmp_path, monkeypatch):
    for number in range(60):
        write_old(folder / f"part_{number}.py", f"def part_{number}(): ...\n")
    monkeypatch.setattr(index_module, "_BATCH", 4)
    index = SymbolIndex(Workspace(folder), tmp_path / "data", seconds=-1)
    state = asyncio.run(index.refresh())
    assert state.files == 62
    assert state.pending == 62
    assert format_pending(state).startswith("[62 of 62 files aren't indexed yet")
    index._background.join(60)
    assert asyncio.run(index.refresh()) == IndexState(62, 0)
    assert format_pending(IndexState(62, 0)) == ""
    index.close()


def test_a_name_is_found_in_files_that_are_parsed_at_once_because_they_have_it(folder, tmp_path, parsed, monkeypatch):
    for number in range(60):
        write_old(folder / f"part_{number}.py", f"def part_{number}(): ...\n")
    monkeypatch.setattr(SymbolIndex, "_continue_in_background", lambda self, files: None)
    index = SymbolIndex(Workspace(folder), tmp_path / "data")
    assert len(find(index, "part_7")) == 1
    assert parsed == ["def part_7(): ...\n"]


def test_an_index_can_be_built_before_the_first_question_and_stopped(folder, tmp_path, parsed):
    index = SymbolIndex(Workspace(folder), tmp_path / "data")
    index.start()
    index._background.join(60)
    assert len(parsed) == 2
    index.start()
    index.close()
    assert find(index, "pay")


def test_a_file_that_cannot_be_parsed_is_counted(folder, tmp_path):
    (folder / "binary.py").write_bytes(bytes(range(256)))
    (folder / "small.py").write_text("x=1;" * 4000)
    (folder / "credentials.json.py").write_text("")
    found = asyncio.run(map_repository(SymbolIndex(Workspace(folder), tmp_path / "data")))
    assert found.unreadable_files == 2
    assert {file.path for file in found.files} >= {"shop.py", "till.py"}


def test_a_map_has_what_the_task_names_first(folder, tmp_path):
    for number in range(30):
        write_old(folder / f"part_{number}.py", f"def part_{number}(): ...\n")
    index = SymbolIndex(Workspace(folder), tmp_path / "data")

    def first(task):
        return asyncio.run(map_repository(index, task=task)).files[0].path

    assert first("") == "shop.py"
    assert first("What does part_17 do?") == "part_17.py"
    assert first("There is a bug in part_4.py") == "part_4.py"
    text = format_map(asyncio.run(map_repository(index, budget=500)))
    assert sum(len(line) + 1 for line in text.splitlines() if not line.startswith("[")) <= 500
    os.utime(folder / "part_9.py")
    assert first("") in ("part_9.py", "shop.py")


def test_folders_that_are_gone_are_forgotten(folder, tmp_path, monkeypatch):
    data = tmp_path / "data"
    gone = tmp_path / "gone"
    gone.mkdir()
    write_old(gone / "a.py", "def a(): ...\n")
    asyncio.run(SymbolIndex(Workspace(gone), data).refresh())
    (gone / "a.py").unlink()
    gone.rmdir()
    monkeypatch.setattr("treadle.assistants.reading.symbols.store._MAX_UNUSED", 0)
    asyncio.run(SymbolIndex(Workspace(folder), data).refresh())
    with SymbolStore(data, folder).read() as reader:
        tables = ("roots", "contents", "definitions WHERE name = 'a'")
        counts = [reader._connection.execute(f"SELECT COUNT(*) FROM {table}").fetchone()[0] for table in tables]
    assert counts == [1, 2, 0]


def test_a_database_of_another_version_is_emptied_and_a_broken_one_is_reported(folder, tmp_path):
    import sqlite3

    data = tmp_path / "data"
    asyncio.run(SymbolIndex(Workspace(folder), data).refresh())
    connection = sqlite3.connect(data / FILE)
    connection.execute("PRAGMA user_version=99")
    connection.close()
    assert find(SymbolIndex(Workspace(folder), data), "pay")
    (tmp_path / "broken").mkdir()
    (tmp_path / "broken" / FILE).write_text("this is no database" * 100)
    with pytest.raises(SettingsError, match="delete it: it is made anew"):
        find(SymbolIndex(Workspace(folder), tmp_path / "broken"), "pay")


def test_an_index_without_a_home_lasts_as_long_as_it_is_open(folder):
    index = SymbolIndex(Workspace(folder))
    (found,) = asyncio.run(index.find("Cart", "definition"))[0]
    assert (found.path, found.line, found.kind, found.signature) == ("shop.py", 4, "definition", "class Cart")
    assert asyncio.run(index.find("gone"))[0] == []


def test_a_folder_with_too_many_files_is_not_parsed_before_a_question(folder, tmp_path, parsed, monkeypatch):
    monkeypatch.setattr(index_module, "MAX_FILES", 1)
    index = SymbolIndex(Workspace(folder), tmp_path / "data")
    index.start()
    index.close()
    assert parsed == []


@pytest.mark.parametrize(
    ("name", "text", "symbol", "expected"),
    [
        (
            "a.go",
            "package a\n\nfunc Price() int { return 1 }\n\nfunc Use() int { return Price() }\n",
            "Price",
            ["definition", "call"],
        ),
        (
            "a.ts",
            "export function price(): number { return 1 }\nconst x = { price: 1 }\nprice()\n",
            "price",
            ["definition", "call"],
        ),
        ("a.rs", "fn price() -> i32 { 1 }\nfn all() { price(); vec!(1); }\n", "price", ["definition", "call"]),
        ("a.java", "class A {\n  int price() { return 1; }\n  int all() { return price(); }\n}\n", "price", ["definition", "call"]),
        ("a.c", "int price(void) { return 1; }\nint all(void) { return price(); }\n", "price", ["definition", "call"]),
        ("a.rb", "def price\n  1\nend\n\ndef all\n  price()\nend\n", "price", ["definition", "call"]),
    ],
)
def test_other_languages(tmp_path, name, text, symbol, expected):
    (tmp_path / name).write_text(text)
    assert [row[2] for row in find(SymbolIndex(Workspace(tmp_path)), symbol)] == expected

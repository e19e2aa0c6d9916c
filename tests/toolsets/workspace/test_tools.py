"""The tools of a workspace, as a run calls them."""

import asyncio
import os

import pytest

from treadle import Agent, RunContext, allow
from treadle.core.calls import Call
from treadle.core.errors import ToolProblem
from treadle.files.problems import (
    BadEdit,
    BadSearch,
    BinaryFile,
    FileChanged,
    FileNotRead,
    GuardedPath,
    OutsideWorkspace,
    SecretFile,
)
from treadle.files.workspace import Workspace
from treadle.models.calling.flat_tools import flatten_tools
from treadle.models.scripted import calls
from treadle.testing import Scripted
from treadle.toolsets.workspace.finder import Finder
from treadle.toolsets.workspace.search import Search
from treadle.toolsets.workspace.tools import workspace_tools


class Room:
    """A workspace and a run that calls its tools."""

    def __init__(self, folder, **options):
        self.folder = folder
        self.toolset = workspace_tools(folder, **options)

    def call(self, tool, /, run="run", **arguments):
        return str(asyncio.run(self.toolset.call(Call("1", tool, arguments), RunContext(run_id=run))))

    def put(self, name, content):
        data = content if isinstance(content, bytes) else content.encode()
        (self.folder / name).parent.mkdir(parents=True, exist_ok=True)
        (self.folder / name).write_bytes(data)

    def get(self, name):
        return (self.folder / name).read_bytes().decode()


@pytest.fixture
def flat(tmp_path):
    return Room(tmp_path, flat=True)


@pytest.fixture
def grouped(tmp_path):
    return Room(tmp_path)


CHANGES = {
    "write_file": {"path": "a.txt", "content": "other\n"},
    "replace_text": {"path": "a.txt", "old": "two", "new": "two two"},
    "edit_lines": {"path": "a.txt", "start_line": 1, "end_line": 1, "new_content": "one\none"},
    "insert_lines": {"path": "a.txt", "line_number": 1, "content": "zero"},
    "delete_lines": {"path": "a.txt", "start_line": 1, "end_line": 1},
}


@pytest.mark.parametrize("name", CHANGES)
def test_a_change_that_runs_again_in_another_process_changes_nothing_twice(tmp_path, name):
    before = Room(tmp_path, flat=True)
    before.put("a.txt", "one\ntwo\nthree\n")
    before.call("read_file", path="a.txt")
    before.call(name, **CHANGES[name])
    changed = before.get("a.txt")
    with pytest.raises(FileNotRead, match="Read it first"):
        Room(tmp_path, flat=True).call(name, **CHANGES[name])
    assert before.get("a.txt") == changed != "one\ntwo\nthree\n"


def test_every_change_may_run_again_after_a_crash(flat, grouped):
    changing = [tool for room in (flat, grouped) for tool in room.toolset.tools() if tool.effect != "read"]
    assert {tool.retry for tool in changing} == {"idempotent"}


def test_each_action_has_its_effect_and_the_flat_tool_of_it_the_same(flat, grouped):
    actions = {tool.name: tool.effects for tool in grouped.toolset.tools()}
    effects = {tool.name: tool.effect for tool in flat.toolset.tools()}
    assert actions["file"] == {
        "read": effects["read_file"],
        "write": effects["write_file"],
        "replace": effects["replace_text"],
        "append": "write",
        "delete": effects["delete_file"],
    }
    assert actions["code_edit"] == {
        "get_lines": effects["read_file"],
        "edit_lines": effects["edit_lines"],
        "insert_at_line": effects["insert_lines"],
        "delete_lines": effects["delete_lines"],
        "append": effects["write_file"],
    }


def test_a_tool_as_such_has_the_effect_of_its_most_dangerous_action(flat, grouped):
    assert {tool.name: tool.effect for tool in grouped.toolset.tools()} == {
        "file": "destroy",
        "code_edit": "write",
        "search": "read",
        "navigate": "read",
    }
    effects = {tool.name: tool.effect for tool in flat.toolset.tools()}
    assert {name for name, effect in effects.items() if effect == "destroy"} == {"delete_file"}
    assert {name for name, effect in effects.items() if effect == "write"} == {
        "write_file",
        "replace_text",
        "edit_lines",
        "insert_lines",
        "delete_lines",
    }
    assert {name for name, effect in effects.items() if effect == "read"} == {
        "read_file",
        "grep",
        "find_files",
        "find_definition",
        "find_references",
        "repository_map",
        "list_folder",
        "outline_file",
    }


def test_grouped_tools_can_be_offered_flat_by_their_actions(grouped):
    names = [spec.name for spec, _ in flatten_tools([tool.spec for tool in grouped.toolset.tools()])]
    assert names[:5] == ["file_read", "file_write", "file_replace", "file_append", "file_delete"]
    assert len(names) == 21


def test_an_agent_reads_and_edits_a_file(tmp_path):
    (tmp_path / "a.py").write_text("x = 1\n")
    steps = [
        calls(("read_file", {"path": "a.py"}), ("replace_text", {"path": "a.py", "old": "x = 1", "new": "x = 2"})),
        "Done.",
    ]
    agent = Agent(Scripted(*steps), toolsets=[workspace_tools(tmp_path, flat=True)], policy=[allow("*")])
    result = agent.run_sync("Go.")
    assert [call.result.problem for call in result.calls] == [None, None]
    assert (tmp_path / "a.py").read_text() == "x = 2\n"


# Reading


def test_lines_are_numbered(flat):
    flat.put("a.txt", "one\r\ntwo\n\nfour")
    assert flat.call("read_file", path="a.txt") == "1|one\n2|two\n3|\n4|four"
    assert flat.call("read_file", path="a.txt", start_line=2, end_line=3) == "2|two\n3|"
    flat.put("empty.txt", "")
    assert flat.call("read_file", path="empty.txt") == "empty.txt is empty."


def test_a_long_file_is_read_in_pieces(flat):
    flat.put("a.txt", "x\n" * 2500)
    first = flat.call("read_file", path="a.txt")
    assert first.endswith("2000|x\n[Lines 1 to 2000 of 2500. Go on with start_line=2001.]")
    assert flat.call("read_file", path="a.txt", start_line=2001).endswith("2500|x")


def test_wide_lines_are_cut_and_many_of_them_too(flat, grouped):
    flat.put("a.txt", ("é" * 5000 + "\n") * 30)
    first = grouped.call("file", action="read", path="a.txt")
    assert len(first.encode()) < 51_000
    assert "[3000 more characters]" in first
    assert 'Go on with code_edit, action="get_lines", start_line=' in first


def test_lines_that_are_not_there_are_a_problem(flat):
    flat.put("a.txt", "x\n")
    for start, end in ((2, None), (0, 1), (1, 0)):
        with pytest.raises(BadEdit, match="has 1 lines"):
            flat.call("read_file", path="a.txt", start_line=start, end_line=end)


def test_a_binary_file_is_said_to_be_binary_and_may_be_replaced(flat):
    flat.put("a.png", b"\x89PNG\0\0")
    with pytest.raises(BinaryFile, match="binary file of 6 bytes"):
        flat.call("read_file", path="a.png")
    with pytest.raises(BinaryFile):
        flat.call("insert_lines", path="a.png", line_number=1, content="x")
    flat.call("write_file", path="a.png", content="text\n")
    assert flat.get("a.png") == "text\n"


def test_bytes_that_are_not_utf8_survive_an_edit(flat):
    flat.put("a.txt", "naïve\nplain\n".encode("latin-1"))
    assert "not UTF-8" in flat.call("read_file", path="a.txt")
    flat.call("edit_lines", path="a.txt", start_line=2, end_line=2, new_content="changed")
    assert (flat.folder / "a.txt").read_bytes() == "naïve\nchanged\n".encode("latin-1")
    with pytest.raises(BadEdit, match="not UTF-8"):
        flat.call("edit_lines", path="a.txt", start_line=1, end_line=1, new_content="na\ufffdve")


def test_secrets_are_refused_unless_allowed(flat):
    flat.put(".env", "KEY=1\n")
    with pytest.raises(SecretFile):
        flat.call("read_file", path=".env")
    with pytest.raises(SecretFile):
        flat.call("write_file", path=".env", content="KEY=2\n")
    assert Room(flat.folder, flat=True, secrets=True).call("read_file", path=".env") == "1|KEY=1"


def test_a_pipe_is_no_file(flat):
    os.mkfifo(flat.folder / "pipe")
    with pytest.raises(ToolProblem, match="no ordinary file"):
        flat.call("read_file", path="pipe")


# Writing


def test_a_new_file_is_written_without_reading(flat):
    said = flat.call("write_file", path="src/new.py", content="x = 1\n")
    assert said == "Created src/new.py with 1 lines.\nModified files: src/new.py"
    flat.call("replace_text", path="src/new.py", old="1", new="2")
    assert flat.get("src/new.py") == "x = 2\n"


EDITS = {
    "write_file": {"content": "x"},
    "replace_text": {"old": "one", "new": "x"},
    "edit_lines": {"start_line": 1, "end_line": 1, "new_content": "x"},
    "insert_lines": {"line_number": 1, "content": "x"},
    "delete_lines": {"start_line": 1, "end_line": 1},
}


@pytest.mark.parametrize("name", EDITS)
def test_an_edit_of_a_file_that_was_not_read_is_refused(flat, name):
    flat.put("a.txt", "one\ntwo\n")
    with pytest.raises(FileNotRead, match="Read it first"):
        flat.call(name, path="a.txt", **EDITS[name])
    flat.call("read_file", run="another", path="a.txt")
    with pytest.raises(FileNotRead):
        flat.call(name, path="a.txt", **EDITS[name])
    assert flat.get("a.txt") == "one\ntwo\n"


@pytest.mark.parametrize("name", EDITS)
def test_an_edit_of_a_file_that_somebody_changed_is_refused(flat, name):
    flat.put("a.txt", "one\ntwo\n")
    flat.call("read_file", path="a.txt")
    flat.put("a.txt", "one\nTWO\n")
    with pytest.raises(FileChanged, match="Read it again"):
        flat.call(name, path="a.txt", **EDITS[name])
    assert flat.get("a.txt") == "one\nTWO\n"
    flat.call("read_file", path="a.txt")
    flat.call(name, path="a.txt", **EDITS[name])
    assert flat.get("a.txt") != "one\nTWO\n"


def test_edits_follow_one_another_and_say_what_they_did(flat):
    flat.put("a.txt", "one\r\ntwo\r\nthree\r\n")
    flat.call("read_file", path="a.txt")
    said = flat.call("edit_lines", path="a.txt", start_line=2, end_line=2, new_content="2\n2b")
    assert said == ("Changed a.txt: lines 2 to 3 are new.\n@@ -1,3 +1,4 @@\n one\n-two\n+2\n+2b\n three\nModified files: a.txt")
    said = flat.call("insert_lines", path="a.txt", line_number=5, content="four")
    assert said.startswith("Changed a.txt: line 5 is new.\n")
    flat.call("delete_lines", path="a.txt", start_line=1, end_line=1)
    assert flat.get("a.txt") == "2\r\n2b\r\nthree\r\nfour\r\n"
    flat.call("write_file", path="a.txt", content="all\nnew\n")
    assert flat.get("a.txt") == "all\r\nnew\r\n"


def test_an_ambiguous_edit_changes_nothing_and_lists_the_lines(flat):
    flat.put("a.txt", "x = 1\ny = 2\nx = 1\n")
    flat.call("read_file", path="a.txt")
    with pytest.raises(BadEdit, match="2 times, so nothing was changed") as caught:
        flat.call("replace_text", path="a.txt", old="x = 1", new="x = 3")
    assert "line 1:\n1|x = 1\n2|y = 2\n--\nline 3:" in str(caught.value)
    assert flat.get("a.txt") == "x = 1\ny = 2\nx = 1\n"
    flat.call("replace_text", path="a.txt", old="x = 1", new="x = 3", line=3)
    assert flat.get("a.txt") == "x = 1\ny = 2\nx = 3\n"
    assert "in 2 places" in flat.call("replace_text", path="a.txt", old="x", new="z", replace_all=True)
    assert flat.get("a.txt") == "z = 1\ny = 2\nz = 3\n"


def test_an_edit_of_text_that_is_not_there_says_where_to_look(flat):
    flat.put("a.txt", "def compute_total(items):\n    pass\n")
    flat.call("read_file", path="a.txt")
    with pytest.raises(BadEdit, match="nearest to it:\nline 1"):
        flat.call("replace_text", path="a.txt", old="def compute_totals(item):", new="x")
    with pytest.raises(BadEdit, match="there already, at line 2"):
        flat.call("replace_text", path="a.txt", old="zzzz", new="pass")
    with pytest.raises(BadEdit, match="has 2 lines"):
        flat.call("edit_lines", path="a.txt", start_line=2, end_line=3, new_content="x")


def test_a_match_with_other_whitespace_is_said(flat):
    flat.put("a.py", "if a:\n    b()  \n    c()\n")
    flat.call("read_file", path="a.py")
    assert "indented alike" in flat.call("replace_text", path="a.py", old="b()\nc()", new="d()\ne()")
    assert flat.get("a.py") == "if a:\n    d()\n    e()\n"


def test_what_cannot_be_written_is_said(flat):
    with pytest.raises(BadEdit, match="can't be written"):
        flat.call("write_file", path="a.txt", content="\ud800")
    with pytest.raises(ToolProblem, match="at most"):
        flat.call("write_file", path="a.txt", content="x" * 10_000_001)
    with pytest.raises(GuardedPath):
        flat.call("write_file", path=".git/hooks/pre-commit", content="x")
    with pytest.raises(OutsideWorkspace):
        flat.call("write_file", path="../a.txt", content="x")
    assert list(flat.folder.iterdir()) == []


def test_a_deleted_file_is_gone_and_was_never_read(flat):
    flat.put("a.txt", "x\n")
    flat.call("read_file", path="a.txt")
    assert flat.call("delete_file", path="a.txt") == "Deleted a.txt.\nModified files: a.txt"
    flat.put("a.txt", "x\n")
    with pytest.raises(FileNotRead):
        flat.call("write_file", path="a.txt", content="y\n")


def test_the_actions_of_file_and_code_edit(grouped):
    grouped.call("file", action="write", path="a.txt", content="one\n")
    grouped.call("file", action="append", path="a.txt", content="two\n")
    grouped.call("file", action="append", path="new.txt", content="made\n")
    grouped.call("file", action="replace", path="a.txt", old="two", new="2")
    grouped.call("code_edit", action="insert_at_line", path="a.txt", line_number=1, content="zero")
    grouped.call("code_edit", action="edit_lines", path="a.txt", start_line=2, end_line=2, new_content="1")
    grouped.call("code_edit", action="delete_lines", path="a.txt", start_line=3, end_line=3)
    assert grouped.call("code_edit", action="get_lines", path="a.txt") == "1|zero\n2|1"
    assert grouped.get("new.txt") == "made\n"
    grouped.call("file", action="delete", path="a.txt")
    with pytest.raises(BadEdit, match="replace needs the argument old"):
        grouped.call("file", action="replace", path="new.txt", new="x")
    with pytest.raises(BadEdit, match="edit_lines needs the argument end_line"):
        grouped.call("code_edit", action="edit_lines", path="new.txt", start_line=1, new_content="x")


# Searching and looking around


def test_the_actions_of_search(grouped):
    grouped.put("src/a.py", "import os\n\nclass Total:\n    def total(self): ...\n\nsubtotal = 1\n")
    grouped.put("b.go", "func total() int {\n}\n")
    found = grouped.call("search", action="grep", pattern="total", file_pattern="*.py", max_results=1)
    assert found == "src/a.py:4:    def total(self): ...\n[There are more; narrow the search.]"
    assert grouped.call("search", action="find_files", pattern="*.go") == "b.go"
    assert grouped.call("search", action="find_in_file", path="src/a.py", pattern="^class") == "3:class Total:"
    assert grouped.call("search", action="find_in_file", path="src/a.py", pattern="zzz").startswith("No line of src/a.py fits")
    assert grouped.call("search", action="grep", pattern="zzz").startswith("No line fits 'zzz'")
    assert grouped.call("search", action="find_files", pattern="zzz").startswith("No file fits 'zzz'")
    definitions = grouped.call("search", action="find_definition", name="Thing.total")
    assert definitions == "src/a.py:4:    def total(self): ...\nb.go:1:func total() int {"
    assert grouped.call("search", action="find_definition", name="total", language="go") == "b.go:1:func total() int {"
    with pytest.raises(BadEdit, match="grep needs the argument pattern"):
        grouped.call("search", action="grep")


def test_a_search_says_what_it_could_not_do(tmp_path):
    slow = tmp_path / "slow"
    slow.write_text("#!/bin/sh\nexec sleep 60\n")
    slow.chmod(0o755)
    workspace = Workspace(tmp_path)
    late = Finder(workspace, Search(workspace, str(slow), seconds=0.1)).find_files("x", ".", 1)
    assert str(asyncio.run(late)).endswith("[The time was up before all was searched; narrow the search.]")
    plain = Finder(workspace, Search(workspace, plain=True)).find_files("slow", ".", 1)
    assert str(asyncio.run(plain)).startswith("slow\n[ripgrep is not installed")


def test_a_long_outline_is_cut(tmp_path):
    async def outline(filename, data):
        return "x" * 60_000

    (tmp_path / "a.py").write_text("x = 1\n")
    assert Room(tmp_path, flat=True, outline=outline).call("outline_file", path="a.py").endswith("\n[10,000 more characters]")


def test_pipes_are_listed_as_what_they_are(flat):
    os.mkfifo(flat.folder / "pipe")
    assert flat.call("list_folder") == "pipe (pipe, socket or device)"


def test_files_are_found_by_name(flat):
    flat.put("src/a.py", "")
    assert flat.call("find_files", pattern="*.py", directory="src") == "src/a.py"


def test_definitions_are_asked_for_by_name(flat):
    assert flat.call("find_definition", name="gone").startswith("No definition of gone was found")
    with pytest.raises(BadSearch, match="no name of a function"):
        flat.call("find_definition", name="a b")
    with pytest.raises(BadSearch, match="no language"):
        flat.call("find_definition", name="a", language="klingon")


def test_references_and_maps_without_an_index_are_lines_and_folders(flat, grouped):
    flat.put("src/a.py", "def total(): ...\n\nsubtotal = total\ntotal (1)\n")
    assert flat.call("find_references", name="total").split("\n") == [
        "src/a.py:1:def total(): ...",
        "src/a.py:3:subtotal = total",
        "src/a.py:4:total (1)",
    ]
    assert "total (1)" in grouped.call("search", action="find_callers", name="total")
    assert flat.call("find_references", name="gone") == "gone isn't used in any file here."
    assert flat.call("repository_map") == grouped.call("navigate", action="repository_map") == "src/\n  a.py (45 bytes)"
    with pytest.raises(BadSearch, match="no name of a function"):
        flat.call("find_references", name="a b")


def test_an_index_finds_definitions_and_references_and_makes_maps(tmp_path):
    class Symbols:
        async def find(self, name, kind, directory):
            return f"{kind} of {name} in {directory}"

        async def map(self, task, directory, max_tokens):
            return f"{max_tokens} tokens for {task} in {directory}"

    flat = Room(tmp_path, flat=True, symbols=Symbols())
    assert flat.call("find_definition", name="total") == "definition of total in ."
    assert flat.call("find_definition", name="total", language="go").startswith("No definition of total")
    assert flat.call("find_references", name="total", directory="src") == "any of total in src"
    assert flat.call("repository_map", task="a bug", max_tokens=500) == "500 tokens for a bug in ."
    grouped = Room(tmp_path, flat=False, symbols=Symbols())
    assert grouped.call("search", action="find_references", name="total") == "any of total in ."
    assert grouped.call("search", action="find_callers", name="total") == "call of total in ."


DEFINITIONS = {
    "a.py": ["async def wanted():", "class wanted:", "wanted = 1", "wanted: int = 2"],
    "a.js": ["export default function wanted() {", "const wanted = () => 1", "class wanted {", "  async wanted(a) {"],
    "a.ts": ["export interface wanted {", "type wanted = string", "enum wanted {", "  private wanted(a: int) {"],
    "a.go": ["func (s *Server) wanted(a int) error {", "type wanted struct {", "var wanted = 1"],
    "a.rs": ["pub(crate) async fn wanted<T>() {", "struct wanted;", "trait wanted {", "macro_rules! wanted {"],
    "a.java": ["public final class wanted {", "    public static List<String> wanted(int a) {"],
    "a.kt": ["fun wanted() {", "object wanted {"],
    "a.swift": ["func wanted() {", "protocol wanted {"],
    "a.c": ["static int wanted(void)", "#define wanted 1", "struct wanted {"],
    "a.rb": ["  def self.wanted", "module A::wanted", "def wanted"],
    "a.php": ["function wanted() {", "trait wanted {"],
    "a.sh": ["wanted() {", "function wanted {"],
}


@pytest.mark.parametrize("file", DEFINITIONS)
def test_a_definition_is_found_in_each_language_and_a_use_or_longer_name_is_not(flat, file):
    uses = ["x(wanted)", "print(wanted);", "foo.wanted;"]
    longer = [line.replace("wanted", "wanted_more") for line in DEFINITIONS[file]]
    flat.put(file, "\n".join([*uses, *longer, *DEFINITIONS[file]]) + "\n")
    found = flat.call("find_definition", name="wanted").split("\n")
    assert [line.split(":", 2)[2] for line in found] == DEFINITIONS[file]
    outlined = flat.call("outline_file", path=file).split("\n")
    assert {line.split(":", 1)[1] for line in outlined} >= {*DEFINITIONS[file], *longer}


def test_an_outline_comes_from_whoever_makes_them(tmp_path):
    async def outline(filename, data):
        return f"{filename}: {len(data)} bytes"

    (tmp_path / "a.py").write_text("x = 1\n")
    assert Room(tmp_path, flat=True, outline=outline).call("outline_file", path="a.py") == "a.py: 6 bytes"


def test_a_file_of_no_known_language_has_no_outline(grouped):
    grouped.put("a.xyz", "x")
    grouped.put("a.py", b"\0")
    for action in ("get_file_outline", "find_imports"):
        with pytest.raises(BadSearch, match="Read the file instead"):
            grouped.call("navigate", action=action, path="a.xyz")
        with pytest.raises(BinaryFile):
            grouped.call("navigate", action=action, path="a.py")


def test_the_actions_of_navigate(grouped):
    grouped.put("src/deep/a.py", "import os\nfrom re import (\n    compile,\n)\n\ndef f():\n    import sys\n")
    grouped.put("src/b.txt", "hello\n")
    grouped.put("src/.hidden", "")
    grouped.put("node_modules/x/y.js", "")
    (grouped.folder / "src" / "link").symlink_to("b.txt")
    call = grouped.call
    assert call("navigate", action="list_directory", directory="src") == "b.txt (6 bytes)\ndeep/\nlink (symbolic link)"
    assert ".hidden" in call("navigate", action="list_directory", directory="src", show_hidden=True)
    assert call("navigate", action="list_directory", directory="src/deep", extension="js").startswith("There is nothing to list")
    assert call("navigate", action="get_tree", max_depth=2) == (
        "node_modules/\nsrc/\n  b.txt (6 bytes)\n  deep/\n  link (symbolic link)"
    )
    assert call("navigate", action="find_imports", path="src/deep/a.py") == "1:import os\n2:from re import (\n7:    import sys"
    assert call("navigate", action="get_file_outline", path="src/deep/a.py") == "6:def f():"
    with pytest.raises(OutsideWorkspace):
        call("navigate", action="get_tree", directory="..")


def test_a_name_with_a_line_break_is_one_line_of_a_listing(flat):
    flat.put("two\nlines", "needle\n")
    assert flat.call("list_folder") == r"'two\nlines' (7 bytes)"
    assert flat.call("grep", pattern="needle") == r"'two\nlines':1:needle"


def test_long_listings_are_cut(grouped):
    for number in range(510):
        (grouped.folder / f"{number:03}").touch()
    assert grouped.call("navigate", action="list_directory").endswith("[10 more; use find_files to find one of them]")
    assert grouped.call("navigate", action="get_tree").endswith("[there is more; ask for a folder below, or for less depth]")


# previews


def previewed(room, tool, /, run="run", **arguments):
    return asyncio.run(room.toolset.preview(Call("1", tool, arguments), RunContext(run_id=run)))


def call_as_shown(room, shown, tool, /, run="run", **arguments):
    return asyncio.run(room.toolset.call(Call("1", tool, arguments), RunContext(run_id=run, seal=shown.seal)))


@pytest.mark.parametrize("name", CHANGES)
def test_a_change_is_shown_as_a_diff_and_not_made(flat, name):
    flat.put("a.txt", "one\ntwo\nthree\n")
    flat.call("read_file", path="a.txt")
    shown = previewed(flat, name, **CHANGES[name])
    assert shown.text.startswith("--- a.txt\n+++ a.txt\n@@")
    assert flat.get("a.txt") == "one\ntwo\nthree\n"
    told = call_as_shown(flat, shown, name, **CHANGES[name])
    assert set(shown.text.splitlines()[3:]) <= set(told.splitlines())


def test_a_preview_says_which_arguments_its_diff_shows(flat, grouped):
    """Not which file or lines are meant, nor flags, nor a text beside the one that the action takes."""
    flat.put("a.txt", "one\ntwo\nthree\n")
    flat.call("read_file", path="a.txt")
    covered = {name: previewed(flat, name, **CHANGES[name]).covers for name in CHANGES}
    assert covered == {
        "write_file": ("content",),
        "replace_text": ("old", "new"),
        "edit_lines": ("new_content",),
        "insert_lines": ("content",),
        "delete_lines": (),
    }
    assert previewed(flat, "replace_text", path="a.txt", old="o", new="0", replace_all=True).covers == ("old", "new")
    assert previewed(grouped, "file", action="write", path="b.txt", content="a").covers == ("content",)
    assert previewed(grouped, "file", action="write", path="b.txt", content="a", old="b").covers == ()


def test_a_preview_shows_that_the_last_line_has_no_end(flat):
    assert previewed(flat, "write_file", path="b.txt", content="a\nb").text.endswith("+a\n+b\n\\ No newline at end of file")
    flat.put("c.txt", "a")
    flat.call("read_file", path="c.txt")
    assert "No newline" not in previewed(flat, "write_file", path="c.txt", content="b").text


def test_a_new_file_and_one_that_goes_are_shown_whole(grouped):
    lines = [f"line {number}" for number in range(200)]
    shown = previewed(grouped, "file", action="write", path="new.txt", content="\n".join(lines) + "\n")
    assert shown.text.splitlines()[3:] == [f"+{line}" for line in lines]
    grouped.put("old.txt", "\n".join(lines) + "\n")
    gone = previewed(grouped, "file", action="delete", path="old.txt")
    assert gone.text.splitlines()[3:] == [f"-{line}" for line in lines]
    assert not (grouped.folder / "new.txt").exists()
    assert (grouped.folder / "old.txt").exists()


def test_more_lines_than_can_be_compared_are_shown_all_the_same(grouped):
    grouped.put("a.txt", "".join([f"{number}\n" for number in range(3_000)]))
    grouped.call("file", action="read", path="a.txt")
    new = "".join([f"new {number}\n" for number in range(3_000)])
    shown = previewed(grouped, "file", action="write", path="a.txt", content=new).text.splitlines()
    assert shown[2:] == [*[f"-{number}" for number in range(3_000)], *[f"+new {number}" for number in range(3_000)]]


@pytest.mark.parametrize("name", [".env", "folder", "link", "gone", "picture"])
def test_what_is_not_shown_may_still_be_asked_about_before_it_is_deleted(grouped, name):
    grouped.put(".env", "KEY=secret")
    grouped.put("picture", b"\x00\xff\x00")
    (grouped.folder / "folder").mkdir()
    (grouped.folder / "link").symlink_to("picture")
    assert previewed(grouped, "file", action="delete", path=name).text == f"{name} would be deleted."


def test_reading_has_nothing_to_show_and_does_not_count_as_read_before_it_is_done(grouped):
    grouped.put("a.txt", "one\n")
    assert previewed(grouped, "file", action="read", path="a.txt").text == ""
    assert previewed(grouped, "code_edit", action="get_lines", path="a.txt").text == ""
    with pytest.raises(FileNotRead):
        previewed(grouped, "file", action="write", path="a.txt", content="two\n")


def test_a_change_that_cant_be_made_is_a_problem_before_anybody_is_asked(grouped):
    grouped.put("a.txt", "one\n")
    grouped.call("file", action="read", path="a.txt")
    with pytest.raises(BadEdit, match="is not in"):
        previewed(grouped, "file", action="replace", path="a.txt", old="two", new="three")


def test_what_was_approved_is_done_in_another_process_too(grouped, tmp_path):
    grouped.put("a.txt", "one\n")
    grouped.call("file", action="read", path="a.txt")
    shown = previewed(grouped, "file", action="write", path="a.txt", content="two\n")
    call_as_shown(Room(tmp_path), shown, "file", action="write", path="a.txt", content="two\n")
    assert grouped.get("a.txt") == "two\n"


@pytest.mark.parametrize("before", [None, "one\n"])
def test_a_file_that_changed_since_the_approval_stays_as_it_is(grouped, before):
    if before is not None:
        grouped.put("a.txt", before)
        grouped.call("file", action="read", path="a.txt")
    shown = previewed(grouped, "file", action="write", path="a.txt", content="two\n")
    grouped.put("a.txt", "somebody else's\n")
    with pytest.raises(FileChanged, match="since this change was approved"):
        call_as_shown(grouped, shown, "file", action="write", path="a.txt", content="two\n")
    assert grouped.get("a.txt") == "somebody else's\n"


def test_a_file_that_is_gone_since_the_approval_is_not_made_anew(grouped):
    grouped.put("a.txt", "one\n")
    grouped.call("file", action="read", path="a.txt")
    shown = previewed(grouped, "file", action="write", path="a.txt", content="two\n")
    (grouped.folder / "a.txt").unlink()
    with pytest.raises(FileChanged):
        call_as_shown(grouped, shown, "file", action="write", path="a.txt", content="two\n")
    assert not (grouped.folder / "a.txt").exists()


def test_what_another_run_has_read_may_be_shown_to_a_person_and_not_changed_without_one(grouped):
    grouped.put("a.txt", "one\n")
    grouped.call("file", run="first", action="read", path="a.txt")
    shown = previewed(grouped, "file", run="second", action="write", path="a.txt", content="two\n")
    with pytest.raises(FileNotRead):
        grouped.call("file", run="second", action="write", path="a.txt", content="two\n")
    call_as_shown(grouped, shown, "file", run="second", action="write", path="a.txt", content="two\n")
    assert grouped.get("a.txt") == "two\n"

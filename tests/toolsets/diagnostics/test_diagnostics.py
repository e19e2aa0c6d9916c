"""Errors that an edit introduced are added to its result, and a language server that fails is no problem of the edit."""

import asyncio
from pathlib import Path

import pytest

from language_server import SERVER, FakeServer
from treadle import Call, RunContext
from treadle.core.errors import TreadleError
from treadle.core.tool import ToolResult
from treadle.sandbox.probe import check_sandbox
from treadle.tools.tool import tool
from treadle.toolsets.diagnostics.client import PYRIGHT, TYPESCRIPT, Diagnostic, find_language_servers, find_new, keep_certain
from treadle.toolsets.diagnostics.toolset import DiagnosedToolset, Diagnostics
from treadle.toolsets.functions import FunctionToolset
from treadle.toolsets.workspace.tools import workspace_tools
from treadle.toolsets.wrappers import CombinedToolset

WAIT = (60.0, 60.0)


def edits(folder, server, *calls, seconds=WAIT):
    """The results of calls of a workspace's tools, in one session."""

    @tool(effect="write")
    def build() -> str:
        """Change files by a command."""
        return "built"

    async def run():
        inner = CombinedToolset(workspace_tools(folder, flat=True), FunctionToolset([build], "shell"))
        diagnostics = Diagnostics(folder, servers={".py": SERVER}, launch=server.launch, seconds=seconds)
        async with DiagnosedToolset(inner, diagnostics, "workspace") as tools:
            results = []
            for name, arguments in calls:
                results.append(await tools.call(Call("c", name, arguments), RunContext(run_id="run")))
        assert not diagnostics._clients
        return results

    return asyncio.run(run())


@pytest.mark.parametrize("versions", [True, False])
def test_errors_that_an_edit_introduced_are_added_as_text_and_as_data(tmp_path, versions):
    (tmp_path / "a.py").write_text("bad old\nfine\n")
    server = FakeServer(versions=versions)
    _, first, second = edits(
        tmp_path,
        server,
        ("read_file", {"path": "a.py"}),
        ("replace_text", {"path": "a.py", "old": "fine", "new": "bad new"}),
        ("insert_lines", {"path": "a.py", "line_number": 1, "content": "# moved"}),
    )
    assert isinstance(first, ToolResult)
    assert str(first).endswith("checker finds 1 new error after this change:\na.py:2: bad new")
    assert "Modified files: a.py" in str(first)
    assert first.data == {
        "diagnostics": {"server": "checker", "path": "a.py", "errors": [{"line": 2, "message": "bad new", "code": ""}]}
    }
    assert isinstance(second, str)
    assert (tmp_path / "a.py").read_text() == "# moved\nbad old\nbad new\n"
    assert server.methods.count("textDocument/didOpen") == 1
    assert server.methods.count("textDocument/didChange") == 2
    assert "reply" in server.methods  # the server's own request was answered


def test_a_new_file_has_all_its_errors_and_many_are_counted(tmp_path):
    (result,) = edits(tmp_path, FakeServer(), ("write_file", {"path": "new.py", "content": "\n".join(["bad"] * 12) + "\n"}))
    assert str(result).count("new.py:") == 10
    assert str(result).endswith("… and 2 more")


def test_other_files_edits_that_change_nothing_and_deleted_files_are_not_checked(tmp_path):
    (tmp_path / "a.py").write_text("bad\n")
    server = FakeServer()
    results = edits(
        tmp_path,
        server,
        ("write_file", {"path": "notes.txt", "content": "bad\n"}),
        ("read_file", {"path": "a.py"}),
        ("write_file", {"path": "a.py", "content": "bad\n"}),
        ("delete_file", {"path": "a.py"}),
    )
    assert not any("new error" in str(result) for result in results)
    assert server.starts == 0


def test_after_a_command_the_server_is_started_anew(tmp_path):
    server = FakeServer()
    write = ("write_file", {"path": "a.py", "content": "bad\n"})
    other = ("write_file", {"path": "b.py", "content": "bad\n"})
    edits(tmp_path, server, write, other)
    assert server.starts == 1
    (tmp_path / "a.py").unlink()
    (tmp_path / "b.py").unlink()
    edits(tmp_path, server, write, ("build", {}), other)
    assert server.starts == 3


def test_a_server_that_is_slow_or_fails_changes_nothing(tmp_path):
    (tmp_path / "a.py").write_text("fine\n")
    change = ("replace_text", {"path": "a.py", "old": "fine", "new": "bad"})
    slow = edits(tmp_path, FakeServer(answers=False), ("read_file", {"path": "a.py"}), change, seconds=(0.05, 0.05))
    assert isinstance(slow[1], str)
    (tmp_path / "a.py").write_text("fine\n")
    server = FakeServer(dies=True)
    results = edits(tmp_path, server, ("read_file", {"path": "a.py"}), change, ("write_file", {"path": "b.py", "content": "bad\n"}))
    assert all("error" not in str(result) for result in results)
    assert server.starts == 1  # it isn't tried again


def test_a_failed_edit_is_raised_as_ever_and_a_path_outside_is_refused(tmp_path):
    with pytest.raises(TreadleError, match="outside of the workspace"):
        edits(tmp_path, FakeServer(), ("write_file", {"path": "../a.py", "content": "bad\n"}))
    (tmp_path / "a.py").write_text("fine\n")
    with pytest.raises(TreadleError, match="was not read yet"):
        edits(tmp_path, FakeServer(), ("replace_text", {"path": "a.py", "old": "fine", "new": "bad"}))


def test_errors_are_compared_by_what_they_say():
    one, again, other = Diagnostic(1, "x"), Diagnostic(9, "x"), Diagnostic(1, "y")
    assert find_new([one], [again]) == ()
    assert find_new([one], [one, again, other]) == (again, other)
    assert find_new([one], []) == ()


def test_where_an_import_is_not_found_only_errors_that_need_no_types_count():
    missing, name, types = (
        Diagnostic(1, "m", "reportMissingImports"),
        Diagnostic(2, "n", "reportUndefinedVariable"),
        Diagnostic(3, "t", "x"),
    )
    rules = (SERVER.unresolved, SERVER.certain)
    assert keep_certain([name, types], *rules, imports=True) == (name, types)
    assert keep_certain([missing, name, types], *rules, imports=True) == (missing, name)
    assert keep_certain([missing, name, types], *rules, imports=False) == (name,)
    syntax, typescript = Diagnostic(1, "s", "1005"), Diagnostic(1, "t", "2345")
    assert keep_certain([Diagnostic(1, "m", "2307"), syntax, typescript], *rules, imports=False) == (syntax,)


def test_servers_of_the_project_and_of_the_system_are_found(tmp_path, monkeypatch):
    monkeypatch.setattr("shutil.which", lambda name: None)
    assert find_language_servers(tmp_path) == {}
    pyright, modules = tmp_path / "lib" / "pyright", tmp_path / "node_modules"
    programs = {"node": "/opt/node/bin/node", "pyright-langserver": str(pyright / "dist" / "langserver.index.js")}
    monkeypatch.setattr("shutil.which", programs.get)
    monkeypatch.setattr("treadle.toolsets.diagnostics.client.find_spec", lambda name: None)
    assert find_language_servers(tmp_path) == {}
    server, checker = modules / "typescript-language-server" / "lib" / "cli.mjs", modules / "typescript" / "lib" / "tsserver.js"
    for path in (pyright / "dist" / "langserver.index.js", server, checker):
        path.parent.mkdir(parents=True)
        path.write_text("")
    found = find_language_servers(tmp_path)
    assert found[".py"].read == (pyright, Path("/opt/node"))
    assert found[".ts"].read == (Path("/opt/node"),)
    assert found[".ts"].options == {"tsserver": {"fallbackPath": str(checker)}}
    assert {*found} == {*PYRIGHT.languages, *TYPESCRIPT.languages}


def test_pyright_finds_the_types_that_an_edit_breaks_in_the_sandbox(tmp_path):
    if ".py" not in find_language_servers(tmp_path):
        pytest.skip("node or pyright isn't installed")
    if not asyncio.run(check_sandbox(tmp_path)).sandboxed:
        pytest.skip("There is no sandbox here")
    (tmp_path / "a.py").write_text("def f(a: int) -> str:\n    return a\n")

    async def run():
        diagnostics = Diagnostics(tmp_path, seconds=(120, 120))
        async with DiagnosedToolset(workspace_tools(tmp_path, flat=True), diagnostics, "workspace") as tools:
            await tools.call(Call("c", "read_file", {"path": "a.py"}), RunContext(run_id="run"))
            arguments = {"path": "a.py", "line_number": 3, "content": "f('text')\n"}
            return await tools.call(Call("c", "insert_lines", arguments), RunContext(run_id="run"))

    result = asyncio.run(run())
    (error,) = result.data["diagnostics"]["errors"]
    assert (error["line"], error["code"]) == (3, "reportArgumentType")


def launch_directly(server):
    """Start a language server as a process, without a sandbox."""

    async def run(stdin, on_data):
        pipe, nowhere = asyncio.subprocess.PIPE, asyncio.subprocess.DEVNULL
        process = await asyncio.create_subprocess_exec(*server.command, stdin=stdin, stdout=pipe, stderr=nowhere)
        try:
            while data := await process.stdout.read(1 << 16):
                on_data(data)
        finally:
            if process.returncode is None:
                process.kill()
            await process.wait()
            process._transport.close()

    return run


def test_typescript_language_server_finds_the_types_that_an_edit_breaks(tmp_path):
    if ".ts" not in find_language_servers(tmp_path):
        pytest.skip("There is no typescript-language-server here")
    (tmp_path / "tsconfig.json").write_text('{"compilerOptions": {"strict": true}}')
    (tmp_path / "a.ts").write_text("export function double(n: number): number {\n  return n * 2;\n}\n")

    async def run():
        diagnostics = Diagnostics(tmp_path, seconds=(60, 60), launch=launch_directly)
        async with DiagnosedToolset(workspace_tools(tmp_path, flat=True), diagnostics, "workspace") as tools:
            await tools.call(Call("c", "read_file", {"path": "a.ts"}), RunContext(run_id="run"))
            wrong = {"path": "a.ts", "line_number": 4, "content": 'double("three");\n'}
            return await tools.call(Call("c", "insert_lines", wrong), RunContext(run_id="run"))

    result = asyncio.run(run())
    (error,) = result.data["diagnostics"]["errors"]
    assert (error["line"], error["code"]) == (4, "2345")
    assert "typescript-language-server finds 1 new error" in str(result)

"""A coding session in process: its tools in each mode, its changes and how they are undone, plans, tasks and commands."""

import asyncio
import threading
from argparse import Namespace
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import pytest

from treadle import Answer, Approval, RunResult
from treadle.agent.session import AssistantSession
from treadle.assistants.coding import assistant
from treadle.assistants.coding.modes import Mode
from treadle.assistants.coding.project_symbols import ProjectSymbols
from treadle.assistants.coding.session import CodingSession, Task
from treadle.assistants.coding.session_changes import (
    ChangedSince,
    SessionChanges,
    erase_sessions,
    find_mode,
    load_mode,
    save_mode,
    session_folder,
)
from treadle.assistants.coding.session_command import code
from treadle.core.entries import Opened
from treadle.core.errors import ContextNotFound, TreadleError
from treadle.home import close_home, open_home
from treadle.jobs.store import Jobs, JobTaken
from treadle.plugins.assistant import Host
from treadle.testing import Scripted, calls
from treadle.workspace import ToolChange

BEFORE = b"def price(count):\r\n    return count * 3 + 1\r\n"
READ = ("read_file", {"path": "shop.py"})
FIX = ("replace_text", {"path": "shop.py", "old": " + 1", "new": ""})


class Shown:
    """A view that remembers what it was to show."""

    def __init__(self) -> None:
        self.diffs: list[str] = []
        self.tasks: list[Sequence[Task]] = []
        self.modes: list[Mode] = []
        self.show_diff = self.diffs.append
        self.show_tasks = self.tasks.append
        self.show_mode = self.modes.append


class QuietTerminal:
    """A terminal that shows nothing."""

    width = None

    def line(self, text: str = "", style: str = "") -> None: ...

    note = tell = line


class Stage:
    """A folder, a home, and sessions in them."""

    def __init__(self, place: Path) -> None:
        self.folder = place / "shop"
        self.folder.mkdir()
        (self.folder / "shop.py").write_bytes(BEFORE)
        self.home = open_home(place / "home")
        self.shown = Shown()
        self.approvals: list[Approval] = []

    def host(self, **more: Any) -> Host:
        async def model() -> Any:
            raise AssertionError("the session has its model")

        return Host(self.home, model, folder=self.folder, **more)

    def session(self, mode: Mode = "ask") -> CodingSession:
        return CodingSession(assistant, self.host(), mode, self.shown)

    def run(
        self,
        session: CodingSession,
        *replies: Any,
        says: Callable[[Approval], Answer] | None = None,
        run_id: str = "r",
        prompt: str = "Do it.",
    ) -> RunResult[Any]:
        """One turn."""

        def approver(approval: Approval) -> Answer:
            self.approvals.append(approval)
            return Answer(False, reason="No.") if says is None else says(approval)

        self.model = Scripted(*replies)
        talk = AssistantSession(session.assistant, self.host(), {"mode": session.state.mode})
        agent = talk.agent(self.model, approver=approver)
        return asyncio.run(agent.run(prompt, run_id=run_id, journal=self.home.services()))

    def edit(self, session: CodingSession, *edits: tuple[str, dict[str, Any]], **how: Any) -> RunResult[Any]:
        return self.run(session, *[calls(each) for each in edits], "Done.", **how)

    def files(self) -> dict[str, bytes]:
        return {str(path.relative_to(self.folder)): path.read_bytes() for path in self.folder.rglob("*") if path.is_file()}


@pytest.fixture
def stage(tmp_path: Path):
    stage = Stage(tmp_path)
    yield stage
    close_home(stage.home)


def problems(result: RunResult[Any]) -> list[str | None]:
    return [record.result.problem for record in result.calls if record.result is not None]


# modes


def test_reading_searching_and_planning_tasks_ask_for_nothing_in_any_mode(stage: Stage):
    looks = (
        READ,
        ("grep", {"pattern": "price"}),
        ("list_folder", {}),
        ("find_definition", {"name": "price"}),
        ("update_tasks", {"tasks": [{"title": "Look"}]}),
    )
    for mode in ("ask", "accept-edits", "plan"):
        assert problems(stage.edit(stage.session(mode), *looks, run_id=mode)) == [None] * 5
    assert stage.approvals == []


def test_an_edit_is_asked_about_with_its_diff_and_isnt_shown_twice(stage: Stage):
    stage.edit(stage.session(), READ, FIX, says=lambda _: Answer(True))
    (asked,) = stage.approvals
    assert "-    return count * 3 + 1" in asked.preview
    assert stage.files()["shop.py"] == b"def price(count):\r\n    return count * 3\r\n"
    assert stage.shown.diffs == []


def test_an_edit_that_is_refused_changes_nothing_and_the_model_reads_why(stage: Stage):
    result = stage.edit(stage.session(), READ, FIX)
    assert stage.files() == {"shop.py": BEFORE}
    assert result.calls[1].result is not None
    assert "No." in result.calls[1].result.content


def test_accepted_edits_are_shown_as_diffs(stage: Stage):
    stage.edit(stage.session("accept-edits"), READ, FIX)
    assert stage.approvals == []
    (diff,) = stage.shown.diffs
    assert "-    return count * 3 + 1" in diff


def test_accepted_edits_run_after_the_project_guide_was_read(stage: Stage):
    (stage.folder / "AGENTS.md").write_text("Prices are multiples of three.\n")
    stage.edit(stage.session("accept-edits"), READ, FIX)
    assert stage.approvals == []
    assert b" + 1" not in stage.files()["shop.py"]
    assert "Prices are multiples of three." in stage.model.requests[0].instructions


def test_a_switch_during_the_turn_counts_for_the_next_call(stage: Stage):
    session = stage.session()

    def says(_: Approval) -> Answer:
        session.state.switch("accept-edits")
        return Answer(True)

    new = ("write_file", {"path": "new.py", "content": "x = 1\n"})
    stage.edit(session, READ, FIX, new, says=says)
    assert [approval.name for approval in stage.approvals] == ["replace_text"]
    assert stage.files()["new.py"] == b"x = 1\n"
    assert stage.shown.modes == ["accept-edits"]


# plans


def test_plan_mode_refuses_changes_until_the_plan_is_approved(stage: Stage):
    session = stage.session("plan")
    plan = ("propose_plan", {"steps": ["Fix price in shop.py", "Run the tests"]})
    result = stage.edit(session, READ, FIX, plan, FIX, says=lambda _: Answer(True))
    assert problems(result) == [None, "denied", None, None]
    assert [approval.name for approval in stage.approvals] == ["propose_plan", "replace_text"]
    assert stage.approvals[0].preview == "1. Fix price in shop.py\n2. Run the tests"
    assert session.state.mode == "ask"
    assert b" + 1" not in stage.files()["shop.py"]


def test_a_plan_may_be_carried_out_with_edits_accepted(stage: Stage):
    session = stage.session("plan")

    def says(_: Approval) -> Answer:
        session.state.after_plan = "accept-edits"
        return Answer(True)

    stage.edit(session, READ, ("propose_plan", {"steps": ["Fix it"]}), FIX, says=says)
    assert [approval.name for approval in stage.approvals] == ["propose_plan"]
    assert stage.shown.modes == ["accept-edits"]


def test_a_plan_that_is_refused_leaves_the_mode(stage: Stage):
    session = stage.session("plan")
    result = stage.edit(session, ("propose_plan", {"steps": ["Delete everything"]}), READ, FIX)
    assert problems(result) == ["denied", None, "denied"]
    assert session.state.mode == "plan"
    assert stage.files() == {"shop.py": BEFORE}


# changes


def test_undo_is_exact(stage: Stage):
    (stage.folder / "run.sh").write_bytes(b"echo hi\n")
    (stage.folder / "run.sh").chmod(0o755)
    before, session = stage.files(), stage.session("accept-edits")
    stage.edit(
        session,
        READ,
        FIX,
        ("write_file", {"path": "new/deep.py", "content": "x = 1\n"}),
        ("read_file", {"path": "run.sh"}),
        ("delete_file", {"path": "run.sh"}),
    )
    (stage.folder / "mine.txt").write_text("the user's own\n")
    changes = session.changes("r")
    assert [change.tool for change in changes.load()] == ["replace_text", "write_file", "delete_file"]
    undone = asyncio.run(changes.undo(3))
    assert [[(each.kind, each.path) for each in step.restored] for step in undone] == [
        [("added", "run.sh")],
        [("deleted", "new/deep.py")],
        [("modified", "shop.py")],
    ]
    assert stage.files() == {**before, "mine.txt": b"the user's own\n"}
    assert (stage.folder / "run.sh").stat().st_mode & 0o777 == 0o755
    assert not (stage.folder / "new").exists()
    assert asyncio.run(changes.undo()) == []


def test_undo_goes_step_by_step_and_further_edits_follow(stage: Stage):
    session = stage.session("accept-edits")
    again = ("replace_text", {"path": "shop.py", "old": "* 3", "new": "* 4"})
    stage.edit(session, READ, FIX, again)
    changes = session.changes("r")
    asyncio.run(changes.undo())
    assert b"* 3\r\n" in stage.files()["shop.py"]
    stage.edit(session, READ, again)
    assert b"* 4\r\n" in stage.files()["shop.py"]
    assert len(asyncio.run(changes.undo(9))) == 2
    assert stage.files() == {"shop.py": BEFORE}


def test_undo_touches_nothing_that_the_user_changed_since(stage: Stage):
    session = stage.session("accept-edits")
    stage.edit(session, READ, FIX)
    (stage.folder / "shop.py").write_text("mine\n")
    changes = session.changes("r")
    with pytest.raises(ChangedSince):
        asyncio.run(changes.undo())
    assert stage.files() == {"shop.py": b"mine\n"}
    assert len(changes.load()) == 1


def test_another_process_undoes_what_a_session_did(stage: Stage):
    stage.edit(stage.session("accept-edits"), READ, FIX)
    assert asyncio.run(stage.session().changes("r").diff()).count("\n+") == 2
    asyncio.run(stage.session().changes("r").undo())
    assert stage.files() == {"shop.py": BEFORE}
    assert asyncio.run(stage.session().changes("r").diff()) == ""


@pytest.mark.parametrize("goes_on", [False, True], ids=["at once", "after another change"])
def test_a_change_that_was_cut_off_by_the_end_of_its_process_is_undone_too(stage: Stage, goes_on: bool):
    changes = stage.session().changes("r")
    changes.record(ToolChange("1", "write_file", asyncio.run(changes.checkpoints.take("before"))))
    (stage.folder / "shop.py").write_text("half\n")
    if goes_on:
        stage.edit(stage.session("accept-edits"), ("write_file", {"path": "new.py", "content": "x\n"}))
    assert len(asyncio.run(changes.undo(2))) == 1 + goes_on
    assert stage.files() == {"shop.py": BEFORE}


def test_changes_that_cant_be_read_are_an_error(stage: Stage):
    folder = stage.home.folder / "sessions" / "r"
    folder.mkdir(parents=True)
    (folder / "changes.json").write_text("{")
    with pytest.raises(TreadleError, match="can't be read"):
        SessionChanges(stage.folder, stage.home.folder, "r").load()


def test_what_is_stored_of_a_run_goes_with_it(stage: Stage):
    stage.edit(stage.session("accept-edits"), READ, FIX)
    assert (stage.home.folder / "sessions" / "r").is_dir()
    asyncio.run(erase_sessions(stage.home, ["r", "unknown"]))
    assert not (stage.home.folder / "sessions" / "r").exists()


@pytest.mark.parametrize("run_id", ["../up", "a/b", "..", "x" * 300])
def test_a_runs_id_leads_out_of_no_folder(tmp_path: Path, run_id: str):
    assert session_folder(tmp_path, run_id).parent == tmp_path / "sessions"
    assert ".." not in session_folder(tmp_path, run_id).name


# tasks and commands


def test_the_task_list_is_shown(stage: Stage):
    tasks = [{"title": "Look", "state": "done"}, {"title": "Fix", "state": "active"}, {"title": "Test"}]
    session = stage.session()
    result = stage.edit(session, ("update_tasks", {"tasks": tasks}), ("update_tasks", {"tasks": [{"title": "x", "state": "odd"}]}))
    assert stage.shown.tasks == [(Task("Look", "done"), Task("Fix", "active"), Task("Test"))]
    assert session.tasks == stage.shown.tasks[0]
    assert problems(result) == [None, "invalid"]


def test_a_command_of_the_user_runs_in_the_sandbox(stage: Stage):
    (stage.folder.parent / "outside.txt").write_text("a secret")
    session = stage.session()
    said = asyncio.run(session.run_shell_line("cat shop.py ../outside.txt"))
    assert "def price" in said
    assert "a secret" not in said
    assert stage.approvals == []


def test_a_command_runs_in_the_background_and_its_output_is_read(stage: Stage):
    started, read = ("start_command", {"command": "echo begun; echo made > made.txt"}), ("background_result", {"id": "call_1_1"})
    result = stage.edit(stage.session("accept-edits"), started, READ, read)
    assert result.text == "Done."
    assert result.calls[-1].result is not None
    assert "begun" in result.calls[-1].result.content
    assert "Modified files: made.txt" in result.calls[-1].result.content
    asyncio.run(stage.session().changes("r").undo())
    assert stage.files() == {"shop.py": BEFORE}


def test_a_mode_is_stored_with_its_run_and_another_process_switches_it(stage: Stage):
    home = stage.home.folder
    session = stage.session("accept-edits")
    stage.edit(session, READ)
    assert load_mode(home, "r") == "accept-edits"
    session.state.switch("ask")
    assert load_mode(home, "r") == "ask"
    save_mode(home, "r", "plan")  # by another process
    assert problems(stage.edit(session, READ, FIX)) == [None, "denied"]
    assert session.state.mode == "plan"
    entries = (Opened(origin={"about": {"mode": "accept-edits"}}),)
    assert find_mode(home, "r", entries) == "plan"
    (session_folder(home, "r") / "mode").write_bytes(b"\xff")
    assert find_mode(home, "r", entries) == "accept-edits"  # the one that it started in
    assert find_mode(home, "r", ()) is None


def test_a_later_turn_of_a_conversation_is_in_the_mode_that_is_stored(stage: Stage):
    def turn(*replies: Any) -> RunResult[Any]:
        agent = AssistantSession(assistant, stage.host(), {"mode": "plan"}).agent(Scripted(*replies))
        return asyncio.run(agent.run("Do it.", run_id="r", journal=stage.home.services()))

    assert problems(turn(calls(READ), calls(FIX), "I can't.")) == [None, "denied"]
    save_mode(stage.home.folder, "r", "accept-edits")
    assert problems(turn(calls(READ), calls(FIX), "Done."))[-2:] == [None, None]


# jobs in the same folder


def test_while_a_job_changes_the_folder_the_session_reads_and_changes_nothing(stage: Stage):
    session, jobs = stage.session("accept-edits"), Jobs(stage.home.folder)
    with jobs.alone_in(str(stage.folder)):
        result = stage.edit(session, READ, FIX)
    assert problems(result) == [None, "raised"]
    assert result.calls[1].result is not None
    assert f"A job is changing {stage.folder}" in result.calls[1].result.content
    assert stage.files() == {"shop.py": BEFORE}
    assert problems(stage.edit(session, READ, FIX))[-2:] == [None, None]


def test_a_job_doesnt_start_in_a_folder_while_a_turn_changes_it(stage: Stage):
    session, jobs = stage.session(), Jobs(stage.home.folder)
    taken: list[str] = []

    def says(approval: Approval) -> Answer:
        try:
            with jobs.alone_in(str(stage.folder)), jobs.along_in(str(stage.folder / "other")):
                taken.append("")
        except JobTaken as error:
            taken.append(str(error))
        return Answer(True)

    new = ("write_file", {"path": "new.py", "content": "x = 1\n"})
    stage.edit(session, READ, FIX, new, says=says)
    assert taken[0] == ""  # nothing was changed yet
    assert "a coding session is changing" in taken[1]
    with jobs.alone_in(str(stage.folder)), pytest.raises(JobTaken, match="A job is changing"), session.lock_folder():
        pass  # neither is anything undone meanwhile


# the symbol index


def test_the_index_is_built_before_the_first_question_and_shared(stage: Stage, monkeypatch: pytest.MonkeyPatch):
    pytest.importorskip("tree_sitter", reason="tree-sitter isn't installed")
    monkeypatch.setenv("TREADLE_CODING_INDEX", "true")
    session = stage.session()

    async def work() -> Sequence[Any]:
        session.start()
        session.start()  # once is enough
        starting = session.symbols._starting
        assert starting is not None
        await asyncio.to_thread(starting.join)
        index = session.symbols._opened
        assert index is not None
        assert index._background is not None
        await asyncio.to_thread(index._background.join)
        monkeypatch.setattr("treadle.assistants.reading.symbols.index._parse", None)  # nothing is left to be parsed
        found = await session.symbols.find_definitions("price")
        await session.close()
        assert index._background is None
        return found

    (found,) = asyncio.run(work())
    assert (found.path, found.name) == ("shop.py", "price")
    result = stage.edit(session, ("find_definition", {"name": "price"}))
    assert result.calls[0].result is not None
    assert "shop.py:1" in result.calls[0].result.content


def test_a_session_that_is_closed_at_once_leaves_no_thread(stage: Stage, monkeypatch: pytest.MonkeyPatch):
    pytest.importorskip("tree_sitter", reason="tree-sitter isn't installed")
    monkeypatch.setenv("TREADLE_CODING_INDEX", "true")
    session = stage.session()
    session.start()
    asyncio.run(session.close())
    assert not {"symbol-index", "project-symbols"} & {thread.name for thread in threading.enumerate()}


def test_an_index_that_is_switched_off_or_without_grammars_is_not_built(stage: Stage, monkeypatch: pytest.MonkeyPatch):
    session = stage.session()
    session.start()
    assert session.symbols._starting is None
    monkeypatch.setattr("treadle.assistants.coding.project_symbols.find_spec", lambda _: None)
    symbols = ProjectSymbols(stage.folder)
    symbols.start()
    assert symbols._starting is None
    assert symbols.lookup is None
    asyncio.run(symbols.close())


# other hosts


def test_a_conversation_about_a_mode_is_a_session(stage: Stage):
    agent = AssistantSession(assistant, stage.host(), {"mode": "plan"}).agent(Scripted("Hello."))
    names = {tool.name for tool in agent.setup.toolset.tools()}
    assert {"replace_text", "propose_plan", "update_tasks", "start_command"} <= names
    with pytest.raises(ContextNotFound, match="accept-edits"):
        AssistantSession(assistant, stage.host(), {"mode": "yolo"}).agent(Scripted("Hello."))


def test_a_shared_host_without_a_sandbox_has_no_tools_that_change_files(stage: Stage, monkeypatch: pytest.MonkeyPatch):
    settings = stage.folder.parent / "own.toml"
    settings.write_text("[commands]\nsandbox = false\n")
    monkeypatch.setenv("TREADLE_CONFIG", str(settings))
    for shared in (False, True):
        session = CodingSession(assistant, stage.host(shared=shared))
        agent = AssistantSession(session.assistant, stage.host(shared=shared)).agent(Scripted("Hello."))
        assert ("replace_text" in {tool.name for tool in agent.setup.toolset.tools()}) is not shared
        assert session.accepts("replace_text") is not shared
        assert not session.accepts("run_command")  # no sandbox confines it


@pytest.mark.parametrize("interactive", [True, False])
def test_the_command_builds_the_index_while_it_is_used_and_not_for_one_prompt(
    stage: Stage, monkeypatch: pytest.MonkeyPatch, interactive: bool
):
    seen: list[str] = []

    class Talk:
        run_id, is_interactive = "r", interactive

        async def converse(self, *_: Any) -> int:
            seen.append("conversation")
            return 0

        async def ask(self, *_: Any) -> RunResult[Any]:
            seen.append("answer")
            return await AssistantSession(assistant, stage.host()).agent(Scripted("Hello.")).run("Hi.")

    async def model() -> Any:
        return Scripted("Hello.")

    async def close(self: ProjectSymbols) -> None:
        seen.append("closed")

    monkeypatch.setenv("TREADLE_CODING_INDEX", "true")
    monkeypatch.setattr(ProjectSymbols, "start", lambda self: seen.append("started"))
    monkeypatch.setattr(ProjectSymbols, "close", close)
    host = Host(stage.home, model, folder=stage.folder, terminal=QuietTerminal(), talk=lambda *_: Talk())
    args = Namespace(words=["hi"], mode=None, continue_last=False, resume=None, check="")
    assert asyncio.run(code(args, host)) == 0
    assert seen == (["started", "conversation", "closed"] if interactive else ["answer", "closed"])

"""Conversations over real HTTP: listed, renamed, pinned, exported and deleted."""

import asyncio

from server.pages.kept import job
from server.running import Serving
from server.runs.asking import rivers, with_server
from treadle.core.entries import Opened, Said
from treadle.home import close_home, open_home
from treadle.models.scripted import Scripted
from treadle.plugins.assistant import Panel
from treadle.server.pages import conversation_path

SECRET = "sk-ant-api03-" + "a" * 95


async def said(ask, message, **more):
    _, run = await ask("POST", "/api/runs", {"assistant": "rivers", "message": message, **more})
    await ask.ended(run["run_id"])
    return run["run_id"]


async def listed(ask, query=""):
    return (await ask("GET", f"/api/conversations{query}"))[1]["conversations"]


def serving(tmp_path, *replies):
    return Serving(tmp_path, [rivers()], Scripted(*replies))


def test_a_conversation_is_renamed_pinned_and_named_anew(tmp_path):
    async def work(ask):
        first, second = await said(ask, "How deep is the Elbe?"), await said(ask, "And the Ems?")
        before = await listed(ask)
        path = f"/api/conversations/{first}"
        renamed = await ask("PUT", path, {"title": f"  Deep\n rivers {SECRET}"})
        pinned = await ask("PUT", path, {"pinned": True})
        after, found, none = await listed(ask), await listed(ask, "?search=deep%20rivers"), await listed(ask, "?assistant=nothing")
        await ask("PUT", path, {"title": "", "pinned": False})
        return first, second, before, renamed, pinned, after, found, none, await listed(ask, "?limit=1")

    with serving(tmp_path, "Deep.", "Less.") as server:
        first, second, before, renamed, pinned, after, found, none, last = with_server(server, work)
    assert [(each["id"], each["title"], each["pinned"]) for each in before] == [
        (second, "And the Ems?", False),
        (first, "How deep is the Elbe?", False),
    ]
    assert before[0]["path"] == f"/?run={second}"
    assert renamed[0] == pinned[0] == 200
    assert renamed[1]["title"].startswith("Deep rivers ")
    assert SECRET not in renamed[1]["title"]
    assert [(each["id"], each["pinned"]) for each in after] == [(first, True), (second, False)]
    assert [each["id"] for each in found] == [first]
    assert none == []
    assert [each["title"] for each in last] == ["And the Ems?"]


def test_runs_of_one_session_are_exported_and_deleted_together(tmp_path):
    async def work(ask):
        runs = [await said(ask, words, context={"session_id": "s1"}) for words in ("How deep?", f"Really? {SECRET}")]
        (found,) = await listed(ask)
        async with ask._session.get(f"{ask.url}/api/conversations/s1/export") as answer:
            exported = answer.content_type, await answer.text()
        deleted = await ask("DELETE", "/api/conversations/s1")
        gone = [(await ask("GET", f"/api/runs/{run}"))[0] for run in runs]
        return runs, found, exported, deleted, gone, await ask("DELETE", "/api/conversations/s1")

    with serving(tmp_path, "Two metres.", "Yes.") as server:
        runs, found, (kind, text), deleted, gone, again = with_server(server, work)
    assert (found["id"], found["run_id"], found["title"]) == ("s1", runs[1], "How deep?")
    assert kind == "text/markdown"
    assert text.startswith("# How deep?\n\n## You\n\nHow deep?\n\n## Rivers\n\nTwo metres.\n\n## You\n\nReally? ")
    assert SECRET not in text
    assert (deleted[0], gone, again[0]) == (204, [404, 404], 404)
    assert again[1]["error"] == "There is no conversation 's1'."


def test_a_conversation_is_shown_in_its_assistants_panel_where_that_can(tmp_path):
    shown = rivers()
    assert conversation_path(shown, "c", "r/1", is_job=False) == "/?run=r%2F1"
    assert conversation_path(shown, "c", "r", is_job=True) == "/jobs/r"
    panel = Panel("Rivers", tmp_path, conversation="session={id}&run={run_id}", job="job={run_id}")
    with_panel = type(shown)(**{name: getattr(shown, name) for name in shown.__struct_fields__} | {"panel": panel})
    assert conversation_path(with_panel, "c 1", "r", is_job=False) == "/rivers/?session=c%201&run=r"
    assert conversation_path(with_panel, "c", "r", is_job=True) == "/rivers/?job=r"


def test_a_job_is_a_conversation_with_its_assistant_whichever_agent_works_on_it(tmp_path):
    made = job(tmp_path, "Count the rivers", assistant="rivers", state="completed")

    async def write():
        home = open_home(tmp_path / "data")
        await home.journal.append(made.id, 0, [Opened(agent="rivers-count", at=1.0), Said(text="Do this: count", at=1.0)])
        close_home(home)

    async def work(ask):
        found = await listed(ask, "?assistant=rivers")
        return found, await ask("DELETE", f"/api/conversations/{made.id}"), await listed(ask)

    asyncio.run(write())
    with serving(tmp_path) as server:
        found, deleted, left = with_server(server, work)
    assert [(each["title"], each["assistant"], each["path"]) for each in found] == [
        ("Count the rivers", "rivers", f"/jobs/{made.id}"),
    ]
    assert (deleted[0], left) == (204, [])


def test_answers_are_rated_found_by_their_rating_and_rated_no_more(tmp_path):
    async def work(ask):
        first, second = await said(ask, "How deep is the Elbe?"), await said(ask, "And the Ems?")
        path = f"/api/runs/{first}/feedback"
        bad = await ask("PUT", f"{path}/1", {"rating": "bad", "comment": f"Not deep. {SECRET}"})
        wrong = [
            await ask("PUT", f"{path}/2", {"rating": "good"}),
            await ask("PUT", f"{path}/1", {"rating": "fine"}),
            await ask("PUT", "/api/runs/none/feedback/1", {"rating": "good"}),
            await ask("DELETE", f"{path}/7"),
        ]
        found = (await ask("GET", f"/api/feedback?runs={second},{first},none"))[1]["feedback"]
        runs = (await ask("GET", "/api/runs?rating=bad"))[1]["runs"]
        gone = await ask("DELETE", f"{path}/1")
        return first, bad, [status for status, _ in wrong], found, runs, gone, await ask("GET", "/api/runs?rating=bad")

    with serving(tmp_path, "Deep.", "Less.") as server:
        first, bad, wrong, found, runs, gone, after = with_server(server, work)
    assert bad[0] == 200
    assert (bad[1]["message"], bad[1]["rating"], SECRET in bad[1]["comment"]) == (1, "bad", False)
    assert wrong == [404, 400, 404, 404]
    assert found == {first: [bad[1]]}
    assert [run["run_id"] for run in runs] == [first]
    assert (gone[0], after[1]["runs"]) == (204, [])

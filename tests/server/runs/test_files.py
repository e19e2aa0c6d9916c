"""A change of a file over HTTP, as the page asks about it: reading needs no approval, a change has one with its diff."""

from server.running import Serving, assistant
from server.runs.asking import names, with_server
from treadle.assistants.coding import assistant as coding
from treadle.models.scripted import Scripted, calls
from treadle.toolsets.workspace.tools import workspace_tools


def test_a_change_is_approved_by_its_diff_and_made_of_the_file_that_was_shown(tmp_path):
    folder = tmp_path / "project"
    folder.mkdir()
    (folder / "a.txt").write_text("one\n")
    writer = assistant("writer", toolsets=lambda host: [workspace_tools(folder)], policy=coding.policy)
    reading = calls(("file", {"action": "read", "path": "a.txt"}))
    changing = calls(("code_edit", {"action": "edit_lines", "path": "a.txt", "start_line": 1, "end_line": 1, "new_content": "two"}))

    async def work(ask):
        told = await ask.events("/api/runs", {"assistant": "writer", "message": "Make it two."})
        (asked,) = told[-1].data["approvals"]
        before = (folder / "a.txt").read_text()
        path = f"/api/runs/{told[-1].data['run_id']}/approvals/{asked['call_id']}"
        return told, asked, before, await ask.events(path, {"approved": True, "digest": asked["digest"]})

    with Serving(tmp_path, [writer], Scripted(reading, changing, "Done.")) as server:
        told, asked, before, went_on = with_server(server, work)
    assert names(told).count("approval_needed") == 1
    assert (asked["name"], asked["preview"], before) == ("code_edit", "--- a.txt\n+++ a.txt\n@@ -1 +1 @@\n-one\n+two", "one\n")
    assert (went_on[-1].data["message"], (folder / "a.txt").read_text()) == ("Done.", "two\n")

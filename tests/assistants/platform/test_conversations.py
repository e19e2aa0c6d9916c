"""The conversations that the assistant was made for, end to end over HTTP; the model is scripted."""

import asyncio
import json

import pytest

from assistants.platform.platform_setup import SPEC, agent, approved, told
from treadle import Message, Text
from treadle.stores.memory import MemoryJournal
from treadle.testing import Scripted, calls


def results(request):
    return [part.content for part in request.history[-1].parts]


def test_what_applications_do_i_have(either):
    (said,) = told(either, ("list_applications", {}))
    assert [each["name"] for each in json.loads(said)] == ["checkout", "demo-app", "storefront"]


def test_show_me_failed_workflows_for_demo_app(either):
    listed, detail = told(
        either, ("list_workflows", {"app_name": "demo-app", "status": "failed"}), ("get_workflow", {"workflow_id": "#7"})
    )
    (failed,) = json.loads(listed)
    assert (failed["id"], failed["workflow_name"], failed["failed_steps"]) == (7, "deploy-app", 1)
    assert "health check failed" in detail
    assert "password authentication failed" in detail


def test_deploy_my_app_and_show_its_status(fresh, tmp_path):
    def status(request):
        """The second call goes by the first one's result."""
        answer = json.loads(results(request)[0])
        fresh.settle()
        return calls(("get_application", {"app_name": answer["name"]}))

    result, model = approved(fresh, tmp_path, calls(("deploy_application", {"spec_content": SPEC})), status, "It runs.")
    assert [(record.name, record.problem) for record in result.calls] == [("deploy_application", None), ("get_application", None)]
    seen = json.loads(results(model.requests[2])[0])
    assert seen["newest_workflow"]["status"] == "completed"
    assert seen["resources"] == [{"resource_name": "db", "resource_type": "postgres-mock", "state": "active"}]
    assert result.output == "It runs."


def test_deploy_that_one(demo, tmp_path):
    """The spec that was shown, without the model writing it once more."""
    shown = f"Here it is:\n\n```yaml\n{SPEC}```\nShall I deploy it?"
    model = Scripted(calls(("deploy_application", {})), "Done.")
    ours = agent(demo, model)
    history = [Message("person", (Text("A spec, please."),)), Message("model", (Text(shown),))]

    async def tale():
        waiting = await ours.run("Deploy that one.", history=history)
        (approval,) = waiting.approvals
        await ours.approve(waiting.run_id, approval.call_id)
        return approval, await ours.resume(waiting.run_id)

    approval, result = asyncio.run(tale())
    assert "my-app would be a new application" in approval.preview
    assert "image: nginx:1.27" in approval.preview
    assert result.calls[0].problem is None
    assert "my-app" in told(demo, ("list_applications", {}))[0]


def test_deploying_shows_the_difference_to_what_runs(demo, tmp_path):
    spec = json.loads(told(demo, ("get_application", {"app_name": "demo-app"}))[0])["spec"]
    spec["containers"]["app"]["image"] = "registry.example/demo/app:3.0.0"
    spec["containers"]["app"]["env"] = {"A": "b"}
    waiting = asyncio.run(agent(demo, Scripted(calls(("deploy_application", {"spec_content": json.dumps(spec)})))).run("Go."))
    lines = waiting.approvals[0].preview.splitlines()
    assert "-    image: registry.example/demo/app:2.1.0" in lines
    assert "+    image: registry.example/demo/app:3.0.0" in lines
    assert any(line.startswith("! ") and "env" in line for line in lines)


def test_deploying_what_runs_already_is_said_to_change_nothing(demo):
    spec = json.dumps(json.loads(told(demo, ("get_application", {"app_name": "demo-app"}))[0])["spec"])
    waiting = asyncio.run(agent(demo, Scripted(calls(("deploy_application", {"spec_content": spec})))).run("Go."))
    assert "already runs with this spec" in waiting.approvals[0].preview


def test_deleting_shows_what_belongs_to_it_and_happens_only_when_approved(fresh, tmp_path):
    waiting = asyncio.run(agent(fresh, Scripted(calls(("delete_application", {"app_name": "storefront"})))).run("Go."))
    assert "- db (postgres, active)" in waiting.approvals[0].preview
    refused, model = approved(
        fresh, tmp_path / "a", calls(("delete_application", {"app_name": "storefront"})), "As you like.", yes=False
    )
    assert "Not today." in results(model.requests[1])[0]
    assert "storefront" in told(fresh, ("list_applications", {}))[0]
    done, _ = approved(fresh, tmp_path / "b", calls(("delete_application", {"app_name": "storefront"})), "Gone.")
    assert (refused.output, done.output) == ("As you like.", "Gone.")
    assert "storefront" not in told(fresh, ("list_applications", {}))[0]


def test_what_has_changed_since_the_person_was_asked_is_not_deployed_over(demo, tmp_path):
    ours = agent(demo, Scripted(calls(("deploy_application", {"spec_content": SPEC})), "So."))

    async def tale():
        waiting = await ours.run("Go.")
        other = agent(demo, Scripted(calls(("deploy_application", {"spec_content": SPEC.replace("1.27", "1.28")})), "."))
        first = await other.run("x")
        await other.approve(first.run_id, first.approvals[0].call_id)
        await other.resume(first.run_id)
        await ours.approve(waiting.run_id, waiting.approvals[0].call_id)
        return await ours.resume(waiting.run_id)

    assert "has changed since the person was asked" in asyncio.run(tale()).calls[0].result.content
    assert "nginx:1.28" in told(demo, ("get_application", {"app_name": "my-app"}))[0]


def test_a_name_that_doesnt_exist_is_answered_with_those_that_do(either):
    (said,) = told(either, ("get_application", {"app_name": "demo app/../x?y"}))
    assert said == "There is no application 'demo app/../x?y'. There are: checkout, demo-app, storefront."


def test_a_spec_with_errors_is_not_sent_and_nobody_is_asked(demo):
    (said,) = told(demo, ("deploy_application", {"spec_content": "metadata: {name: My_App}\ncontainers: {}"}))
    assert "The spec has errors, so it wasn't sent." in said
    assert "line 1" in said


def test_without_a_spec_in_the_conversation_there_is_nothing_to_deploy(demo):
    (said,) = told(demo, ("deploy_application", {}))
    assert said.startswith("There is no spec in this conversation yet.")


def test_without_a_token_every_tool_says_that_nobody_is_signed_in(either):
    for said in told(either, ("list_applications", {}), ("get_application", {"app_name": "x"}), ("get_current_user", {}), token=""):
        assert said.startswith("No user is signed in to the platform")


def test_an_expired_token_is_said_to_be_one(either):
    (said,) = told(either, ("list_workflows", {}), token=either.expired_token)
    assert said.startswith("The platform doesn't accept the person's token: it is wrong, or has expired.")


def test_another_teams_application_is_refused(either):
    (said,) = told(either, ("get_application", {"app_name": "reports"}))
    assert said.startswith("The platform refused: Access denied.")


def test_what_an_old_platform_doesnt_have_is_said(either):
    paths, providers = told(either, ("list_golden_paths", {}), ("list_providers", {}))
    is_old = "web page" in providers
    assert is_old == ("nothing at /api/golden-paths" in paths)
    assert is_old or "deploy-app" in paths


def test_nothing_is_an_answer_too(demo):
    assert told(demo, ("list_workflows", {"app_name": "nothing"}), ("list_resources", {"app_name": "nothing"})) == [
        "There are no such workflows.",
        "nothing has no resources.",
    ]


def test_an_id_that_is_no_number_is_answered_with_where_to_find_one(demo):
    assert told(demo, ("get_workflow", {"workflow_id": "deploy-app"})) == [
        "A workflow's id is a number. list_workflows shows them."
    ]


def test_reads_are_reused_and_forgotten_after_a_write(demo, tmp_path):
    def status(request):
        demo.settle()
        return calls(("list_applications", {}))

    replies = [
        calls(("list_applications", {})),
        calls(("list_applications", {})),
        calls(("deploy_application", {"spec_content": SPEC})),
    ]
    result, model = approved(demo, tmp_path, *replies, status, "Well.")
    cached = [entry.cached for entry in result.entries if type(entry).__name__ == "Returned"]
    assert cached == [False, True, False, False]
    assert "my-app" in results(model.requests[4])[0]


def test_the_spec_in_the_same_reply_is_that_one(demo):
    old, new = SPEC.replace("my-app", "old-app"), SPEC.replace("my-app", "new-app")
    model = Scripted(f"```yaml\n{old}```", calls(("deploy_application", {}), text=f"This one:\n```yaml\n{new}```"))
    ours = agent(demo, model)

    async def tale():
        journal = MemoryJournal()
        await ours.run("Write.", run_id="r", journal=journal)
        return await ours.run("Another, and deploy it.", run_id="r", journal=journal)

    assert "new-app would be a new application" in asyncio.run(tale()).approvals[0].preview


@pytest.mark.parametrize("name", ["..", ".", "", " "])
def test_what_would_be_another_path_is_no_name(demo, name):
    (said,) = told(demo, ("delete_application", {"app_name": name}))
    assert "can't be the name of anything" in said


def test_a_block_of_yaml_inside_of_a_spec_belongs_to_it(demo):
    inner = "".join([f"        {line}\n" for line in ("```yaml", *SPEC.replace("my-app", "inner").splitlines(), "```")])
    spec = SPEC.replace("image: nginx:1.27\n", f"image: nginx:1.27\n    variables:\n      DOC: |\n{inner}")
    waiting = asyncio.run(agent(demo, Scripted(calls(("deploy_application", {"spec_content": spec})))).run("Go."))
    assert waiting.approvals[0].preview.startswith("my-app would be a new application")

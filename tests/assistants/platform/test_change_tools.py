"""Golden paths are run and workflows retried when they are approved; what they begin has its number."""

import asyncio
import json

import pytest

from assistants.platform.platform_setup import SPEC, agent, approved, told
from treadle import ToolProblem
from treadle.assistants.platform import api_calls
from treadle.assistants.platform.change_tools import PlatformChangeTools
from treadle.assistants.platform.client import PlatformClient
from treadle.core.context import RunContext
from treadle.demo.platform import start_demo
from treadle.testing import Scripted, calls

BRANCH = {"path": "ephemeral-env", "spec_content": SPEC, "parameters": {"branch": "feature-x"}}


def waiting(demo, *asked):
    return asyncio.run(agent(demo, Scripted(calls(*asked), "So.")).run("Go."))


def brought(result):
    return json.loads(result.calls[0].result.content)


def test_a_deployment_names_its_workflow(fresh, tmp_path):
    """As the next call needs it: deploy, then look at the workflow that this began."""

    def look(request):
        number = json.loads(request.history[-1].parts[0].content)["workflow_id"]
        fresh.settle()
        return calls(("get_workflow", {"workflow_id": str(number)}))

    result, _ = approved(fresh, tmp_path, calls(("deploy_application", {"spec_content": SPEC})), look, "It runs.")
    number = brought(result)["workflow_id"]
    assert number > 8  # of the samples
    assert (result.calls[1].result.data["id"], result.calls[1].result.data["application_name"]) == (number, "my-app")


def test_a_golden_path_is_shown_and_runs_when_it_is_approved(fresh, tmp_path):
    asked = ("run_golden_path", BRANCH)
    (approval,) = waiting(fresh, asked).approvals
    for words in ("The golden path ephemeral-env would run", "- branch: feature-x", "my-app would be a new application"):
        assert words in approval.preview
    result, _ = approved(fresh, tmp_path, calls(asked), "It runs.")
    done = brought(result)
    assert (done["golden_path"], done["application"]) == ("ephemeral-env", "my-app")
    fresh.settle()
    (said,) = told(fresh, ("get_workflow", {"workflow_id": str(done["workflow_id"])}))
    assert '"workflow_name":"golden-path-ephemeral-env"' in said.replace(": ", ":")


def test_a_path_that_isnt_there_or_wants_to_know_more_is_said_before_anybody_is_asked(demo):
    other, unsaid = told(
        demo,
        ("run_golden_path", {"path": "fly", "spec_content": SPEC}),
        ("run_golden_path", {"path": "ephemeral-env", "spec_content": SPEC}),
    )
    assert other.startswith("There is no golden path 'fly'. There are: ")
    assert unsaid.startswith("The golden path ephemeral-env wants to know: branch.")


def test_a_failed_workflow_is_shown_and_retried_when_that_is_approved(demo, tmp_path):
    asked = ("retry_workflow", {"workflow_id": "#7"})
    (approval,) = waiting(demo, asked).approvals
    for words in ("Workflow 7 (deploy-app of demo-app)", "health check failed", "check-health"):
        assert words in approval.preview
    result, _ = approved(demo, tmp_path, calls(asked), "It runs.")
    number = brought(result)["workflow_id"]
    demo.settle()
    (said,) = told(demo, ("get_workflow", {"workflow_id": str(number)}))
    again = json.loads(said)
    assert (again["parent_execution_id"], again["status"]) == (7, "completed")


@pytest.mark.parametrize(("number", "said"), [("8", "8 is running"), ("1", "1 is completed"), ("x", "A workflow's id is a number")])
def test_what_hasnt_failed_isnt_retried_and_nobody_is_asked(demo, number, said):
    result = waiting(demo, ("retry_workflow", {"workflow_id": number}))
    assert result.approvals == ()
    assert said in result.calls[0].result.content


def test_another_teams_workflow_isnt_there(demo):
    (said,) = told(demo, ("retry_workflow", {"workflow_id": "6"}))
    assert "not found" in said


def test_a_platform_that_cant_retry_says_so(tmp_path):
    with start_demo(shape="old") as old:
        result, _ = approved(old, tmp_path, calls(("retry_workflow", {"workflow_id": "7"})), "It can't.")
    assert "This platform has nothing at /api/workflows/7/retry" in result.calls[0].result.content


def test_whether_a_retry_happened_is_found_out_from_the_platform(demo):
    async def tale():
        async with PlatformClient(demo.url, demo.token("alice")) as platform:
            changes, ctx = PlatformChangeTools(platform), RunContext(run_id="r", key="k")
            before = await changes.was_retried(ctx, "7")
            await api_calls.post_retry(platform, 7, "k")
            return before, await changes.was_retried(ctx, "7")

    before, after = asyncio.run(tale())
    assert before is None
    assert after["message"] == "Workflow 7 was retried."


def test_what_was_approved_for_somebody_else_isnt_retried(demo):
    async def tale():
        async with PlatformClient(demo.url, demo.token("admin")) as admin, PlatformClient(demo.url, demo.token("alice")) as alice:
            ctx = RunContext(run_id="r", key="k")
            shown = await PlatformChangeTools(admin).to_retry(ctx, "7")
            with pytest.raises(ToolProblem, match="approved on another platform or by another user"):
                await PlatformChangeTools(alice).retry_workflow(RunContext(run_id="r", key="k", seal=shown.seal), "7")

    asyncio.run(tale())

"""Rights: one's own token, one's own team, and no trace of the token anywhere."""

import asyncio
import json
import logging

import pytest

from assistants.platform.platform_setup import SPEC, agent, approved, kept, told
from treadle import Agent, allow, open_home
from treadle.assistants.platform.client import PlatformClient
from treadle.assistants.platform.settings import PlatformSettings
from treadle.assistants.platform.tools import PlatformTools
from treadle.testing import Scripted, calls

THEIRS = {
    "alice": ("reports", "metrics-pipeline", "developer-portal"),
    "bob": ("storefront", "demo-app", "checkout", "developer-portal"),
}


@pytest.mark.parametrize("who", THEIRS)
def test_whatever_the_model_asks_nothing_of_another_team_is_read(either, who):
    names = THEIRS[who]
    asked = [("list_applications", {}), ("list_workflows", {}), ("list_resources", {}), ("get_dashboard_stats", {})]
    for name in names:
        asked += [(tool, {"app_name": name}) for tool in ("get_application", "list_workflows", "list_resources")]
    asked += [("get_workflow", {"workflow_id": str(number)}) for number in range(1, 12)]
    everything = "\n".join(told(either, *asked, who=who))
    records = [line for line in everything.splitlines() if line.startswith(("[", "{"))]
    assert len(records) > 6  # so much is theirs
    assert not any(name in record for record in records for name in names)


@pytest.mark.parametrize("who", THEIRS)
def test_nor_is_anything_changed(demo, tmp_path, who):
    before = told(demo, ("list_applications", {}), ("list_resources", {}), who="admin")
    for number, name in enumerate(THEIRS[who]):
        spec = SPEC.replace("my-app", name)
        asked = calls(("delete_application", {"app_name": name}), ("deploy_application", {"spec_content": spec}))
        result, _ = approved(demo, tmp_path / str(number), asked, "No.", who=who)
        assert [record.problem for record in result.calls] == ["raised", "raised"]
    assert told(demo, ("list_applications", {}), ("list_resources", {}), who="admin") == before


def test_a_request_that_the_person_approves_is_still_theirs_alone(demo, tmp_path):
    """Even if nobody looked: the platform decides, by the token."""
    from treadle.assistants.platform import api_calls
    from treadle.assistants.platform.client import PlatformClient, PlatformForbidden

    async def tale():
        async with PlatformClient(demo.url, demo.token("alice")) as platform:
            with pytest.raises(PlatformForbidden):
                await api_calls.post_spec(platform, SPEC.replace("my-app", "reports"), "key")
            with pytest.raises(PlatformForbidden):
                await api_calls.delete_application_by_name(platform, "reports", "key")

    asyncio.run(tale())


def test_the_audit_names_the_user_of_every_call(demo, tmp_path):
    approved(demo, tmp_path, calls(("list_applications", {}), ("delete_application", {"app_name": "checkout"})), "Gone.")
    records = [link.record for link in asyncio.run(open_home(tmp_path).audit.records("r"))]
    assert {record.user for record in records} == {"alice"}
    assert [(record.tool_name, record.verdict, record.verdict_by) for record in records][1] == (
        "delete_application",
        "approved",
        "alice",
    )


def test_the_token_is_nowhere(demo, tmp_path, caplog):
    """Not in the database, the log, the events or the prompts. (What a platform repeats of it is masked: test_server.)"""
    caplog.set_level(logging.DEBUG)
    token, events = demo.token("alice"), []
    asked = calls(
        ("list_applications", {}), ("get_application", {"app_name": "nothing"}), ("get_current_user", {}), ("list_workflows", {})
    )
    model = Scripted(asked, calls(("delete_application", {"app_name": "checkout"})))
    ours = agent(demo, model)
    how = {"journal": kept(tmp_path), "user": "alice", "watchers": [events.append], "credentials": {"platform": token}}
    asyncio.run(ours.run("Go.", run_id="r", **how))
    assert len(model.requests) == 2
    assert token not in "\n".join([f"{request.instructions} {list(request.history)} {request.tools}" for request in model.requests])
    assert token not in "\n".join(map(str, events))
    assert token not in caplog.text
    assert token not in repr(ours.setup.toolset)
    for path in tmp_path.rglob("*"):
        assert path.is_dir() or token.encode() not in path.read_bytes(), path


LIMITS = {"deploy_roles": ("admin",), "delete_roles": ("admin", "developer")}


def test_roles_that_the_operator_names_are_held_to_and_the_model_hears_that_permission_is_missing(demo):
    asked = [
        ("deploy_application", {"spec_content": SPEC}),
        ("run_golden_path", {"path": "deploy-app", "spec_content": SPEC}),
        ("retry_workflow", {"workflow_id": "7"}),
    ]
    for said, (name, _) in zip(told(demo, *asked, **LIMITS), asked, strict=True):
        wanted = f"The person doesn't have permission to use {name}: it needs the role admin, and theirs is developer."
        assert said == f"{wanted} Tell them so. Nothing was done."
    (unknown,) = told(demo, asked[0], token="wrong", **LIMITS)
    assert "doesn't have permission" in unknown


def test_whoever_has_the_role_is_asked_and_nobody_else_is(demo):
    def approvals(who, name, arguments):
        return asyncio.run(agent(demo, Scripted(calls((name, arguments)), "So."), who, **LIMITS).run("Go.")).approvals

    assert approvals("alice", "deploy_application", {"spec_content": SPEC}) == ()
    assert [each.name for each in approvals("admin", "deploy_application", {"spec_content": SPEC})] == ["deploy_application"]
    assert [each.name for each in approvals("alice", "delete_application", {"app_name": "demo-app"})] == ["delete_application"]


def test_permission_is_also_missing_where_nobody_has_to_be_asked(demo):
    platform = PlatformClient(demo.url, demo.token("alice"))
    tools = PlatformTools(platform, PlatformSettings(server=demo.url, **LIMITS))
    model = Scripted(calls(("deploy_application", {"spec_content": SPEC})), "So.")
    result = asyncio.run(Agent(model, toolsets=[tools], policy=[allow("*")]).run("Go."))
    assert "doesn't have permission" in result.calls[0].result.content


def test_what_one_person_reads_isnt_kept_for_another(demo, tmp_path):
    """Even where a face gives both of them the same name."""

    async def seen(who):
        model = Scripted(calls(("list_applications", {})), "So.")
        result = await agent(demo, model, who).run("Go.", journal=kept(tmp_path), user="same")
        return {each["name"] for each in json.loads(result.calls[0].result.content)}

    assert not asyncio.run(seen("alice")) & asyncio.run(seen("bob"))

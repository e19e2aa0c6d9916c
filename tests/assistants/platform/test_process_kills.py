"""A process that dies in the middle of a deployment or a deletion: the platform is asked, and nothing happens twice."""

import asyncio

import pytest

from assistants.platform.platform_setup import SPEC, agent, told
from treadle.assistants.platform import api_calls
from treadle.assistants.platform.change_tools import preview_deployment
from treadle.assistants.platform.client import PlatformClient
from treadle.assistants.platform.score import check_spec
from treadle.core.calls import Ask, Call, Written
from treadle.core.entries import Approved, Judged, Opened, Previewed, Replied, Said, Started
from treadle.guard.policy import digest_arguments
from treadle.stores.memory import MemoryJournal
from treadle.testing import Scripted

DEPLOY = Call("c1", "deploy_application", {"spec_content": SPEC})
DELETE = Call("c1", "delete_application", {"app_name": "checkout"})


def taken_up(demo, call, seal=""):
    """What comes of a call during which its process died."""
    return went_on(demo, call, seal).calls[0]


def went_on(demo, call, seal=""):
    """What comes of a run whose process died after this call had begun."""

    async def tale():
        journal = MemoryJournal()
        died = [
            Opened(agent="platform", user="alice"),
            Said(text="Go."),
            Replied(parts=(Written(call.id, call.name, "{}"),)),
            Judged(call=call, verdict=Ask()),
            Previewed(call_id=call.id, text="shown", seal=seal),
            Approved(call_id=call.id, by="alice", digest=digest_arguments(call.arguments)),
            Started(call_id=call.id, key="r:c1"),
        ]
        await journal.append("r", 0, died)
        return await agent(demo, Scripted("So.")).resume("r", journal=journal)

    return asyncio.run(tale())


def shown(demo, who="alice", spec=SPEC):
    """The seal of what a person is shown now."""

    async def tale():
        async with PlatformClient(demo.url, demo.token(who)) as platform:
            return (await preview_deployment(platform, spec, check_spec(spec))).seal

    return asyncio.run(tale())


def deployed(demo, spec=SPEC):
    async def tale():
        async with PlatformClient(demo.url, demo.token("alice")) as platform:
            await api_calls.post_spec(platform, spec, "another key")

    asyncio.run(tale())


def runs_of(demo, name):
    demo.settle()
    return told(demo, ("list_workflows", {"app_name": name}))[0].count('"id"')


def test_a_deployment_that_had_not_come_through_is_made(demo):
    record = taken_up(demo, DEPLOY)
    assert record.problem is None
    assert runs_of(demo, "my-app") == 1


def test_one_that_had_come_through_is_not_made_again(demo):
    taken_up(demo, DEPLOY)
    record = taken_up(demo, DEPLOY)
    assert "runs with exactly this spec" in record.result.content
    assert runs_of(demo, "my-app") == 1


@pytest.mark.parametrize("times", [1, 2])
def test_a_deletion_likewise(demo, times):
    for _ in range(times):
        record = taken_up(demo, DELETE)
    assert ("checkout is gone." in record.result.content) == (times == 2)
    assert "checkout" not in told(demo, ("list_applications", {}))[0]


def test_by_what_was_shown_it_is_known_what_became_of_it(demo):
    seal = shown(demo)
    deployed(demo)  # by the call that was interrupted, under whatever key
    assert "runs with exactly this spec" in taken_up(demo, DEPLOY, seal).result.content
    assert runs_of(demo, "my-app") == 1


def test_a_spec_that_ran_before_tells_nothing_so_a_person_is_asked(demo):
    deployed(demo)
    result = went_on(demo, DEPLOY, shown(demo))
    (asked,) = result.approvals
    assert (result.stopped, asked.unclear, asked.preview) == ("waiting", True, "shown")
    assert runs_of(demo, "my-app") == 1


def test_workflows_that_no_platform_repeats_dont_make_it_another_spec(demo):
    spec = SPEC + "workflows:\n  deploy:\n    steps:\n    - name: a\n      type: validation\n"
    seal = shown(demo, spec=spec)
    deployed(demo, spec)
    call = Call("c1", "deploy_application", {"spec_content": spec})
    assert "runs with exactly this spec" in taken_up(demo, call, seal).result.content


def test_what_was_approved_by_another_is_not_done(demo):
    record = taken_up(demo, DEPLOY, shown(demo, "admin"))
    assert "on another platform or by another user" in record.result.content
    assert runs_of(demo, "my-app") == 0

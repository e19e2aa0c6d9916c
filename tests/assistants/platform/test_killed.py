"""A process that dies in the middle of a deployment or a deletion: the platform is asked, and nothing happens twice."""

import asyncio

import pytest

from assistants.platform.stage import SPEC, agent, told
from treadle import Scripted
from treadle.core.calls import Ask, Call, Written
from treadle.core.entries import Approved, Judged, Opened, Replied, Said, Started
from treadle.guard.policy import digest
from treadle.stores.journal import MemoryJournal

DEPLOY = Call("c1", "deploy_application", {"spec_content": SPEC})
DELETE = Call("c1", "delete_application", {"app_name": "checkout"})


def taken_up(demo, call):
    """What comes of a run whose process died after this call had begun."""

    async def tale():
        journal = MemoryJournal()
        died = [
            Opened(agent="platform", user="alice"),
            Said(text="Go."),
            Replied(parts=(Written(call.id, call.name, "{}"),)),
            Judged(call=call, verdict=Ask()),
            Approved(call_id=call.id, by="alice", digest=digest(call.arguments)),
            Started(call_id=call.id, key="r:c1"),
        ]
        await journal.append("r", 0, died)
        return await agent(demo, Scripted("So.")).resume("r", journal=journal)

    return asyncio.run(tale()).calls[0]


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

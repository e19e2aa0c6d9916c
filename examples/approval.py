"""Approval across two processes: one stores a run that waits, another approves the call, edits it, and resumes the run."""

import asyncio
import os
import subprocess
import sys

from treadle import Agent, tool
from treadle.models import Request
from treadle.testing import Scripted, ScriptedReply, calls


@tool  # may change something, so it needs approval
def order(item: str, count: int) -> str:
    """Order more of an item.

    :param item: article number
    :param count: how many
    """
    print(f"ordering {count} of {item}")
    return f"ordered {count}"


def reply(request: Request) -> ScriptedReply | str:
    """Return the reply to a conversation, in whichever process."""
    return "It is ordered." if len(request.history) > 1 else calls(("order", {"item": "B-7", "count": 500}))


model = os.environ.get("TREADLE_MODEL") or Scripted(reply, reply)
agent = Agent(model, tools=[order])

if sys.argv[1:]:
    (run_id,) = sys.argv[1:]
    for call in asyncio.run(agent.approvals(run_id)):
        asyncio.run(agent.approve(run_id, call.call_id, by="Ann", arguments={**call.arguments, "count": 50}))
    print(agent.resume_sync(run_id).output)
else:
    result = agent.run_sync("We are out of B-7.", journal=True)
    for call in result.approvals:
        print(f"waiting: {call.name}({call.arguments})", flush=True)
    subprocess.run([sys.executable, __file__, result.run_id], check=True)

"""Approval across two processes: one stores a run that waits, another approves the call, edits it, and resumes the run."""

import os
import subprocess
import sys
from pathlib import Path

from pydantic_ai import Agent, ConversationTypeAdapter, DeferredToolRequests, ToolApproved
from scripted import calls, scripted

model = os.environ.get("MODEL") or scripted(calls(("order", {"item": "B-7", "count": 500})), "It is ordered.")
agent = Agent(model, output_type=[str, DeferredToolRequests])
store = Path("conversation.json")


@agent.tool_plain(requires_approval=True)
def order(item: str, count: int) -> str:
    """Order more of an item.

    Args:
        item: article number
        count: how many
    """
    print(f"ordering {count} of {item}")
    return f"ordered {count}"


if sys.argv[1:]:
    conversation = ConversationTypeAdapter.validate_json(store.read_bytes())
    requests = conversation.deferred_tool_requests or DeferredToolRequests()
    edited = {call.tool_call_id: ToolApproved(override_args={**call.args_as_dict(), "count": 50}) for call in requests.approvals}
    print(agent.run_sync(conversation=conversation, deferred_tool_results=requests.build_results(approvals=edited)).output)
else:
    result = agent.run_sync("We are out of B-7.")
    store.write_bytes(ConversationTypeAdapter.dump_json(result.conversation))
    if isinstance(result.output, DeferredToolRequests):
        for call in result.output.approvals:
            print(f"waiting: {call.tool_name}({call.args_as_dict()})", flush=True)
    subprocess.run([sys.executable, __file__, "approve"], check=True)

"""A loop as it is written in an afternoon: no validation, no retries, no approvals, and a run begins anew after a kill."""

import json
import urllib.request

from agent_exam.protocol import Outcome


class BadAdapter:
    name = "bad"
    packages = ()
    features = frozenset({"stream", "limit", "resume", "approval", "edit"})
    errors = ()
    durability = "none"
    approvals = "none"

    async def run(self, task):
        tools = {function.__name__: function for function in task.tools}
        messages = [{"role": "system", "content": task.instructions}, {"role": "user", "content": task.prompt}]
        offered = [
            {"type": "function", "function": {"name": name, "parameters": {"type": "object", "properties": {}}}} for name in tools
        ]
        while True:
            message = _reply(task, {"model": task.model, "messages": messages, "tools": offered})
            if not message.get("tool_calls"):
                return Outcome(message["content"] or "")
            messages.append(message)
            for call in message["tool_calls"]:
                result = tools[call["function"]["name"]](**json.loads(call["function"]["arguments"]))
                messages.append({"role": "tool", "tool_call_id": call["id"], "content": result})

    async def resume(self, task):
        return await self.run(task)

    async def answer(self, task, decisions):
        return await self.run(task)


def _reply(task, body):
    headers = {"authorization": f"Bearer {task.api_key}", "content-type": "application/json"}
    request = urllib.request.Request(f"{task.base_url}/chat/completions", json.dumps(body).encode(), headers)
    with urllib.request.urlopen(request) as response:
        return json.load(response)["choices"][0]["message"]


def adapter():
    return BadAdapter()

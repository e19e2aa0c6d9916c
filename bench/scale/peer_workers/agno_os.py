"""agno's AgentOS with its durable queue: an agent whose model asks for three calls of one tool.

The argument is how often a run is attempted: 1, agno's default, gives up a run whose worker was killed; more executes it anew.
"""

import asyncio
import json
import os
import sys
from collections.abc import AsyncIterator, Iterator
from dataclasses import dataclass
from typing import Any

import uvicorn
from agno.agent import Agent
from agno.db.postgres import PostgresDb
from agno.job_queue.config import QueueConfig
from agno.models.base import Model
from agno.models.message import Message
from agno.models.response import ModelResponse
from agno.os import AgentOS
from agno.run import RunContext

from bench.scale.peer_workers.effects import EFFECTS, PAUSE, POLL_SECONDS, write_effect

LEASE = 3  # seconds: the shortest that agno takes


@dataclass
class _Maker(Model):
    """A model that asks for the next effect."""

    id: str = "maker"

    def invoke(self, messages: list[Message], *_: Any, **__: Any) -> ModelResponse:
        done = sum(message.role == "tool" for message in messages)
        if done == EFFECTS:
            return ModelResponse(role="assistant", content="All made.")
        function = {"name": "make", "arguments": json.dumps({"number": done + 1})}
        return ModelResponse(role="assistant", tool_calls=[{"id": f"call-{done + 1}", "type": "function", "function": function}])

    async def ainvoke(self, messages: list[Message], *_: Any, **__: Any) -> ModelResponse:
        return self.invoke(messages)

    def invoke_stream(self, messages: list[Message], *_: Any, **__: Any) -> Iterator[ModelResponse]:
        yield self.invoke(messages)

    async def ainvoke_stream(self, messages: list[Message], *_: Any, **__: Any) -> AsyncIterator[ModelResponse]:
        yield self.invoke(messages)

    def _parse_provider_response(self, response: Any, **_: Any) -> ModelResponse:
        return response

    def _parse_provider_response_delta(self, response: Any) -> ModelResponse:
        return response


async def make(run_context: RunContext, number: int) -> str:
    """Make something."""
    await asyncio.sleep(PAUSE)
    write_effect(run_context.session_id, number)
    return f"made {number}"


def main() -> None:
    """Serve one replica, which executes runs of the queue."""
    at_once, attempts, port = (int(text) for text in sys.argv[2:5])
    database = PostgresDb(db_url=os.environ["TREADLE_DATABASE"].replace("postgresql://", "postgresql+psycopg://"))
    agent = Agent(id="maker", model=_Maker(), tools=[make], db=database, telemetry=False)
    queue = QueueConfig(
        durable=True,
        max_concurrency=at_once,
        max_attempts=attempts,
        lock_grace_seconds=LEASE,
        retry_delay_seconds=0,
        poll_interval=POLL_SECONDS,
    )
    app = AgentOS(agents=[agent], db=database, queue=queue, telemetry=False).get_app()
    uvicorn.run(app, host="127.0.0.1", port=port, log_level="critical")


if __name__ == "__main__":
    main()

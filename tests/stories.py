"""A run through the engine against a real server, in one line, and what the model got to read of it."""

import asyncio
import contextlib
from dataclasses import dataclass
from typing import Any

import wire
from treadle import Agent, Limits, RunResult
from treadle.core.events import Event

QUICK = Limits(backoff=0.001)


@dataclass(frozen=True)
class Played:
    """How a story went."""

    result: RunResult[Any]
    server: wire.WireServer
    events: list[Event]
    story: "Story"

    def results(self, request: int = -1) -> list[str]:
        """The results of tools as the model read them with a request."""
        return self.story.results(self.server, request)

    def offered(self, request: int = -1) -> list[str]:
        """The tools the model was told of with a request."""
        return self.story.offered(self.server, request)

    def of(self, kind: type) -> list[Any]:
        return [event for event in self.events if isinstance(event, kind)]


@dataclass(frozen=True)
class Story:
    """One wire, streamed or whole."""

    wire: str
    stream: bool

    def agent(self, server: wire.WireServer, tools: Any = (), **settings: Any) -> Agent[Any, Any]:
        timeouts = settings.pop("timeouts", None)
        model = wire.model(server, self.wire, stream=self.stream, **({"timeouts": timeouts} if timeouts else {}))
        settings.setdefault("limits", QUICK)
        return Agent(model, tools=tools, **settings)

    def play(
        self, script: Any, tools: Any = (), prompt: str = "Go.", *, run: dict[str, Any] | None = None, **settings: Any
    ) -> Played:
        events: list[Event] = []
        with wire.WireServer(script) as server:
            agent = self.agent(server, tools, **settings)
            result = asyncio.run(agent.run(prompt, watchers=[events.append], **(run or {})))
        return Played(result, server, events, self)

    def results(self, server: wire.WireServer, request: int = -1) -> list[str]:
        messages = server.requests[request].body["messages"]
        if self.wire == "openai":
            return [message["content"] for message in messages if message["role"] == "tool"]
        found: list[str] = []
        for message in messages:
            if isinstance(message["content"], list):
                found += [_text(block["content"]) for block in message["content"] if block["type"] == "tool_result"]
        return found

    def offered(self, server: wire.WireServer, request: int = -1) -> list[str]:
        tools = server.requests[request].body.get("tools") or []
        return [tool["function"]["name"] if self.wire == "openai" else tool["name"] for tool in tools]

    def text(self, server: wire.WireServer, request: int = -1) -> str:
        """Everything the model was sent with a request."""
        return str(server.requests[request].body)


def _text(content: Any) -> str:
    return content if isinstance(content, str) else "".join(block["text"] for block in content)


@contextlib.contextmanager
def serving(script: Any):
    with wire.WireServer(script) as server:
        yield server

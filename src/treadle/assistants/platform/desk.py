"""The platform assistant at work for one person: their token, their runs, answers with the spec and the sources in them.

Every face uses this; what is shown where is theirs to say.
"""

import time
from collections.abc import AsyncGenerator, AsyncIterator, Sequence
from contextlib import aclosing
from typing import Any, cast

import msgspec
from msgspec import Struct

from treadle import (
    Agent,
    Approval,
    Host,
    Led,
    Message,
    Model,
    RunContext,
    RunInfo,
    RunNotFound,
    RunResult,
    ToolProblem,
    one_call,
    settled_agent,
)
from treadle.assistants.platform import assistant, requests
from treadle.assistants.platform.documents import Documents
from treadle.assistants.platform.generate import Generated, generate
from treadle.assistants.platform.plan import plan
from treadle.assistants.platform.prompts import told
from treadle.assistants.platform.said import last_question
from treadle.assistants.platform.score import PROVIDED, Finding, check, spec_in
from treadle.assistants.platform.server import Platform
from treadle.assistants.platform.settings import PlatformSettings
from treadle.assistants.platform.shapes import Json
from treadle.assistants.platform.tools import PlatformTools
from treadle.routes import Decision

PATIENCE = 5.0  # seconds for the platform to say who somebody is
BUTTON = "panel"  # what the model of a run is called that a person pressed a button for


class Reply(Struct, frozen=True):
    """An answer. Its first five fields are those that clients of the original know."""

    message: str
    generated_spec: str | None
    citations: tuple[str, ...]
    tokens_used: int
    timestamp: float
    run_id: str
    stopped: str
    approvals: tuple[Approval, ...] = ()
    findings: tuple[Finding, ...] = ()


class Desk:
    """One person's. `token` is theirs; without one, the platform's tools say that nobody is signed in."""

    def __init__(self, host: Host, settings: PlatformSettings, token: str, documents: Documents) -> None:
        self._host = host
        self._settings = settings
        self._documents = documents
        self._token = token
        self._user: Json | None = None

    def _platform(self) -> Platform:
        return Platform(self._settings.server, self._token)

    async def user(self) -> Json:
        """Who they are on the platform; empty where it doesn't say, or nobody is signed in."""
        if self._user is None:
            try:
                async with Platform(self._settings.server, self._token, timeout=PATIENCE) as platform:
                    self._user = await requests.user(platform)
            except ToolProblem:
                self._user = {}  # asked once for a question: a platform that is silent costs enough time as it is
        return self._user

    async def name(self) -> str:
        """What they are called in runs and in the audit. One whom the platform doesn't name is known by their token alone."""
        unnamed = f"token-{self._platform().mark}" if self._token else self._host.user
        return (await self.user()).get("username", "") or unnamed

    def agent(self, model: Model) -> Agent[str]:
        """The agent that answers them. A model that doesn't call tools by itself is led."""
        parts: dict[str, Any] = {
            "name": assistant.name,
            "toolsets": [PlatformTools(self._platform(), self._settings)],
            "instructions": self._instructions,
            "policy": assistant.policy,
            "limits": assistant.limits,
            "approver": self._host.approver,
        }
        return settled_agent(
            self._host.workspace, model if model.traits.native_calls else Led(model, plan), parts=parts, host=self._host
        )

    async def _instructions(self, ctx: RunContext[Any]) -> str:
        return told(await self.user(), await self._documents.about(last_question(ctx.history)))

    async def ask(self, message: str, *, run_id: str | None = None, history: Sequence[Message] = ()) -> Reply:
        """Ask something, in a run that goes on or in a new one."""
        result = await self._run(self.agent(await self._host.model()), message, run_id, history)
        return await self.reply(result, message)

    async def _run(self, agent: Agent[str], message: str, run_id: str | None, history: Sequence[Message] = ()) -> RunResult[str]:
        if run_id is not None:
            await self._taken_up(agent, run_id)
        watchers = () if self._host.watcher is None else (self._host.watcher,)
        return await agent.run(message, run_id=run_id, history=history, watchers=watchers, **await self._caller())

    async def stream(self, message: str, *, run_id: str | None = None) -> AsyncIterator[Any]:
        """Ask something and see it happen: events, and the reply at the end."""
        agent = self.agent(await self._host.model())
        if run_id is not None:
            await self._taken_up(agent, run_id)
        async for event in self._seen(agent.stream(message, run_id=run_id, **await self._caller()), message):
            yield event

    async def _seen(self, events: AsyncIterator[Any], question: str) -> AsyncIterator[Any]:
        """The events of a run, with the reply in place of its result."""
        async with aclosing(cast("AsyncGenerator[Any]", events)):
            async for event in events:
                result: Any = getattr(event, "result", None)
                yield await self.reply(cast("RunResult[Any]", result), question) if isinstance(result, RunResult) else event

    async def _caller(self) -> dict[str, Any]:
        """Whose run it is, and where it is kept."""
        return {"journal": self._host.home.services(), "user": await self.name(), "credentials": self.credentials}

    @property
    def server(self) -> str:
        """Which platform it is."""
        return self._settings.server

    @property
    def credentials(self) -> dict[str, str]:
        """What a run knows of the token, so that it is masked wherever it might turn up."""
        return {"platform": self._token} if self._token else {}

    async def deploy(self, spec: str) -> Reply:
        """What the person pressed a button for: one call, judged, shown and approved like any other."""
        agent = self.agent(one_call("deploy_application", {"spec_content": spec}, BUTTON))
        return await self.reply(await self._run(agent, "Deploy this spec.", None), "")

    async def answer(self, run_id: str, call_id: str, said: Decision) -> Reply:
        """What the person says about a call that waits; the run then goes on."""
        agent = await self._decided(run_id, call_id, said)
        return await self.reply(await agent.resume(run_id, **await self._caller()), "")

    async def answering(self, run_id: str, call_id: str, said: Decision) -> AsyncIterator[Any]:
        """`answer`, seen as it happens."""
        agent = await self._decided(run_id, call_id, said)
        async for event in self._seen(agent.stream_resumed(run_id, **await self._caller()), ""):
            yield event

    async def _decided(self, run_id: str, call_id: str, said: Decision) -> Agent[str]:
        """The agent that can go on with a run, once it is written down what was decided about its call."""
        info = await self._check(run_id)
        agent = self.agent(one_call("", {}, BUTTON) if info.model == BUTTON else await self._host.model())
        if info.status == "open":  # decided already; the process died after that, and the run only has to be taken up
            return agent
        answer, digest = said.answer(await self.name()), said.digest if said.runs else ""
        await agent.answer(run_id, call_id, answer, digest=digest, journal=self._host.home.services())
        return agent

    async def _taken_up(self, agent: Agent[str], run_id: str) -> None:
        """A run that a killed process left in the middle of a turn is brought to its end before anything else is said."""
        if (await self._check(run_id)).status == "open":
            await agent.resume(run_id, **await self._caller())

    async def _check(self, run_id: str) -> RunInfo:
        """The run, if it is theirs: nobody goes on with another one's."""
        info = await self._host.home.journal.info(run_id)
        if info.user != await self.name() or info.agent != assistant.name:
            raise RunNotFound(f"There is no run {run_id} of yours.")
        return info

    async def reply(self, result: RunResult[Any], question: str) -> Reply:
        """What a face tells of a run that stopped."""
        spec = spec_in(result.text)
        cited = [each.passage.source for each in await self._documents.about(question)]
        return Reply(
            message=_words(result),
            generated_spec=spec,
            citations=tuple(dict.fromkeys(cited)),
            tokens_used=result.usage.total_tokens,
            timestamp=time.time(),
            run_id=result.run_id,
            stopped=result.stopped,
            approvals=result.approvals,
            findings=check(spec, {*PROVIDED, *self._settings.types}).findings if spec else (),
        )

    async def generate(self, description: str, metadata: Json | None = None) -> Generated:
        """A spec from a description."""
        passages = tuple((await self._documents.about(description))[:2])
        facts = f"Facts: {msgspec.json.encode(metadata).decode()}" if metadata else ""
        return await generate(await self._host.model(), description, passages, self._settings.types, facts)


def _words(result: RunResult[Any]) -> str:
    """What is said of a run: the model's words, or why there are none; of a button, what its call brought."""
    if result.entries and getattr(result.entries[0], "model", "") == BUTTON:
        brought = [record.result.content for record in result.calls if record.result is not None]
        return brought[-1] if brought else result.reason
    return result.reason if result.stopped == "failed" else result.text or result.reason

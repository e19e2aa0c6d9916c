"""The scripted model: a chat completions server on loopback that answers from the script of a case, and notes what it refuses."""

import time
from collections.abc import Callable
from dataclasses import replace
from typing import Any

from agent_exam.case import Case
from agent_exam.tools import World
from providers.script import Answer, Ask, Fail, Reply
from providers.servers import SERVERS
from providers.servers.base import Expected, Problem, Session, Wire
from providers.servers.history import history_problems, offer_problems
from providers.servers.http import Request, Response
from providers.servers.mock import EARLY

READS = 600_000  # bytes of a request, more than which is more than the model can read
VALIDATED = 5  # requests of an endless run, whose validation takes longer with each message
FINAL = "final_answer"  # the tool by which smolagents' models answer


class ScriptedModel:
    """The server of one case. `arrived` is called with the number of each request, before it is answered."""

    def __init__(self, case: Case, world: World, arrived: Callable[[int], None]) -> None:
        self.case = case
        self.requests: list[Request] = []
        self.session = Session([(case.prompt, answer) for answer in case.replies], Expected(tools=case.tools))
        self._world = world
        self._arrived = arrived
        (self._wire,) = SERVERS[case.at].wires()

    def __call__(self, request: Request) -> Response:
        wire, session = self._wire, self.session
        if not wire.serves(request):
            session.violations.append(f"{request.method} {request.target}: there is nothing at this path")
            return Response(404, b'{"error":{"message":"Not found"}}')
        self.requests.append(request)
        self._arrived(len(self.requests))
        if session.again is not None and time.monotonic() < session.not_before - EARLY:
            return wire.fail(session.again)
        problems = self._problems(wire, request)
        if problems:
            session.violations += [problem.message for problem in problems]
            return wire.refuse(problems[0])
        if len(request.raw) > READS:
            return wire.fail(Fail("context"))
        return self._answer(wire, request)

    def _problems(self, wire: Wire, request: Request) -> list[Problem]:
        """What the provider refuses. Where calls come back as such, all of the conversation has to, if the case is `strict`."""
        if self.case.forever and len(self.requests) > VALIDATED:
            return []
        found = list(wire.problems(request, self.session))
        if not self.case.strict:
            return [problem for problem in found if not problem.repairable]  # such as unknown fields, which many servers ignore
        if found:
            return found
        turns = wire.turns(request.body)
        self.session.done = [(act.tool, act.arguments, act.result) for act in self._world.acts()]
        if any(turn.calls for turn in turns):
            return [*history_problems(turns, self.session), *offer_problems(wire, request.body, self.session)]
        text = request.raw.decode()
        return [
            Problem(f"the result of {tool} isn't in the request") for tool, _, result in self.session.done if result not in text
        ]

    def _answer(self, wire: Wire, request: Request) -> Response:
        answer = self._next(wire, request.body)
        if answer is None:
            self.session.violations.append("one request more than the script has answers for")
            return wire.refuse(Problem("The script of this model is over."))
        if isinstance(answer, Fail):
            if answer.retry_after:
                self.session.again, self.session.not_before = answer, time.monotonic() + answer.retry_after
            return wire.fail(answer)
        issued = wire.issue(_final(answer, wire, request.body), self.session, request.body)
        self.session.issued.append(issued)
        return wire.render(issued, self.session, request)

    def _next(self, wire: Wire, body: Any) -> Answer | None:
        if self.case.positional:
            place = sum(turn.role == "assistant" for turn in wire.turns(body))
            return self.case.replies[place] if place < len(self.case.replies) else None
        if not self.session.script:
            return None
        return self.session.script[0][1] if self.case.forever else self.session.script.pop(0)[1]


def _final(reply: Reply, wire: Wire, body: Any) -> Reply:
    """The reply, with its answer as a call of the tool for answers where the framework asks for that."""
    if FINAL not in wire.tools(body) or reply.calls or not reply.text or reply.finish:
        return reply
    return replace(reply, parts=(Ask(FINAL, {"answer": reply.text}),))

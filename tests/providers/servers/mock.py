"""A mock server: answers the requests of one case from its script, refuses what its wire refuses, and writes that down."""

import json
import time
from collections.abc import Sequence
from dataclasses import replace
from typing import Any

from providers.script import Ask, Fail, Give, Reply, Say
from providers.servers.base import Problem, Session, Wire
from providers.servers.history import history_problems, offer_problems
from providers.servers.http import Request, Response

EARLY = 0.02  # seconds by which a retry may come before its time: clocks differ


class Mock:
    """A server for one leg of a case."""

    def __init__(self, wires: Sequence[Wire], session: Session) -> None:
        self.session = session
        self._wires = wires

    def __call__(self, request: Request) -> Response:
        session = self.session
        wire = next((wire for wire in self._wires if wire.serves(request)), None)
        if wire is None:
            session.violations.append(f"{request.method} {request.target}: there is nothing at this path")
            return Response(404, b'{"error":{"message":"Not found"}}')
        session.requests.append(request)
        if session.again is not None and time.monotonic() < session.not_before - EARLY:
            return wire.fail(session.again)  # too early: the same refusal once more
        problems = list(wire.problems(request, session))
        problems = problems or [*history_problems(wire.turns(request.body), session), *offer_problems(wire, request.body, session)]
        if problems:
            return self._refuse(wire, problems)
        return self._answer(wire, request)

    def _refuse(self, wire: Wire, problems: list[Problem]) -> Response:
        for problem in problems:
            (self.session.repairs if problem.repairable else self.session.violations).append(problem.message)
        return wire.refuse(problems[0])

    def _answer(self, wire: Wire, request: Request) -> Response:
        if not self.session.script:
            self.session.violations.append("one request more than the case has answers for")
            return wire.refuse(Problem("The script of this server is over."))
        _, answer = self.session.script.pop(0)
        if isinstance(answer, Fail):
            if answer.retry_after:
                self.session.again, self.session.not_before = answer, time.monotonic() + answer.retry_after
            return wire.fail(answer)
        issued = wire.issue(_given(answer, wire, request.body, self.session), self.session, request.body)
        self.session.issued.append(issued)
        return wire.render(issued, self.session, request)


def _given(reply: Reply, wire: Wire, body: Any, session: Session) -> Reply:
    """The reply with its structured answer in the way that the request asks for."""

    def given(part: Any) -> Any:
        if not isinstance(part, Give):
            return part
        extra = [name for name in wire.tools(body) if name not in session.expected.tools]
        return Say(json.dumps(part.value)) if wire.wants_json(body) or not extra else Ask(extra[0], part.value)

    return replace(reply, parts=tuple(given(part) for part in reply.parts))

"""What every request of a conversation has to carry: prompts, calls, their results, and what is opaque. Knows no wire."""

from collections.abc import Mapping
from typing import Any

from providers.servers.base import Call, Issued, Problem, Session, Turn, Wire
from providers.servers.schemas import NAME, schema_problems
from providers.toolbox import covers


def history_problems(turns: list[Turn], session: Session) -> list[Problem]:
    """What is lost or wrong of what was said before: prompts, calls, their results, what is opaque."""
    expected = session.expected
    said = "\n".join(turn.text for turn in turns if turn.role == "user")
    system = "\n".join(turn.text for turn in turns if turn.role == "system")
    images = [image for turn in turns for image in turn.images]
    found = [] if session.prompt in said else ["the user's prompt isn't in the request"]
    found += [] if expected.instructions in system else ["the instructions aren't in the request"]
    found += [] if not expected.image or expected.image in images else ["the image isn't in the request"]
    heard = "\n".join([*(turn.text for turn in turns), *(text for turn in turns for _, text in turn.results)])
    found += [f"the result of {name} isn't in the request" for name, _, result in session.done if result not in heard]
    found += _pairing(turns)
    if not found:
        found += _replies(turns, session)
    return [Problem(message) for message in found]


def _pairing(turns: list[Turn]) -> list[str]:
    """Every call has its result, directly after it; every result has its call."""
    found: list[str] = []
    waiting: list[str] = []
    for turn in turns:
        if waiting and not turn.results:
            found.append(f"calls {waiting} have no results directly after them")
            waiting = []
        for call_id, _ in turn.results:
            if call_id in waiting:
                waiting.remove(call_id)
            else:
                found.append(f"there is a result for {call_id!r}, which is no open call")
        waiting += [call.id for call in turn.calls]
    return found + ([f"calls {waiting} have no results"] if waiting else [])


def _replies(turns: list[Turn], session: Session) -> list[str]:
    """Replies with calls, and paused ones, come back as they were. A reply that broke off may be left out."""
    paused = [issued.opaque for issued in session.issued if issued.reply.finish == "pause"]
    back = [turn for turn in turns if turn.role == "assistant" and (turn.calls or (turn.opaque and turn.opaque in paused))]
    sent = [issued for issued in session.issued if issued.calls or issued.reply.finish == "pause"]
    whole = [issued for issued in sent if issued.reply.whole]
    tries = [_compared(turns, back, wanted, session) for wanted in (whole, sent)]
    return min(tries, key=len)


def _compared(turns: list[Turn], back: list[Turn], sent: list[Issued], session: Session) -> list[str]:
    back = back[-len(sent) :] if sent else []
    if len(back) < len(sent):
        return [f"only {len(back)} of {len(sent)} replies that have to come back did"]
    results = {call_id: text for turn in turns for call_id, text in turn.results}
    found: list[str] = []
    for turn, issued in zip(back, sent, strict=True):
        found += _same(turn, issued, session)
        if not found:
            found += _returned(turn, issued, results, session)
    return found


def _same(turn: Turn, issued: Issued, session: Session) -> list[str]:
    """Names in order, and the arguments of calls that were carried out: of others, servers don't care.

    A name that no server takes back comes as another one.
    """
    asked = [(call.name, call.arguments) for call in issued.calls]
    back = [(call.name, call.arguments) for call in turn.calls]
    done = [_done(call, session) for call in issued.calls]
    names = [(ours, theirs) for (ours, _), (theirs, _) in zip(asked, back, strict=False)]
    kept = len(asked) == len(back) and all(ours == theirs or not NAME.fullmatch(ours) for ours, theirs in names)
    if not kept or any(was and a != b for was, a, b in zip(done, asked, back, strict=True)):
        return [f"the calls {_short(asked)} came back as {_short(back)}"]
    if issued.opaque and turn.opaque != issued.opaque:
        return [f"what has to come back unchanged came back as {_short(turn.opaque)}, not {_short(issued.opaque)}"]
    return []


def _done(call: Call, session: Session) -> list[str]:
    """What tools returned for this call."""
    return [result for name, arguments, result in session.done if name == call.name and covers(arguments, call.arguments)]


def _returned(turn: Turn, issued: Issued, results: Mapping[str, str], session: Session) -> list[str]:
    """The results that tools gave stand at their own calls."""
    found: list[str] = []
    for asked, back in zip(issued.calls, turn.calls, strict=True):
        given = _done(asked, session)
        if given and not any(result in results.get(back.id, "") for result in given):
            found.append(f"the result of {asked.name} came back as {_short(results.get(back.id))}")
    return found


def offer_problems(wire: Wire, body: Any, session: Session) -> list[Problem]:
    """Tools whose schemas are no JSON schemas, tools that are missing, and options that are."""
    offered = wire.tools(body)
    told = offered or "\n".join(turn.text for turn in wire.turns(body))  # a server without tools is told of them in words
    found = [f"the tool {name} isn't on offer" for name in session.expected.tools if name not in told]
    for name, schema in offered.items():
        found += schema_problems(name, schema)
    sent = wire.options(body)
    for name, value in session.expected.sends.items():
        if not (sent[name] if value is True else sent[name] == value):
            found.append(f"the option {name} is sent as {sent[name]!r}, not {value!r}")
    return [Problem(message) for message in found]


def _short(value: Any) -> str:
    text = repr(value)
    return text if len(text) <= 700 else text[:699] + "…"

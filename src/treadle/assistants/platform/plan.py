"""How a small model is led: code chooses the tools by what the message is about; the model says that, and words the answer. Pure.

Which model is led says `desk`. Every call is judged, asked about and journaled like any other.
"""

import re
from collections.abc import Generator
from typing import Any

from treadle import Move, Options, Question, Request, Result
from treadle.assistants.platform.drafts import TRIES, Draft, again, best_of, drafted
from treadle.assistants.platform.facts import field_of, reason_of, records_of, told
from treadle.assistants.platform.prompts import DOCUMENTATION, GENERATE
from treadle.assistants.platform.routing import INSTRUCTIONS, SHAPE, Wish, number_in, question_of, status_in, wish_of
from treadle.assistants.platform.said import last_spec
from treadle.assistants.platform.score import check, spec_in
from treadle.leading import turn_of

Plan = Generator[Question, str, Move]

ANSWER = (
    "A person who uses a developer platform has a question, and this is what was found. Answer in a few short sentences from "
    "what was found, and from nothing else. Name everything that fits, with its application, name and number, exactly as they "
    "are written there; what isn't there, say so. Don't speak of the data itself."
)
TALK = "Answer a person who uses a developer platform, briefly. If you don't know, say so: make nothing up about their platform."
STATUS = re.compile(r"\bstatus\b|\bstate\b|\bshow\b", re.IGNORECASE)
MANY = re.compile(r"\bworkflows\b|\bdeployments\b", re.IGNORECASE)
RETRY = re.compile(r"\bretry\b|\bre-?run\b|\brun .*again\b|\btry .*again\b", re.IGNORECASE)
ALONG = re.compile(r"\b(?:run|execute|start|use|take|deploy|by|with)\b.*\bgolden path", re.IGNORECASE)
PARAMETER = re.compile(r"\b([A-Za-z_]\w*)\s*=\s*(\S+?)(?=[,;:.!?]*(?:\s|$))")
WHY = re.compile(r"\bwhy\b|\bfail|\berror|\blog|\bstep|wrong|\breason", re.IGNORECASE)

_SIMPLE = {
    "applications": "list_applications",
    "figures": "get_dashboard_stats",
    "paths": "list_golden_paths",
    "providers": "list_providers",
    "me": "get_current_user",
}


def plan(request: Request) -> Plan:
    """The next move: a call, or the answer."""
    message, steps = turn_of(request.history)
    if steps:
        following = _following(message, steps)
        return following if following is not None else (yield from _answer(request, message, steps))
    said = yield Question(question_of(message), INSTRUCTIONS, Options(temperature=0, max_tokens=60), SHAPE)
    wish = wish_of(said, message)
    if wish.about == "write":
        return (yield from _write(message))
    if wish.about == "deploy" and (other := _other_name(request, message, wish.app)):
        return Move(text=f"The spec that was shown last is of {other}, not of {wish.app}. Show me the one that you mean.")
    calls = _first(wish, message)
    return Move((calls,)) if calls else (yield from _talk(request, message))


def _other_name(request: Request, message: str, app: str) -> str:
    """The application of the spec that would be deployed, where another one was named."""
    spec = spec_in(message) or last_spec(request.history)
    found = check(spec).spec if spec and app else None
    return found.name if found is not None and found.name and found.name != app else ""


def _first(wish: Wish, message: str) -> tuple[str, dict[str, Any]] | None:
    """The call that a wish begins with; None for what no tool is needed for."""
    app = {"app_name": wish.app} if wish.app else {}
    if ALONG.search(message):
        return "list_golden_paths", {}
    match wish.about:
        case "workflow" | "workflows" if (number := number_in(message)) and RETRY.search(message):
            return "retry_workflow", {"workflow_id": number}
        case "application":
            return ("get_application", app) if app else ("list_applications", {})
        case "workflow" | "workflows" if (number := number_in(message)) and not MANY.search(message):
            return "get_workflow", {"workflow_id": number}
        case "workflow" | "workflows":
            state = "failed" if RETRY.search(message) else status_in(message)
            return "list_workflows", {**app, **({"status": state} if state else {})}
        case "resources":
            return "list_resources", app
        case "deploy":
            spec = spec_in(message)
            return "deploy_application", {"spec_content": spec} if spec else {}
        case "delete":
            return ("delete_application", app) if app else ("list_applications", {})
        case _:
            return (_SIMPLE[wish.about], {}) if wish.about in _SIMPLE else None


def _following(message: str, steps: list[Result]) -> Move | None:
    """What follows from what was found; None where it is time to answer."""
    last = steps[-1]
    if last.problem is not None or len(steps) > 1:
        return None
    if last.name == "list_golden_paths" and ALONG.search(message):
        return _along(message, last)
    if last.name == "list_workflows" and RETRY.search(message) and (number := field_of(last, "id")):
        return Move((("retry_workflow", {"workflow_id": number}),))
    if last.name == "list_workflows" and WHY.search(message) and not MANY.search(message):
        number = field_of(last, "id")
        return Move((("get_workflow", {"workflow_id": number}),)) if number else None
    if last.name == "deploy_application" and STATUS.search(message):
        name = field_of(last, "name")
        return Move((("get_application", {"app_name": name}),)) if name else None
    return None


def _along(message: str, listed: Result) -> Move | None:
    """The golden path that a message names is run; None where it names none that there is."""
    names = [str(each["name"]) for each in records_of(listed) if "name" in each]
    named = [name for name in names if re.search(rf"(?<![\w-]){re.escape(name)}(?![\w-])", message, re.IGNORECASE)]
    if not named:
        return None
    given = {"parameters": dict(PARAMETER.findall(message)), "spec_content": spec_in(message)}
    return Move((("run_golden_path", {"path": max(named, key=len), **{key: each for key, each in given.items() if each}}),))


def _answer(request: Request, message: str, steps: list[Result]) -> Plan:
    """What was found, in words. A problem is told as it is: there is nothing to be made of it."""
    if steps[-1].problem is not None:
        return Move(text=reason_of(steps[-1]))
    found = "\n\n".join([*[told(step) for step in steps], _documentation(request.instructions)])
    words = yield Question(f"{found}\n\nQuestion: {message}", ANSWER, Options(temperature=0, max_tokens=400))
    return Move(text=words.strip() or found)


def _talk(request: Request, message: str) -> Plan:
    """Words alone: what the documentation says of it, if anything, and what was said before."""
    before = [f"{each.role}: {each.text[:500]}" for each in list(request.history)[-3:-1] if each.text]
    known = _documentation(request.instructions)
    asked = "\n\n".join([part for part in (known, "\n".join(before), f"Question: {message}") if part])
    words = yield Question(asked, ANSWER if known else TALK, Options(temperature=0, max_tokens=400))
    return Move(text=words.strip() or "I don't know.")


def _documentation(instructions: str) -> str:
    """What the instructions say that the documentation says."""
    return instructions[at:] if (at := instructions.find(DOCUMENTATION)) >= 0 else ""


def _write(message: str) -> Plan:
    """A spec, mended as often as it takes within reason."""
    drafts: list[Draft] = []
    asked = message
    for _ in range(TRIES):
        words = yield Question(asked, GENERATE, Options(temperature=0.3, max_tokens=1000))
        draft = drafted(words)
        if draft is not None:
            drafts.append(draft)
            if draft.checked.ok:
                break
        asked = f"{message}\n\nYou wrote:\n{words}\n\n{again(draft)}"
    if not drafts:
        return Move(text="I couldn't write a spec for this. Describe the application in other words.")
    best = best_of(drafts)
    return Move(text=f"```yaml\n{best.spec.rstrip()}\n```\n\n{best.explanation}")

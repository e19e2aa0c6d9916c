"""Guided plan for small models: the model classifies the message, code chooses the tools, the model words the answer. Pure.

Which model is guided is decided by the assistant session. Every call is judged, approved and journaled like any
other.
"""

import re
from collections.abc import Generator
from typing import Any, cast

from treadle import Call, Options, Result
from treadle.assistants.platform.intent import (
    INSTRUCTIONS,
    READS,
    SHAPE,
    MessageIntent,
    build_shape,
    find_number,
    find_workflow_status,
    format_intent_question,
    parse_intent,
)
from treadle.assistants.platform.prompts import DOCUMENTATION, GENERATE
from treadle.assistants.platform.score import check_spec, find_spec
from treadle.assistants.platform.spec_drafts import (
    MAX_TRIES,
    SpecDraft,
    best_draft,
    find_draft,
    find_last_spec,
    format_retry_prompt,
)
from treadle.models import Request
from treadle.plans import FindingsQuestion, PlanQuestion, PlanStep, format_plan_question, last_turn, load_plan_state

MAX_RESULT_CHARS = 6_000  # characters
HEADINGS = {
    "list_applications": "The person's applications",
    "get_application": "The application",
    "list_workflows": "Workflows that fit, the newest first",
    "get_workflow": "The workflow",
    "list_resources": "Resources",
    "get_dashboard_stats": "Figures of the dashboard",
    "list_golden_paths": "The golden paths",
    "list_providers": "The providers",
    "get_current_user": "The person",
    "deploy_application": "What the platform says of the deployment",
    "delete_application": "What the platform says of the deletion",
    "run_golden_path": "What the platform says of the golden path",
    "retry_workflow": "What the platform says of the retry",
}


def format_tool_result(result: Result) -> str:
    """Format the result of a call."""
    value = result.content if result.data is None else result.data
    return f"{HEADINGS.get(result.name, result.name)}:\n{_format_value(value)}"[:MAX_RESULT_CHARS]


def problem_reason(result: Result) -> str:
    """Return a problem for the user, without the advice for the model."""
    return first_field(result, "reason") or result.content


def first_field(result: Result, key: str) -> str:
    """Return a field of the result, or of its first item; empty if there is none."""
    return next((str(each.get(key, "")) for each in result_records(result)), "")


def result_records(result: Result) -> list[dict[str, Any]]:
    """Return the items of a result, be it one or a list."""
    value: Any = result.data
    found = cast("list[Any]", value) if isinstance(value, list) else [value]
    return [cast("dict[str, Any]", each) for each in found if isinstance(each, dict)]


def _format_value(value: Any) -> str:
    if isinstance(value, list):
        return "\n".join([f"- {_format_record(each)}" for each in cast("list[Any]", value)])
    if isinstance(value, dict):
        import yaml

        return yaml.safe_dump(value, sort_keys=False, allow_unicode=True, width=1000)
    return str(value)


def _format_record(value: Any) -> str:
    """Format an item in one line, without nested values."""
    if not isinstance(value, dict):
        return str(value)
    parts: list[str] = []
    for key, each in cast("dict[str, Any]", value).items():
        if isinstance(each, list):
            parts.append(f"{key}: {', '.join(map(str, cast('list[Any]', each)))}")
        elif not isinstance(each, dict):
            parts.append(f"{key}: {each}")
    return "; ".join(parts)


Plan = Generator[PlanQuestion | FindingsQuestion, str, PlanStep]

ANSWER = (
    "A person who uses a developer platform has a question, and this is what was found. Answer in a few short sentences from "
    "what was found, and from nothing else. Name everything that fits, with its application, name and number, exactly as they "
    "are written there; what isn't there, say so. Don't speak of the data itself."
)
TALK = "Answer a person who uses a developer platform, briefly. If you don't know, say so: make nothing up about their platform."
NOT_FOUND = "I didn't find that: neither the platform nor its documentation says so in what I looked up."
STATUS = re.compile(r"\bstatus\b|\bstate\b|\bshow\b", re.IGNORECASE)
MANY = re.compile(r"\bworkflows\b|\bdeployments\b", re.IGNORECASE)
RETRY = re.compile(r"\bretry\b|\bre-?run\b|\brun .*again\b|\btry .*again\b", re.IGNORECASE)
ALONG = re.compile(r"\b(?:run|execute|start|use|take|deploy|by|with)\b.*\bgolden path", re.IGNORECASE)
DETAIL = re.compile(  # of a resource, which the list of them doesn't have
    r"\bversion|\bsize|\b(?:big|large|small)\b|\bstorage\b|\bcapacity\b|\bgi?b\b|\bparam|\bconfigur|\bsetting|\bhow much\b",
    re.IGNORECASE,
)
PARAMETER = re.compile(r"\b([A-Za-z_]\w*)\s*=\s*(\S+?)(?=[,;:.!?]*(?:\s|$))")
WHY = re.compile(r"\bwhy\b|\bfail|\berror|\blog|\bstep|wrong|\breason|\bbroke|\bcause|\bhappened|\bcrash", re.IGNORECASE)

_SIMPLE = {
    "applications": "list_applications",
    "figures": "get_dashboard_stats",
    "paths": "list_golden_paths",
    "providers": "list_providers",
    "me": "get_current_user",
}


def plan_platform(request: Request) -> Plan:
    """Return the next move: a call, or the answer."""
    message, steps = last_turn(request.history)
    if steps:
        following = _next_move(message, steps) or _resource_move(message, request, steps)
        if following is None and request.note and request.tools and len(steps) == 1:
            following = yield from _second_look(request, message, steps[0])
        return following if following is not None else (yield from _answer_plan(request, message, steps))
    said = yield PlanQuestion(format_intent_question(message), INSTRUCTIONS, Options(temperature=0, max_tokens=60), SHAPE)
    wish = parse_intent(said, message)
    if wish.about == "write":
        return (yield from _write_plan(message))
    if wish.about == "deploy" and (other := _other_application(request, message, wish.app)):
        return PlanStep(text=f"The spec that was shown last is of {other}, not of {wish.app}. Show me the one that you mean.")
    calls = _first_call(wish, message)
    return PlanStep((calls,), state=wish.about) if calls else (yield from _talk_plan(request, message))


def _second_look(request: Request, message: str, first: Result) -> Generator[PlanQuestion | FindingsQuestion, str, PlanStep | None]:
    """Return a look elsewhere, after an answer that wasn't in what was found first; None if there is nowhere else to look."""
    topics = [about for about in READS if about != load_plan_state(request.history)]
    said = yield PlanQuestion(
        format_intent_question(message), INSTRUCTIONS, Options(temperature=0, max_tokens=60), build_shape(topics)
    )
    wish = parse_intent(said, message)
    calls = _first_call(wish, message) if wish.about in topics else None
    is_new_read = calls is not None and calls[0].startswith(("get_", "list_")) and calls[0] != first.name
    return PlanStep((calls,), state=wish.about) if calls is not None and is_new_read else None


def _other_application(request: Request, message: str, app: str) -> str:
    """Return the application of the spec that would be deployed, if another one was named."""
    spec = find_spec(message) or find_last_spec(request.history)
    found = check_spec(spec).spec if spec and app else None
    return found.name if found is not None and found.name and found.name != app else ""


def _first_call(wish: MessageIntent, message: str) -> tuple[str, dict[str, Any]] | None:
    """Return the first call for an intent; None if no tool is needed."""
    app = {"app_name": wish.app} if wish.app else {}
    if ALONG.search(message):
        return "list_golden_paths", {}
    match wish.about:
        case "workflow" | "workflows" if (number := find_number(message)) and RETRY.search(message):
            return "retry_workflow", {"workflow_id": number}
        case "application":
            return ("get_application", app) if app else ("list_applications", {})
        case "workflow" | "workflows" if (number := find_number(message)) and not MANY.search(message):
            return "get_workflow", {"workflow_id": number}
        case "workflow" | "workflows":
            state = "failed" if RETRY.search(message) else find_workflow_status(message)
            return "list_workflows", {**app, **({"status": state} if state else {})}
        case "resources":
            return "list_resources", app
        case "deploy":
            spec = find_spec(message)
            return "deploy_application", {"spec_content": spec} if spec else {}
        case "delete":
            return ("delete_application", app) if app else ("list_applications", {})
        case _:
            return (_SIMPLE[wish.about], {}) if wish.about in _SIMPLE else None


def _next_move(message: str, steps: list[Result]) -> PlanStep | None:
    """Return the move that follows from the results; None if it is time to answer."""
    last = steps[-1]
    if last.problem is not None or len(steps) > 1:
        return None
    if last.name == "list_golden_paths" and ALONG.search(message):
        return _golden_path_move(message, last)
    if last.name == "list_workflows" and RETRY.search(message) and (number := first_field(last, "id")):
        return PlanStep((("retry_workflow", {"workflow_id": number}),))
    if last.name == "list_workflows" and WHY.search(message) and not MANY.search(message):
        number = first_field(last, "id")
        return PlanStep((("get_workflow", {"workflow_id": number}),)) if number else None
    if last.name == "deploy_application" and STATUS.search(message):
        name = first_field(last, "name")
        return PlanStep((("get_application", {"app_name": name}),)) if name else None
    return None


def _resource_move(message: str, request: Request, steps: list[Result]) -> PlanStep | None:
    """Return the move after a list of resources: all of them, where the name was a resource's; or the spec, which has details."""
    if steps[-1].name != "list_resources" or steps[-1].problem is not None or len(steps) > 2:
        return None
    records = result_records(steps[-1])
    arguments = [part.arguments for each in request.history for part in each.parts if isinstance(part, Call)]
    if not records:
        return PlanStep((("list_resources", {}),)) if arguments and arguments[-1].get("app_name") else None
    named = [each for each in records if _is_named(str(each.get("resource_name", "")), message)] or records
    applications = {str(each.get("application_name", "")) for each in named}
    if DETAIL.search(message) and len(applications) == 1:
        return PlanStep((("get_application", {"app_name": applications.pop()}),))
    return None


def _is_named(name: str, message: str) -> bool:
    return bool(name) and re.search(rf"(?<![\w-]){re.escape(name)}(?![\w-])", message, re.IGNORECASE) is not None


def _golden_path_move(message: str, listed: Result) -> PlanStep | None:
    """Return the move that runs the golden path named in a message; None if it names none that exists."""
    names = [str(each["name"]) for each in result_records(listed) if "name" in each]
    named = [name for name in names if _is_named(name, message)]
    if not named:
        return None
    given = {"parameters": dict(PARAMETER.findall(message)), "spec_content": find_spec(message)}
    return PlanStep((("run_golden_path", {"path": max(named, key=len), **{key: each for key, each in given.items() if each}}),))


def _answer_plan(request: Request, message: str, steps: list[Result]) -> Plan:
    """Word the results. A problem is reported as it is."""
    if steps[-1].problem is not None:
        return PlanStep(text=problem_reason(steps[-1]))
    found = "\n\n".join([*[format_tool_result(step) for step in steps], _extract_documentation(request.instructions)])
    is_empty = not any(step.data is None or step.data for step in steps)  # which answers "how many", and what there is
    if not is_empty and (yield FindingsQuestion(message, found)) == "no":
        following = (yield from _second_look(request, message, steps[0])) if request.tools and len(steps) == 1 else None
        return following or PlanStep(text=NOT_FOUND)
    asked = f"{found}\n\n{format_plan_question(message, request)}"
    words = yield PlanQuestion(asked, ANSWER, Options(temperature=0, max_tokens=400), answers=True)
    return PlanStep(text=words.strip() or found)


def _talk_plan(request: Request, message: str) -> Plan:
    """Answer in text alone, with matching documentation and the conversation so far."""
    before = [f"{each.role}: {each.text[:500]}" for each in list(request.history)[-3:-1] if each.text]
    known = _extract_documentation(request.instructions)
    asked = "\n\n".join([part for part in (known, "\n".join(before), f"Question: {message}") if part])
    words = yield PlanQuestion(asked, ANSWER if known else TALK, Options(temperature=0, max_tokens=400), answers=True)
    return PlanStep(text=words.strip() or "I don't know.")


def _extract_documentation(instructions: str) -> str:
    """Return the documentation section of the instructions."""
    return instructions[at:] if (at := instructions.find(DOCUMENTATION)) >= 0 else ""


def _write_plan(message: str) -> Plan:
    """Write a spec, corrected as often as is reasonable."""
    drafts: list[SpecDraft] = []
    asked = message
    for _ in range(MAX_TRIES):
        words = yield PlanQuestion(asked, GENERATE, Options(temperature=0.3, max_tokens=1000))
        draft = find_draft(words)
        if draft is not None:
            drafts.append(draft)
            if draft.checked.ok:
                break
        asked = f"{message}\n\nYou wrote:\n{words}\n\n{format_retry_prompt(draft)}"
    if not drafts:
        return PlanStep(text="I couldn't write a spec for this. Describe the application in other words.")
    best = best_draft(drafts)
    return PlanStep(text=f"```yaml\n{best.spec.rstrip()}\n```\n\n{best.explanation}")

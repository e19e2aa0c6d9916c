"""Plan for small models: the model classifies a message, code looks up the facts, and the model words the answer. Pure."""

import re
from collections.abc import Collection, Generator
from typing import Any

import msgspec

from treadle import Options, Result
from treadle.models import Request
from treadle.plans import (
    FindingsQuestion,
    IntentClassifier,
    PlanQuestion,
    PlanStep,
    format_plan_question,
    format_result_lines,
    last_turn,
    load_plan_state,
    select_relevant,
)

GuidancePlan = Generator[PlanQuestion | FindingsQuestion, str, PlanStep]

TOPICS = {
    "spec": "the problem spec: constraints, goals, weights",
    "world": "the world model: actors, mechanisms, resources, assumptions",
    "both": "comparing the problem spec with the world model",
    "runs": "runs that were made",
    "ready": "whether a run can begin",
    "state": "how far the project is, what comes next",
    "before": "what was said earlier",
    "change": "to add, set, change or remove a constraint or a goal",
    "model": "to add, change or remove an actor, resource or other part of the world model",
    "talk": "anything else",
}
_EXAMPLES = (
    ("Which goals do we have?", "spec"),
    ("List my constraints", "spec"),
    ("Who are the actors?", "world"),
    ("What resources did we name?", "world"),
    ("Do my constraints fit the resources of my world model?", "both"),
    ("Compare the spec with the model", "both"),
    ("Did the last run succeed?", "runs"),
    ("Can I start a run now?", "ready"),
    ("What should I do next?", "state"),
    ("What did I say about money?", "before"),
    ("add a deadline of 3 weeks with weight 90", "change"),
    ("remove the goal about speed", "change"),
    ("put the supplier in as an actor", "model"),
    ("What is a world model?", "talk"),
    ("Hello", "talk"),
)
TOPIC_CHOICE = IntentClassifier("Messages about a project that is being planned. Say what each is about.", TOPICS, _EXAMPLES)
ANSWER_PROMPT = (
    "A person asks about their project, and this is what it holds. Answer in a few short sentences from that and nothing else. "
    "Name everything that fits, with its name and weight, exactly as it is written there; what isn't there, say so."
)
TALK_PROMPT = "Answer a person who plans a project, briefly. If you don't know, say so: make nothing up about their project."
CHANGE_PROMPT = (
    "A person wants something changed. Write what changes as JSON, with the names and numbers that they say, and nothing else."
)
_TOPIC_TOOLS = {
    "spec": ("get_problem_spec", "get_world_model"),
    "world": ("get_world_model", "get_problem_spec"),
    "both": ("get_problem_spec", "get_world_model"),
    "runs": ("list_runs",),
    "ready": ("check_run",),
    "state": ("get_workflow_state",),
    "before": ("get_chat_history",),
}
_BESIDE = ("spec", "world")  # looked up together: a message doesn't say in which of the two its words stand
_CHANGE_TOOLS = {"change": "change_problem_spec", "model": "change_world_model"}
_TITLES = {
    "get_problem_spec": "The problem spec",
    "get_world_model": "The world model",
    "list_runs": "The runs",
    "check_run": "What a run would need",
    "get_workflow_state": "The state of the project",
    "get_chat_history": "What was said before",
}
_ASKS = re.compile(r"\s*(?:what|which|who|whom|whose|how|why|when|where|is|are|was|were|do|does|did|has|have)\b", re.IGNORECASE)
_CHANGES = re.compile(  # an imperative, which has no question mark, or a polite request, which may have one
    r"\s*(?:(?:can|could|would|will) you\s+(?:please\s+)?|(?:please\s+)?(?![^\n]*\?\s*$))"
    r"(?:add|change|decrease|delete|drop|include|increase|lower|put|raise|reduce|remove|rename|replace|set"
    r"|update (?:the|my|our))\b",
    re.IGNORECASE,
)
_SPEAKS = re.compile(  # without such a word, a message isn't about the conversation
    r"\b(?:said|say|told|tell|talk(?:ed)?|spoke|mention(?:ed)?|discuss(?:ed)?|ask(?:ed)?|answer(?:ed)?|agreed?|earlier|before|previous"
    r"|last|so far|history|conversation|chat|message)\b",
    re.IGNORECASE,
)
MAX_FOUND = 6_000  # characters of what was found


def plan_guidance(request: Request) -> GuidancePlan:
    """Return the next move: lookups, a change, or the answer."""
    message, results = last_turn(request.history)
    if results:
        return (yield from _plan_answer(request, message, results))
    about = TOPIC_CHOICE.read((yield TOPIC_CHOICE.question(message, _possible_topics(message))))
    if about in _TOPIC_TOOLS:
        return PlanStep(tuple([(name, {}) for name in _TOPIC_TOOLS[about]]), state=about)
    if about in _CHANGE_TOOLS:
        return (yield from _plan_change(request, message, _CHANGE_TOOLS[about]))
    words = yield PlanQuestion(message, TALK_PROMPT, Options(temperature=0, max_tokens=400), answers=True)
    return PlanStep(text=words.strip() or "I don't know.")


def _possible_topics(message: str) -> Collection[str]:
    """Return the topics that a message may have by its mood and words: a question changes nothing, an imperative asks nothing."""
    if _CHANGES.match(message):
        return tuple(_CHANGE_TOOLS)
    excluded = {*(_CHANGE_TOOLS if _ASKS.match(message) else ()), *(() if _SPEAKS.search(message) else ("before",))}
    return tuple([name for name in TOPICS if name not in excluded])


def _plan_change(request: Request, message: str, name: str) -> GuidancePlan:
    """Ask for the arguments of a change, constrained to their schema."""
    schema = next((tool.parameters for tool in request.tools if tool.name == name), None)
    if schema is None:
        return PlanStep(text="Changes aren't allowed here.")
    said = yield PlanQuestion(message, CHANGE_PROMPT, Options(temperature=0, max_tokens=300), schema)
    try:
        arguments = msgspec.json.decode(said, type=dict[str, Any])
    except msgspec.DecodeError:
        return PlanStep(
            text="I couldn't tell what is to change. Say it with a name, and for a constraint with a weight from 0 to 100."
        )
    return PlanStep(((name, {key: value for key, value in arguments.items() if value not in ([], None, "")}),))


def _plan_answer(request: Request, message: str, results: list[Result]) -> GuidancePlan:
    """Ask for an answer worded from what was found; a problem is reported as it is."""
    looked_beside = load_plan_state(request.history) in _BESIDE
    failed = [each for each in (results[:1] if looked_beside else results) if each.problem is not None]
    if failed:
        return PlanStep(text=failed[-1].content)
    if results[-1].name in _CHANGE_TOOLS.values():
        return PlanStep(text=results[-1].content)
    documents = [f"{_TITLES.get(each.name, each.name)}:\n{format_result_lines(each)}" for each in results if each.problem is None]
    found = "\n\n".join(select_relevant(message, documents) if looked_beside else documents)[:MAX_FOUND]
    is_empty = not any(each.data is None or each.data for each in results)  # "how many runs were there?" is answered by that
    if not is_empty and (yield FindingsQuestion(message, found)) == "no":
        return _look_elsewhere(request, results)
    asked = f"{found}\n\n{format_plan_question(message, request)}"
    words = yield PlanQuestion(asked, ANSWER_PROMPT, Options(temperature=0, max_tokens=500), answers=True)
    return PlanStep(text=words.strip() or found)


def _look_elsewhere(request: Request, results: list[Result]) -> PlanStep:
    """Return a look at the spec and the world model where neither was looked at, or the answer that it isn't there."""
    seen = {each.name for each in results}
    if request.tools and seen.isdisjoint(_TOPIC_TOOLS["both"]):
        return PlanStep(tuple([(name, {}) for name in _TOPIC_TOOLS["both"]]), state="spec")
    places = [_TITLES[name].removeprefix("The ") for name in _TITLES if name in seen]
    return PlanStep(text=f"I didn't find that in the {' or the '.join(places)}.")

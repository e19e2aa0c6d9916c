"""How a small model is led: code looks up what a message is about; the model says what that is, and words the answer. Pure."""

from collections.abc import Generator
from typing import Any

import msgspec

from treadle import Move, Options, Question, Request, Result
from treadle.leading import Choice, lines_of, turn_of

Plan = Generator[Question, str, Move]

ABOUT = {
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
CHOICE = Choice("Messages about a project that is being planned. Say what each is about.", ABOUT, _EXAMPLES)
ANSWER = (
    "A person asks about their project, and this is what it holds. Answer in a few short sentences from that and nothing else. "
    "Name everything that fits, with its name and weight, exactly as it is written there; what isn't there, say so."
)
TALK = "Answer a person who plans a project, briefly. If you don't know, say so: make nothing up about their project."
CHANGE = "A person wants something changed. Write what changes as JSON, with the names and numbers that they say, and nothing else."
_LOOKS = {
    "spec": ("get_problem_spec",),
    "world": ("get_world_model",),
    "both": ("get_problem_spec", "get_world_model"),
    "runs": ("list_runs",),
    "ready": ("check_run",),
    "state": ("get_workflow_state",),
    "before": ("get_chat_history",),
}
_CHANGES = {"change": "change_problem_spec", "model": "change_world_model"}
_TITLES = {
    "get_problem_spec": "The problem spec",
    "get_world_model": "The world model",
    "list_runs": "The runs",
    "check_run": "What a run would need",
    "get_workflow_state": "The state of the project",
    "get_chat_history": "What was said before",
}
MOST = 6_000  # characters of what was found


def plan(request: Request) -> Plan:
    """The next move: looks, a change, or the answer."""
    message, results = turn_of(request.history)
    if results:
        return (yield from _answer(message, results))
    about = CHOICE.read((yield CHOICE.question(message)))
    if about in _LOOKS:
        return Move(tuple([(name, {}) for name in _LOOKS[about]]))
    if about in _CHANGES:
        return (yield from _change(request, message, _CHANGES[about]))
    words = yield Question(message, TALK, Options(temperature=0, max_tokens=400))
    return Move(text=words.strip() or "I don't know.")


def _change(request: Request, message: str, name: str) -> Plan:
    """The arguments of a change, which the model is held to the shape of."""
    schema = next((tool.parameters for tool in request.tools if tool.name == name), None)
    if schema is None:
        return Move(text="Changes aren't allowed here.")
    said = yield Question(message, CHANGE, Options(temperature=0, max_tokens=300), schema)
    try:
        arguments = msgspec.json.decode(said, type=dict[str, Any])
    except msgspec.DecodeError:
        return Move(text="I couldn't tell what is to change. Say it with a name, and for a constraint with a weight from 0 to 100.")
    return Move(((name, {key: value for key, value in arguments.items() if value not in ([], None, "")}),))


def _answer(message: str, results: list[Result]) -> Plan:
    """What was found, in words; a problem as it is."""
    failed = [each for each in results if each.problem is not None]
    if failed:
        return Move(text=failed[-1].content)
    if results[-1].name in _CHANGES.values():
        return Move(text=results[-1].content)
    found = "\n\n".join([f"{_TITLES.get(each.name, each.name)}:\n{lines_of(each)}" for each in results])[:MOST]
    words = yield Question(f"{found}\n\nQuestion: {message}", ANSWER, Options(temperature=0, max_tokens=500))
    return Move(text=words.strip() or found)

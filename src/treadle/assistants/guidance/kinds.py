"""What kind of guidance a question asks for, and which actions an answer suggests. Pure: words are looked at, no model is asked."""

import re
from typing import Literal

from treadle.assistants.guidance.stages import Stage, usual_actions

Kind = Literal[
    "setup_guidance",
    "run_recommendation",
    "general_guidance",
    "spec_refinement",
    "world_model_guidance",
    "clarification",
    "contextual_guidance",
]

MOST_ACTIONS = 4
_BY_STAGE: dict[Stage, Kind] = {
    "setup": "setup_guidance",
    "ready_to_run": "run_recommendation",
    "running": "general_guidance",
    "completed": "general_guidance",
}


def _words(*words: str) -> re.Pattern[str]:
    """Whole words only: `setting` is no `set`, and `address` no `add`."""
    return re.compile(rf"\b(?:{'|'.join(words)})\b", re.IGNORECASE)


_DEFINITION = re.compile(r"\b(what|explain|define)\b.{0,30}\bworld models?\b", re.IGNORECASE)
_WORLD = _words(
    "world model", "world models", "worldmodel", "models?", "actors?", "mechanisms?", "assumptions?", "simplifications?"
)
_SPEC = _words(
    *("problems?", "specs?", "problemspec", "constraints?", "goals?", "budgets?", "deadlines?", "weights?", "resolution"),
    *("add", "set", "update", "change", "remove", "require", "must"),
)
_RUN = _words("runs?", "execute", "start", "launch", "pipeline", "candidates?", "evaluations?", "evaluate", "rank(?:ing)?")
_QUESTION = re.compile(r"\b(?:what|how|why|explain|help|which|who|when|where)\b|\?", re.IGNORECASE)

_NUMBERED = re.compile(r"^\s*\d{1,2}[.)]\s+(.+?)\s*$", re.MULTILINE)
_BULLET = re.compile(r"^\s*[-*•]\s+(.+?)\s*$", re.MULTILINE)
_MARKS = re.compile(r"\*\*|__|`")


def kind_of(query: str, stage: Stage) -> Kind:
    """What a question asks for; without one, what suits the stage."""
    if not query.strip():
        return _BY_STAGE[stage]
    if _DEFINITION.search(query):
        return "clarification"
    if _WORLD.search(query) and not _SPEC.search(query):
        return "world_model_guidance"
    if _SPEC.search(query):
        return "spec_refinement"
    if _RUN.search(query):
        return "run_recommendation"
    return "clarification" if _QUESTION.search(query) else "contextual_guidance"


def actions_in(text: str, stage: Stage) -> tuple[str, ...]:
    """The actions that an answer suggests: its numbered lines, else its bulleted ones, else what suits the stage."""
    outside = re.sub(r"^(```|~~~).*?(^\1|\Z)", "", text, flags=re.DOTALL | re.MULTILINE)
    found = _NUMBERED.findall(outside) or _BULLET.findall(outside)
    return tuple([_MARKS.sub("", line) for line in found[:MOST_ACTIONS]]) or usual_actions(stage)

"""Classify the guidance that a question asks for, and extract the actions that an answer suggests. Pure: no model is asked."""

import re
from typing import Literal

from treadle.assistants.guidance.stages import Stage, default_actions

GuidanceType = Literal[
    "setup_guidance",
    "run_recommendation",
    "general_guidance",
    "spec_refinement",
    "world_model_guidance",
    "clarification",
    "contextual_guidance",
]

MAX_ACTIONS = 4
_BY_STAGE: dict[Stage, GuidanceType] = {
    "setup": "setup_guidance",
    "ready_to_run": "run_recommendation",
    "running": "general_guidance",
    "completed": "general_guidance",
}


def _word_pattern(*words: str) -> re.Pattern[str]:
    """Return a pattern of whole words: `setting` is no `set`, and `address` no `add`."""
    return re.compile(rf"\b(?:{'|'.join(words)})\b", re.IGNORECASE)


_DEFINITION = re.compile(r"\b(what|explain|define)\b.{0,30}\bworld models?\b", re.IGNORECASE)
_WORLD = _word_pattern(
    "world model", "world models", "worldmodel", "models?", "actors?", "mechanisms?", "assumptions?", "simplifications?"
)
_SPEC = _word_pattern(
    *("problems?", "specs?", "problemspec", "constraints?", "goals?", "budgets?", "deadlines?", "weights?", "resolution"),
    *("add", "set", "update", "change", "remove", "require", "must"),
)
_RUN = _word_pattern("runs?", "execute", "start", "launch", "pipeline", "candidates?", "evaluations?", "evaluate", "rank(?:ing)?")
_QUESTION = re.compile(r"\b(?:what|how|why|explain|help|which|who|when|where)\b|\?", re.IGNORECASE)

_NUMBERED = re.compile(r"^\s*\d{1,2}[.)]\s+(.+?)\s*$", re.MULTILINE)
_BULLET = re.compile(r"^\s*[-*•]\s+(.+?)\s*$", re.MULTILINE)
_MARKS = re.compile(r"\*\*|__|`")


def classify_question(query: str, stage: Stage) -> GuidanceType:
    """Return the type of guidance that a question asks for; without a question, the one that suits the stage."""
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


def extract_actions(text: str, stage: Stage) -> tuple[str, ...]:
    """Return the actions that an answer suggests: its numbered lines, else its bullets, else the defaults of the stage."""
    outside = re.sub(r"^(```|~~~).*?(^\1|\Z)", "", text, flags=re.DOTALL | re.MULTILINE)
    found = _NUMBERED.findall(outside) or _BULLET.findall(outside)
    return tuple([_MARKS.sub("", line) for line in found[:MAX_ACTIONS]]) or default_actions(stage)

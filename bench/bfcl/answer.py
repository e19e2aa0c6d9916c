"""What a route did with a case: the calls of each turn, as far as they could be read. Values only."""

import json
from dataclasses import dataclass
from typing import Any


@dataclass(frozen=True, slots=True)
class Made:
    """One call. A `problem` says why it could not be carried out."""

    name: str
    arguments: dict[str, Any]
    problem: str = ""

    def told(self) -> dict[str, Any]:
        """For a line of the record."""
        said = {"name": self.name, "arguments": self.arguments}
        return {**said, "problem": self.problem} if self.problem else said


@dataclass(frozen=True, slots=True)
class Answer:
    """The calls, turn by turn, how many tokens the model was given to read, where that is known, and what it said last."""

    turns: tuple[tuple[Made, ...], ...]
    prompt_tokens: int | None = None
    text: str = ""

    @property
    def calls(self) -> tuple[Made, ...]:
        """All calls."""
        return tuple(made for turn in self.turns for made in turn)


def made_from(name: str, arguments: str) -> Made:
    """A call whose arguments are JSON, or should be."""
    try:
        value = json.loads(arguments or "{}")
    except ValueError as error:
        return Made(name, {}, f"arguments are no JSON: {error}")
    return Made(name, value) if isinstance(value, dict) else Made(name, {}, "arguments are no JSON object")

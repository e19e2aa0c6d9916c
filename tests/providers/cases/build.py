"""Short ways to write cases down: the same exchange whole and streamed, under one id."""

from collections.abc import Iterator, Sequence
from typing import Any

from providers.case import Case, Expect, Leg
from providers.script import Answer

PROMPT = "What is the weather in Paris?"


def make(
    at: str, name: str, topic: str, answers: Sequence[Answer], *expects: Expect, stream: bool, prompt: str = PROMPT, **more: Any
) -> Case:
    """One case."""
    legs = more.pop("legs", None) or (Leg(prompt, tuple(answers)),)
    return Case(f"{at}-{name}-{'stream' if stream else 'whole'}", at, topic, legs, expects, stream, **more)


def both(at: str, name: str, topic: str, answers: Sequence[Answer], *expects: Expect, **more: Any) -> Iterator[Case]:
    """The case with the reply whole, and streamed."""
    yield from (make(at, name, topic, answers, *expects, stream=stream, **more) for stream in (False, True))


def whole(at: str, name: str, topic: str, answers: Sequence[Answer], *expects: Expect, **more: Any) -> Iterator[Case]:
    """The case with the reply in one piece."""
    yield make(at, name, topic, answers, *expects, stream=False, **more)


def streamed(at: str, name: str, topic: str, answers: Sequence[Answer], *expects: Expect, **more: Any) -> Iterator[Case]:
    """The case with the reply streamed."""
    yield make(at, name, topic, answers, *expects, stream=True, **more)

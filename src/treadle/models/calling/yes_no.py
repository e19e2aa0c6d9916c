"""Asks a model a question that is answered by yes or no, and how certain it is: the logarithm of the odds.

Examples come first and are always the same, so that a server can cache them; without them, a small model says yes to anything.
"""

from collections.abc import Callable, Sequence
from math import exp

from msgspec import Struct

from treadle.core.messages import History, Message, Text, person_message
from treadle.core.requests import Options, Progress, ReplyEnded, Request, TextDelta, Usage
from treadle.core.seams import Model

CERTAIN_ODDS = 20.0  # where the server doesn't say how likely a word was, the word itself is all there is
_TOP_LOGPROBS = 20  # words whose probability is asked for, which is as many as servers give
_OPTIONS = Options(temperature=0, max_tokens=2, extra={"logprobs": True, "top_logprobs": _TOP_LOGPROBS})


class YesNo(Struct, frozen=True):
    """An answer: the logarithm of the odds of yes, above 0 if it is more likely than no."""

    odds: float
    usage: Usage

    @property
    def probability(self) -> float:
        """The probability of yes."""
        return round(1 / (1 + exp(-self.odds)), 4)


def make_examples(cases: Sequence[tuple[str, str]]) -> History:
    """Return cases with their answers as the conversation that precedes a question."""
    return History(message for case, answer in cases for message in (person_message(case), Message("model", (Text(answer),))))


def yes_no_request(instructions: str, examples: History, case: str, progress: Callable[[Progress], None] | None = None) -> Request:
    """Return the request about a case, after these examples."""
    history = examples.plus(person_message(case))
    return Request(instructions, history, options=_OPTIONS, fixed=len(examples), progress=progress)


async def ask_yes_no(model: Model, request: Request) -> YesNo:
    """Send a model the request of a question."""
    words: list[str] = []
    ended = ReplyEnded("done")
    async for delta in model.reply(request):
        match delta:
            case TextDelta():
                words.append(delta.text)
            case ReplyEnded():
                ended = delta
            case _:
                pass
    return YesNo(_compute_odds("".join(words), ended.chances), ended.usage)


def _compute_odds(said: str, chances: dict[str, float]) -> float:
    known = {word.strip().lower(): chance for word, chance in reversed(chances.items())}  # the likeliest spelling counts
    if "yes" not in known and "no" not in known:
        return -CERTAIN_ODDS if said.strip().lower().startswith("no") else CERTAIN_ODDS
    return known.get("yes", -CERTAIN_ODDS) - known.get("no", -CERTAIN_ODDS)

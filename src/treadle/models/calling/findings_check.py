"""Asks a model whether what was found holds the answer, before it words one.

A small model that is asked what a playground's noise is, and finds that of a canteen, says the canteen's. Asked with examples
whether the answer is there at all, it knows. Only questions for a fact are checked: "is there …?" is answered by what isn't found,
and a request is no question.
"""

import re
from collections.abc import Callable

from treadle.core.requests import Notice, Progress, Usage
from treadle.core.seams import Model
from treadle.guard.dates import Day, find_days
from treadle.models.calling.yes_no import CERTAIN_ODDS, YesNo, ask_yes_no, make_examples, yes_no_request

MAX_FOUND = 6_000  # characters; whether the answer is there can't be told from a part
_FACT = re.compile(
    r"\s*(?:(?:and|so|but|or)\s+)?(?:(?:can|could|would|will) you (?:please )?(?:tell|show) (?:me|us)\s+)?"
    r"(?:(?:in|at|on|by|for|from|of|to|until|since|after|before|under|with)\s+)?"
    r"(?:who|whom|whose|when|where|which|why|what(?! (?:if|about)\b)"
    r"|how (?:many|much|long|old|big|large|high|tall|far|often|loud|warm|cold|hot|fast|heavy))\b",
    re.IGNORECASE,
)
_RANGE = re.compile(r"\b(?:after|before|between|by|from|since|till|until|to)\b", re.IGNORECASE)
INSTRUCTIONS = (
    "Somebody asked a question, and something was looked up. You decide whether what was found holds the answer: it has to be "
    "about exactly that thing and exactly that property of it, and the answer has to be read off, counted or compared. "
    "Reply with yes or no."
)
_ZOO = "- name: Tembo; species: elephant; born: 2011; keeper: Ruth\n- name: Kiki; species: lemur; born: 2019; keeper: Omar"
_ROOM = "room: 14; guest: Ms Arroyo; nights: 3; breakfast: true"
_CONCERT = "- piece: Symphony 3; minutes: 34\n- piece: Overture; minutes: 9"
_HOUSE = "Constraints:\n- Budget: at most 900; weight: 60\n- Silence: no work after 20:00; weight: 80\nGoals:\n- Finished by autumn"
_SETUP = "status: failed\nsteps: fetch done, install error: disk full"
_TRAM = "- stop: Harbour; line: 4; next: 10:12; delayed: false"
_MILL = "The mill was built in 1788 by Jonas Pell. It ground rye until 1921."


def _format_case(found: str, message: str) -> str:
    return f"Found:\n{found}\nQuestion: {' '.join(message.split())}"


_CASES = (
    (_ZOO, "Who looks after Kiki?", "yes"),
    (_ZOO, "How much does Tembo weigh?", "no"),
    (_ZOO, "Which of our animals is the oldest?", "yes"),
    (_ROOM, "What is Ms Arroyo's email address?", "no"),
    (_ROOM, "does room 14 get breakfast", "yes"),
    (_ROOM, "Who sleeps in room 15?", "no"),
    ("[]", "When does the concert in Graz begin?", "no"),
    (_CONCERT, "How many pieces do we play?", "yes"),
    (_CONCERT, "How long is the evening altogether?", "yes"),
    (_CONCERT, "Who plays the solo in the overture?", "no"),
    (_HOUSE, "Until when may we work in the evening?", "yes"),
    (_HOUSE, "Who delivers the paint?", "no"),
    (_HOUSE, "what matters more, money or silence", "yes"),
    (_SETUP, "Why did the installation stop?", "yes"),
    (_SETUP, "How many people use it?", "no"),
    (_TRAM, "Is the 4 late at the harbour?", "yes"),
    (_TRAM, "What does a single ticket cost?", "no"),
    (_MILL, "when did they stop grinding", "yes"),
    (_MILL, "What did the mill cost to build?", "no"),
)


EXAMPLES = make_examples([(_format_case(found, message), answer) for found, message, answer in _CASES])


def asks_for_fact(message: str) -> bool:
    """Return whether a message is a question whose answer has to be found: who, when, where, which, what, how many, why."""
    return _FACT.match(message) is not None


def is_checkable(message: str, found: str, *, facts_only: bool = True) -> bool:
    """Return whether it can be told from what was found whether it holds the answer to a message."""
    return 0 < len(found) <= MAX_FOUND and (asks_for_fact(message) or not facts_only)


def _is_of_other_days(message: str, found: str) -> bool:
    """Return whether a message is about a day, and what was found is about other days; a small model can't tell days apart."""
    asked, known = find_days(message), find_days(found)
    return (
        bool(asked and known)
        and not _RANGE.search(message)
        and not any(_is_same_day(day, other) for day in asked for other in known)
    )


def _is_same_day(day: Day, other: Day) -> bool:
    return day[1:] == other[1:] and (day.year == other.year or not day.year or not other.year)


async def judge_findings(model: Model, message: str, found: str, progress: Callable[[Progress], None] | None = None) -> YesNo:
    """Return how certain a model is that what was found holds the answer to a message. Of another day, it surely doesn't."""
    if _is_of_other_days(message, found):
        return YesNo(-CERTAIN_ODDS, Usage())
    return await ask_yes_no(model, yes_no_request(INSTRUCTIONS, EXAMPLES, _format_case(found, message), progress))


def not_found_notice(judged: YesNo) -> Notice:
    """Return what people should know about an answer that is replaced."""
    return Notice(
        f"As far as the model can tell, what was looked up doesn't have the answer (probability {judged.probability:.0%})."
    )

"""The conversation: facts that are planted early, work that has nothing to do with them, and questions about the facts at the end.

Half of the facts are in the user's own words, half in the result of a tool. Every fifth fact is corrected later; then only the
correction is a right answer. All of it is the same at every run.
"""

from dataclasses import dataclass
from random import Random
from typing import Literal

INSTRUCTIONS = "You keep the books of a company with many depots. Answer in a sentence or two."
NOUNS = ("crates", "pallets", "barrels", "spools", "cartons", "drums")
PLACES = ("the north yard", "the harbour", "hall four", "the cold store", "the rail siding", "the annex")


@dataclass(frozen=True)
class Turn:
    """A message of the user. `depot` is what it is about: nothing, a fact, or a question with its right answer."""

    kind: Literal["work", "fact", "record", "correction", "question"]
    prompt: str
    depot: str = ""
    answer: str = ""


def depot_name(number: int) -> str:
    """Return the name of a depot, unique for each number."""
    first = ("KEL", "MAR", "TOR", "VIS", "LUN", "BRA", "SOL", "DEN", "FAR", "GOR")[number % 10]
    last = ("VIN", "TEK", "DAL", "MOS", "RIK", "NEX", "POL", "SUN", "WAY", "ZAN")[number // 10 % 10]
    return f"{first}{last}"


def access_code(number: int, *, corrected: bool = False) -> str:
    """Return a depot's access code, of six digits."""
    return str(Random(f"{number} {corrected}").randrange(100_000, 999_999))


def work(number: int, speaker: str) -> str:
    """Return a paragraph about other things."""
    chance = Random(f"{speaker} {number}")
    sentences = [
        f"The {chance.choice(NOUNS)} in {chance.choice(PLACES)} were counted again and the list was put into the usual folder."
        for _ in range(3)
    ]
    return f"Shipment {chance.randrange(10_000, 99_999)} left on time. {' '.join(sentences)}"


def depot_record(depot: str) -> str:
    """Return the record of a depot.

    Args:
        depot: the name of the depot, such as KELVIN
    """
    number = next(each for each in range(100) if depot_name(each) == depot)
    lines = [work(number * 100 + line, "record") for line in range(4)]
    return "\n".join([*lines[:2], f"The access code of depot {depot} is {access_code(number)}.", *lines[2:]])


def make_session(turns: int) -> list[Turn]:
    """Return a conversation of so many turns: facts in the first half, corrections after it, questions in the last quarter."""
    facts = turns // 5
    planned: dict[int, Turn] = {}
    for number in range(facts):
        depot, code = depot_name(number), access_code(number)
        at = number * (turns // 2) // facts
        if number % 2:
            planned[at] = Turn("record", f"Look up the record of depot {depot} and keep it in mind.", depot)
        else:
            planned[at] = Turn("fact", f"Keep this in mind: The access code of depot {depot} is {code}.", depot)
        if number % 5 == 0:
            code = access_code(number, corrected=True)
            later = turns // 2 + number * (turns // 4) // facts
            planned[later] = Turn("correction", f"A correction: The access code of depot {depot} is {code} from now on.", depot)
        asked = turns - facts + number
        planned[asked] = Turn("question", f"What is the access code of depot {depot}?", depot, code)
    return [_number(at, planned.get(at) or Turn("work", work(at, "user"))) for at in range(turns)]


def _number(at: int, turn: Turn) -> Turn:
    filler = f" {work(at, 'user')}" if turn.kind in ("fact", "record", "correction") else ""
    return Turn(turn.kind, f"[turn {at}]{filler} {turn.prompt}", turn.depot, turn.answer)

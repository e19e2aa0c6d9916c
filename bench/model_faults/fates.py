"""What becomes of a request: fine, or one of the faults that servers have. Drawn from a seed, so that each can be drawn again."""

from random import Random

from msgspec import Struct

SHARE = 0.3  # of requests that go wrong

KINDS = (
    "429 with Retry-After",
    "429",
    "500",
    "502",
    "503",
    "529",
    "connection refused",
    "reset before the answer",
    "closed before the answer",
    "reset within the answer",
    "cut within the answer",
    "failure told within the answer",
    "silence before the answer",
    "silence within the answer",
)
WITHIN = frozenset(kind for kind in KINDS if "within" in kind)
FINE = "fine"
REFUSALS = (400, 401, 403, 404)  # which no second try would change


class Fate(Struct, frozen=True):
    """What becomes of one request.

    status  of a refusal
    wait    seconds that a refusal asks for, in the header `asks`
    share   how much of the reply comes before the fault
    at      exactly how many bytes come before it, where that is wanted
    pause   whether there is a moment between the last bytes and the fault, in which calls may start
    """

    kind: str = FINE
    status: int = 0
    wait: float = 0.0
    asks: tuple[tuple[str, str], ...] = ()
    share: float = 0.0
    at: int | None = None
    pause: bool = False


def drawn(seed: int, order: str, number: int, share: float = SHARE) -> Fate:
    """The fate of an order's n-th request."""
    chance = Random(f"{seed}/{order}/{number}")
    if chance.random() >= share:
        return Fate(share=chance.random(), pause=chance.random() < 0.2)
    kind = chance.choice(KINDS)
    if kind == "429 with Retry-After":
        wait, asks = chance.choice(((0.03, ("retry-after-ms", "30")), (0.08, ("retry-after", "0.08")), (1.0, ("retry-after", "1"))))
        return Fate(kind, 429, wait, (asks,))
    if kind[:3].isdecimal():
        return Fate(kind, int(kind[:3]))
    return Fate(kind, share=chance.random(), pause=chance.random() < 0.5)


def doomed(seed: int, order: str) -> Fate:
    """A refusal that stays one."""
    return Fate("refused for good", Random(f"{seed}/{order}").choice(REFUSALS))

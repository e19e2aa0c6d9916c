"""What the runs came to, as a page of Markdown."""

from collections import Counter
from collections.abc import Sequence
from statistics import median

from msgspec import Struct

from bench.model_faults.fates import FINE, KINDS
from bench.model_faults.runs import Carried
from bench.model_faults.verdicts import waits


class Part(Struct, frozen=True):
    """One part of the proof: its runs, and what is wrong with them."""

    title: str
    carried: list[Carried]
    flaws: list[str]
    seconds: float

    @property
    def requests(self) -> int:
        """How many requests came in."""
        return sum(len(each.asked) for each in self.carried)

    @property
    def fates(self) -> Counter[str]:
        """How often each fate befell a request."""
        return Counter([asked.fate.kind for each in self.carried for asked in each.asked])


def page(parts: Sequence[Part], tries: int) -> str:
    """All of it."""
    return "\n".join(
        [
            "# Models that fail",
            "",
            "Agents with a journal and an audit pay orders, two items a round, with a tool whose calls may happen once. Their",
            "model is a server on loopback that speaks OpenAI's wire and Anthropic's, streamed and whole, and fails from a seed.",
            f"`python -m bench.model_faults` writes this page; a request is tried up to {tries} times.",
            "",
            "| | runs | requests | of them faults | effects | repeated | from half a call | runs that ended wrong | seconds |",
            "|---|---:|---:|---:|---:|---:|---:|---:|---:|",
            *[_row(part) for part in parts],
            "",
            "A run ended wrong where anything of this doesn't hold:",
            "",
            "- it finishes; or, refused for good, ends there and isn't asked again",
            "- each effect happened exactly once, with its own arguments, and in the journal on disk each call began once",
            "- a watcher who wipes out the words of a failed try (`ModelRetried`) keeps each reply's words once",
            "- requests are counted exactly; tokens exactly as billed for whole replies, and of a reply that broke at most what it",
            "  had told of itself (OpenAI's wire tells at the end; Anthropic's tells at the beginning what was read)",
            "- `Retry-After` is kept, with at most a tenth more planned",
            "",
            "| fate of a request | how often |",
            "|---|---:|",
            *[f"| {kind} | {count} |" for kind, count in _fates(parts[0])],
            "",
            _waited(parts[0]),
            "",
        ]
    )


def _row(part: Part) -> str:
    effects = sum((each.effects for each in part.carried), Counter[tuple[str, int, int]]())
    known = {effect for each in part.carried for effect in each.order.effects}
    repeated = sum(count - 1 for count in effects.values())
    half = sum(count for effect, count in effects.items() if effect not in known)
    faults = part.requests - part.fates[FINE]
    share = f"{faults} ({100 * faults / part.requests:.0f} %)"
    row = (part.title, len(part.carried), part.requests, share, effects.total(), repeated, half, len(part.flaws))
    return "| " + " | ".join([str(each) for each in row]) + f" | {part.seconds:.0f} |"


def _fates(part: Part) -> list[tuple[str, int]]:
    return [(kind, part.fates[kind]) for kind in (FINE, *KINDS)]


def _waited(part: Part) -> str:
    shares = [share for each in part.carried for _, _, share in waits(each)]
    asked = f"{len(shares)} answers asked to be left alone for 0.03 to 1 s"
    return f"{asked}: the next request came after {min(shares):.2f} times that at the earliest, {median(shares):.2f} in the middle."

"""How long dialects take to read a megabyte, and whether two take twice as long: `python -m bench.dialects [NAME ...]`.

Replies arrive in pieces of 16 characters: words, words with calls in between, and one call with a very long argument. The time is
CPU time, which a busy machine distorts least. Anything over the goals is marked, and the command then exits with 1.
"""

import sys
import time
from collections.abc import Callable, Sequence

from treadle.core.calls import Call
from treadle.core.requests import ToolSpec
from treadle.core.seams import Dialect
from treadle.dialects import dialect_names, get_dialect

MEGABYTE = 1_000_000
PIECE = 16
TIMES = 3
LONGEST = 2.0  # seconds for a megabyte
STEEPEST = 2.5  # times as long for twice as much
SHORTEST = 0.2  # seconds below which a ratio says nothing
TOOLS = (ToolSpec("ls", "Lists files.", {"type": "object", "properties": {"path": {"type": "string"}}}),)
WORDS = "Some words that a model says, a [link](x), a {brace} and a <b>tag</b>.\n"


def words(dialect: Dialect, size: int) -> str:
    """A reply without calls."""
    return (WORDS * (size // len(WORDS) + 1))[:size]


def calls(dialect: Dialect, size: int) -> str:
    """A reply in which words and calls take turns."""
    unit = f"{WORDS}{dialect.spell([Call('', 'ls', {'path': 'some/path'})])}\n"
    return (unit * (size // len(unit) + 1))[:size]


def argument(dialect: Dialect, size: int) -> str:
    """A reply that is one call."""
    return dialect.spell([Call("", "ls", {"path": (WORDS * (size // len(WORDS) + 1))[: size - 1000]})])


REPLIES: tuple[Callable[[Dialect, int], str], ...] = (words, calls, argument)


def seconds(dialect: Dialect, text: str) -> float:
    """CPU time to read a reply to its end: the best of a few, since nothing makes it shorter than it is."""
    pieces = [text[at : at + PIECE] for at in range(0, len(text), PIECE)]
    return min(_once(dialect, pieces) for _ in range(TIMES))


def _once(dialect: Dialect, pieces: Sequence[str]) -> float:
    parser = dialect.parser(TOOLS)
    began = time.process_time()
    for piece in pieces:
        parser.feed(piece)
    parser.close()
    return time.process_time() - began


def measure(name: str) -> bool:
    """Print a dialect's line; whether it keeps to the goals."""
    dialect, cells, fine = get_dialect(name), list[str](), True
    for reply in REPLIES:
        once, twice = (seconds(dialect, reply(dialect, size)) for size in (MEGABYTE, 2 * MEGABYTE))
        ratio = twice / once if once else 0.0
        over = once > LONGEST or (ratio > STEEPEST and twice > SHORTEST)
        fine = fine and not over
        cells.append(f"{once:6.2f} s  x{ratio:4.2f}{' !' if over else '  '}")
    print(f"{name:24}{'   '.join(cells)}", flush=True)
    return fine


def main(wanted: Sequence[str]) -> int:
    """All dialects, or those that are named."""
    print(f"{'':24}{'   '.join(f'{reply.__name__:17}' for reply in REPLIES)}")
    kept = [measure(name) for name in wanted or dialect_names()]
    return 0 if all(kept) else 1


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))

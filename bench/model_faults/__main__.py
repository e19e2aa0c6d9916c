"""The command line: `python -m bench.model_faults [--requests 10000] [--seed 1]`. Prints the page and writes it to `bench/results`.

Ends with an error where a run came to anything but what it has to come to.
"""

import asyncio
import sys
from argparse import ArgumentParser
from pathlib import Path

from bench.model_faults.page import page
from bench.model_faults.proof import at_random, cut_everywhere, refused_for_good
from bench.model_faults.runs import LIMITS
from treadle.models.http import close_model_connections

RESULTS = Path(__file__).parents[1] / "results" / "model-faults.md"


async def main() -> int:
    """All three parts."""
    parser = ArgumentParser(prog="python -m bench.model_faults", description=__doc__)
    parser.add_argument("--requests", type=int, default=10_000)
    parser.add_argument("--seed", type=int, default=1)
    asked = parser.parse_args()
    parts = [await at_random(asked.requests, asked.seed), await cut_everywhere(), await refused_for_good(400, asked.seed)]
    await close_model_connections()
    for flaw in [flaw for part in parts for flaw in part.flaws]:
        print(flaw, file=sys.stderr)
    written = page(parts, LIMITS.tries)
    RESULTS.write_text(written, "utf-8")
    print(written)
    return 1 if any(part.flaws for part in parts) else 0


if __name__ == "__main__":
    raise SystemExit(asyncio.run(main()))

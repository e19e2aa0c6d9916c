"""The command line: `python -m bench.durable load` or `soak [--minutes 30]`. Prints the page and writes it to `bench/results`.

Ends with an error where a goal is missed. A soak of less than half an hour is only printed.
"""

import asyncio
import sys
from argparse import ArgumentParser
from pathlib import Path

from bench.durable import load, soak

RESULTS = Path(__file__).parents[1] / "results"


def main() -> int:
    """Measure, and write it down."""
    parser = ArgumentParser(prog="python -m bench.durable", description=__doc__)
    parser.add_argument("what", choices=("load", "soak"))
    parser.add_argument("--minutes", type=float, default=30.0, help="of the soak (default: 30)")
    wanted = parser.parse_args()
    measured = load.page() if wanted.what == "load" else asyncio.run(soak.page(wanted.minutes))
    print(measured.text)
    if wanted.what == "load" or wanted.minutes >= 30:
        (RESULTS / f"durable-{wanted.what}.md").write_text(measured.text, "utf-8")
    for missed in measured.missed:
        print(f"missed: {missed}", file=sys.stderr)
    return 1 if measured.missed else 0


if __name__ == "__main__":
    raise SystemExit(main())

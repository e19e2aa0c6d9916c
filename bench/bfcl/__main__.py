"""The command line: `python -m bench.bfcl --model openai:qwen --base-url http://127.0.0.1:8080/v1`.

Progress goes to standard error, the table to standard output and beside the record.
"""

import argparse
import asyncio
import re
from collections.abc import Sequence
from pathlib import Path

from bench.bfcl import lines
from bench.bfcl.cases import KINDS, MULTI_TURN, Case, counts, sample
from bench.bfcl.routes import ROUTES
from bench.bfcl.table import page

RESULTS = Path(__file__).parents[1] / "results"


def main(arguments: Sequence[str] | None = None) -> None:
    """Ask, check, and write down; or only one of those."""
    parser = _parser()
    wanted = parser.parse_args(arguments)
    if wanted.table:
        print(page(lines.read(wanted.table)))
    elif wanted.recheck:
        from bench.bfcl.running import recheck

        recheck(wanted.recheck)
        print(page(lines.read(wanted.recheck)))
    elif wanted.self_test:
        from bench.bfcl.self_test import self_test

        raise SystemExit(0 if self_test(wanted.kinds) else 1)
    elif not wanted.model:
        parser.error("--model says which model to ask, such as llamacpp:qwen2.5-coder-1.5b")
    else:
        _measure(wanted, parser)


def _measure(wanted: argparse.Namespace, parser: argparse.ArgumentParser) -> None:
    out: Path = wanted.out or RESULTS / f"bfcl-{re.sub(r'[^A-Za-z0-9.]+', '-', wanted.model)}.jsonl"
    if out.exists() and not wanted.resume:
        parser.error(f"{out} is there already: go on with --resume, or name another --out")
    try:
        per = counts(wanted.per, wanted.kinds)
    except ValueError as error:
        parser.error(str(error))
    cases = sample(wanted.kinds, per, wanted.seed)
    out.parent.mkdir(parents=True, exist_ok=True)
    asyncio.run(_run(wanted, cases, out))
    found = page(lines.read(out))
    (out.parent / "bfcl.md").write_text(found, "utf-8")
    print(found)


async def _run(wanted: argparse.Namespace, cases: Sequence[Case], out: Path) -> None:
    """All of it in one event loop, and then what it opened closed."""
    from bench.bfcl.running import run
    from bench.bfcl.where import found
    from treadle.models.http import close_model_connections
    from treadle.models.llamacpp.child import close_children

    try:
        await run(cases, wanted.routes, await found(wanted.model, wanted.dialect, wanted.base_url), out)
    finally:
        await close_model_connections()
        close_children()


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(prog="python -m bench.bfcl", description=__doc__.partition("\n")[0] if __doc__ else None)
    parser.add_argument("--model", default="", help="as Treadle names it: llamacpp:NAME, openai:NAME, …")
    parser.add_argument("--dialect", default="", help="how Treadle's model writes calls; what suits it unless you say otherwise")
    parser.add_argument(
        "--base-url", default="", help="where an OpenAI-compatible server listens, for openai:NAME and for the others"
    )
    singles = [kind for kind in KINDS if kind != MULTI_TURN]
    parser.add_argument("--kinds", type=_among(KINDS), default=singles, help=f"of {', '.join(KINDS)}; all but the last unless said")
    parser.add_argument("--per", default="12", help="cases of each kind: 12, or 8,parallel=20 (default: %(default)s)")
    parser.add_argument("--seed", type=int, default=1, help="decides which (default: %(default)s)")
    parser.add_argument("--routes", type=_among(ROUTES), default=list(ROUTES), help=f"of {', '.join(ROUTES)}; all unless said")
    parser.add_argument("--out", type=Path, help="the record, a JSON line for each case and route")
    parser.add_argument("--resume", action="store_true", help="go on with a record: ask what is missing or failed")
    parser.add_argument("--table", type=Path, metavar="FILE", help="print the table of a record, and ask nothing")
    parser.add_argument("--recheck", type=Path, metavar="FILE", help="check the answers of a record again, and ask nothing")
    parser.add_argument("--self-test", action="store_true", help="feed the published answers through the checkers, and ask nothing")
    return parser


class _among:  # noqa: N801 - read as a function, and shown as one in argparse's messages
    """Names separated by commas, all of them known."""

    def __init__(self, known: Sequence[str]) -> None:
        self._known = known
        self.__name__ = "list"

    def __call__(self, text: str) -> list[str]:
        names = text.split(",")
        strange = [name for name in names if name not in self._known]
        if strange:
            raise argparse.ArgumentTypeError(f"there is no {strange[0]!r}; there are {', '.join(self._known)}")
        return names


if __name__ == "__main__":
    main()

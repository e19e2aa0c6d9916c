"""One session of one contender, in a process of its own: `python -m bench.long_sessions.worker NAME TURNS URL KEY`. Prints JSON."""

import asyncio
import json
import os
import sys
import time
from collections import Counter

from bench.long_sessions.contenders import CONTENDERS
from bench.long_sessions.session import make_session


async def hold(name: str, turns: int, url: str, key: str) -> dict[str, object]:
    """Hold the conversation. A turn that fails is counted, and the next one is tried."""
    right, asked, failures = Counter[str](), Counter[str](), Counter[str]()
    kinds: dict[str, str] = {}
    began = time.perf_counter()
    async with CONTENDERS[name](url, key) as say:
        for turn in make_session(turns):
            answer = ""
            try:
                answer = await say(turn.prompt)
            except Exception as error:  # noqa: BLE001 - whatever a framework raises, its user has no answer
                failures[f"{type(error).__name__}: {str(error)[:200]}"] += 1
            if turn.kind in ("fact", "record", "correction"):
                kinds[turn.depot] = turn.kind
            elif turn.kind == "question":
                asked[kinds[turn.depot]] += 1
                right[kinds[turn.depot]] += turn.answer in answer
    return {"right": right, "asked": asked, "failures": failures, "seconds": time.perf_counter() - began}


def main() -> None:
    """Hold the session that the command line names."""
    name, turns, url, key = sys.argv[1:]
    os.environ.setdefault("LANGSMITH_TRACING", "false")
    print(json.dumps(asyncio.run(hold(name, int(turns), url, key))))


if __name__ == "__main__":
    main()

"""`python -m bench.long_sessions.embedded [MODEL …]`: a sample with a model on this computer, whose window is small.

The conversation is that of the bench, with fewer turns, fewer facts and no tool. The model writes its own summaries. An answer with
the right code counts. Beside it, the same conversation where the oldest turns are dropped, with nothing in their place.
"""

import argparse
import asyncio
import time
from collections.abc import Sequence
from pathlib import Path

from bench.long_sessions.session import INSTRUCTIONS, Turn, make_session
from bench.machine import describe
from bench.report import table
from treadle import Agent, Compaction, Options
from treadle.core.entries import Compacted
from treadle.errors import TreadleError
from treadle.models.llamacpp.model import LlamaCpp
from treadle.stores.memory import MemoryJournal

RESULTS = Path(__file__).parents[1] / "results" / "long-sessions-embedded.md"
WINDOW = 4_096
STRATEGIES = {"as it comes": Compaction(), "oldest turns dropped": Compaction(notes=lambda messages, characters: "")}
COLUMNS = [
    "model",
    "compaction",
    "turns",
    "recall",
    "turns without an answer",
    "compactions",
    "input tokens of the last turn",
    "output tokens of the last turn",
    "minutes",
]


def say_facts(turns: int) -> list[Turn]:
    """Return the conversation with every fact in the user's words."""
    said = [each for each in make_session(turns) if each.kind != "record"]
    known = {each.depot for each in said if each.kind == "fact"}
    return [each for each in said if each.kind == "work" or each.depot in known]


async def hold(name: str, turns: Sequence[Turn], strategy: str) -> list[str]:
    """Hold the conversation; return the row of the table."""
    journal = MemoryJournal()
    agent = Agent(
        LlamaCpp(name, context=WINDOW),
        instructions=INSTRUCTIONS,
        options=Options(max_tokens=60, temperature=0),
        compaction=STRATEGIES[strategy],
    )
    right = asked = failures = input_tokens = output_tokens = 0
    began = time.monotonic()
    for turn in turns:
        answer = ""
        try:
            result = await agent.run(turn.prompt, run_id="talk", journal=journal)
            answer = result.output_or_none or ""
            input_tokens, output_tokens = result.usage.input_tokens, result.usage.output_tokens
        except TreadleError as error:
            print(f"{name}: {error}", flush=True)
        failures += not answer
        if turn.kind == "question":
            asked += 1
            right += turn.answer in answer
            print(f"{name}: {turn.prompt} {answer!r}, expected {turn.answer}", flush=True)
    entries = await journal.read("talk")
    compactions = sum(isinstance(each, Compacted) for each in entries)
    minutes = (time.monotonic() - began) / 60
    figures = [f"{right} of {asked}", str(failures), str(compactions), f"{input_tokens:,}", f"{output_tokens:,}", f"{minutes:.1f}"]
    return [name, strategy, str(len(turns)), *figures]


def main() -> None:
    """Hold the conversations, and write them down."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("models", nargs="+")
    parser.add_argument("--turns", type=int, default=50)
    wanted = parser.parse_args()
    turns = say_facts(wanted.turns)
    rows = [asyncio.run(hold(name, turns, how)) for name in wanted.models for how in STRATEGIES]
    machine = describe()
    page = "\n".join(
        [
            "# Long sessions with a model on this computer\n",
            f"{machine.cpu}, {machine.cores} cores, {machine.date}, load average before it {machine.load_average_before}.\n",
            "Written by `python -m bench.long_sessions.embedded`. Facts in the user's words are asked for in the last fifth,",
            f"with a window of {WINDOW:,} tokens; the model writes its own summaries.\n",
            table(COLUMNS, rows),
            "",
        ]
    )
    print(page)
    RESULTS.write_text(page, "utf-8")


if __name__ == "__main__":
    main()

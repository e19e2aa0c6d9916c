"""`python -m bench.tool_fit`: asks the model for each asking whether a tool fits, and writes what it decided at each threshold.

The askings are in `askings.jsonl`: tools, what a person says, whether a tool should be called, and whether it is held out. Nothing
may be changed by looking at those that are. With `--answers`, ordinary questions are answered with tools on offer, too: an answer
must not be an apology.
"""

import argparse
import asyncio
import re
from collections.abc import Sequence
from pathlib import Path
from types import TracebackType
from typing import Any

import msgspec
from msgspec import Struct

from treadle import Agent, Options, RunContext
from treadle.core.calls import Call
from treadle.core.messages import History, person_message
from treadle.core.requests import Request, ToolSpec
from treadle.core.seams import Model
from treadle.core.tool import Tool
from treadle.models.calling.tool_fit import CASES, ToolCase, judge_tool_fit, make_fit_examples
from treadle.plugins.models import resolve_model

HERE = Path(__file__).parent
RESULTS = HERE.parent / "results"
CANDIDATES: tuple[ToolCase, ...] = (  # people look up what is theirs without naming the tool's words
    (
        ("list_tasks(tag): List the tasks, or those with a tag.", "finish_task(id): Mark a task as done."),
        "what do I still have to do for school",
        "yes",
    ),
    (("list_tasks(tag): List the tasks, or those with a tag.",), "How do busy people stay organised?", "no"),
    (("search_mail(text, sender): Search the mailbox.",), "has Tom written about the invoice yet?", "yes"),
    (("findRooms(state): Find rooms that are free, booked or closed.",), "where could we sit down for an hour?", "yes"),
    (("search_mail(text, sender): Search the mailbox.",), "What is a polite way to decline an invitation?", "no"),
    (("findRooms(state): Find rooms that are free, booked or closed.",), "hello", "no"),
)
THRESHOLDS = (-1.0, -0.5, 0.0, 0.5, 1.0)
APOLOGY = re.compile(r"\b(?:sorry|apologi[sz]e|can(?:'|no)t (?:help|assist|answer)|unable to)\b", re.IGNORECASE)


class OfferedTool(Struct, frozen=True):
    """A tool of an asking."""

    name: str
    arguments: tuple[str, ...]
    description: str

    @property
    def spec(self) -> ToolSpec:
        """The tool as a model is told of it."""
        properties = {name: {"type": "string"} for name in self.arguments}
        return ToolSpec(self.name, self.description, {"type": "object", "properties": properties})


class Asking(Struct, frozen=True):
    """What a person says, with the tools on offer."""

    tools: tuple[OfferedTool, ...]
    asking: str
    call: bool
    held_out: bool


class JudgedAsking(Struct, frozen=True):
    """An asking, and the log odds that a tool fits."""

    asking: Asking
    odds: float

    def is_right(self, threshold: float) -> bool:
        """Whether the decision at this threshold is the right one."""
        return (self.odds >= threshold) == self.asking.call


def load_askings() -> list[Asking]:
    """Return all askings."""
    lines = (HERE / "askings.jsonl").read_bytes().splitlines()
    return [msgspec.json.decode(line, type=Asking) for line in lines]


async def measure(model: Model, askings: Sequence[Asking], cases: Sequence[ToolCase]) -> list[JudgedAsking]:
    """Ask the model about each asking, after these examples."""
    examples = make_fit_examples(cases)
    judged: list[JudgedAsking] = []
    for asking in askings:
        request = Request("", History([person_message(asking.asking)]), tuple([tool.spec for tool in asking.tools]))
        fit = await judge_tool_fit(model, request, examples)
        judged.append(JudgedAsking(asking, fit.odds))
        print(f"{fit.odds:+6.2f} {'call' if asking.call else 'none'} {asking.asking}", flush=True)
    return judged


def format_page(model: str, judged: Sequence[JudgedAsking]) -> str:
    """Return the page of results."""
    lines = [f"Whether to call a tool, decided by {model} on {len(judged)} askings in people's own words.", ""]
    lines += ["| log odds at least | seen: call | seen: none | held out: call | held out: none |"]
    lines += ["|---:|---:|---:|---:|---:|"]
    for threshold in THRESHOLDS:
        cells = [_share(judged, threshold, held_out=held, call=call) for held in (False, True) for call in (True, False)]
        lines.append(f"| {threshold:+.1f} | " + " | ".join(cells) + " |")
    lines += ["", "| asking | should call | log odds | held out |", "|---|---|---:|---|"]
    for each in judged:
        cells = [each.asking.asking, _yes(each.asking.call), f"{each.odds:+.2f}", _yes(each.asking.held_out)]
        lines.append("| " + " | ".join(cells) + " |")
    return "\n".join(lines) + "\n"


def _yes(is_so: bool) -> str:
    return "yes" if is_so else "no"


def _share(judged: Sequence[JudgedAsking], threshold: float, *, held_out: bool, call: bool) -> str:
    some = [each for each in judged if each.asking.held_out == held_out and each.asking.call == call]
    return f"{sum(each.is_right(threshold) for each in some)} of {len(some)}"


async def answer_ordinary(model: Model, askings: Sequence[Asking]) -> None:
    """Print the answers to ordinary questions with tools on offer."""
    for asking in [each for each in askings if not each.call]:
        agent = Agent(model, toolsets=[SilentTools(asking.tools)], options=Options(max_tokens=80, temperature=0))
        result = await agent.run(asking.asking)
        verdict = "APOLOGY" if APOLOGY.search(result.text) else "calls" if result.calls else "fine"
        print(f"{verdict:8} {asking.asking} -> {' '.join(result.text.split())[:200]}", flush=True)


class SilentTools:
    """The tools of an asking, which find nothing."""

    def __init__(self, offered: Sequence[OfferedTool]) -> None:
        self._tools = tuple([Tool(tool.spec, effect="read", retry="read") for tool in offered])

    def tools(self) -> tuple[Tool, ...]:
        """Return the tools."""
        return self._tools

    async def call(self, call: Call, context: RunContext[Any]) -> str:
        """Find nothing."""
        return "nothing found"

    async def __aenter__(self) -> "SilentTools":
        return self

    async def __aexit__(self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None) -> None:
        pass


def main() -> None:
    """Measure, and write the page."""
    parser = argparse.ArgumentParser(prog="python -m bench.tool_fit")
    parser.add_argument("--model", default="llamacpp:qwen2.5-coder-1.5b")
    parser.add_argument("--answers", action="store_true", help="answer the ordinary questions instead; no page is written")
    parser.add_argument("--candidates", action="store_true", help="with the candidate examples besides those in use")
    parser.add_argument("--seen", action="store_true", help="those that aren't held out alone; no page is written")
    wanted = parser.parse_args()

    async def work() -> None:
        model = resolve_model(wanted.model)
        askings = [each for each in load_askings() if not (wanted.seen and each.held_out)]
        try:
            if wanted.answers:
                await answer_ordinary(model, askings)
                return
            judged = await measure(model, askings, (*CASES, *CANDIDATES) if wanted.candidates else CASES)
        finally:
            from treadle.models.llamacpp.child import close_children

            close_children()
        if not wanted.seen:
            name = "tool_fit_candidates.md" if wanted.candidates else "tool_fit.md"
            (RESULTS / name).write_text(format_page(wanted.model, judged), "utf-8")

    asyncio.run(work())


if __name__ == "__main__":
    main()

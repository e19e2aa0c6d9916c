"""`python -m bench.guidance`: the questions, each in a run of its own on the sample project; what was right, and what was said."""

import argparse
import asyncio
import os
import re
import tempfile
import time
from collections.abc import Awaitable, Callable
from pathlib import Path

from msgspec import Struct

from bench.guidance.dataset import guidance_dataset
from bench.guidance.questions import QUESTIONS, Question
from treadle.agent.session import AssistantSession
from treadle.assistants.guidance import assistant
from treadle.assistants.guidance.command import make_sample_project
from treadle.assistants.guidance.projects import open_projects
from treadle.assistants.guidance.session import GuidanceReply
from treadle.core.seams import Model
from treadle.evals import EvalReport
from treadle.evals.runner import EvalOptions, run_dataset
from treadle.home import close_home, open_home
from treadle.models.http import close_model_connections
from treadle.models.llamacpp.child import close_children
from treadle.plugins.assistant import Host
from treadle.plugins.models import resolve_model

RESULTS = Path(__file__).parents[1] / "results" / "guidance.md"
WINDOW = 8_192


class Answered(Struct, frozen=True):
    """The result of one question."""

    text: str
    right: bool
    seconds: float
    looks: tuple[str, ...]
    said: str


def is_right(question: Question, guided: GuidanceReply, looks: tuple[str, ...]) -> bool:
    """Whether everything is there that has to be."""
    if question.waits:
        return len(guided.approvals) == 1
    found = all(re.search(pattern, guided.guidance_message) for pattern in question.has)
    return found and not guided.approvals and set(question.looks) <= set(looks)


async def ask_all(name: str) -> list[Answered]:
    """Every question, one after the other."""
    model = resolve_model(name, context=WINDOW)

    async def same() -> Model:
        return model

    known: list[Answered] = []
    with tempfile.TemporaryDirectory() as place:
        home = open_home(Path(place) / "home")
        os.environ["TREADLE_GUIDANCE_DATABASE"] = str(Path(place) / "projects.db")  # whatever is settled here
        host = Host(home, same, "ann")
        async with open_projects(host) as store:
            project = await make_sample_project(store, "ann")
            session = AssistantSession(assistant, host, {"project_id": project.id})
            for question in QUESTIONS:
                began = time.perf_counter()
                guided: GuidanceReply = (await session.run(question.text)).data
                looks = tuple(audit["tool_name"] for audit in guided.tool_call_audits)
                waits = "\n".join([approval.preview for approval in guided.approvals])
                took = time.perf_counter() - began
                known.append(
                    Answered(question.text, is_right(question, guided, looks), took, looks, waits or guided.guidance_message)
                )
                print(
                    f"{'right' if known[-1].right else '-':6} {took:4.0f} s  {question.text[:60]:60} {' '.join(looks)}", flush=True
                )
        close_home(home)
    return known


async def evaluate_all(model: Model, folder: Path) -> EvalReport:
    """Every question, as cases of a dataset."""
    home = open_home(folder / "home")
    os.environ["TREADLE_GUIDANCE_DATABASE"] = str(folder / "projects.db")
    try:
        async with open_projects(Host(home, _same(model), "ann")) as store:
            project = await make_sample_project(store, "ann")
            options = EvalOptions(model=model, user="ann", home=home, parallel=1, folder=folder / "workspaces")
            return await run_dataset(guidance_dataset(project.id), options)
    finally:
        close_home(home)


def _same(model: Model) -> Callable[[], Awaitable[Model]]:
    async def same() -> Model:
        return model

    return same


def page(known: list[Answered], model: str) -> str:
    """The table."""
    right, seconds = sum(each.right for each in known), sum(each.seconds for each in known) / max(1, len(known))
    share = f"**{right} right ({right / max(1, len(known)):.0%})**, {seconds:.0f} s each."
    lines = [
        f"{len(known)} questions on the sample project; {model}. {share}\n",
        "| question | right | looks | said |",
        "|---|---|---|---|",
    ]
    for each in known:
        said = re.sub(r"\s+", " ", each.said).replace("|", "\\|")
        lines.append(f"| {each.text} | {'yes' if each.right else '**no**'} | {', '.join(each.looks)} | {said[:200]} |")
    return "\n".join(lines) + "\n"


def _print_evaluation(name: str) -> None:
    async def evaluated(folder: Path) -> EvalReport:
        try:
            return await evaluate_all(resolve_model(name, context=WINDOW), folder)
        finally:
            await close_model_connections()

    try:
        with tempfile.TemporaryDirectory() as folder:
            report = asyncio.run(evaluated(Path(folder)))
    finally:
        close_children()
    print(f"{sum(case.passed for case in report.cases)} of {len(report.cases)} right\n{report.failures()}")


def main() -> None:
    """Ask, and write the page."""
    parser = argparse.ArgumentParser(prog="python -m bench.guidance")
    parser.add_argument("--model", default="llamacpp:qwen2.5-coder-1.5b")
    parser.add_argument("--eval", action="store_true", help="run the questions as a dataset of `treadle.evals`")
    wanted = parser.parse_args()
    model = wanted.model
    if wanted.eval:
        _print_evaluation(model)
        return

    async def asked() -> list[Answered]:
        try:
            return await ask_all(model)
        finally:
            await close_model_connections()

    try:
        known = asyncio.run(asked())
    finally:
        close_children()
    RESULTS.write_text(page(known, model), "utf-8")
    print(page(known, model))


if __name__ == "__main__":
    main()

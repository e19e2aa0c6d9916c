"""`treadle models probe`: ask a model a few questions in each calling mode, and save the best one.

Only a completed probe is saved; then it is used wherever that model is used.
"""

import argparse
from typing import Any

import msgspec

from treadle.admin.probe import QUESTIONS, ProbeResult, best_result, candidate_modes, probe_model
from treadle.cli.agent_options import AgentOptions
from treadle.cli.agents import model_from_options
from treadle.cli.exit_codes import FAILED, OK
from treadle.cli.runner import run_async
from treadle.cli.ui.display import Display
from treadle.cli.ui.progress_bar import draw_bar
from treadle.cli.ui.render import format_seconds, format_table, to_terminal_json
from treadle.cli.ui.run_status import RunStatus
from treadle.core.seams import Model
from treadle.models.chat_templates import fetch_chat_template
from treadle.models.repairs import repair_memory
from treadle.plugins.models import persist_repairs
from treadle.settings.calling_modes import CallingMode, calling_modes_file, forget_calling_mode, save_calling_mode

HEADINGS = ("WAY", "RIGHT", "TIME", "WHAT WENT WRONG")


def run(args: argparse.Namespace) -> int:
    """Probe, or forget the result of a probe."""
    return _forget_probe(args) if args.forget else run_async(_probe_model(args))


def _forget_probe(args: argparse.Namespace) -> int:
    face = Display(args)
    persist_repairs()
    forgotten = any([forget_calling_mode(args.model), repair_memory.forget(args.model)])
    if args.json:
        face.screen.line(to_terminal_json({"model": args.model, "forgotten": forgotten}))
    elif forgotten:
        face.screen.note(f"What was found out about {args.model} is forgotten; it is asked as models like it usually are.")
    else:
        face.screen.tell(f"treadle: Nothing was found out about {args.model} so far; nothing was forgotten.", "red")
    return OK if forgotten else FAILED


async def _probe_model(args: argparse.Namespace) -> int:
    face = Display(args)
    model = model_from_options(AgentOptions(model=args.model, base_url=args.base_url or ""))
    template = await fetch_chat_template(model.name, args.base_url or "")
    tried = await _try_all(model, template, face)
    found = best_result(tried)
    if found is not None:
        save_calling_mode(model.name, found.way)
    if args.json:
        face.screen.line(to_terminal_json(_to_json(model.name, tried, found)))
    elif found is None:
        face.screen.tell(f"treadle: {model.name} got nothing right in any way, so nothing was kept.", "red")
    else:
        face.screen.note(_format_saved(model.name, found.way))
    return OK if found else FAILED


async def _try_all(model: Model, template: str, face: Display) -> list[ProbeResult]:
    """Try every calling mode, and print a row as each one finishes."""
    ways = candidate_modes(model, template)
    tried: list[ProbeResult] = []
    shows = face.form == "text"
    if shows:
        face.screen.line(_format_row(HEADINGS, ways))
    status = RunStatus()

    def show(way: str, number: int) -> None:
        status.idle = f"{way} {draw_bar(number - 1, len(QUESTIONS))} question {number} of {len(QUESTIONS)}"
        face.screen.status.draw(status.describe(), at_once=True)

    with face.screen.status.showing(status.describe):
        async for each in probe_model(model, template, show):
            tried.append(each)
            if shows:
                face.screen.line(_format_row(_to_cells(each), ways, face.screen.width))
    return tried


def _to_cells(tried: ProbeResult) -> tuple[str, ...]:
    way = tried.way
    if tried.problem:
        return way.dialect, "-", "-", tried.problem
    return way.dialect, f"{way.right} of {way.of}", format_seconds(tried.seconds), ", ".join(tried.wrong) or "-"


def _format_row(row: tuple[str, ...], ways: list[str], width: int | None = None) -> str:
    """Format a row as wide as all others will be."""
    widest = max([len(way) for way in ways])
    return format_table([row, ("x" * widest, "x of x", "xxxx.x s", "")], width)[0]


def _format_saved(name: str, way: CallingMode) -> str:
    return (
        f"From now on {name} is made to call this way: {way.dialect}. That is kept in {calling_modes_file()}; "
        f"`treadle models probe {name} --forget` removes it."
    )


def _to_json(name: str, tried: list[ProbeResult], found: ProbeResult | None) -> dict[str, Any]:
    return {
        "model": name,
        "ways": [msgspec.to_builtins(each) for each in tried],
        "best": msgspec.to_builtins(found.way) if found else None,
        "path": str(calling_modes_file()) if found else None,
    }

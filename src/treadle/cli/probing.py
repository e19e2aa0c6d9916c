"""`treadle models probe`: asks a model a few questions in each way it may call in, and keeps the way that works best.

Only a probe that came to its end is kept; then `app.ways` uses it wherever that model is used.
"""

import argparse
from typing import Any

import msgspec

from treadle.app.models import remember_repairs
from treadle.app.probe import QUESTIONS, Tried, best, worth_trying
from treadle.app.probing import probe
from treadle.app.ways import Way, forget, remember, ways_file
from treadle.cli.agents import model_from
from treadle.cli.bar import Line, cells, show_loading
from treadle.cli.carrying import carry_out
from treadle.cli.choices import Chosen
from treadle.cli.codes import FAILED, FINE
from treadle.cli.face import Face
from treadle.cli.render import seconds, table, to_json
from treadle.core.seams import Model
from treadle.models.repairs import memory
from treadle.models.templates import template_of

HEAD = ("WAY", "RIGHT", "TIME", "WHAT WENT WRONG")


def run(args: argparse.Namespace) -> int:
    """Probe, or forget what a probe found out."""
    return _forget(args) if args.forget else carry_out(_probe(args))


def _forget(args: argparse.Namespace) -> int:
    face = Face(args)
    remember_repairs()
    forgotten = any([forget(args.model), memory.forget(args.model)])
    if args.json:
        face.screen.line(to_json({"model": args.model, "forgotten": forgotten}))
    elif forgotten:
        face.screen.note(f"What was found out about {args.model} is forgotten; it is asked as models like it usually are.")
    else:
        face.screen.tell(f"treadle: Nothing was found out about {args.model} so far; nothing was forgotten.", "red")
    return FINE if forgotten else FAILED


async def _probe(args: argparse.Namespace) -> int:
    face = Face(args)
    model = model_from(Chosen(model=args.model, base_url=args.base_url or ""))
    if hasattr(model, "on_load") and face.shows_progress:
        show_loading(model, face.screen)
    template = await template_of(model.name, args.base_url or "")
    tried = await _all(model, template, face)
    found = best(tried)
    if found is not None:
        remember(model.name, found.way)
    if args.json:
        face.screen.line(to_json(_described(model.name, tried, found)))
    elif found is None:
        face.screen.tell(f"treadle: {model.name} got nothing right in any way, so nothing was kept.", "red")
    else:
        face.screen.note(_kept(model.name, found.way))
    return FINE if found else FAILED


async def _all(model: Model, template: str, face: Face) -> list[Tried]:
    """Every way tried, a row each as it is over."""
    ways = worth_trying(model, template)
    tried: list[Tried] = []
    shows = face.form == "text"
    if shows:
        face.screen.line(_row(HEAD, ways))
    with Line(face.screen) as line:

        def show(way: str, number: int) -> None:
            if face.shows_progress:
                drawn = f"{way} {cells(number - 1, len(QUESTIONS))} question {number} of {len(QUESTIONS)}"
                line.draw(drawn, at_once=True)

        async for each in probe(model, template, show):
            tried.append(each)
            if shows:
                line.clear()
                face.screen.line(_row(_cells(each), ways, face.screen.width))
    return tried


def _cells(tried: Tried) -> tuple[str, ...]:
    way = tried.way
    if tried.problem:
        return way.dialect, "-", "-", tried.problem
    return way.dialect, f"{way.right} of {way.of}", seconds(tried.seconds), ", ".join(tried.wrong) or "-"


def _row(row: tuple[str, ...], ways: list[str], width: int | None = None) -> str:
    """A row, as wide as all others will be."""
    widest = max([len(way) for way in ways])
    return table([row, ("x" * widest, "x of x", "xxxx.x s", "")], width)[0]


def _kept(name: str, way: Way) -> str:
    return (
        f"From now on {name} is made to call this way: {way.dialect}. That is kept in {ways_file()}; "
        f"`treadle models probe {name} --forget` removes it."
    )


def _described(name: str, tried: list[Tried], found: Tried | None) -> dict[str, Any]:
    return {
        "model": name,
        "ways": [msgspec.to_builtins(each) for each in tried],
        "best": msgspec.to_builtins(found.way) if found else None,
        "path": str(ways_file()) if found else None,
    }

"""`treadle models pull` and `treadle models remove`: local models fetched, with a bar that says how far it is, and removed."""

import argparse
import asyncio
from contextlib import nullcontext
from pathlib import Path

from treadle.cli.bar import Bar
from treadle.cli.carrying import carry_out
from treadle.cli.codes import FINE
from treadle.cli.render import to_json
from treadle.cli.screen import Screen
from treadle.core.errors import PullFailed
from treadle.models.catalogue import LocalModel, entry
from treadle.models.local import path_of, remove, sized
from treadle.models.pull import pull, unseen


def run(args: argparse.Namespace) -> int:
    """Fetch, or remove."""
    model, screen = entry(args.name), Screen(quiet=args.quiet or args.json)
    if args.action == "remove":
        return _remove(model, screen, as_json=args.json)
    return carry_out(fetch(model, screen, None if args.quiet or args.json else Bar(model.name, screen), as_json=args.json))


async def fetch(model: LocalModel, screen: Screen, bar: Bar | None = None, *, as_json: bool = False) -> int:
    """Fetch a model, show how far it is, and say where it is then."""
    if path_of(model):
        screen.note(f"{model.name} is here already.")
    path = await fetched(model, screen, bar)
    described = {"name": model.name, "path": str(path), "size": model.size, "sha256": model.sha256}
    screen.line(to_json(described) if as_json else str(path))
    return FINE


async def fetched(model: LocalModel, screen: Screen, bar: Bar | None = None) -> Path:
    """A model's file, fetched if need be."""
    try:
        with bar or nullcontext():
            return await pull(model, bar.show if bar else unseen)
    except asyncio.CancelledError:
        screen.note(f"Interrupted; what has come is kept. To go on: treadle models pull {model.name}")
        raise


def _remove(model: LocalModel, screen: Screen, *, as_json: bool) -> int:
    freed = remove(model)
    if not freed:
        raise PullFailed(f"{model.name} isn't here; nothing was removed.")
    screen.note(f"Removed {model.name}: {sized(freed)} are free again.")
    if as_json:
        screen.line(to_json({"name": model.name, "freed": freed}))
    return FINE

"""`treadle models pull` and `treadle models remove`: download local models with a progress bar, and remove them."""

import argparse
import asyncio
from contextlib import nullcontext
from pathlib import Path

from treadle.cli.exit_codes import OK
from treadle.cli.runner import run_async
from treadle.cli.ui.progress_bar import ProgressBar
from treadle.cli.ui.render import to_terminal_json
from treadle.cli.ui.screen import Screen
from treadle.core.errors import PullFailed
from treadle.models.downloads.catalogue import LocalModel, find_local_model
from treadle.models.downloads.pull import ignore_progress, pull_model
from treadle.models.downloads.storage import find_model_file, format_bytes, remove_model


def run(args: argparse.Namespace) -> int:
    """Pull or remove a model."""
    model, screen = find_local_model(args.name), Screen(quiet=args.quiet or args.json)
    if args.action == "remove":
        return _remove_model(model, screen, as_json=args.json)
    return run_async(
        pull_with_progress(model, screen, None if args.quiet or args.json else ProgressBar(model.name, screen), as_json=args.json)
    )


async def pull_with_progress(model: LocalModel, screen: Screen, bar: ProgressBar | None = None, *, as_json: bool = False) -> int:
    """Download a model, show the progress, and print its path."""
    if find_model_file(model):
        screen.note(f"{model.name} is here already.")
    path = await ensure_pulled(model, screen, bar)
    described = {"name": model.name, "path": str(path), "size": model.size, "sha256": model.sha256}
    screen.line(to_terminal_json(described) if as_json else str(path))
    return OK


async def ensure_pulled(model: LocalModel, screen: Screen, bar: ProgressBar | None = None) -> Path:
    """Return a model's file, downloading it if needed."""
    try:
        with bar or nullcontext():
            return await pull_model(model, bar.show if bar else ignore_progress)
    except asyncio.CancelledError:
        screen.note(f"Interrupted. To continue the download: treadle models pull {model.name}")
        raise


def _remove_model(model: LocalModel, screen: Screen, *, as_json: bool) -> int:
    freed = remove_model(model)
    if not freed:
        raise PullFailed(f"{model.name} isn't here; nothing was removed.")
    screen.note(f"Removed {model.name}: {format_bytes(freed)} are free again.")
    if as_json:
        screen.line(to_terminal_json({"name": model.name, "freed": freed}))
    return OK

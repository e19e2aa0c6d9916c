"""`treadle models`: which kinds there are, what is configured here, and which one is used when none is named. Keys stay unseen."""

import argparse
import os
from typing import Any

from treadle.app.models import default_model
from treadle.app.plugins import installed
from treadle.cli.carrying import carry_out
from treadle.cli.render import table, to_json
from treadle.cli.screen import Screen
from treadle.core.errors import UnknownModel
from treadle.guard.redaction import Redactor
from treadle.models.ollama import address_of, installed_models

KEYS = ("OPENAI_API_KEY", "ANTHROPIC_API_KEY")
PLACES = ("OPENAI_BASE_URL", "ANTHROPIC_BASE_URL", "OLLAMA_HOST", "TREADLE_MODEL")


def run(args: argparse.Namespace) -> int:
    """Say it."""
    return carry_out(_models(args))


async def _models(args: argparse.Namespace) -> int:
    found, screen = await _found(), Screen()
    if args.json:
        screen.line(to_json(found))
        return 0
    kinds = [(kind["name"], f"{kind['package']} {kind['version']}") for kind in found["kinds"]]
    for line in table([("KIND", "PACKAGE"), *kinds], screen.width):
        screen.line(line)
    screen.line()
    for line in table(_settings(found), screen.width):
        screen.line(line)
    return 0


async def _found() -> dict[str, Any]:
    plugins = [plugin for plugin in installed() if plugin.group == "models"]
    redactor = Redactor()
    return {
        "kinds": [{"name": plugin.name, "package": plugin.package, "version": plugin.version} for plugin in plugins],
        "keys": {key: bool(os.environ.get(key)) for key in KEYS},
        "settings": {place: redactor.text(os.environ.get(place, "")) for place in PLACES},
        "ollama": {"address": redactor.text(address_of()), "models": await installed_models()},
        "default": await _default(),
    }


async def _default() -> str | None:
    try:
        return await default_model()
    except UnknownModel:
        return None


def _settings(found: dict[str, Any]) -> list[tuple[str, str]]:
    ollama = found["ollama"]
    local = ", ".join(ollama["models"]) or f"none; no Ollama answers at {ollama['address']}, or it has no models"
    return [
        *[(key, "set" if is_set else "not set") for key, is_set in found["keys"].items()],
        *[(place, value or "not set") for place, value in found["settings"].items()],
        ("Ollama's models", local),
        ("default", found["default"] or "none: set TREADLE_MODEL, or name a model with -m KIND:NAME"),
    ]

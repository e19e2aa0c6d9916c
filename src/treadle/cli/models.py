"""`treadle models`: which kinds there are, what is configured here, which local models are, and which model is the default.

Keys stay unseen. Fetching and removing local models is `pulling`, finding out how one calls best is `probing`.
"""

import argparse
import os
from typing import Any

import msgspec

from treadle.app.models import LOCAL, default_model, remember_repairs
from treadle.app.plugins import installed
from treadle.app.ways import remembered
from treadle.cli.carrying import carry_out
from treadle.cli.render import table, to_json
from treadle.cli.screen import Screen
from treadle.core.errors import UnknownModel
from treadle.guard.redaction import Redactor
from treadle.models.catalogue import ENTRIES, LocalModel
from treadle.models.factory import key_of
from treadle.models.local import partial_path, path_of, size_of, sized
from treadle.models.ollama import address_of, installed_models
from treadle.models.providers import PROVIDERS, Provider
from treadle.models.repairs import Repair, memory

PLACES = ("OPENAI_BASE_URL", "ANTHROPIC_BASE_URL", "OLLAMA_HOST", "TREADLE_MODEL", "TREADLE_MODELS")


def run(args: argparse.Namespace) -> int:
    """Say it, or let it be done."""
    if args.action in ("pull", "remove"):
        from treadle.cli import pulling

        return pulling.run(args)
    if args.action == "probe":
        from treadle.cli import probing

        return probing.run(args)
    return carry_out(_models(args))


async def _models(args: argparse.Namespace) -> int:
    remember_repairs()
    found, screen = await _found(), Screen()
    if args.json:
        screen.line(to_json(found))
        return 0
    for line in table([("PROVIDER", "KEY", "WHAT IT IS"), *map(_provider_row, found["providers"])], screen.width):
        screen.line(line)
    others = [plugin["name"] for plugin in found["kinds"] if plugin["name"] not in PROVIDERS]
    screen.line(f"Other kinds: {', '.join(others)}.")
    screen.line()
    for line in table([("LOCAL MODEL", "SIZE", "HERE", "WHAT IT IS"), *map(_local_row, found["local"])], screen.width):
        screen.line(line)
    screen.line()
    if found["repairs"]:
        for line in table([("MODEL", "AT", "WHAT IT TAUGHT US"), *map(_repair_row, found["repairs"])], screen.width):
            screen.line(line)
        screen.line()
    if found["probed"]:
        for line in table([("PROBED MODEL", "CALLS", "RIGHT"), *map(_probed_row, found["probed"].items())], screen.width):
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
        "local": [_local(model) for model in ENTRIES],
        "repairs": [_repairs(key, repairs) for key, repairs in memory.all().items()],
        "probed": msgspec.to_builtins(remembered()),
        "providers": [_provider(provider) for provider in PROVIDERS.values()],
        "settings": {place: redactor.text(os.environ.get(place, "")) for place in PLACES},
        "ollama": {"address": redactor.text(address_of()), "models": await installed_models()},
        "default": await _default(),
    }


def _provider(provider: Provider) -> dict[str, Any]:
    return {
        "name": provider.kind,
        "title": provider.title,
        "variables": list(provider.keys),
        "key": key_of(provider) or None,
        "default_model": provider.default_model or None,
    }


def _provider_row(provider: dict[str, Any]) -> tuple[str, ...]:
    key = f"{provider['key']} is set" if provider["key"] else f"{provider['variables'][0]} not set"
    return provider["name"], key, provider["title"]


def _repairs(key: str, repairs: tuple[Repair, ...]) -> dict[str, Any]:
    model, _, address = key.partition(" ")
    return {"model": model, "address": address, "repairs": [repair.words for repair in repairs]}


def _repair_row(known: dict[str, Any]) -> tuple[str, ...]:
    return known["model"], known["address"], "; ".join(known["repairs"])


def _local(model: LocalModel) -> dict[str, Any]:
    path = path_of(model)
    return {
        "name": model.name,
        "title": model.title,
        "licence": model.licence,
        "size": model.size,
        "path": str(path) if path else None,
        "come": model.size if path else size_of(partial_path(model)),
    }


def _local_row(local: dict[str, Any]) -> tuple[str, ...]:
    come = f"{100 * local['come'] // local['size']} %" if local["come"] else "no"
    return local["name"], sized(local["size"]), "yes" if local["path"] else come, f"{local['title']}, {local['licence']}"


def _probed_row(probed: tuple[str, dict[str, Any]]) -> tuple[str, ...]:
    name, way = probed
    return name, way["dialect"], f"{way['right']} of {way['of']}"


async def _default() -> str | None:
    try:
        return await default_model()
    except UnknownModel:
        return None


def _settings(found: dict[str, Any]) -> list[tuple[str, str]]:
    ollama = found["ollama"]
    local = ", ".join(ollama["models"]) or f"none; no Ollama answers at {ollama['address']}, or it has no models"
    return [
        *[(place, value or "not set") for place, value in found["settings"].items()],
        ("Ollama's models", local),
        (
            "default",
            found["default"] or f"none: set a provider's key, name a model with -m KIND:NAME, or pull {LOCAL}",
        ),
    ]

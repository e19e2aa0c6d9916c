"""`treadle models`: list providers, the configuration, local models, and the default model.

Keys are not shown. `models_pull` downloads and removes local models, `models_probe` finds a model's best calling mode.
"""

import argparse
import os
from typing import Any

import msgspec

from treadle.cli.runner import run_async
from treadle.cli.ui.render import format_table, to_terminal_json
from treadle.cli.ui.screen import Screen
from treadle.core.errors import UnknownModel
from treadle.guard.redaction import Redactor
from treadle.models.downloads.catalogue import LOCAL_MODELS, LocalModel
from treadle.models.downloads.storage import file_size, find_model_file, format_bytes, partial_path
from treadle.models.factory import find_key_variable
from treadle.models.providers import PROVIDERS, ModelProvider
from treadle.models.repairs import Repair, repair_memory
from treadle.models.wires.ollama import list_ollama_models, ollama_address
from treadle.plugins.entry_points import list_plugins
from treadle.plugins.models import LOCAL, default_model, persist_repairs
from treadle.settings.calling_modes import load_calling_modes
from treadle.settings.provider_keys import PROVIDER_KEYS_FILE, stored_providers

ADDRESS_VARIABLES = ("OPENAI_BASE_URL", "ANTHROPIC_BASE_URL", "OLLAMA_HOST", "TREADLE_MODEL", "TREADLE_MODELS")


def run(args: argparse.Namespace) -> int:
    """List the models, or run the requested action."""
    if args.action in ("pull", "remove"):
        from treadle.cli.commands import models_pull

        return models_pull.run(args)
    if args.action == "probe":
        from treadle.cli.commands import models_probe

        return models_probe.run(args)
    return run_async(_print_models(args))


async def _print_models(args: argparse.Namespace) -> int:
    persist_repairs()
    found, screen = await _collect(), Screen()
    if args.json:
        screen.line(to_terminal_json(found))
        return 0
    for line in format_table([("PROVIDER", "KEY", "WHAT IT IS"), *map(_provider_row, found["providers"])], screen.width):
        screen.line(line)
    others = [plugin["name"] for plugin in found["kinds"] if plugin["name"] not in PROVIDERS]
    screen.line(f"Other kinds: {', '.join(others)}.")
    screen.line()
    for line in format_table([("LOCAL MODEL", "SIZE", "HERE", "WHAT IT IS"), *map(_local_row, found["local"])], screen.width):
        screen.line(line)
    screen.line()
    if found["repairs"]:
        for line in format_table([("MODEL", "AT", "WHAT IT TAUGHT US"), *map(_repair_row, found["repairs"])], screen.width):
            screen.line(line)
        screen.line()
    if found["probed"]:
        for line in format_table([("PROBED MODEL", "CALLS", "RIGHT"), *map(_probed_row, found["probed"].items())], screen.width):
            screen.line(line)
        screen.line()
    for line in format_table(_settings_rows(found), screen.width):
        screen.line(line)
    return 0


async def _collect() -> dict[str, Any]:
    plugins = [plugin for plugin in list_plugins() if plugin.group == "models"]
    redactor = Redactor()
    return {
        "kinds": [{"name": plugin.name, "package": plugin.package, "version": plugin.version} for plugin in plugins],
        "local": [_local_to_json(model) for model in LOCAL_MODELS],
        "repairs": [_repairs_to_json(key, repairs) for key, repairs in repair_memory.all().items()],
        "probed": msgspec.to_builtins(load_calling_modes()),
        "providers": [_provider_to_json(provider) for provider in PROVIDERS.values()],
        "settings": {place: redactor.text(os.environ.get(place, "")) for place in ADDRESS_VARIABLES},
        "ollama": {"address": redactor.text(ollama_address()), "models": await list_ollama_models()},
        "default": await _default_model_name(),
    }


def _provider_to_json(provider: ModelProvider) -> dict[str, Any]:
    return {
        "name": provider.kind,
        "title": provider.title,
        "variables": list(provider.keys),
        "key": find_key_variable(provider) or (PROVIDER_KEYS_FILE if provider.kind in stored_providers() else None),
        "default_model": provider.default_model or None,
    }


def _provider_row(provider: dict[str, Any]) -> tuple[str, ...]:
    stored = f"encrypted in {PROVIDER_KEYS_FILE}" if provider["key"] == PROVIDER_KEYS_FILE else f"{provider['key']} is set"
    key = stored if provider["key"] else f"{provider['variables'][0]} not set"
    return provider["name"], key, provider["title"]


def _repairs_to_json(key: str, repairs: tuple[Repair, ...]) -> dict[str, Any]:
    model, _, address = key.partition(" ")
    return {"model": model, "address": address, "repairs": [repair.words for repair in repairs]}


def _repair_row(known: dict[str, Any]) -> tuple[str, ...]:
    return known["model"], known["address"], "; ".join(known["repairs"])


def _local_to_json(model: LocalModel) -> dict[str, Any]:
    path = find_model_file(model)
    return {
        "name": model.name,
        "title": model.title,
        "licence": model.licence,
        "size": model.size,
        "path": str(path) if path else None,
        "come": model.size if path else file_size(partial_path(model)),
    }


def _local_row(local: dict[str, Any]) -> tuple[str, ...]:
    come = f"{100 * local['come'] // local['size']} %" if local["come"] else "no"
    return local["name"], format_bytes(local["size"]), "yes" if local["path"] else come, f"{local['title']}, {local['licence']}"


def _probed_row(probed: tuple[str, dict[str, Any]]) -> tuple[str, ...]:
    name, way = probed
    return name, way["dialect"], f"{way['right']} of {way['of']}"


async def _default_model_name() -> str | None:
    try:
        return await default_model()
    except UnknownModel:
        return None


def _settings_rows(found: dict[str, Any]) -> list[tuple[str, str]]:
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

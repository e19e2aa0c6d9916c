"""Libraries that cases are run with. An adapter uses what a library's own documentation shows, and nothing private."""

from importlib import import_module

from providers.case import Adapter

NAMES = ("treadle", "pydantic_ai")


def adapter_of(name: str) -> Adapter:
    """The adapter by this name."""
    return import_module(f"providers.adapters.{name}_adapter").adapter()

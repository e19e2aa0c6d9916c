"""Adapters, found by the entry points `agent_exam.adapters` of installed packages, and those that come with the exam."""

from importlib import import_module
from importlib.metadata import entry_points

from agent_exam.protocol import Adapter

OURS = ("treadle", "pydantic-ai", "openai-agents", "langgraph", "agno", "smolagents")


def names() -> list[str]:
    """The names of all adapters: those that come with the exam first."""
    others = {point.name for point in entry_points(group="agent_exam.adapters")}
    return [*OURS, *sorted(others - set(OURS))]


def load(name: str) -> Adapter:
    """Import an adapter by its name, or by `module:function`."""
    if ":" in name:
        module, _, function = name.partition(":")
        return getattr(import_module(module), function)()
    if name in OURS:
        return import_module(f"{__name__}.{name.replace('-', '_')}_adapter").adapter()
    for point in entry_points(group="agent_exam.adapters", name=name):
        return point.load()()
    raise SystemExit(f"There is no adapter {name!r}. There are {', '.join(names())}, and module:function.")

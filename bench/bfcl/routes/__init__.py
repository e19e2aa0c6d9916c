"""The ways to the model, and the one seam they share: open with where the model is, get a function from a case to an answer."""

from collections.abc import Awaitable, Callable
from contextlib import AbstractAsyncContextManager
from importlib import import_module

from bench.bfcl.answer import Answer
from bench.bfcl.cases import Case
from bench.bfcl.where import Where

Ask = Callable[[Case], Awaitable[Answer]]
Open = Callable[[Where], AbstractAsyncContextManager[Ask]]

_MODULES = {"treadle": "treadle_agent", "pydantic-ai": "pydantic_ai_model", "openai-agents": "openai_agents_model"}
ROUTES = tuple(_MODULES)


def load(name: str) -> Open:
    """Import a route; only those that take part are needed."""
    return import_module(f"{__name__}.{_MODULES[name]}").opened

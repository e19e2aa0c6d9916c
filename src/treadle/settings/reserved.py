"""Reserved names: Treadle's commands, the options of every assistant command, and the server's paths.

An assistant can't use them. Imports almost nothing, so that `--help` is fast.
"""

from argparse import Action, ArgumentParser, Namespace
from collections.abc import Callable
from typing import Any

COMMANDS = (
    "ask",
    "chat",
    "resume",
    "runs",
    "jobs",
    "show",
    "approve",
    "deny",
    "settle",
    "fork",
    "audit",
    "stats",
    "tool",
    "parse",
    "models",
    "settings",
    "assistants",
    "serve",
    "users",
    "submit",
    "worker",
    "schedules",
    "doctor",
    "backup",
    "restore",
    "retention",
    "mcp",
    "plugins",
    "help",
    "version",
)

PATHS = (  # and all below them
    "/login",
    "/logout",
    "/health",
    "/ready",
    "/metrics",
    "/openapi.json",
    "/docs",
    "/v1",
    "/mcp",
    "/static",
    "/stats",
    "/runs",
    "/approvals",
    "/jobs",
    "/audit",
    "/api/me",
    "/api/models",
    "/api/assistants",
    "/api/demonstrations",
    "/api/runs",
    "/api/approvals",
    "/api/jobs",
    "/api/audit",
    "/api/stats",
)

_DEFAULT = "(default: TREADLE_MODEL, else your treadle.toml's, else a running Ollama's first, else a small one that runs here)"


class AppendModel(Action):
    """An argparse action that joins repeated models into a fallback: one text, as `model_of` takes it."""

    def __call__(self, parser: ArgumentParser, namespace: Namespace, values: Any, option_string: str | None = None) -> None:
        """Append one model."""
        before = getattr(namespace, self.dest, None)
        setattr(namespace, self.dest, f"{before}, {values}" if before else values)


def add_model_options(add_argument: Callable[..., object]) -> None:
    """Add the options for the model and its server."""
    words = f"KIND:NAME, such as openai:gpt-5-mini; again for the next one where it is down {_DEFAULT}"
    add_argument("-m", "--model", action=AppendModel, help=words)
    add_argument("--base-url", metavar="URL", help="where the model's server is")


def add_dialect_option(add_argument: Callable[..., object]) -> None:
    """Add the option for how the model calls tools."""
    how = "how the model calls: native, held, or the name of a dialect (default: what suits it)"
    add_argument("--dialect", metavar="NAME", help=how)


def add_common_options(parser: ArgumentParser) -> None:
    """Add the options that every assistant command has."""
    group = parser.add_argument_group("common options")
    add_model_options(group.add_argument)
    add_dialect_option(group.add_argument)
    group.add_argument("--user", help="on whose behalf")
    group.add_argument("--yes", action="store_true", help="say yes to everything that would be asked")
    group.add_argument("-q", "--quiet", action="store_true", help="no notes on stderr")

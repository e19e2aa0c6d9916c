"""What is Treadle's own: the names of its commands, the options of every command of an assistant, the paths of its server.

An assistant can't have them for itself. Next to nothing is imported here, so that help comes at once.
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


class NextModel(Action):
    """A model, and after it those that are asked where it is down: all of them as one text, as `model_of` takes it."""

    def __call__(self, parser: ArgumentParser, namespace: Namespace, values: Any, option_string: str | None = None) -> None:
        """Add one that was typed."""
        before = getattr(namespace, self.dest, None)
        setattr(namespace, self.dest, f"{before}, {values}" if before else values)


def add_model_options(add_argument: Callable[..., object]) -> None:
    """Which model, and where it is."""
    words = f"KIND:NAME, such as openai:gpt-5-mini; again for the next one where it is down {_DEFAULT}"
    add_argument("-m", "--model", action=NextModel, help=words)
    add_argument("--base-url", metavar="URL", help="where the model's server is")


def add_dialect_option(add_argument: Callable[..., object]) -> None:
    """How the model calls tools."""
    how = "how the model calls: native, held, or the name of a dialect (default: what suits it)"
    add_argument("--dialect", metavar="NAME", help=how)


def add_common_options(parser: ArgumentParser) -> None:
    """What every command of an assistant has besides its own."""
    group = parser.add_argument_group("common options")
    add_model_options(group.add_argument)
    add_dialect_option(group.add_argument)
    group.add_argument("--user", help="on whose behalf")
    group.add_argument("--yes", action="store_true", help="say yes to everything that would be asked")
    group.add_argument("-q", "--quiet", action="store_true", help="no notes on stderr")

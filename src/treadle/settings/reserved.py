"""Reserved names: Treadle's commands, the options of every assistant command, and the server's paths.

An assistant can't use them. Imports almost nothing, so that `--help` is fast.
"""

from argparse import Action, ArgumentParser, Namespace
from collections.abc import Callable, Collection
from typing import Any

COMMANDS = (
    "ask",
    "chat",
    "resume",
    "runs",
    "cancel",
    "watch",
    "wait",
    "retry",
    "jobs",
    "show",
    "approve",
    "permissions",
    "memory",
    "dead-letters",
    "notifications",
    "deny",
    "settle",
    "event",
    "fork",
    "audit",
    "stats",
    "eval",
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
    "queues",
    "restore",
    "retention",
    "mcp",
    "acp",
    "plugins",
    "help",
    "completion",
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
    "/settings",
    "/api/me",
    "/api/models",
    "/api/assistants",
    "/api/demonstrations",
    "/api/runs",
    "/api/approvals",
    "/api/events",
    "/api/permissions",
    "/api/jobs",
    "/api/audit",
    "/api/stats",
    "/api/settings",
)

_DEFAULT = "(default: TREADLE_MODEL, then treadle.toml, then a running Ollama, then a small local model)"


class AppendModel(Action):
    """An argparse action that joins repeated models into a fallback: one text, as `model_of` takes it."""

    def __call__(self, parser: ArgumentParser, namespace: Namespace, values: Any, option_string: str | None = None) -> None:
        """Append one model."""
        before = getattr(namespace, self.dest, None)
        setattr(namespace, self.dest, f"{before}, {values}" if before else values)


def add_model_options(add_argument: Callable[..., object]) -> None:
    """Add the options for the model and its server."""
    words = f"KIND:NAME, such as openai:gpt-5-mini; repeat it for a fallback {_DEFAULT}"
    add_argument("-m", "--model", action=AppendModel, help=words)
    add_argument("--base-url", metavar="URL", help="the URL of the model's server")


def add_dialect_option(add_argument: Callable[..., object]) -> None:
    """Add the option for how the model calls tools."""
    how = "how the model calls tools: native, held, or the name of a dialect (default: what suits the model)"
    add_argument("--dialect", metavar="NAME", help=how)


def add_common_options(parser: ArgumentParser, which: Collection[str] = ("model", "approval")) -> None:
    """Add the options that assistant commands share: `which` says whether also those for a model, and for approvals."""
    group = parser.add_argument_group("common options")
    if "model" in which:
        add_model_options(group.add_argument)
        add_dialect_option(group.add_argument)
    group.add_argument("--user", help="the user on whose behalf to act")
    if "approval" in which:
        group.add_argument("--yes", action="store_true", help="answer yes to every question")
    add_note_options(group.add_argument)


def add_note_options(add_argument: Callable[..., object]) -> None:
    """Add the options for how much is printed on stderr."""
    add_argument("-q", "--quiet", action="store_true", help="no notes on stderr")
    add_argument("-v", "--verbose", action="store_true", help="say by which rule each call is allowed, and name it in each line")

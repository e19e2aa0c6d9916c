"""The intent of a message, as classified by a small model: one of a few topics, and the application it is about. Pure.

A small model that may choose among tools mostly chooses none, and makes its answer up. Asked what a message is about,
it is right.
"""

import re
from collections.abc import Sequence
from typing import Any

import msgspec
from msgspec import Struct

ABOUT = {
    "applications": "which applications there are",
    "application": "one application: its image, containers, environment, spec, status",
    "workflows": "which workflows or deployments ran, failed or are running",
    "workflow": "one workflow: its steps, why it failed, its logs",
    "resources": "databases, buckets and other resources, and their states",
    "figures": "how many of everything, the dashboard",
    "paths": "golden paths",
    "providers": "providers",
    "me": "who the person is, their team, their role",
    "deploy": "to deploy something now",
    "delete": "to delete an application now",
    "write": "to write a spec",
    "talk": "anything else: greetings, general questions, how things are done here",
}

_EXAMPLES = (
    ("What have I got running?", "applications", ""),
    ("list all my apps", "applications", ""),
    ("how many apps does my team have?", "applications", ""),
    ("Tell me about blog-api", "application", "blog-api"),
    ("Which image does the worker of mailer use?", "application", "mailer"),
    ("What environment is wiki in?", "application", "wiki"),
    ("Is there something called invoices?", "application", "invoices"),
    ("How is blog-api doing?", "application", "blog-api"),
    ("Did anything fail today?", "workflows", ""),
    ("running workflows of mailer", "workflows", "mailer"),
    ("Why did the last deployment of wiki fail?", "workflow", "wiki"),
    ("Show me run 31", "workflow", ""),
    ("What went wrong in workflow 12?", "workflow", ""),
    ("Does blog-api have a database?", "resources", "blog-api"),
    ("Are all buckets healthy?", "resources", ""),
    ("What kind of thing is wiki's cache?", "resources", "wiki"),
    ("Give me the figures of the dashboard", "figures", ""),
    ("Is there a golden path for a new team?", "paths", ""),
    ("Who makes databases here?", "providers", ""),
    ("Which team do I belong to?", "me", ""),
    ("Please deploy it", "deploy", ""),
    ("Remove wiki", "delete", "wiki"),
    ("I need a spec for a small web server called blog-api", "write", "blog-api"),
    ("Hello!", "talk", ""),
    ("How do I get access to a database?", "talk", ""),
    ("How long are logs kept?", "talk", ""),
    ("How many databases is a team allowed to have?", "talk", ""),
    ("When is the next maintenance?", "talk", ""),
    ("What is a container?", "talk", ""),
)

INSTRUCTIONS = "\n".join(
    [
        "Messages to the assistant of a developer platform. Say what each is about, and which application it names, if any.",
        *[f"- {name}: {what}" for name, what in ABOUT.items()],
        *[f'\nMessage: {text}\n{{"about": "{about}", "app": "{app}"}}' for text, about, app in _EXAMPLES],
    ]
)
READS = tuple([about for about in ABOUT if about not in ("deploy", "delete", "write", "talk")])


def build_shape(topics: Sequence[str]) -> dict[str, Any]:
    """Return the schema of a classification into some topics."""
    return {
        "type": "object",
        "properties": {"about": {"type": "string", "enum": list(topics)}, "app": {"type": "string", "maxLength": 63}},
        "required": ["about", "app"],
        "additionalProperties": False,
    }


SHAPE = build_shape(list(ABOUT))

_NUMBER = re.compile(r"(?<![\w.-])#?(\d{1,9})(?![\w.-])")
_STATES = (
    ("failed", r"\bfail|\bbroke|\berror|went wrong"),
    ("running", r"\brunning|in progress"),
    ("completed", r"\bcomplet|\bsucce|\bfinish"),
)


class MessageIntent(Struct, frozen=True):
    """The topic of a message, and the application that it names."""

    about: str = "talk"
    app: str = ""


def format_intent_question(message: str) -> str:
    """Format the classification prompt."""
    return f"Message: {' '.join(message.split())[:2000]}"


def parse_intent(words: str, message: str) -> MessageIntent:
    """Parse the model's classification; an application that the message doesn't name is dropped."""
    try:
        wish = msgspec.json.decode(words, type=MessageIntent)
    except msgspec.DecodeError:
        return MessageIntent()
    named = bool(wish.app) and re.search(rf"(?<![\w-]){re.escape(wish.app)}(?![\w-])", message, re.IGNORECASE) is not None
    return MessageIntent(wish.about if wish.about in ABOUT else "talk", wish.app if named else "")


def find_number(message: str) -> str:
    """Return the number in a message; empty if there is none."""
    found = _NUMBER.search(message)
    return found[1] if found else ""


def find_workflow_status(message: str) -> str:
    """Return the workflow status that a message asks for; empty if there is none."""
    return next((state for state, pattern in _STATES if re.search(pattern, message, re.IGNORECASE)), "")

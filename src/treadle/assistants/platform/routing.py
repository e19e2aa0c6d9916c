"""What a message asks for, as a small model is asked to tell: one of a few things, and the application that it is about. Pure.

A small model that may choose among tools mostly chooses none, and makes its answer up. Asked what a message is about, it is right.
"""

import re

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
SHAPE = {
    "type": "object",
    "properties": {"about": {"type": "string", "enum": list(ABOUT)}, "app": {"type": "string", "maxLength": 63}},
    "required": ["about", "app"],
    "additionalProperties": False,
}

_NUMBER = re.compile(r"(?<![\w.-])#?(\d{1,9})(?![\w.-])")
_STATES = (
    ("failed", r"\bfail|\bbroke|\berror|went wrong"),
    ("running", r"\brunning|in progress"),
    ("completed", r"\bcomplet|\bsucce|\bfinish"),
)


class Wish(Struct, frozen=True):
    """What a message is about, and which application it names."""

    about: str = "talk"
    app: str = ""


def question_of(message: str) -> str:
    """How the model is asked."""
    return f"Message: {' '.join(message.split())[:2000]}"


def wish_of(words: str, message: str) -> Wish:
    """What the model said; an application that the message doesn't name is none."""
    try:
        wish = msgspec.json.decode(words, type=Wish)
    except msgspec.DecodeError:
        return Wish()
    named = bool(wish.app) and re.search(rf"(?<![\w-]){re.escape(wish.app)}(?![\w-])", message, re.IGNORECASE) is not None
    return Wish(wish.about if wish.about in ABOUT else "talk", wish.app if named else "")


def number_in(message: str) -> str:
    """The number that a message names; empty where it names none."""
    found = _NUMBER.search(message)
    return found[1] if found else ""


def status_in(message: str) -> str:
    """The state of a workflow that a message asks for; empty where it asks for none."""
    return next((state for state, pattern in _STATES if re.search(pattern, message, re.IGNORECASE)), "")

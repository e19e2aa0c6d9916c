"""What a person chose for an agent, as a value: made of typed options, kept with the run (`Opened.origin`), read back to resume it.

No keys are in it: those stay in the environment.
"""

import argparse
from pathlib import Path
from typing import Any

import msgspec
from msgspec import Struct
from msgspec.structs import replace

from treadle.app.loading import absolute
from treadle.core.entries import Opened
from treadle.core.errors import SettingsError
from treadle.files import NotOpened, check_workspace, read_named

FACE = "cli"
MOST_BYTES = 10_000_000  # of instructions or a policy
LIMITS = ("rounds", "calls", "seconds", "tokens", "cost", "tries")
OPTIONS = ("temperature", "max_tokens")
RULES = ("allow", "ask", "deny")


class TypedCall(Struct, frozen=True):
    """A call that a person typed: `treadle tool call`."""

    name: str
    arguments: dict[str, Any]


class Chosen(Struct, frozen=True):
    """What sets an agent up. `folder` is where it began and finds its tools, `workspace` where it works."""

    model: str = ""
    base_url: str = ""
    assistant: str = ""
    dialect: str = ""
    tools: tuple[str, ...] = ()
    instructions: str = ""
    policy: dict[str, Any] = {}
    attended: bool = True
    limits: dict[str, int | float] = {}
    options: dict[str, int | float] = {}
    folder: str = ""
    workspace: str = ""
    demo: bool = False
    call: TypedCall | None = None
    about: dict[str, Any] = {}  # what the assistant wants to know when the run is taken up

    @property
    def origin(self) -> dict[str, Any]:
        """What is kept with the run."""
        return {"face": FACE, **msgspec.to_builtins(self)}


def chosen_from(args: argparse.Namespace, before: Chosen | None = None) -> Chosen:
    """What was typed; what wasn't stays as it was `before`."""
    given = vars(args)
    if before is None:
        here = str(Path.cwd())
        before = Chosen(folder=here, workspace=_workspace(given["workspace"]) if given.get("workspace") else here)
    return replace(
        before,
        model=given.get("model") or before.model,
        base_url=_address(given.get("base_url")) or before.base_url,
        assistant=given.get("assistant") or before.assistant,
        dialect=given.get("dialect") or before.dialect,
        tools=tuple([absolute(spec) for spec in given["tools"]]) if given.get("tools") else before.tools,
        instructions=_instructions(given.get("instructions")) or before.instructions,
        policy=_policy(given) or before.policy,
        attended=before.attended and not given.get("no_person"),
        limits={**before.limits, **_set(given, LIMITS)},
        options={**before.options, **_set(given, OPTIONS)},
        demo=before.demo or bool(given.get("demo")),
    )


def chosen_for(run_id: str, opened: Opened | None) -> Chosen | None:
    """What was chosen when a run began; None where it wasn't begun here."""
    if opened is None or opened.origin.get("face") != FACE:
        return None
    try:
        return msgspec.convert(opened.origin, Chosen)
    except msgspec.ValidationError as error:
        raise SettingsError(f"How run {run_id} was begun can't be read ({error}); name its --model and --tools.") from error


def _workspace(typed: str) -> str:
    """The folder that was typed. The one that somebody is in is theirs to be in; what works there asks for itself."""
    check_workspace(typed)
    return str(Path(typed).expanduser().absolute())


def _set(given: dict[str, Any], names: tuple[str, ...]) -> dict[str, int | float]:
    return {name: given[name] for name in names if given.get(name) is not None}


def _address(url: str | None) -> str:
    if url and "@" in url.partition("://")[2].partition("/")[0]:
        raise SettingsError(
            "An address is kept with the run, so it must not hold a password; set the model's key in the environment."
        )
    return url or ""


def _instructions(text: str | None) -> str:
    if text is None or not text.startswith("@"):
        return text or ""
    return _file(text[1:], "The instructions")


def _policy(given: dict[str, Any]) -> dict[str, Any]:
    """The policy file with the rules that were typed added to it."""
    policy = _policy_file(given["policy"]) if given.get("policy") else {}
    for decision in RULES:
        typed = given.get(decision)
        if typed:
            written = policy.get(decision, [])
            policy[decision] = [*written, *typed] if isinstance(written, list) else written
    return policy


def _policy_file(name: str) -> dict[str, Any]:
    text = _file(name, "The policy")
    try:
        if name.endswith(".json"):
            return msgspec.json.decode(text, type=dict[str, Any])
        import tomllib

        return tomllib.loads(text)
    except (msgspec.DecodeError, ValueError) as error:
        raise SettingsError(f"The policy {name} can't be read: {error}") from error


def _file(name: str, what: str) -> str:
    try:
        return read_named(name, MOST_BYTES, pipes=True).decode("utf-8")
    except (NotOpened, ValueError) as error:
        raise SettingsError(f"{what} {name} can't be opened: {error}") from error


def json_object(text: str, what: str) -> dict[str, Any]:
    """A JSON object that was typed."""
    try:
        return msgspec.json.decode(text, type=dict[str, Any])
    except msgspec.DecodeError as error:
        raise SettingsError(f'{what} have to be one JSON object, such as \'{{"item": "A-113"}}\': {error}') from error

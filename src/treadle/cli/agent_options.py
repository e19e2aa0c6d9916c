"""Agent options as a value: made from typed options, stored with the run (`Opened.origin`), and read back to resume it.

They hold no keys: those stay in the environment.
"""

import argparse
from pathlib import Path
from typing import Any

import msgspec
from msgspec import Struct
from msgspec.structs import replace

from treadle.core.entries import Opened
from treadle.core.errors import SettingsError
from treadle.files import NotOpened, check_workspace, read_named
from treadle.plugins.tool_loader import check_tool_file, make_spec_absolute
from treadle.plugins.tool_sources import ToolSource, parse_mcp_source, parse_openapi_source, with_credentials, with_servers

FRONTEND = "cli"
MAX_BYTES = 10_000_000  # of instructions or a policy
LIMITS = ("rounds", "calls", "seconds", "tokens", "cost", "tries")
OPTIONS = ("temperature", "max_tokens", "tool_choice")
RULES = ("allow", "ask", "deny")


class TypedCall(Struct, frozen=True):
    """A call typed by a person: `treadle tool call`."""

    name: str
    arguments: dict[str, Any]


class AgentOptions(Struct, frozen=True):
    """The configuration of an agent. `folder` is where it started and finds its tools, `workspace` where it works."""

    model: str = ""
    base_url: str = ""
    assistant: str = ""
    dialect: str = ""
    tools: tuple[str, ...] = ()
    sources: tuple[ToolSource, ...] = ()
    instructions: str = ""
    policy: dict[str, Any] = {}
    attended: bool = True
    limits: dict[str, int | float] = {}
    options: dict[str, int | float | str] = {}
    folder: str = ""
    workspace: str = ""
    demo: bool = False
    call: TypedCall | None = None
    about: dict[str, Any] = {}  # what the assistant wants to know when the run is taken up

    @property
    def origin(self) -> dict[str, Any]:
        """The value that is stored with the run."""
        return {"face": FRONTEND, **msgspec.to_builtins(self)}


def options_from_args(args: argparse.Namespace, before: AgentOptions | None = None) -> AgentOptions:
    """Return the options from the parsed arguments; options that weren't typed stay as in `before`."""
    given = vars(args)
    _check_names(given)
    if before is None:
        here = str(Path.cwd())
        before = AgentOptions(folder=here, workspace=_resolve_workspace(given["workspace"]) if given.get("workspace") else here)
    return replace(
        before,
        model=given.get("model") or before.model,
        base_url=_check_address(given.get("base_url")) or before.base_url,
        assistant=given.get("assistant") or before.assistant,
        dialect=given.get("dialect") or before.dialect,
        tools=tuple([make_spec_absolute(spec) for spec in given["tools"]]) if given.get("tools") else before.tools,
        sources=_parse_sources(given, before.sources),
        instructions=load_instructions(given.get("instructions")) or before.instructions,
        policy=_load_policy(given) or before.policy,
        attended=before.attended and not given.get("no_person"),
        limits={**before.limits, **_pick_set(given, LIMITS)},
        options={**_without_tool_choice(before.options), **_pick_set(given, OPTIONS)},
        demo=before.demo or bool(given.get("demo")),
        about={**before.about, **dict(map(_split_context, given.get("context") or ()))},
    )


def _check_names(given: dict[str, Any]) -> None:
    """Raise for a typed name of something that doesn't exist: before a model is fetched, a run queued or a connection accepted."""
    if given.get("model"):
        from treadle.plugins.models import check_model_name

        check_model_name(given["model"])
    if given.get("dialect"):
        from treadle.settings.calling_modes import check_calling_mode

        check_calling_mode(given["dialect"])
    if given.get("assistant"):
        from treadle.plugins.assistants import get_assistant

        get_assistant(given["assistant"])
    for spec in given.get("tools") or ():
        check_tool_file(spec)


def options_of_run(run_id: str, opened: Opened | None) -> AgentOptions | None:
    """Return the options that a run was started with; None if it wasn't started by the CLI."""
    if opened is None or opened.origin.get("face") != FRONTEND:
        return None
    try:
        return msgspec.convert(opened.origin, AgentOptions)
    except msgspec.ValidationError as error:
        raise SettingsError(
            f"The options that run {run_id} was started with can't be read ({error}); name its --model and --tools."
        ) from error


def _parse_sources(given: dict[str, Any], before: tuple[ToolSource, ...]) -> tuple[ToolSource, ...]:
    """Return the typed sources of tools, else those before; typed servers and credentials are added to either."""
    sources = before
    if given.get("openapi") or given.get("mcp"):
        from treadle.settings.loader import user_settings

        settings = user_settings()
        apis = [parse_openapi_source(text, settings) for text in given.get("openapi") or ()]
        sources = (*apis, *[parse_mcp_source(text, settings) for text in given.get("mcp") or ()])
    return with_credentials(with_servers(sources, given.get("openapi_server") or ()), given.get("credential") or ())


def _split_context(text: str) -> tuple[str, str]:
    name, equals, value = text.partition("=")
    if not (name and equals):
        raise SettingsError(f"--context {text}: write NAME=VALUE, such as server=http://localhost:8081.")
    return name, value


def _resolve_workspace(typed: str) -> str:
    """Return the absolute path of the typed folder, after checking it.

    The current folder isn't checked here: a person may be in it, and tools that work there check it themselves.
    """
    check_workspace(typed)
    return str(Path(typed).expanduser().absolute())


def _without_tool_choice(options: dict[str, int | float | str]) -> dict[str, int | float | str]:
    """Return the options that a continued run keeps: whether to call a tool is said for one prompt."""
    return {name: value for name, value in options.items() if name != "tool_choice"}


def _pick_set(given: dict[str, Any], names: tuple[str, ...]) -> dict[str, Any]:
    return {name: given[name] for name in names if given.get(name) is not None}


def _check_address(url: str | None) -> str:
    if url and "@" in url.partition("://")[2].partition("/")[0]:
        raise SettingsError(
            "A URL is stored with the run, so it must not contain a password; set the model's key in the environment."
        )
    return url or ""


def load_instructions(text: str | None) -> str:
    """Return typed instructions; `@FILE` reads them from a file."""
    if text is None or not text.startswith("@"):
        return text or ""
    return _read_text(text[1:], "The instructions")


def _load_policy(given: dict[str, Any]) -> dict[str, Any]:
    """Return the policy file merged with the typed rules."""
    policy = read_policy_file(given["policy"]) if given.get("policy") else {}
    for decision in RULES:
        typed = given.get(decision)
        if typed:
            written = policy.get(decision, [])
            policy[decision] = [*written, *typed] if isinstance(written, list) else written
    return policy


def read_policy_file(name: str) -> dict[str, Any]:
    """Return the content of a policy file, TOML or JSON."""
    text = _read_text(name, "The policy")
    try:
        if name.endswith(".json"):
            return msgspec.json.decode(text, type=dict[str, Any])
        import tomllib

        return tomllib.loads(text)
    except (msgspec.DecodeError, ValueError) as error:
        raise SettingsError(f"The policy {name} can't be read: {error}") from error


def _read_text(name: str, what: str) -> str:
    try:
        return read_named(name, MAX_BYTES, pipes=True).decode("utf-8")
    except (NotOpened, ValueError) as error:
        raise SettingsError(f"{what} {name} can't be opened: {error}") from error


def parse_json_object(text: str, what: str) -> dict[str, Any]:
    """Parse a typed JSON object."""
    try:
        return msgspec.json.decode(text, type=dict[str, Any])
    except msgspec.DecodeError as error:
        raise SettingsError(f'{what} have to be one JSON object, such as \'{{"item": "A-113"}}\': {error}') from error

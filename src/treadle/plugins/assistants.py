"""The installed assistants: found by entry points, validated, and turned into agents.

`get_assistant` defines what an assistant is; `reserved` lists the names it can't use.
"""

import re
from argparse import ArgumentParser
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from msgspec import Struct
from msgspec.structs import fields, replace

from treadle.agent.agent import Agent, ResultOptions
from treadle.core.context import RunContext
from treadle.core.errors import SettingsError
from treadle.core.requests import Options, merge_options
from treadle.core.seams import Model, Toolset
from treadle.engine.setup import Compaction, Instructions, call_instructions
from treadle.guard.redaction import Redactor
from treadle.loop.limits import Limits
from treadle.plugins.assistant import Assistant, Command, Host
from treadle.plugins.entry_points import entry_points_of, package_of, plugin_names
from treadle.plugins.models import resolve_model
from treadle.plugins.tool_sources import ToolSource, add_sources
from treadle.plugins.user_tools import UserTools, apply_policy_settings, load_user_tools
from treadle.settings.calling_modes import NATIVE, enable_tool_calls
from treadle.settings.loader import settings_for, user_settings
from treadle.settings.reserved import COMMANDS, add_common_options
from treadle.settings.schema import Settings
from treadle.tools.name_matching import format_hint, nearest_names

if TYPE_CHECKING:
    from importlib.metadata import EntryPoint

NAME_PATTERN = re.compile(r"[a-z][a-z0-9-]{0,39}")
OWN_PACKAGE = "treadle"  # the package whose assistants go first


class InstalledAssistant(Struct, frozen=True):
    """An assistant and the package that provides it."""

    assistant: Assistant
    package: str = ""
    version: str = ""


class BrokenAssistant(Struct, frozen=True):
    """An entry point that can't be used as an assistant, with a sentence why."""

    name: str
    package: str
    why: str

    def __str__(self) -> str:
        package = f" of the package {self.package}" if self.package else ""
        return f"The assistant {self.name}{package} can't be used: {self.why}"


class AssistantCommand(Struct, frozen=True):
    """A command and the assistant it belongs to."""

    assistant: Assistant
    command: Command


def find_assistants(name: str = "") -> tuple[list[InstalledAssistant], list[BrokenAssistant]]:
    """Return all installed assistants, or all of one name, sorted by name: the usable ones, and the broken ones."""
    offered = entry_points_of("assistants")
    found: dict[str, InstalledAssistant] = {}
    broken: list[BrokenAssistant] = []
    for point in sorted(offered.select(name=name) if name else offered, key=_sort_key):
        made = _name_conflict(point, found[point.name]) if point.name in found else _load_entry_point(point)
        if isinstance(made, BrokenAssistant):
            broken.append(made)
        else:
            found[point.name] = made
    return list(found.values()), broken


def list_assistants() -> list[Assistant]:
    """Return the usable assistants, sorted by name."""
    return [each.assistant for each in find_assistants()[0]]


def get_assistant(name: str) -> Assistant:
    """Return the assistant of this name."""
    found, broken = find_assistants(name)
    if found:
        return found[0].assistant
    if broken:
        raise SettingsError(str(broken[0]))
    known = plugin_names("assistants")
    near = nearest_names(name, known)
    there = format_hint((), known) if known else "None is installed."
    raise SettingsError(f"There is no assistant {name!r}. {f'{format_hint(near, known)} ' if near else ''}{there}")


def assistant_agent(
    assistant: Assistant,
    host: Host,
    model: str | Model,
    *,
    instructions: str = "",
    limits: Mapping[str, Any] = {},
    options: Options = Options(),  # noqa: B008 - frozen
    sources: Sequence[ToolSource] = (),
    **more: Any,
) -> Agent[Any, Any]:
    """Return the assistant as an agent, for the host's user. A model that doesn't call tools by itself is guided, if possible.

    `more` are arguments of `Agent`. They override what the assistant says, except that tools and toolsets are added to
    its own. `instructions` are appended to the assistant's. `limits` and `options` are explicit requests: they override
    the settings, which override the assistant's. `sources` are added to the user's own tools.
    """
    mine, found = assistant.for_host(host), resolve_model(model)
    own = () if mine.toolsets is None else mine.toolsets(host)
    parts: dict[str, Any] = {
        "name": mine.name,
        "instructions": add_instructions(mine.instructions, instructions),
        "policy": mine.policy,
        "limits": mine.limits,
        "options": mine.options.for_model(found.traits),
        "notes": mine.notes,
        "approver": host.approver,
        "dialect": host.dialect,
        **mine.parts,
        **more,
        "toolsets": (*own, *more.get("toolsets", ())),
    }
    led, is_program = _lead_model(mine, host, found, parts["dialect"])
    if led is not found:
        parts |= {"dialect": NATIVE, "code_mode": False}  # a plan makes the calls itself, in no dialect
    own_tools = None if is_program else host  # a program has no use for the person's own
    return configured_agent(
        host.workspace,
        led,
        limits=limits,
        options=options,
        parts=parts,
        host=own_tools,
        sources=sources,
        project=host.workspace if mine.project else None,
        context=led is found,
    )


def configured_agent(
    folder: Path | None,
    model: str | Model,
    *,
    limits: Mapping[str, Any] = {},
    options: Options = Options(),  # noqa: B008 - frozen
    parts: Mapping[str, Any],
    host: Host | None = None,
    assistant: str = "",
    sources: Sequence[ToolSource] = (),
    alone: bool = False,
    project: Path | None = None,
    context: bool = True,
) -> Agent[Any, Any]:
    """Return an agent of these parts, with the settings that apply in a folder; without a folder, with the user's settings.

    Requested limits and options override the settings, which override the parts. With a `host`, the agent also has the
    user's own tools, as far as they apply to this assistant: the one of that name, unless another is named. On a shared
    host it has none of them. `sources` are added to these; `alone`, they replace them. `project` is the folder that the agent works
    on, whose guide and skills its model reads. Without `context` it reads neither these nor the user's own: a plan chooses for it.
    """
    settings = add_sources(user_settings() if folder is None else settings_for(folder), sources, alone=alone)
    said = {key.partition(".")[2]: value for key, value in settings.said("limits").items()}
    mine: Options = parts.get("options") or Options()
    model_said = settings.said("model")
    written = Options(temperature=model_said.get("model.temperature"), max_tokens=model_said.get("model.max_tokens"))
    context_said = settings.said("context")
    result_limit, compact_at = context_said.get("context.result_limit"), context_said.get("context.compact_at")
    shown: ResultOptions | None = parts.get("results")
    compaction: Compaction | None = parts.get("compaction")
    home = None if host is None or host.shared else host.home.folder
    added = UserTools() if home is None else load_user_tools(settings, assistant or parts.get("name", ""), home)
    read = context_toolsets(settings, None if host is None else host.home.folder, project) if context and not alone else ()
    redactor: Redactor | None = parts.get("redactor")
    settled: dict[str, Any] = {
        **parts,
        "tools": (*parts.get("tools", ()), *added.tools),
        "toolsets": (*parts.get("toolsets", ()), *read),
        "redactor": (redactor or Redactor()).knowing(added.secrets) if added.secrets else redactor,
        "limits": replace(parts.get("limits") or Limits(), **{**said, **limits}),
        "options": merge_options(merge_options(mine, written), options),
        "policy": apply_policy_settings(settings, parts.get("policy")),
        "dialect": parts.get("dialect") or settings.model.dialect,
        "code_mode": parts.get("code_mode", settings.model.code_mode),
        "grounded": _is_grounded(parts, settings.model.grounded, model),
        "results": shown if result_limit is None else replace(shown or ResultOptions(), limit=result_limit),
        "compaction": compaction if compact_at is None else replace(compaction or Compaction(), at=compact_at),
    }
    return Agent(model, **settled)


def _is_grounded(parts: Mapping[str, Any], setting: bool | None, model: str | Model) -> bool:
    """Return whether answers are checked. A part that is None leaves it to the model: one without native calls invents more."""
    if parts.get("grounded") or "output_type" in parts:
        return bool(parts.get("grounded"))
    if setting is None and "grounded" in parts:
        return not isinstance(model, str) and not model.traits.native_calls
    return bool(setting)


def add_instructions(own: Instructions, added: str) -> Instructions:
    """Append a user's instructions to an assistant's own."""
    if not added:
        return own
    if isinstance(own, str):
        return f"{own}\n\n{added}".strip()

    async def both(context: RunContext[Any]) -> str:
        return f"{await call_instructions(own, context)}\n\n{added}"

    return both


def _lead_model(assistant: Assistant, host: Host, model: Model, dialect: str) -> tuple[Model, bool]:
    """Return the model, guided by the plan where it doesn't call tools or by a program in any case; and whether by a program."""
    if assistant.lead is None:
        return model, False
    from treadle.models.calling.guided import FixedPlan, GuidedModel, PartialPlan

    plan, dialect = assistant.lead(host), dialect or host.settings.model.dialect
    if isinstance(plan, FixedPlan):
        is_held = model.traits.holds and not model.traits.native_calls  # a plan's questions are held to their own shapes
        return GuidedModel(model if is_held else enable_tool_calls(model, dialect), plan.plan), True
    if model.traits.native_calls:
        return model, False
    if not isinstance(plan, PartialPlan):
        return GuidedModel(model, plan), False
    return (model if dialect else GuidedModel(model, plan, enable_tool_calls(model))), False  # who names a dialect wants its calls


def collect_commands(found: Iterable[InstalledAssistant]) -> tuple[dict[str, AssistantCommand], list[str]]:
    """Return the commands for `treadle NAME …`, and a sentence for each command whose name is already taken.

    Treadle's own commands take precedence, then those of its own assistants, then all others by the assistant's name.
    """
    offers: dict[str, AssistantCommand] = {}
    clashes: list[str] = []
    for each in sorted(found, key=lambda each: (each.package != OWN_PACKAGE, each.assistant.name)):
        for command in each.assistant.commands:
            owner = _owner_of(command.name, offers)
            if owner:
                clashes.append(f"{_describe_command(command, each.assistant)} can't be used: {owner} has one of that name.")
            else:
                offers[command.name] = AssistantCommand(each.assistant, command)
    return offers, clashes


def add_command_options(parser: ArgumentParser, offer: AssistantCommand) -> None:
    """Add a command's own options and those that all commands have to a parser."""
    try:
        if offer.command.arguments is not None:
            offer.command.arguments(parser)
        add_common_options(parser, offer.command.common)
        if offer.command.pages:
            parser.add_argument("--no-pager", action="store_true", help="don't show long output in a pager")
    except Exception as error:
        what = _describe_command(offer.command, offer.assistant)
        raise SettingsError(f"{what} can't be used: its options can't be read: {type(error).__name__}: {error}") from error


def _sort_key(point: "EntryPoint") -> tuple[str, bool, str]:
    package = package_of(point)[0]
    return point.name, package != OWN_PACKAGE, package


def _name_conflict(point: "EntryPoint", by: InstalledAssistant) -> BrokenAssistant:
    return BrokenAssistant(point.name, package_of(point)[0], f"the package {by.package} has one of that name.")


def _load_entry_point(point: "EntryPoint") -> InstalledAssistant | BrokenAssistant:
    package, version = package_of(point)
    try:
        value = point.load()
    except (Exception, SystemExit) as error:  # noqa: BLE001 - whatever a stranger's module raises, the others are still there
        return BrokenAssistant(point.name, package, f"{point.value} can't be loaded: {type(error).__name__}: {error}")
    flaw = _find_flaw(point, value)
    return BrokenAssistant(point.name, package, flaw) if flaw else InstalledAssistant(value, package, version)


def _find_flaw(point: "EntryPoint", value: object) -> str:
    """Return why a value isn't a valid assistant; empty where it is one."""
    if not isinstance(value, Assistant):
        return f"{point.value} is no `treadle.assistant.Assistant`, but of type {type(value).__name__}."
    if value.name != point.name:
        return f"it calls itself {value.name!r}; the name in the package's entry point has to be the same."
    if NAME_PATTERN.fullmatch(value.name) is None:
        return "a name is one word of up to 40 small letters, digits and hyphens, a letter first."
    if value.settings is not None and any(field.required for field in fields(value.settings)):
        return "its settings need a default each."
    return ""


def _owner_of(name: str, offers: dict[str, AssistantCommand]) -> str:
    if name in COMMANDS:
        return "Treadle itself"
    return f"the assistant {offers[name].assistant.name}" if name in offers else ""


def _describe_command(command: Command, assistant: Assistant) -> str:
    return f"The command {command.name} of the assistant {assistant.name}"


SKILLS_FOLDER = "skills"


def context_toolsets(settings: Settings, home: Path | None, project: Path | None) -> list[Toolset]:
    """Return the sources of context for an agent.

    home     the folder of the user's data; None for an agent that has nothing of the user's own
    project  the folder that the agent works on; None where it works on none
    """
    toolsets: list[Toolset] = []
    if project is not None and settings.context.project_guide:
        from treadle.toolsets.project_guide import ProjectGuide

        toolsets.append(ProjectGuide(project))
    if settings.skills.enabled and (home is not None or project is not None):
        from treadle.toolsets.skills import Skills

        toolsets.append(Skills(*_skill_folders(settings, home), project=project))
    if settings.memory.enabled and home is not None:
        from treadle.toolsets.memory import Memory
        from treadle.toolsets.notes import project_notes, user_notes

        about = None if project is None else project_notes(home, project)
        toolsets.append(Memory(user_notes(home), about, index=settings.memory.index_limit))
    return toolsets


def _skill_folders(settings: Settings, home: Path | None) -> list[Path]:
    """Return the user's folders of skills. A relative one in the settings is relative to their file."""
    if home is None:
        return []
    beside = Path(settings.user_file).parent
    return [home / SKILLS_FOLDER, *[beside / Path(folder).expanduser() for folder in settings.skills.folders]]

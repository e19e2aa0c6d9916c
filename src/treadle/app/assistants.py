"""The assistants that are installed: found by their entry points, told apart from what is broken, and made into agents.

What an assistant is says `assistant`; what Treadle keeps for itself says `reserved`.
"""

import re
from argparse import ArgumentParser
from collections.abc import Iterable, Mapping
from functools import lru_cache
from pathlib import Path
from typing import TYPE_CHECKING, Any

from msgspec import Struct
from msgspec.structs import fields, replace

from treadle.app.agent import Agent, Results
from treadle.app.assistant import Assistant, Command, Host
from treadle.app.extras import extra_tools, settled_policy
from treadle.app.models import model_of
from treadle.app.plugins import names, points
from treadle.app.reserved import COMMANDS, add_common_options
from treadle.app.settings import settings_of, user_settings
from treadle.app.ways import NATIVE, able
from treadle.core.context import RunContext
from treadle.core.errors import SettingsError
from treadle.core.requests import Options, merge_options
from treadle.core.seams import Model
from treadle.engine.setup import Instructions
from treadle.loop.limits import Limits
from treadle.tools.names import nearest

if TYPE_CHECKING:
    from importlib.metadata import Distribution, EntryPoint

NAME = re.compile(r"[a-z][a-z0-9-]{0,39}")
OURS = "treadle"  # the package whose assistants go first


class Installed(Struct, frozen=True):
    """An assistant, and the package that brings it."""

    assistant: Assistant
    package: str = ""
    version: str = ""


class Broken(Struct, frozen=True):
    """What was registered as an assistant and can't be used, and why, in a sentence."""

    name: str
    package: str
    why: str

    def __str__(self) -> str:
        package = f" of the package {self.package}" if self.package else ""
        return f"The assistant {self.name}{package} can't be used: {self.why}"


class Offer(Struct, frozen=True):
    """A command, and the assistant whose it is."""

    assistant: Assistant
    command: Command


def find(name: str = "") -> tuple[list[Installed], list[Broken]]:
    """All that are installed, or all by one name: those that can be used, and those that can't. Sorted by name."""
    offered = points("assistants")
    found: dict[str, Installed] = {}
    broken: list[Broken] = []
    for point in sorted(offered.select(name=name) if name else offered, key=_order):
        made = _taken(point, found[point.name]) if point.name in found else _loaded(point)
        if isinstance(made, Broken):
            broken.append(made)
        else:
            found[point.name] = made
    return list(found.values()), broken


def assistants() -> list[Assistant]:
    """Those that can be used, sorted by name."""
    return [each.assistant for each in find()[0]]


def assistant(name: str) -> Assistant:
    """The one by this name."""
    found, broken = find(name)
    if found:
        return found[0].assistant
    if broken:
        raise SettingsError(str(broken[0]))
    known = names("assistants")
    near = f" Did you mean {' or '.join(nearest(name, known))}?" if nearest(name, known) else ""
    there = f"There are: {', '.join(known)}." if known else "None is installed."
    raise SettingsError(f"There is no assistant {name!r}.{near} {there}")


def agent_of(
    assistant: Assistant,
    host: Host,
    model: str | Model,
    *,
    instructions: str = "",
    limits: Mapping[str, Any] = {},
    options: Options = Options(),  # noqa: B008 - frozen
    **more: Any,
) -> Agent[Any]:
    """The assistant as an agent, for the person whose host it is. A model that doesn't call tools by itself is led, if it can be.

    `more` is what `Agent` takes. It comes before what the assistant says, but for tools and toolsets, which are added to its own.
    `instructions` are added to the assistant's. `limits` and `options` are those that somebody asked for: they come before what was
    settled, and that before the assistant's.
    """
    mine, found = assistant.configured(host), model_of(model)
    own = () if mine.toolsets is None else mine.toolsets(host)
    parts: dict[str, Any] = {
        "name": mine.name,
        "instructions": instructed(mine.instructions, instructions),
        "policy": mine.policy,
        "limits": mine.limits,
        "options": mine.options.suited(found.traits),
        "notes": mine.notes,
        "approver": host.approver,
        "dialect": host.dialect,
        **mine.parts,
        **more,
        "toolsets": (*own, *more.get("toolsets", ())),
    }
    led, is_program = _led(mine, host, found, parts["dialect"])
    if led is not found:
        parts["dialect"] = NATIVE  # a plan's calls are in no dialect
    own_tools = None if is_program else host  # a program has no use for the person's own
    return settled_agent(host.workspace, led, limits=limits, options=options, parts=parts, host=own_tools)


def settled_agent(
    folder: Path | None,
    model: str | Model,
    *,
    limits: Mapping[str, Any] = {},
    options: Options = Options(),  # noqa: B008 - frozen
    parts: Mapping[str, Any],
    host: Host | None = None,
    assistant: str = "",
) -> Agent[Any]:
    """An agent of these parts, with what was settled for work in a folder; without one, with what counts wherever they are.

    Of limits and options, what was asked for comes before what was settled, and that before what the parts say. With the `host` of
    whoever it is for, it has their own tools besides, as far as they are for this assistant: the one of that name, unless another
    is named. Where others come to the host too, it has none of them.
    """
    settings = user_settings() if folder is None else settings_of(folder)
    said = {key.partition(".")[2]: value for key, value in settings.said("limits").items()}
    mine: Options = parts.get("options") or Options()
    model_said = settings.said("model")
    written = Options(temperature=model_said.get("model.temperature"), max_tokens=model_said.get("model.max_tokens"))
    result_limit = settings.said("context").get("context.result_limit")
    shown: Results | None = parts.get("results")
    alone = None if host is None or host.shared else host.home.folder
    added = () if alone is None else extra_tools(settings, assistant or parts.get("name", ""), alone)
    settled: dict[str, Any] = {
        **parts,
        "tools": (*parts.get("tools", ()), *added),
        "limits": replace(parts.get("limits") or Limits(), **{**said, **limits}),
        "options": merge_options(merge_options(mine, written), options),
        "policy": settled_policy(settings, parts.get("policy")),
        "dialect": parts.get("dialect") or settings.model.dialect,
        "results": shown if result_limit is None else replace(shown or Results(), limit=result_limit),
    }
    return Agent(model, **settled)


def instructed(own: Instructions, added: str) -> Instructions:
    """What an assistant's model is told, with what a person adds after it."""
    if not added:
        return own
    if isinstance(own, str):
        return f"{own}\n\n{added}".strip()

    async def both(context: RunContext[Any]) -> str:
        said = own(context)
        return f"{said if isinstance(said, str) else await said}\n\n{added}"

    return both


def _led(assistant: Assistant, host: Host, model: Model, dialect: str) -> tuple[Model, bool]:
    """The model, led by the plan where it does not call by itself, or by a program whatever it can do; and whether by a program."""
    if assistant.lead is None:
        return model, False
    from treadle.models.led import Led, Program

    plan = assistant.lead(host)
    if isinstance(plan, Program):
        is_held = model.traits.holds and not model.traits.native_calls  # a plan's questions are held to their own shapes
        return Led(model if is_held else able(model, dialect or host.settings.model.dialect), plan.plan), True
    return (model if model.traits.native_calls else Led(model, plan)), False


def commands(found: Iterable[Installed]) -> tuple[dict[str, Offer], list[str]]:
    """What can be typed as `treadle NAME …`; and a sentence for each command whose name somebody else has already.

    Treadle's own commands go first, then those of its own assistants, then all others by the name of the assistant.
    """
    offers: dict[str, Offer] = {}
    clashes: list[str] = []
    for each in sorted(found, key=lambda each: (each.package != OURS, each.assistant.name)):
        for command in each.assistant.commands:
            owner = _owner(command.name, offers)
            if owner:
                clashes.append(f"{_named(command, each.assistant)} can't be used: {owner} has one of that name.")
            else:
                offers[command.name] = Offer(each.assistant, command)
    return offers, clashes


def add_options(parser: ArgumentParser, offer: Offer) -> None:
    """What can be typed after a command: its own options, and those that all of them have."""
    try:
        if offer.command.arguments is not None:
            offer.command.arguments(parser)
        add_common_options(parser)
    except Exception as error:
        what = _named(offer.command, offer.assistant)
        raise SettingsError(f"{what} can't be used: its options can't be read: {type(error).__name__}: {error}") from error


def _order(point: "EntryPoint") -> tuple[str, bool, str]:
    package = _package(point)[0]
    return point.name, package != OURS, package


def _package(point: "EntryPoint") -> tuple[str, str]:
    return _name_and_version(point.dist) if point.dist else ("", "")


@lru_cache(maxsize=256)
def _name_and_version(dist: "Distribution") -> tuple[str, str]:
    """Read once: each look parses the whole file that a package's description is in."""
    told = dist.metadata
    return told["Name"], told["Version"]


def _taken(point: "EntryPoint", by: Installed) -> Broken:
    return Broken(point.name, _package(point)[0], f"the package {by.package} has one of that name.")


def _loaded(point: "EntryPoint") -> Installed | Broken:
    package, version = _package(point)
    try:
        value = point.load()
    except (Exception, SystemExit) as error:  # noqa: BLE001 - whatever a stranger's module raises, the others are still there
        return Broken(point.name, package, f"{point.value} can't be loaded: {type(error).__name__}: {error}")
    flaw = _flaw(point, value)
    return Broken(point.name, package, flaw) if flaw else Installed(value, package, version)


def _flaw(point: "EntryPoint", value: object) -> str:
    """What keeps this from being the assistant that was registered; empty where nothing does."""
    if not isinstance(value, Assistant):
        return f"{point.value} is no `treadle.Assistant`, but of type {type(value).__name__}."
    if value.name != point.name:
        return f"it calls itself {value.name!r}; the name in the package's entry point has to be the same."
    if NAME.fullmatch(value.name) is None:
        return "a name is one word of up to 40 small letters, digits and hyphens, a letter first."
    if value.settings is not None and any(field.required for field in fields(value.settings)):
        return "its settings need a default each."
    return ""


def _owner(name: str, offers: dict[str, Offer]) -> str:
    if name in COMMANDS:
        return "Treadle itself"
    return f"the assistant {offers[name].assistant.name}" if name in offers else ""


def _named(command: Command, assistant: Assistant) -> str:
    return f"The command {command.name} of the assistant {assistant.name}"

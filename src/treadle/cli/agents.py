"""Build an agent from `AgentOptions`: model, tools, policy, limits. Assistants, the demo and typed calls bring their own."""

import os
from pathlib import Path
from typing import Any

from msgspec.structs import replace

from treadle.agent.agent import Agent, ResultOptions
from treadle.cli.agent_options import AgentOptions
from treadle.cli.ui.display import Display
from treadle.core.errors import SettingsError
from treadle.core.requests import Options
from treadle.core.seams import Model
from treadle.engine.setup import Caller
from treadle.home import open_home
from treadle.plugins.assistant import Host
from treadle.plugins.models import configured_model, model_at
from treadle.plugins.tool_loader import load_tools

NO_TOOLS_MESSAGE = "There are no tools; name some: --tools FILE.py, --openapi URL, --mcp COMMAND or --assistant NAME."
MAX_RESULT = 10_000_000  # characters of the result of a typed call: no model has to read it


async def ensure_model(chosen: AgentOptions, face: Display) -> AgentOptions:
    """Return the options with a model named, so that the same model is used when the run is resumed."""
    if chosen.demo and (chosen.assistant or chosen.model or chosen.dialect or chosen.tools or chosen.sources or chosen.policy):
        raise SettingsError("The demonstration brings its own model, tools and policy; leave --demo out to use yours.")
    if chosen.model or chosen.demo or chosen.call:
        return chosen
    name, address = configured_model()
    if name:
        return replace(chosen, model=name, base_url=chosen.base_url or address)
    from treadle.cli.default_model import choose_default_model  # most have named one
    from treadle.settings.loader import settings_for

    settings_for(Path(chosen.workspace or "."))  # a mistake in them is reported before a model is offered, which may be a download
    return replace(chosen, model=await choose_default_model(face))


def build_agent(chosen: AgentOptions, face: Display, name: str, user: str = "", *, model: Model | None = None) -> Agent[Any, str]:
    """Build the agent; with `model` in place of the one that the options name, where it is given."""
    how: dict[str, Any] = {
        "tools": load_tools(chosen.tools, chosen.folder),
        "options": Options(**chosen.options),  # pyright: ignore[reportArgumentType]  # named by `choices.OPTIONS`, typed by the parser
        "attended": chosen.attended,
        "priced": True,
    }
    if chosen.call is not None:
        how["results"] = ResultOptions(limit=MAX_RESULT)
    if chosen.assistant:
        from treadle.cli.host import agent_from_options  # most ask without one

        agent = agent_from_options(chosen, face, user, model, **how)
    else:
        from treadle.plugins.assistants import configured_agent

        parts = {**how, **_agent_parts(chosen, face, name, model)}
        asked, options = parts.pop("model"), parts.pop("options")
        agent = configured_agent(
            Path(chosen.workspace or "."),
            asked,
            limits=chosen.limits,
            options=options,
            parts=parts,
            host=None if chosen.demo else _make_host(asked, user),
            sources=chosen.sources,
            alone=chosen.call is not None,
        )
    if face.person is not None:
        face.person.tools = agent.setup.toolset.tools
    return agent


async def caller_of(chosen: AgentOptions, face: Display, user: str) -> Caller:
    """Return the caller on whose behalf the agent acts."""
    if not chosen.assistant:
        return Caller(user)
    from treadle.cli.host import session_from_options

    return await session_from_options(chosen, face, user, model_from_options(chosen)).caller()


def _make_host(model: Model, user: str) -> Host:
    async def same() -> Model:
        return model

    return Host(open_home(), same, user)


def _agent_parts(chosen: AgentOptions, face: Display, name: str, model: Model | None) -> dict[str, Any]:
    """Return the agent parts that an assistant defines for itself and that are needed here where there is none."""
    common: dict[str, Any] = {"name": name, "approver": face.approver}
    if chosen.demo:
        from treadle.cli.demo import demo_agent_parts

        return {**common, "name": "demo", **demo_agent_parts()}
    return {
        **common,
        "model": model or model_from_options(chosen),
        "dialect": chosen.dialect,
        "instructions": chosen.instructions,
        "policy": chosen.policy or None,
        "grounded": None,
    }


def model_from_options(chosen: AgentOptions) -> Model:
    """Return the model that the options name."""
    if chosen.call is not None:
        from treadle.models.calling.one_call import one_call

        return one_call(chosen.call.name, chosen.call.arguments)
    return model_at(chosen.model, chosen.base_url)


def enter_folder(folder: str) -> None:
    """Change the working directory to this folder."""
    try:
        os.chdir(folder)
    except OSError as error:
        raise SettingsError(f"The folder {folder} can't be entered: {error.strerror}.") from error

"""An agent from what a person chose: model, tools, policy, limits. Assistants, demonstration and typed calls bring their own."""

import os
from pathlib import Path
from typing import Any

from msgspec.structs import replace

from treadle.app.agent import Agent
from treadle.app.assistant import Host
from treadle.app.home import open_home
from treadle.app.loading import load_tools
from treadle.app.models import model_at, settled_model
from treadle.cli.choices import Chosen
from treadle.cli.face import Face
from treadle.core.errors import SettingsError
from treadle.core.requests import Options
from treadle.core.seams import Model
from treadle.engine.setup import Caller


async def with_model(chosen: Chosen, face: Face) -> Chosen:
    """With a model named, so that the same one is used when the run is resumed."""
    if chosen.demo and (chosen.assistant or chosen.model or chosen.dialect or chosen.tools or chosen.policy):
        raise SettingsError("The demonstration brings its own model, tools and policy; leave --demo out to use yours.")
    if chosen.model or chosen.demo or chosen.call:
        return chosen
    name, address = settled_model()
    if name:
        return replace(chosen, model=name, base_url=chosen.base_url or address)
    from treadle.cli.first import first_model  # most have named one

    return replace(chosen, model=await first_model(face))


def build(chosen: Chosen, face: Face, name: str, user: str = "") -> Agent[str]:
    """The agent."""
    how: dict[str, Any] = {
        "tools": load_tools(chosen.tools, chosen.folder),
        "options": Options(**chosen.options),  # pyright: ignore[reportArgumentType]  # named by `choices.OPTIONS`, typed by the parser
        "attended": chosen.attended,
        "priced": True,
    }
    if chosen.assistant:
        from treadle.cli.host import assisted  # most ask without one

        agent = assisted(chosen, face, user, **how)
    else:
        from treadle.app.assistants import settled_agent

        parts = {**how, **_parts(chosen, face, name)}
        model, options = parts.pop("model"), parts.pop("options")
        host = None if chosen.demo or chosen.call else _host(model, user)
        agent = settled_agent(Path(chosen.workspace or "."), model, limits=chosen.limits, options=options, parts=parts, host=host)
    if face.person is not None:
        face.person.tools = agent.setup.toolset.tools
    return agent


async def caller_of(chosen: Chosen, face: Face, user: str) -> Caller:
    """On whose behalf the agent acts."""
    if not chosen.assistant:
        return Caller(user)
    from treadle.cli.host import session_of

    return await session_of(chosen, face, user, model_from(chosen)).caller()


def _host(model: Model, user: str) -> Host:
    async def same() -> Model:
        return model

    return Host(open_home(), same, user)


def _parts(chosen: Chosen, face: Face, name: str) -> dict[str, Any]:
    """What an assistant says for itself, and somebody has to say where there is none."""
    common: dict[str, Any] = {"name": name, "approver": face.approver}
    if chosen.demo:
        from treadle.cli.demo import parts

        return {**common, "name": "demo", **parts()}
    return {
        **common,
        "model": shown(model_from(chosen), face),
        "dialect": chosen.dialect,
        "instructions": chosen.instructions,
        "policy": chosen.policy or None,
    }


def shown(model: Model, face: Face) -> Model:
    """A model that shows how far it is while it is loaded, if that is one that has to be, or a fallback has such a one."""
    loaded = [each for each in getattr(model, "models", (model,)) if hasattr(each, "on_load")]
    if loaded and face.shows_progress:
        from treadle.cli.bar import show_loading

        for each in loaded:
            show_loading(each, face.screen)
    return model


def model_from(chosen: Chosen) -> Model:
    """The model that was named."""
    if chosen.call is not None:
        from treadle.models.one_call import one_call

        return one_call(chosen.call.name, chosen.call.arguments)
    return model_at(chosen.model, chosen.base_url)


def enter(folder: str) -> None:
    """Work in this folder."""
    try:
        os.chdir(folder)
    except OSError as error:
        raise SettingsError(f"The folder {folder} can't be entered: {error.strerror}.") from error

"""What the command line lends to assistants; and the agent that is made of one, with what a person typed beside it."""

import os
import subprocess
import sys
from argparse import Namespace
from collections.abc import Mapping, Sequence
from typing import Any

from msgspec.structs import replace

from treadle.app.agent import Agent
from treadle.app.assistant import Assistant, Host
from treadle.app.assistants import assistant
from treadle.app.home import open_home
from treadle.app.session import AssistantSession
from treadle.app.talk import Slash
from treadle.cli.agents import model_from, shown, with_model
from treadle.cli.choices import Chosen, TypedCall, chosen_from
from treadle.cli.conversation import Conversation
from treadle.cli.face import Face
from treadle.cli.lines import lines
from treadle.cli.report import code_of_call
from treadle.cli.talking import After, converse
from treadle.cli.telling import Teller
from treadle.core.errors import SettingsError
from treadle.core.seams import Model
from treadle.engine.engine import new_run_id
from treadle.guard.policy import policy_from


def host_for_command(args: Namespace, assistant: str = "") -> Host:
    """For a command of an assistant. Of what was typed, only the options that all of them have are looked at."""
    typed = {name: getattr(args, name) for name in ("model", "base_url", "dialect", "user", "yes", "quiet")}
    common = Namespace(**typed, assistant=assistant)
    face, chosen = Face(common), chosen_from(common)

    found: list[Model] = []

    async def model() -> Model:
        nonlocal chosen
        if not found:  # the same one each time: it may be large, or remember what it has said
            chosen = await with_model(chosen, face)
            found.append(shown(model_from(chosen), face))
        return found[0]

    return Host(
        open_home(),
        model,
        args.user or "",
        face.screen,
        face.approver,
        watcher=None if face.quiet else Teller(face.screen, says=False),
        origin={name: typed[name] for name in ("base_url", "dialect") if typed[name]},
        detach=detach,
        remember=lambda about: replace(chosen, about=about).origin,
        talk=lambda session, agent: Talking(session, agent, chosen, face),
        dialect=chosen.dialect,
    )


class Talking(Conversation):
    """A conversation that an assistant's command holds. Its run can be resumed like any other of the assistant."""

    def __init__(self, session: AssistantSession, agent: Agent[Any], chosen: Chosen, face: Face) -> None:
        about = dict(session.host.about)
        super().__init__(agent, replace(chosen, about=about), face, run_id=new_run_id(), kept=True, session=session)

    async def call(self, name: str, arguments: Mapping[str, Any], message: str) -> int:
        """Have one call made; when the run is resumed, the same one is meant."""
        self._chosen = replace(self._chosen, call=TypedCall(name, dict(arguments)))
        self.face.form = "result"
        return code_of_call(await self.ask(message))

    async def converse(self, slashes: Mapping[str, Slash] = {}, after: After | None = None) -> int:
        """Answer lines until there are no more."""
        return await converse(self, self.face, lines(self.face.is_interactive), slashes, after)


def detach(words: Sequence[str]) -> None:
    """A command in a session of its own, which no closing of this terminal ends."""
    with open(os.devnull, "r+b") as nothing:  # noqa: PTH123 - a device
        subprocess.Popen(  # noqa: S603 - ourselves
            [sys.executable, "-P", "-m", "treadle.cli.main", *words],  # nothing in this folder is imported: it may be a stranger's
            stdin=nothing,
            stdout=nothing,
            stderr=nothing,
            start_new_session=True,
        )


def assisted(chosen: Chosen, face: Face, user: str, **how: Any) -> Agent[str]:
    """The assistant that was chosen. Tools, rules and instructions that were typed are added to its own; limits replace its own."""
    model = shown(model_from(chosen), face)
    session = session_of(chosen, face, user, model)
    return session.agent(
        model,
        instructions=chosen.instructions,
        policy=policy_with(session.assistant.configured(session.host), chosen),
        limits=chosen.limits,
        dialect=chosen.dialect,
        **how,
    )


def session_of(chosen: Chosen, face: Face, user: str, model: Model) -> AssistantSession:
    """The assistant that was chosen, for whoever typed this."""

    async def same() -> Model:
        return model

    return AssistantSession(assistant(chosen.assistant), Host(open_home(), same, user, approver=face.approver, about=chosen.about))


def policy_with(made: Assistant, chosen: Chosen) -> Any:
    """Its rules, with those that were typed among them: deny beats ask beats allow, whoever said it."""
    if not chosen.policy:
        return made.policy
    own = () if made.policy is None else made.policy
    if not isinstance(own, Sequence):
        raise SettingsError(
            f"The assistant {made.name} judges by a policy of its own, to which no rules can be added; "
            "leave --allow, --ask, --deny and --policy out."
        )
    return policy_from(chosen.policy, own)

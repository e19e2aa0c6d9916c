"""`treadle resume`: takes a run up again, with the agent it was begun with."""

import argparse

from treadle.app.session import on_behalf_of
from treadle.app.talk import exit_code
from treadle.app.workers.order import is_workers
from treadle.cli.agents import build, caller_of, enter, with_model
from treadle.cli.carrying import carry_out
from treadle.cli.choices import Chosen, chosen_for, chosen_from
from treadle.cli.codes import INTERRUPTED
from treadle.cli.face import Face
from treadle.cli.kept import state_of
from treadle.cli.report import code_of_call
from treadle.cli.turn import Interrupted, take_turn
from treadle.core.entries import Opened
from treadle.core.errors import SettingsError


def run(args: argparse.Namespace) -> int:
    """Go on, and show how."""
    return carry_out(_resume(args))


async def _resume(args: argparse.Namespace) -> int:
    opened = (await state_of(args.run)).opened or Opened()
    if opened.parent:
        raise SettingsError(f"Run {args.run} is inside of another; resume that: treadle resume {opened.parent}")
    chosen = chosen_from(args, _before(args, opened))
    face = Face(args, result_only=chosen.call is not None)
    chosen = await with_model(chosen, face)
    enter(chosen.workspace)
    user = args.user or opened.user
    agent, caller = build(chosen, face, opened.agent, user), await caller_of(chosen, face, user)
    if caller.user != user:
        raise SettingsError(
            f"Run {args.run} is {user or 'nobody'}'s, and you are {caller.user or 'nobody'} here: sign in as they do."
        )
    how = on_behalf_of(caller)
    try:
        result = await take_turn(
            agent, args.run, face, lambda watchers: agent.resume(args.run, journal=True, watchers=watchers, **how)
        )
    except Interrupted:
        return INTERRUPTED
    return exit_code(result) if chosen.call is None else code_of_call(result)


def _before(args: argparse.Namespace, opened: Opened) -> Chosen | None:
    """What the run was begun with. One that a program began can only go on here with a model that is named."""
    if is_workers(opened):
        raise SettingsError(f"Run {args.run} was submitted to workers, which go on with it: treadle submit --resume {args.run}")
    chosen = chosen_for(args.run, opened)
    if chosen is None and not args.model:
        raise SettingsError(
            f"Run {args.run} was begun by a program, which has to resume it; "
            "or name what to go on with: --model, and --tools or --assistant."
        )
    return chosen

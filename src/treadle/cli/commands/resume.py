"""`treadle resume`: resume a run with the agent it was started with."""

import argparse

from treadle.agent.session import caller_arguments
from treadle.agent.talk import exit_code
from treadle.cli.agent_options import AgentOptions, options_from_args, options_of_run
from treadle.cli.agents import build_agent, caller_of, ensure_model, enter_folder
from treadle.cli.exit_codes import INTERRUPTED
from treadle.cli.run_store import load_run_state, resolve_run_id
from treadle.cli.runner import run_async
from treadle.cli.turn import TurnInterrupted, take_turn
from treadle.cli.ui.display import Display
from treadle.cli.ui.report import call_exit_code
from treadle.core.entries import Opened
from treadle.core.errors import SettingsError
from treadle.workers.run_spec import is_worker_run


def run(args: argparse.Namespace) -> int:
    """Resume the run, and show it."""
    return run_async(_resume_run(args))


async def _resume_run(args: argparse.Namespace) -> int:
    args.run = await resolve_run_id(args.run)
    opened = (await load_run_state(args.run)).opened or Opened()
    if opened.parent:
        raise SettingsError(f"Run {args.run} is inside of another; resume that: treadle resume {opened.parent}")
    chosen = options_from_args(args, _options_of_run(args, opened))
    face = Display(args, result_only=chosen.call is not None)
    chosen = await ensure_model(chosen, face)
    enter_folder(chosen.workspace)
    user = args.user or opened.user
    agent, caller = build_agent(chosen, face, opened.agent, user), await caller_of(chosen, face, user)
    if caller.user != user:
        raise SettingsError(
            f"Run {args.run} belongs to {user or 'no user'}, and you are {caller.user or 'not signed in'}: sign in as its owner."
        )
    how = caller_arguments(caller)
    try:
        result = await take_turn(
            agent, args.run, face, lambda watchers: agent.resume(args.run, journal=True, watchers=watchers, **how)
        )
    except TurnInterrupted:
        return INTERRUPTED
    return exit_code(result) if chosen.call is None else call_exit_code(result)


def _options_of_run(args: argparse.Namespace, opened: Opened) -> AgentOptions | None:
    """Return the options that the run was started with. A run started by a program needs a named model to continue here."""
    if is_worker_run(opened):
        raise SettingsError(f"Run {args.run} was submitted to workers, which resume it: treadle submit --resume {args.run}")
    chosen = options_of_run(args.run, opened)
    if chosen is None and not args.model:
        raise SettingsError(
            f"Run {args.run} was started by a program, which has to resume it; "
            "or name what to resume it with: --model, and --tools or --assistant."
        )
    return chosen

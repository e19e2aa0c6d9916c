"""`treadle permissions`: list what is allowed for always, revoke some of it; `test`, in `eval_replay`, judges kept calls again."""

import argparse

from treadle.cli.exit_codes import OK
from treadle.cli.runner import run_async
from treadle.cli.ui.render import clean_for_terminal, format_table, format_time, to_terminal_json
from treadle.cli.ui.screen import Screen
from treadle.core.grants import Grant
from treadle.guard.grants import format_patterns
from treadle.guard.visible_text import make_visible
from treadle.home import open_home


def run(args: argparse.Namespace) -> int:
    """List or revoke grants, or test a policy file."""
    if args.action == "test":
        from treadle.cli.commands.eval_replay import judge_kept_calls

        return run_async(judge_kept_calls(args))
    return _revoke(args) if args.action == "revoke" else _list_grants(args)


def _list_grants(args: argparse.Namespace) -> int:
    screen, permissions = Screen(), open_home().permissions
    grants = permissions.load()
    if args.json:
        screen.line(to_terminal_json(list(grants)))
        return OK
    rows = [(each.id, each.agent, each.tool, format_patterns(each.where), each.by, format_time(each.at)) for each in grants]
    shown = [tuple([make_visible(cell) for cell in row]) for row in rows]
    for line in format_table([("ID", "AGENT", "TOOL", "ARGUMENTS", "ALLOWED BY", "WHEN"), *shown], screen.width) if rows else ():
        screen.line(line)
    screen.note(f"In {permissions.path}." if rows else "Nothing is allowed for always.")
    return OK


def _revoke(args: argparse.Namespace) -> int:
    screen, permissions = Screen(), open_home().permissions
    revoked = [permissions.revoke(each) for each in args.grant]
    if args.json:
        screen.line(to_terminal_json(revoked))
        return OK
    for grant in revoked:
        screen.line(f"Revoked: {_describe(grant)}")
    return OK


def _describe(grant: Grant) -> str:
    return f"{clean_for_terminal(grant.tool)} with {make_visible(format_patterns(grant.where))}"

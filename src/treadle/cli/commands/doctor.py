"""`treadle doctor`: print one line per finding; a problem also says what to do. Exits with 1 if there is a problem."""

import argparse
from pathlib import Path

from treadle.admin.doctor import DoctorFinding, State, diagnose
from treadle.cli.exit_codes import FAILED, OK
from treadle.cli.runner import run_async
from treadle.cli.ui.render import format_count, to_terminal_json
from treadle.cli.ui.screen import Screen
from treadle.guard.redaction import Redactor

MARKS: dict[State, tuple[str, str]] = {"fine": ("ok   ", "green"), "note": ("note ", "yellow"), "wrong": ("WRONG", "bold red")}


def run(args: argparse.Namespace) -> int:
    """Run all checks."""
    return run_async(_run_checks(args))


async def _run_checks(args: argparse.Namespace) -> int:
    screen, found = Screen(), list[DoctorFinding]()
    async for finding in diagnose(Path.cwd()):
        found.append(_redact(finding))
        if not args.json:
            _print_finding(screen, found[-1])
    wrong = sum(finding.state == "wrong" for finding in found)
    if args.json:
        screen.line(to_terminal_json(found))
    else:
        screen.line(f"\n{format_count(wrong, 'thing')} {'is' if wrong == 1 else 'are'} wrong." if wrong else "\nNothing is wrong.")
    return FAILED if wrong else OK


def _redact(finding: DoctorFinding) -> DoctorFinding:
    text = Redactor().text
    return DoctorFinding(finding.about, finding.state, text(finding.says), text(finding.do))


def _print_finding(screen: Screen, finding: DoctorFinding) -> None:
    mark, style = MARKS[finding.state]
    screen.line(f"{mark}  {finding.about}: {finding.says}", style if finding.state != "fine" else "")
    if finding.do:
        screen.line(f"       {finding.do}", "dim")

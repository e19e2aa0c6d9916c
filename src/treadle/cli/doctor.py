"""`treadle doctor`: what was found, a line each; what is wrong also says what to do. Ends with 1 where something is."""

import argparse
from pathlib import Path

from treadle.app.doctor import Finding, State, examine
from treadle.cli.carrying import carry_out
from treadle.cli.codes import FAILED, FINE
from treadle.cli.render import counted, to_json
from treadle.cli.screen import Screen
from treadle.guard.redaction import Redactor

MARKS: dict[State, tuple[str, str]] = {"fine": ("ok   ", "green"), "note": ("note ", "yellow"), "wrong": ("WRONG", "bold red")}


def run(args: argparse.Namespace) -> int:
    """Look at everything."""
    return carry_out(_run(args))


async def _run(args: argparse.Namespace) -> int:
    screen, found = Screen(), list[Finding]()
    async for finding in examine(Path.cwd()):
        found.append(_shown(finding))
        if not args.json:
            _tell(screen, found[-1])
    wrong = sum(finding.state == "wrong" for finding in found)
    if args.json:
        screen.line(to_json(found))
    else:
        screen.line(f"\n{counted(wrong, 'thing')} {'is' if wrong == 1 else 'are'} wrong." if wrong else "\nNothing is wrong.")
    return FAILED if wrong else FINE


def _shown(finding: Finding) -> Finding:
    text = Redactor().text
    return Finding(finding.about, finding.state, text(finding.says), text(finding.do))


def _tell(screen: Screen, finding: Finding) -> None:
    mark, style = MARKS[finding.state]
    screen.line(f"{mark}  {finding.about}: {finding.says}", style if finding.state != "fine" else "")
    if finding.do:
        screen.line(f"       {finding.do}", "dim")

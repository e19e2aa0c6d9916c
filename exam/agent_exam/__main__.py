"""`agent-exam run [--adapter NAME]… [--suite NAME]… [--case ID]… [--out FOLDER]`, `agent-exam list`, `agent-exam page`."""

import argparse
import sys
from pathlib import Path

from agent_exam.adapters import names
from agent_exam.page import load_results, write_results
from agent_exam.runner import process_host, run_case
from agent_exam.suites import CASES, SUITES


def main(argv: list[str] | None = None) -> None:
    """Run the command."""
    options = _parser().parse_args(argv)
    if options.command == "list":
        print("\n".join([*(f"adapter  {name}" for name in names()), *(f"{one.id:42} {one.title}" for one in CASES.values())]))
        return
    results = load_results(options.out / "exam.json")
    if options.command == "page":
        write_results(options.out, results)
        return
    failed = 0
    for name in options.adapter or names():
        with process_host(name) as host:
            one = host.candidate
            one.verdicts = results[one.name].verdicts if one.name in results else {}
            results[one.name] = one
            for case in CASES.values():
                if (options.suite and case.suite not in options.suite) or (options.case and case.id not in options.case):
                    continue
                verdict = run_case(case, host, options.logs)
                failed += verdict.status == "failed"
                reasons = "; ".join(verdict.reasons)
                print(f"{one.name:14} {case.id:40} {verdict.status:11} {verdict.seconds:5.1f} s  {reasons}", flush=True)
                found = {**one.verdicts, case.id: verdict}
                one.verdicts = {name: found[name] for name in CASES if name in found}
                write_results(options.out, results)
    sys.exit(bool(failed) and options.strict)


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser("agent-exam", description="An exam for agent frameworks.")
    commands = parser.add_subparsers(dest="command", required=True)
    commands.add_parser("list", help="list adapters and cases")
    page = commands.add_parser("page", help="write exam.md anew from exam.json")
    run = commands.add_parser("run", help="run cases; results are written to exam.json and exam.md")
    for command in (page, run):
        command.add_argument("--out", type=Path, default=Path(), help="the folder of exam.json and exam.md (default: this one)")
    run.add_argument(
        "--adapter", action="append", help="an adapter's name, or module:function; repeat it for several (default: all)"
    )
    run.add_argument("--suite", action="append", choices=list(SUITES), help="a suite (default: all)")
    run.add_argument("--case", action="append", help="a case, by its id")
    run.add_argument("--logs", type=Path, help="a folder for what the processes print")
    run.add_argument("--strict", action="store_true", help="exit with 1 if a cell failed")
    return parser


if __name__ == "__main__":
    main()

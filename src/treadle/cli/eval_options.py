"""Options of `treadle eval` and `treadle permissions test`. Imports next to nothing, so that help appears at once."""

from collections.abc import Callable

from treadle.cli.parser import CommandEntry, CommandParser, add_commands, integer_from
from treadle.settings.reserved import add_model_options

REPLAYED = "the id of a kept run, the beginning of it, or `last`"


def eval_options(command: CommandParser) -> None:
    """Add the options of `treadle eval`."""
    add_commands(command, "ACTION", EVAL_ACTIONS, required=True)
    command.default_action = "run"


def _run_options(action: CommandParser) -> None:
    action.add_argument("file", metavar="FILE", nargs="+", help="a dataset: .yaml, .json, .jsonl, or FILE.py:NAME")
    group = action.add_argument_group("agent")
    _agent_options(group.add_argument)
    add_model_options(group.add_argument)
    group.add_argument("--judge", metavar="MODEL", help="the model that judges where a rubric names none (default: as -m)")
    _change_options(group.add_argument)
    group.add_argument("--user", default="", help="the user on whose behalf to act")
    group = action.add_argument_group("runs")
    words = "run each case under prompt injection: results of tools carry instructions to call another tool"
    group.add_argument("--attack", action="store_true", help=words)
    group.add_argument("--repeat", type=integer_from(1), default=1, metavar="N", help="how often each case is run (default: 1)")
    group.add_argument("--parallel", type=integer_from(1), default=4, metavar="N", help="how many runs at once (default: 4)")
    group.add_argument("--resume", action="store_true", help="go on with the last evaluation of these cases, where it was killed")
    group = action.add_argument_group("report")
    group.add_argument("--report", metavar="FILE", help="write the report as JSON; a later one can be compared with it")
    group.add_argument("--junit", metavar="FILE", help="write the report as JUnit XML")
    group.add_argument("--html", metavar="FILE", help="write the report as an HTML page")
    group.add_argument("--baseline", metavar="FILE", help="compare with an earlier report")
    words = "when to exit with 1: any run failed, or a case has regressed (default: regression with --baseline, else any)"
    group.add_argument("--fail-on", choices=("any", "regression"), help=words)
    _output_options(group.add_argument)


def _replay_options(action: CommandParser) -> None:
    _kept_runs_options(action, 100)
    group = action.add_argument_group("what is different", "Without any of these, nothing is: then a difference is a fault.")
    add_model_options(group.add_argument)
    _change_options(group.add_argument)
    _agent_options(group.add_argument)
    words = "a function, or all @tools of a module, in place of the run's own; FILE.py[:NAME] works too; repeatable"
    group.add_argument("--tools", action="append", metavar="MODULE[:NAME]", help=words)
    group.add_argument("--run-reads", action="store_true", help="run calls that only read again; others are never run")
    group.add_argument("--ignore-answers", action="store_true", help="compare calls and verdicts, and no answers")
    group.add_argument("--parallel", type=integer_from(1), default=4, metavar="N", help="how many runs at once (default: 4)")
    group = action.add_argument_group("report")
    group.add_argument("--report", metavar="FILE", help="write the report as JSON")
    _output_options(group.add_argument)


def policy_test_options(action: CommandParser) -> None:
    """Add the options of `treadle permissions test`."""
    action.add_argument("policy", metavar="POLICY", help="a policy file, TOML or JSON")
    _kept_runs_options(action, None)
    group = action.add_argument_group("tools", "Without these, what a tool does is taken from the journal.")
    _agent_options(group.add_argument)
    action.add_argument("--strict", action="store_true", help="exit with 1 for any difference")
    _output_options(action.add_argument)


def _kept_runs_options(action: CommandParser, most: int | None) -> None:
    action.add_argument("run", metavar="RUN", nargs="*", help=f"{REPLAYED} (default: those that the options below choose)")
    group = action.add_argument_group("which runs")
    group.add_argument("--query", metavar="TEXT", default="", help="runs whose titles contain these words")
    group.add_argument("--of", metavar="NAME", default="", help="runs of this agent or assistant")
    group.add_argument("--rating", choices=("good", "bad"), default="", help="runs with an answer that its user has rated so")
    words = f"the newest N (default: {most or 'all'})"
    group.add_argument("-n", type=integer_from(1), metavar="N", dest="most", default=most, help=words)


def _agent_options(add_argument: Callable[..., object]) -> None:
    add_argument("-a", "--assistant", metavar="NAME", help="an installed assistant")
    words = "an agent in code, or a function that returns one: MODULE:NAME or FILE.py:NAME"
    add_argument("--agent", metavar="MODULE:NAME", help=words)


def _change_options(add_argument: Callable[..., object]) -> None:
    words = "other instructions for the model; for an assistant they are added to its own; @FILE reads them from a file"
    add_argument("-i", "--instructions", metavar="TEXT", help=words)
    add_argument("--policy", metavar="FILE", help="another policy: a file, TOML or JSON")


def _output_options(add_argument: Callable[..., object]) -> None:
    add_argument("--json", action="store_true", help="print the report as JSON")
    add_argument("-q", "--quiet", action="store_true", help="no notes on stderr")


def _import_options(action: CommandParser) -> None:
    action.add_argument("suite", metavar="SUITE", help="bfcl, agentdojo or tau2")
    action.add_argument("part", metavar="PART", nargs="*", help="parts of it, such as simple_python (default: all)")
    action.add_argument("-o", "--output", metavar="FILE", help="the file to write, .jsonl (default: print it)")
    action.add_argument("-q", "--quiet", action="store_true", help="no notes on stderr")


EVAL_ACTIONS: tuple[CommandEntry, ...] = (
    ("run", "run the cases of datasets and check them", "The same as `treadle eval FILE`.", _run_options),
    (
        "replay",
        "replay kept runs with another model, prompt, tool set or policy",
        "Results come from the journal; calls with effects are never run.",
        _replay_options,
    ),
    (
        "import",
        "write the cases of a public suite as a dataset",
        "They are read from the package that publishes them, which has to be installed.",
        _import_options,
    ),
)

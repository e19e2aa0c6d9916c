import re
from pathlib import Path

import pytest

from treadle.cli.options import COMMANDS as OWN
from treadle.cli.options import MODEL_ACTIONS, TOOL_ACTIONS, build_parser
from treadle.cli.overview import BUNDLED, ENVIRONMENT, EXIT_CODES, GROUPS, format_overview
from treadle.cli.parser import CommandParser
from treadle.plugins.assistants import find_assistants
from treadle.settings.reserved import COMMANDS

DOCS = Path(__file__).parents[2] / "docs" / "cli.md"


def helps():
    """The help of every command."""
    for name, _, _, fill in (*OWN, *TOOL_ACTIONS, *MODEL_ACTIONS):
        command = CommandParser(prog=f"treadle {name}")
        fill(command)
        yield name, command.format_help()


@pytest.mark.parametrize(("name", "text"), list(helps()), ids=lambda value: value if len(value) < 20 else "")
def test_every_command_and_option_is_documented(name, text):
    docs = DOCS.read_text()
    assert re.search(rf"treadle (tool |models )?{name}\b", docs)
    for option in set(re.findall(r"(?<![\w-])--?[a-z][a-z-]*", text)) - {"-h", "--help"}:
        assert re.search(rf"(?<![\w-]){option}\b", docs), option


def test_the_names_that_no_assistant_may_take_are_those_of_our_commands():
    assert sorted(COMMANDS) == sorted(entry[0] for entry in OWN)


def test_the_overview_lists_every_command_once_on_one_screen():
    """Those of the bundled assistants as well: a user can't type what is in no list."""
    listed = [name for _, rows in GROUPS for names, _ in rows for name in names.split(", ")]
    bundled = [each for each in find_assistants()[0] if each.assistant.name in BUNDLED]
    theirs = [command.name for each in bundled for command in each.assistant.commands]
    assert sorted(listed) == sorted([*(entry[0] for entry in OWN), *theirs])
    assert len(format_overview().splitlines()) <= 45
    assert max(map(len, format_overview().splitlines())) <= 80


def test_every_exit_code_and_variable_is_documented():
    docs = DOCS.read_text()
    for code in re.findall(r"^  (\d+) ", EXIT_CODES, re.MULTILINE):
        assert f"| {code} |" in docs
    for variable in re.findall(r"\b[A-Z]+_[A-Z_]+\b", ENVIRONMENT):
        assert variable in docs


@pytest.mark.parametrize(
    "words",
    [
        ["ask", "x", "--rounds", "-1"],
        ["ask", "x", "--rounds", "two"],
        ["ask", "x", "--rounds", "²"],
        ["ask", "x", "--temperature", "nan"],
        ["ask", "x", "--temperature", "warm"],
        ["ask", "x", "--seconds", "0"],
        ["ask", "x", "--max-tokens", "0"],
        ["ask", "x", "--json", "--events"],
        ["ask", "x", "--mod", "y"],
        ["runs", "--status", "odd"],
        ["runs", "-n", "0"],
        ["tool"],
        ["nonsense"],
    ],
)
def test_what_makes_no_sense_is_refused_before_anything_happens(words, capsys):
    with pytest.raises(SystemExit) as refused:
        build_parser().parse_args(words)
    assert refused.value.code == 2
    assert "error:" in capsys.readouterr().err


def test_options_are_read_as_values():
    args = build_parser().parse_args(["ask", "how", "many", "--rounds", "3", "--seconds", "1.5", "--allow", "a", "--allow", "b"])
    assert (args.prompt, args.rounds, args.seconds, args.allow) == (["how", "many"], 3, 1.5, ["a", "b"])

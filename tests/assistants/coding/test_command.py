"""What can be typed after the coding commands: long options with one dash, logs by the names of their files, nothing misread."""

import re
from pathlib import Path

import pytest

from treadle.assistants.coding import assistant, command
from treadle.cli.options import COMMANDS
from treadle.cli.parser import CommandParser
from treadle.core.errors import TreadleError


def parser(name: str) -> CommandParser:
    made = CommandParser(prog=name, allow_abbrev=False)
    getattr(command, f"add_{name}_arguments")(made)
    return made


@pytest.mark.parametrize("typed", [["-description", "X"], ["-description=X"], ["--description", "X"], ["-d", "X"], ["X"]])
def test_a_description_can_be_given_with_one_dash_or_two(typed: list[str]) -> None:
    assert command.build_inputs(parser("build").parse_args([*typed, "--direct"])).description == "X"


@pytest.mark.parametrize("typed", ["-descr", "-iss", "-work=x"])
def test_the_beginning_of_an_option_is_refused_and_never_read_as_a_letter_with_a_value(
    typed: str, capsys: pytest.CaptureFixture[str]
) -> None:
    with pytest.raises(SystemExit):
        parser("build").parse_args([typed, "X"])
    assert "write --" in capsys.readouterr().err


def test_what_stands_after_two_dashes_is_taken_as_it_is() -> None:
    assert command.build_inputs(parser("build").parse_args(["--", "-description"])).description == "-description"


def test_a_letter_with_its_value_is_still_read() -> None:
    assert parser("build").parse_args(["-C/srv/shop", "x"]).workspace == "/srv/shop"


def test_direct_and_detach_exclude_each_other() -> None:
    with pytest.raises(SystemExit):
        parser("build").parse_args(["x", "--direct", "--detach"])


def test_logs_are_read_from_the_file_that_is_named(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "service.log").write_text("price was 7\n")
    given = command.triage_inputs(parser("triage").parse_args(["--logs", "service.log", "-error-logs", "KeyError: 'x' in shop.py"]))
    assert (given.logs, given.error_log) == ("price was 7\n", "KeyError: 'x' in shop.py")
    assert command.debug_inputs(parser("debug").parse_args(["--logs", "service.log"])).error_log == "price was 7\n"
    with pytest.raises(TreadleError, match=r"gone\.log"):
        command.triage_inputs(parser("triage").parse_args(["--logs", "gone.log"]))


def test_a_branch_to_review_can_be_named_either_way() -> None:
    assert command.review_inputs(parser("review").parse_args(["-branch", "feature"])).branch == "feature"
    assert command.review_inputs(parser("review").parse_args(["feature"])).branch == "feature"


def test_what_troubleshooting_tells_people_to_type_can_be_typed() -> None:
    page = (Path(__file__).parents[3] / "docs" / "coding.md").read_text().partition("## Troubleshooting")[2]
    named = set(re.findall(r"`treadle (\w+)", page))
    there = {entry[0] for entry in COMMANDS} | {each.name for each in assistant.commands}
    assert named
    assert named <= there


@pytest.mark.parametrize(
    ("name", "typed", "field", "expected"),
    [
        ("build", ["a shop"], "issue", "PIPED"),
        ("debug", ["since today", "--logs", "KeyError here"], "error_log", "KeyError here\nPIPED"),
        ("triage", ["since today"], "logs", "PIPED"),
        ("review", [], "diff", "PIPED"),
        ("review", ["feature"], "diff", ""),
        ("debug", ["--stack-trace", "-"], "stack_trace", "PIPED\n"),
    ],
)
def test_piped_text_is_evidence_of_the_job(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, name: str, typed: list[str], field: str, expected: str
) -> None:
    (tmp_path / "piped").write_text("PIPED\n")
    with (tmp_path / "piped").open() as stdin:
        monkeypatch.setattr("sys.stdin", stdin)
        given = getattr(command, f"{name}_inputs")(parser(name).parse_args(typed))
    assert getattr(given, field) == expected

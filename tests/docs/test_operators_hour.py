"""The page that an operator follows is the one that `python -m bench.operator` executes. Executing it takes a minute."""

import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parents[2]))  # `bench` isn't part of the package

from bench.operator import CHECKS, find_problems, read_page


def test_each_section_has_commands_and_checks_of_their_results():
    program, sections = read_page()
    assert [section.heading for section in sections] == [*CHECKS]
    assert all(section.commands for section in sections)
    compile(program, "shop", "exec")


def test_a_section_that_printed_something_else_is_a_problem():
    _, sections = read_page()
    install = sections[0]
    assert find_problems(install, "Treadle 0.1.0\nready") == []
    assert find_problems(install, "Treadle 0.1.0") == ["ready"]

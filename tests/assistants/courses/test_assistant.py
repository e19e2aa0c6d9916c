"""What it offers, and that offering it costs nothing."""

import subprocess
import sys

from treadle.assistants.courses import assistant
from treadle.assistants.courses.session import MAX_TITLES, build_course_instructions, build_round_notes
from treadle.testing import check_assistant


def test_it_is_in_order():
    check_assistant(assistant)


def test_naming_it_imports_nothing_heavy():
    heavy = "{'sqlite3', 'numpy', 'starlette', 'pypdf', 'bs4', 'mammoth', 'nbformat', 'pysubs2', 'yaml'}"
    code = f"import sys, treadle.assistants.courses; print(sorted({heavy} & sys.modules.keys()))"
    assert subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True).stdout == "[]\n"


def test_the_model_is_told_which_courses_there_are():
    assert '- "Sailing"' in build_course_instructions(["Sailing"])
    many = build_course_instructions([f"Course {number}" for number in range(MAX_TITLES + 2)])
    assert "and 2 more" in many
    assert "no courses yet" in build_course_instructions([])


def test_what_it_is_told_goes_on_round_by_round():
    assert "twice at most" in build_round_notes(2)[0]
    assert "once at most" in build_round_notes(1)[0]
    assert "5 times at most" in build_round_notes(5)[0]
    assert "again" in build_round_notes(2)[1]

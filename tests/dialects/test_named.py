import subprocess
import sys

import pytest

from treadle.core.errors import SettingsError
from treadle.dialects import auto_dialect, dialect_names, get_dialect


@pytest.mark.parametrize("name", dialect_names())
def test_a_dialect_is_found_by_its_name(name: str) -> None:
    assert get_dialect(name).name == name


def test_some_have_short_names() -> None:
    short = {"bash": "own_bash_fence", "hermes": "hermes_json", "json": "own_json_thoughts", "xml": "own_xml_tool_use"}
    assert {name: get_dialect(name).name for name in short} == short


def test_a_name_that_isnt_there_says_which_are() -> None:
    with pytest.raises(SettingsError, match=r"auto, .*hermes_json, .*own_xml_tool_use"):
        get_dialect("klingon")


def test_auto_is_a_dialect_like_any_other() -> None:
    assert auto_dialect(strict=False) is get_dialect("auto")


def test_a_family_is_loaded_when_one_of_its_dialects_is_asked_for() -> None:
    seen = (
        "import sys; from treadle.dialects import get_dialect; get_dialect('bash');"
        "print('treadle.dialects.formats.tool_use' in sys.modules)"
    )
    assert subprocess.run([sys.executable, "-c", seen], capture_output=True, text=True, check=True).stdout == "False\n"

import subprocess
import sys

import pytest

from treadle.core.errors import SettingsError
from treadle.dialects import auto, named


@pytest.mark.parametrize("name", ["auto", "bash", "hermes", "json", "xml"])
def test_a_dialect_is_found_by_its_name(name: str) -> None:
    assert named(name).name == name


def test_a_name_that_isnt_there_says_which_are() -> None:
    with pytest.raises(SettingsError, match="auto, bash, hermes, json, xml"):
        named("klingon")


def test_the_strict_and_the_loose_hear_the_same_forms() -> None:
    assert auto(strict=True).forms == auto(strict=False).forms
    assert auto(strict=True) != auto(strict=False) == named("auto")


def test_a_family_is_loaded_when_one_of_its_dialects_is_asked_for() -> None:
    seen = "import sys; from treadle.dialects import named; named('bash'); print('treadle.dialects.tool_use' in sys.modules)"
    assert subprocess.run([sys.executable, "-c", seen], capture_output=True, text=True, check=True).stdout == "False\n"

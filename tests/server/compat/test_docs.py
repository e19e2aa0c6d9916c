"""What the page about the wires shows works."""

import re
from pathlib import Path

import pytest

from cli.forkserver import ran
from server.compat.clients import asked
from server.running import Serving, assistant
from treadle.models.scripted import Scripted

PAGE = Path(__file__).parents[3] / "docs" / "openai.md"
BLOCKS = re.findall(r"```py\n(.*?)```", PAGE.read_text(), re.DOTALL)
BONN = asked("weather", {"city": "Bonn"})


@pytest.mark.parametrize(
    ("number", "replies", "shown"),
    [
        (0, ["Use revert.", "Use revert."], "Use revert.\nUse revert."),
        (1, ["Use revert."], "Use revert.\n"),
        (2, [BONN, lambda request: request.history[-1].parts[0].content], "Clear skies in Bonn."),
    ],
)
def test_the_example_works(tmp_path, number, replies, shown):
    with Serving(tmp_path, [assistant("courses")], Scripted(*replies)) as server:
        code = BLOCKS[number].replace("http://localhost:8080", server.url)
        done = ran("-c", code)
    assert (done.returncode, shown in done.stdout) == (0, True), done.stderr
    assert len(BLOCKS) == 3

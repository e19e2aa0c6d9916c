"""The folder that runs are kept in."""

import asyncio

from treadle import Agent, Scripted, open_home
from treadle.app.home import close_home, close_homes


def test_letting_go_of_one_folder_leaves_the_others_open(tmp_path):
    left, right = open_home(tmp_path / "left"), open_home(tmp_path / "right")
    for home in (left, right):
        asyncio.run(Agent(Scripted("Fine.")).run("Well?", run_id="r", journal=home.services()))
    close_home(left)
    assert open_home(tmp_path / "right") is right
    again = open_home(tmp_path / "left")
    assert again is not left
    assert asyncio.run(again.journal.read("r")) != []
    close_homes()

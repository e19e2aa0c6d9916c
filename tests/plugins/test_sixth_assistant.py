"""A stranger's package, built and installed as anybody would, is an assistant like ours: command, listing, questions."""

import json
import os
import shutil
import subprocess
import sys
from pathlib import Path
from urllib.request import urlopen

import pytest

from cli.running import asks, environment, script, start, treadle

EXAMPLE = Path(__file__).parents[2] / "examples" / "sixth-assistant"
OFFLINE = ("--no-index", "--no-deps", "--no-build-isolation", "--disable-pip-version-check", "--quiet")


@pytest.fixture(scope="module")
def built(tmp_path_factory):
    """A copy of the example."""
    return Path(shutil.copytree(EXAMPLE, tmp_path_factory.mktemp("built") / "almanac"))


@pytest.fixture(scope="module")
def path(built, tmp_path_factory):
    """What puts it on the path: the folder it was installed into."""
    target = tmp_path_factory.mktemp("installed")
    command = [sys.executable, "-m", "pip", "install", *OFFLINE, "--target", str(target), str(built)]
    subprocess.run(command, check=True, env=environment(target, PIP_CONFIG_FILE=os.devnull))
    return {"PYTHONPATH": os.pathsep.join([str(target), os.environ.get("PYTHONPATH", "")])}


def test_its_command_is_there(tmp_path, path):
    ran = treadle(tmp_path, "almanac", "2026-03-20", **path)
    assert (ran.code, ran.err) == (0, "")
    assert ran.out == "moon  waxing crescent, 3% lit\nsun   rises at 06:03, sets at 18:11 (UTC)\n"


def test_its_command_refuses_what_is_no_date_and_no_place(tmp_path, path):
    ran = treadle(tmp_path, "almanac", "tomorrow", **path)
    assert ran.code == 2
    assert "argument DATE: 'tomorrow' is no date such as 2026-03-20" in ran.err
    assert "'here' is no place" in treadle(tmp_path, "almanac", "2026-03-20", "--at", "here", **path).err


def test_its_settings_count_and_are_listed(tmp_path, path):
    own = tmp_path / "own.toml"
    own.write_text("[assistants.almanac]\nlatitude = 40.71\nlongitude = -74.01\n")
    ran = treadle(tmp_path, "almanac", "2026-12-21", **path, TREADLE_CONFIG=str(own))
    assert ran.out == treadle(tmp_path, "almanac", "2026-12-21", "--at", "40.71,-74.01", **path).out
    assert f"assistants.almanac.latitude   40.71   {own}".split() in [
        line.split() for line in treadle(tmp_path, "settings", **path, TREADLE_CONFIG=str(own)).out.splitlines()
    ]
    own.write_text("[assistants.almanac]\nlatitud = 40.71\n")
    ran = treadle(tmp_path, "almanac", "2026-12-21", **path, TREADLE_CONFIG=str(own))
    assert (ran.code, "Did you mean assistants.almanac.latitude" in ran.err) == (2, True)


def test_it_is_listed(tmp_path, path):
    ran = treadle(tmp_path, "assistants", **path)
    assert ran.code == 0
    assert "almanac: Almanac (treadle-almanac 0.1.0)\n  Knows how full the moon is" in ran.out
    assert "treadle almanac: print the moon and the sun of a day" in ran.out
    assert "also installed: almanac (" in treadle(tmp_path, "--help", **path).out


def test_it_can_be_asked(tmp_path, path):
    model = script(tmp_path, asks(("moon", {"day": "2026-03-03"})), "It is full.")
    ran = treadle(tmp_path, "ask", "-a", "almanac", "-m", model, "Is", "the", "moon", "full?", **path)
    assert (ran.code, ran.out) == (0, "It is full.\n")
    assert "The moon on 2026-03-03: full moon, 100% lit." in ran.err


def test_its_own_tests_pass(built, path):
    command = [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", str(built / "tests")]
    done = subprocess.run(command, cwd=built, capture_output=True, text=True, check=False, env=environment(built, **path))
    assert done.returncode == 0, done.stdout


def test_it_uses_nothing_but_public_names():
    import treadle

    words = [line.split() for file in EXAMPLE.rglob("*.py") for line in file.read_text().splitlines()]
    used = [line for line in words if line[:1] in (["from"], ["import"]) and line[1].split(".")[0] == "treadle"]
    assert {line[1] for line in used} == {"treadle", "treadle.assistant", "treadle.routes", "treadle.testing"}
    names = {name.strip(",") for line in used if line[1] == "treadle" for name in line[3:]}
    assert names <= set(treadle.__all__)


def test_its_route_and_its_panel_are_served(tmp_path, path):
    with start(tmp_path, "serve", "--no-token", "--port", "0", **path) as server:
        url = server.stdout.readline().strip().rstrip("/")
        try:
            assert "full moon" in fetched(f"{url}/api/almanac/2026-03-03")
            said = json.loads(fetched(f"{url}/openapi.json"))["paths"]["/api/almanac/{day}"]["get"]
            assert (said["tags"], said["summary"]) == (["Almanac"], "The moon and the sun of a day")
            assert "/static/treadle.css" in fetched(f"{url}/almanac/")
            assert [each["name"] for each in json.loads(fetched(f"{url}/api/assistants"))] == [
                "almanac",
                "coding",
                "courses",
                "guidance",
                "platform",
                "reading",
            ]
        finally:
            server.terminate()
    assert server.returncode == 0


def fetched(url):
    with urlopen(url) as answer:
        return answer.read().decode()

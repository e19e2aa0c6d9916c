"""The built wheel in an empty environment, as an ordinary user has it: the server starts, and every assistant shows something.

The packages are the locked ones of `make run`; uv takes them from its cache where the tests' own environment came from.
"""

import json
import os
import pwd
import shutil
import signal
import subprocess
import sys
import urllib.request
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]
NOBODY = "http://127.0.0.1:9"
NO_NETWORK = {"HF_ENDPOINT": NOBODY, "PIP_CONFIG_FILE": os.devnull, "PIP_INDEX_URL": f"{NOBODY}/simple", "PIP_RETRIES": "0"}
ASSISTANTS = ("coding", "courses", "guidance", "platform", "reading")


@pytest.fixture(scope="module")
def place(tmp_path_factory):
    """A folder with a home and an environment, which belong to an ordinary user where that is possible."""
    place = tmp_path_factory.mktemp("installed")
    for folder in [place, *place.parents[:3]]:
        folder.chmod(0o755)
    run = [sys.executable, "-m", "hatchling", "build", "-t", "wheel", "-d", str(place / "dist")]
    subprocess.run(run, cwd=ROOT, check=True, capture_output=True, timeout=100)
    subprocess.run([Path(sys.base_prefix, "bin", "python3"), "-m", "venv", "--without-pip", place / "env"], check=True, timeout=60)
    uv = shutil.which("uv", path=f"{Path(sys.executable).parent}:{os.environ['PATH']}")
    if uv is None:
        pytest.skip("there is no uv, neither in the environment nor on PATH")
    install = [uv, "pip", "install", "--quiet", "--system-certs", "--python", place / "env" / "bin" / "python"]
    subprocess.run([*install, "--require-hashes", "-r", ROOT / "requirements" / "run.lock"], check=True, timeout=110)
    subprocess.run([*install, "--no-deps", *(place / "dist").glob("*.whl")], check=True, timeout=60)
    (place / "home").mkdir()
    if os.getuid() == 0:
        os.chown(place / "home", *ordinary())
    return place


def ordinary():
    user = pwd.getpwnam("nobody")
    return user.pw_uid, user.pw_gid


def account(place):
    """Who runs it: somebody without rights, unless this Python lies where they can't go."""
    if os.getuid():
        return {}
    user, group = ordinary()
    how = {"user": user, "group": group, "extra_groups": []}
    try:
        subprocess.run([place / "env" / "bin" / "python", "-c", ""], check=True, timeout=60, **how)
    except OSError:
        return {}
    return how


def command(place, *words):
    home = place / "home"
    env = {"PATH": f"{place}/env/bin:/usr/bin:/bin", "HOME": str(home), "LANG": "C.UTF-8", "OLLAMA_HOST": NOBODY, **NO_NETWORK}
    return {"args": [place / "env" / "bin" / "treadle", *words], "env": env, "cwd": home, "text": True, **account(place)}


def ran(place, *words):
    return subprocess.run(**command(place, *words), capture_output=True, timeout=100, check=False)


def opened(browser, url):
    with browser.open(url, timeout=60) as answer:
        assert answer.status == 200
        return answer.read()


def test_what_is_installed_says_what_it_is(place):
    shown = ran(place, "--version")
    assert (shown.returncode, shown.stderr) == (0, "")
    wheel = next((place / "dist").glob("*.whl"))
    assert shown.stdout.startswith(f"treadle {wheel.name.split('-')[1]} ")


def test_a_file_is_read_without_a_model(place):
    (place / "home" / "shop.py").write_text('"""Prices of things."""\n\n\ndef price(of: str) -> int:\n    return len(of)\n')
    sketch = ran(place, "read", "shop.py", "--no-model")
    assert sketch.returncode == 0, sketch.stderr
    assert "price" in sketch.stdout


def test_commands_are_contained_by_the_bundled_sandbox(place):
    doctor = ran(place, "doctor")
    assert "run in a sandbox, which was tested." in doctor.stdout, doctor


def test_the_demonstration_serves_a_recorded_run_of_every_assistant(place):
    with subprocess.Popen(
        **command(place, "serve", "--demo", "--port", "0"), stdout=subprocess.PIPE, stderr=subprocess.PIPE
    ) as server:
        try:
            link = server.stdout.readline().strip()
            assert link, server.stderr.read()
            url = link.partition("/login")[0]
            browser = urllib.request.build_opener(urllib.request.HTTPCookieProcessor())
            assert b"New conversation" in opened(browser, link)
            for name in ASSISTANTS:
                run = json.loads(opened(browser, f"{url}/api/runs/demo-{name}"))
                assert run["run"]["status"] in ("answered", "limit"), name  # a limit of rounds ends in an answer too
                assert opened(browser, f"{url}/{name}/")
        finally:
            server.send_signal(signal.SIGINT)
            said = server.stderr.read()
        assert server.wait(60) == 0
    assert "Traceback" not in said

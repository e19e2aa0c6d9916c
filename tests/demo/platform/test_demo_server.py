"""How a platform starts, stops and goes on: its file, its keys, its port, and the command that a person runs."""

import asyncio
import json
import os
import signal
import sqlite3
import stat
import threading
import time
import urllib.request

import pytest

from demo.platform.demo_client import SPEC, ask, delete, deploy, states, workflow
from treadle.demo.platform import ManualClock, SystemClock, run_demo, start_demo
from treadle.errors import SettingsError


def mode(path):
    return stat.S_IMODE(path.stat().st_mode)


def test_a_platform_goes_on_where_it_stopped(tmp_path):
    path = tmp_path / "deep" / "platform.db"
    with start_demo(path, pace=None) as demo:
        token = demo.token("alice")
        deploy(demo)
        for _ in range(3):
            demo.advance()
        assert states(demo, "my-app")["db"] == "provisioning"
        delete(demo, "/api/applications/storefront")
    with start_demo(path) as demo:
        demo.settle()
        assert demo.token("alice") == token
        assert workflow(demo, "my-app")["status"] == "completed"
        assert states(demo, "my-app") == {"db": "active", "files": "active"}
        assert set(ask(demo, "/api/applications").json) == {"checkout", "demo-app", "my-app"}
        assert set(states(demo, "storefront").values()) == {"terminated"}


def test_tokens_are_in_the_owners_file_and_nowhere_else(tmp_path):
    path = tmp_path / "platform.db"
    with start_demo(path) as demo:
        ask(demo, "/api/profile")
        secrets = [demo.token("alice"), demo.password("alice"), demo.expired_token]
    keys = tmp_path / "platform.keys.json"
    assert mode(path) == mode(keys) == 0o600
    assert json.loads(keys.read_text())["users"]["alice"]["token"] == secrets[0]
    for secret in secrets:
        assert not any(secret.encode() in file.read_bytes() for file in tmp_path.iterdir() if file != keys)


@pytest.mark.parametrize(
    "damage", [lambda keys: keys.unlink(), lambda keys: keys.write_text("{}"), lambda keys: keys.write_text("no json")]
)
def test_where_the_keys_are_lost_there_are_new_ones_and_the_old_ones_are_no_good(tmp_path, damage):
    path = tmp_path / "platform.db"
    with start_demo(path) as demo:
        lost = demo.token("alice")
    damage(tmp_path / "platform.keys.json")
    with start_demo(path) as demo:
        assert ask(demo, "/api/profile", Authorization=f"Bearer {lost}").status == 401
        assert ask(demo, "/api/profile").status == 200
        assert len(ask(demo, "/api/workflows", "admin").json["data"]) == 8


def test_keys_that_have_run_out_are_renewed_at_the_next_start(tmp_path):
    clock = ManualClock()
    with start_demo(tmp_path / "platform.db", clock=clock) as demo:
        before = demo.token("bob")
    clock.forward(days=91)
    with start_demo(tmp_path / "platform.db", clock=clock) as demo:
        assert demo.token("bob") != before
        assert ask(demo, "/api/profile", "bob").status == 200


def test_times_are_those_of_the_clock():
    with start_demo(clock=ManualClock()) as demo:
        assert ask(demo, "/api/workflows/8").json["started_at"] == "2026-03-02T06:00:00.000000Z"
    assert SystemClock().now().tzinfo is not None


def test_steps_take_as_long_as_the_pace_says():
    with start_demo(pace=0.02) as demo:
        began = time.monotonic()
        deploy(demo)
        demo.settle()
        assert time.monotonic() - began >= 6 * 0.02


def test_waiting_for_work_has_an_end():
    with start_demo(pace=30) as demo:
        deploy(demo)
        with pytest.raises(TimeoutError, match="still running"):
            demo.settle(0.05)


def test_a_transaction_is_whole_or_not_at_all(tmp_path):
    from treadle.demo.platform.store import DemoStore

    def half(store):
        with store.transaction() as db:
            db.execute("INSERT INTO login_failures VALUES ('a', 'b')")
            db.execute("nonsense")

    store = DemoStore(tmp_path / "x.db")
    with pytest.raises(sqlite3.OperationalError):
        half(store)
    with store.transaction() as db:
        assert db.execute("SELECT count(*) FROM login_failures").fetchone()[0] == 0
    store.close()


def test_a_file_that_is_something_else_is_left_alone(tmp_path):
    (tmp_path / "notes.txt").write_text("not a database, and long enough to be none " * 100)
    for path in (tmp_path / "notes.txt", tmp_path):
        with pytest.raises(SettingsError, match="can't be the demo platform's file"):
            start_demo(path)
    assert (tmp_path / "notes.txt").read_text().startswith("not a database")


@pytest.mark.parametrize(("port", "words"), [(None, "can't be had"), (70_000, "There is no port 70000")])
def test_a_port_that_cannot_be_had_is_said_so(port, words):
    with start_demo() as demo, pytest.raises(SettingsError, match=words):
        start_demo(port=int(demo.url.rpartition(":")[2]) if port is None else port)


def test_the_command_tells_address_users_and_tokens_and_ends_at_ctrl_c(tmp_path):
    told = []

    def interrupt():
        """Once it answers, it hears signals as well."""
        while True:
            try:
                urllib.request.urlopen(f"{told[0].split()[-1]}/health", timeout=10).close()
            except OSError:
                time.sleep(0.01)
                continue
            os.kill(os.getpid(), signal.SIGINT)
            return

    def tell(line):
        told.append(line)
        if line.startswith("Ctrl-C"):
            threading.Thread(target=interrupt, daemon=True).start()

    asyncio.run(run_demo(tmp_path / "platform.db", 0, tell=tell))
    keys = json.loads((tmp_path / "platform.keys.json").read_text())
    assert told[0].startswith("Platform demo at http://127.0.0.1:")
    for name in ("admin", "alice", "bob", "carol"):
        assert any(name in line and keys["users"][name]["token"] in line for line in told)
    assert keys["expired"] in told[-3]
    assert keys["users"]["alice"]["token"] in told[-2]


def test_many_requests_at_once_are_all_answered():
    import aiohttp

    async def all_at_once(demo):
        headers = {"Authorization": f"Bearer {demo.token('alice')}", "Accept": "application/json", "Idempotency-Key": "same"}
        async with aiohttp.ClientSession(headers=headers) as session:
            return await asyncio.gather(*(one(session, demo) for _ in range(20)))

    async def one(session, demo):
        async with session.post(f"{demo.url}/api/applications", data=SPEC) as answer:
            return answer.status, await answer.text()

    with start_demo() as demo:
        assert len(set(asyncio.run(all_at_once(demo)))) == 1
        demo.settle()
        assert ask(demo, "/api/workflows?app=my-app").json["total"] == 1

"""Processes that are killed, that come at the same time, or that may not read everything."""

import asyncio
import json
import os
import random
import shutil
import signal
import subprocess
import sys
from contextlib import suppress

import pytest

from cli.forkserver import Forked
from treadle.checkpoints import CheckpointChange, Checkpoints

run = asyncio.run

CHANGES = """
import asyncio, sys
from pathlib import Path
from treadle.checkpoints import Checkpoints
folder, store, name, times = sys.argv[1:]
async def main():
    checkpoints = Checkpoints(folder, store)
    print("ready", flush=True)
    for number in range(int(times)):
        for each in range(20):
            Path(folder, f"{name}-{each}.txt").write_text(f"{name} {number} {each}\\n" * 200)
        print(await checkpoints.take(f"{name} {number}"), flush=True)
asyncio.run(main())
"""


@pytest.fixture
def folder(tmp_path):
    (tmp_path / "work").mkdir()
    for number in range(60):
        (tmp_path / "work" / f"{number}.txt").write_text(f"{number}\n" * 500)
    return tmp_path / "work"


def start(folder, store, name, times):
    child = Forked(
        ["-c", CHANGES, str(folder), str(store), name, str(times)], stdout=subprocess.PIPE, text=True, start_new_session=True
    )
    assert child.stdout.readline() == "ready\n"
    return child


def state(folder):
    return {path.name: path.read_text() for path in folder.iterdir()}


def test_a_process_that_is_killed_at_any_instant_spoils_nothing(folder, tmp_path):
    chance, store = random.Random(7), tmp_path / "store"
    checkpoints = Checkpoints(folder, store)
    kept = {}
    for number in range(int(os.environ.get("TREADLE_KILLS", "4"))):  # make faults kills more of them
        child = start(folder, store, f"n{number % 3}", 1_000)
        with suppress(subprocess.TimeoutExpired):
            child.wait(chance.uniform(0.0, 0.12))
        if number % 2:
            os.killpg(child.pid, signal.SIGKILL)  # git too
        else:
            child.kill()
        child.communicate()
        kept[run(checkpoints.take(f"after {number}"))] = state(folder)
        wanted = chance.choice(list(kept))
        run(checkpoints.restore(wanted))
        assert state(folder) == kept[wanted]
    ids = [each.id for each in run(checkpoints.list())]
    assert len(ids) == len(set(ids))
    assert kept.keys() <= set(ids)
    for wanted, files in kept.items():
        run(checkpoints.restore(wanted))
        assert state(folder) == files
    assert [path.name for path in store.rglob("*.lock")] == []


def test_what_the_killed_left_behind_is_no_hindrance(folder, tmp_path):
    store = tmp_path / "store"
    checkpoints = Checkpoints(folder, store)
    run(checkpoints.take())
    left = ["git/refs/treadle/now.lock", "git/packed-refs.lock", "git/objects/pack/tmp_pack_x", "checkpoints.json.new", "seen.new"]
    for name in left:
        (store / name).write_text("half")
    (store / "git.new").mkdir()
    (folder / "0.txt").write_text("changed")
    (folder / ".treadle-0123456789abcdef").write_text("half a file")
    run(checkpoints.take())
    assert run(checkpoints.list())[-1].changed == 1
    assert [name for name in left if (store / name).exists()] == []


def test_a_store_that_was_never_finished_is_made_anew(folder, tmp_path):
    (tmp_path / "store" / "git.new" / "objects").mkdir(parents=True)
    (tmp_path / "store" / "git.new" / "HEAD").write_text("half")
    checkpoints = Checkpoints(folder, tmp_path / "store")
    first = run(checkpoints.take())
    (folder / "0.txt").unlink()
    assert run(checkpoints.changes(first)) == (CheckpointChange("0.txt", "deleted"),)


def test_two_processes_take_turns(folder, tmp_path):
    store = tmp_path / "store"
    one, two = start(folder, store, "one", 5), start(folder, store, "two", 5)
    taken = [line for child in (one, two) for line in child.communicate()[0].split()]
    assert (one.returncode, two.returncode) == (0, 0)
    checkpoints = Checkpoints(folder, store)
    listed = run(checkpoints.list())
    assert {each.id for each in listed} == set(taken)
    assert len({each.id for each in listed}) == len(listed)
    last = run(checkpoints.take())
    for each in listed:
        run(checkpoints.restore(each.id))
        assert run(checkpoints.changes(each.id)) == ()
    run(checkpoints.restore(last))
    assert (folder / "one-0.txt").read_text() == "one 4 0\n" * 200
    assert (folder / "two-0.txt").read_text() == "two 4 0\n" * 200


def test_so_do_tasks_of_one_process(folder, tmp_path):
    checkpoints = Checkpoints(folder, tmp_path / "store")

    async def all_at_once():
        return await asyncio.gather(*[checkpoints.take(str(number)) for number in range(6)])

    assert len(set(run(all_at_once()))) == 1
    assert len(run(checkpoints.list())) == 1


# what may not be read or written

CHILD = """
import asyncio, json, sys
from pathlib import Path
from treadle.checkpoints import Checkpoints, CheckpointsError
folder, store, *hidden = map(Path, sys.argv[1:])
async def main():
    checkpoints = Checkpoints(folder, store)
    first = await checkpoints.take()
    (folder / "0.txt").write_text("changed")
    for path in hidden:
        path.chmod(0o500 if path == folder else 0)
    await checkpoints.take()
    told = {change.path: change.kind for change in await checkpoints.changes(first)}
    left_out = (await checkpoints.list())[-1].left_out
    try:
        await checkpoints.restore(first)
        said = ""
    except CheckpointsError as error:
        said = str(error)
    print(json.dumps([told, left_out, said]))
asyncio.run(main())
"""


def as_nobody_special(folder, store, *hidden):
    """Take, change, hide, take again, go back; what was told, what was left out, and what was said in the end."""
    command = [sys.executable, "-c", CHILD, str(folder), str(store), *map(str, hidden)]
    if os.geteuid() == 0:  # who may read everything
        if shutil.which("setpriv") is None:
            pytest.skip("root reads everything, and there is no setpriv to take that away")
        command = ["setpriv", "--bounding-set=-all", "--inh-caps=-all", *command]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    for path in hidden:
        path.chmod(0o755)
    assert done.stderr == ""
    return json.loads(done.stdout)


def test_what_cannot_be_read_is_left_out_and_left_alone(folder, tmp_path):
    (folder / "hidden.txt").write_text("hidden")
    (folder / "shut" / "deep").mkdir(parents=True)
    (folder / "shut" / "in.txt").write_text("in")
    (folder / "shut" / "deep" / "in.txt").write_text("in")
    told, left_out, said = as_nobody_special(folder, tmp_path / "store", folder / "hidden.txt", folder / "shut")
    assert told == {"0.txt": "modified", "hidden.txt": "modified", "shut/deep/in.txt": "modified", "shut/in.txt": "modified"}
    assert left_out == ["hidden.txt", "shut/deep/in.txt", "shut/in.txt"]
    assert said.startswith("Everything was put back but hidden.txt, shut/deep/in.txt, shut/in.txt (not kept).")
    assert (folder / "hidden.txt").read_text() == "hidden"
    assert (folder / "shut" / "in.txt").read_text() == "in"
    assert (folder / "0.txt").read_text() == "0\n" * 500


def test_what_cannot_be_written_is_said_so(folder, tmp_path):
    told, left_out, said = as_nobody_special(folder, tmp_path / "store", folder)
    assert (told, left_out) == ({"0.txt": "modified"}, [])
    assert said.startswith("Everything was put back but 0.txt (permission denied).")
    assert (folder / "0.txt").read_text() == "changed"

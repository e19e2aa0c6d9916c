"""Queues, workers and dead letters over HTTP."""

import asyncio

from dead_letters import SECRET, fill
from server.running import Serving
from server.runs.asking import with_server
from treadle.home import close_home, open_home


def test_queues_workers_and_dead_letters_are_shown_retried_and_removed(tmp_path):
    home = open_home(tmp_path / "data")
    asyncio.run(fill(home))
    close_home(home)

    async def work(ask):
        shown, listed = await ask("GET", "/api/queues"), await ask("GET", "/api/dead-letters")
        first = await ask("GET", "/api/dead-letters?limit=1")
        rest = await ask("GET", f"/api/dead-letters?before={first[1]['dead_letters'][0]['at']!r}&queue=mail")
        retried = await ask("POST", "/api/runs/r1/retry")
        removed = [await ask("DELETE", "/api/dead-letters/r2") for _ in range(2)]
        return shown, listed, first, rest, retried, removed, await ask("GET", "/api/dead-letters")

    with Serving(tmp_path) as server:
        shown, listed, first, rest, retried, removed, after = with_server(server, work)
    assert shown[1]["queues"]["gpu"]["ready"] == 1
    assert shown[1]["workers"][0]["queues"] == ["default", "gpu"]
    assert [each["run_id"] for each in listed[1]["dead_letters"]] == ["r2", "r1"]
    assert "No reply with" in listed[1]["dead_letters"][0]["reason"]
    assert SECRET not in str(listed)
    assert (first[1]["more"], [each["run_id"] for each in rest[1]["dead_letters"]]) == (True, ["r1"])
    assert (retried[0], [status for status, _ in removed]) == (202, [204, 404])
    assert after[1] == {"dead_letters": [], "more": False}

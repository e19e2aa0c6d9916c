"""Whether the server can do its work."""

import asyncio
import os
import sqlite3

import pytest
from msgspec.structs import replace

from server.running import Serving, host
from server.runs.asking import with_server
from treadle.core.errors import UnknownModel
from treadle.server.health import Readiness, check_readiness


def ask(server, path):
    return with_server(server, lambda ask: ask("GET", path))


def test_it_is_ready_where_runs_can_be_kept_and_a_model_is_known(tmp_path):
    with Serving(tmp_path) as server:
        assert ask(server, "/health") == (200, {"status": "ok"})
        assert ask(server, "/ready") == (200, {"ready": True, "reasons": []})
    assert not (tmp_path / "data").exists()


def test_without_a_model_it_says_what_to_do(tmp_path):
    async def none():
        raise UnknownModel("Pull one.")

    with Serving(tmp_path, lent=replace(host(tmp_path), model=none)) as server:
        assert ask(server, "/ready") == (503, {"ready": False, "reasons": ["Pull one."]})
        assert ask(server, "/health")[0] == 200


def test_a_file_that_is_damaged_is_no_place_for_runs(tmp_path):
    (tmp_path / "data").mkdir()
    (tmp_path / "data" / "treadle.db").write_bytes(b"this is no database" * 100)
    with Serving(tmp_path) as server:
        status, said = ask(server, "/ready")
    assert (status, said["reasons"]) == (503, ["The store that runs are kept in can't be used; the log says why."])


def test_a_file_that_was_made_already_is_looked_at(tmp_path):
    lent = host(tmp_path)
    (tmp_path / "data").mkdir()
    sqlite3.connect(tmp_path / "data" / "treadle.db").close()
    assert asyncio.run(check_readiness(lent)) == Readiness(True, [])


@pytest.mark.skipif(os.getuid() == 0, reason="whoever is root may write anywhere")
def test_a_folder_that_cannot_be_written_to_is_no_place_for_runs(tmp_path):
    tmp_path.chmod(0o500)
    try:
        assert asyncio.run(check_readiness(host(tmp_path))).reasons == ["The folder that runs are kept in can't be written to."]
    finally:
        tmp_path.chmod(0o700)

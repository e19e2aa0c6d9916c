import asyncio
import csv
import io
import sqlite3

import pytest

from cli.running import TOOLBOX, Terminal, asks, script, treadle
from stores.stats.journals import NOON, a_run, one_round, write
from treadle.core.requests import Usage

PRICED = Usage(1, 0, 12_000, 500, 600, cost=0.25)
RUNS = {
    "r1": a_run(
        *[one_round(number, "read_file", seconds=0.0004) for number in range(150)],
        one_round(200, "read_file", problem="raised", seconds=2.0, usage=PRICED),
        one_round(201, "=cmd()\x1b[31m", problem="unknown_tool"),
        one_round(202, "pay", problem="denied"),
        one_round(203, "pay", problem="cancelled"),
        one_round(204, "look", cached=True),
    ),
    "r2": a_run(
        one_round(1, "pay", usage=Usage(1, 0, 3_000_000, 0)), agent="a very long name of an agent " * 3, user="", model="n"
    ),
}


@pytest.fixture(scope="module")
def kept(tmp_path_factory):
    home = tmp_path_factory.mktemp("kept")
    asyncio.run(write(home / "data" / "treadle.db", RUNS))
    return home


def words(line):
    return line.split()


def plain(line):
    return " ".join(words(line))


def test_a_real_run_with_an_agent_inside_of_it_is_counted(home):
    model = script(home, asks(("helper", {"prompt": "go"}), ("nonsense", {})), "Forty.")
    treadle(home, "ask", "How many?", "-m", model, "--tools", f"{TOOLBOX}:helper", "--user", "ann")
    found = treadle(home, "stats", "--json").json
    assert {row["key"]: (row["calls"], row["failed"], row["problems"]) for row in found["rows"]} == {
        "helper": (1, 0, {}),
        "stock": (1, 0, {}),
        "nonsense": (1, 1, {"unknown_tool": 1}),
    }
    assert (found["total"]["spent"]["runs"], found["total"]["spent"]["requests"]) == (2, 4)
    by_assistant = treadle(home, "stats", "--by", "assistant", "--user", "ann", "--json").json
    assert {row["key"]: row["calls"] for row in by_assistant["rows"]} == {"ask": 2, "helper": 1}


def test_tools_are_shown_with_what_went_wrong_and_what_the_figures_mean(kept):
    ran = treadle(kept, "stats")
    lines = ran.out.splitlines()
    assert words(lines[0]) == ["TOOL", "CALLS", "FAILED", "DENIED", "CACHED", "MEDIAN", "P95", "TOKENS", "PROBLEMS"]
    assert plain(lines[1]) == "read_file 151 1 (<1 %) 0 0 <1 ms <1 ms 27.5k raised 1"
    assert plain(lines[2]) == "pay 3 0 1 0 500 ms 500 ms 3.0M cancelled 1, denied 1"
    assert plain(lines[3]) == "=cmd() 1 1 (100 %) 0 0 500 ms 500 ms 100 unknown_tool 1"
    assert plain(lines[4]) == "look 1 0 0 1 - - 100 -"
    assert lines[6] == "156 calls, 2 failed (raised 1, unknown_tool 1), 1 denied, 1 cancelled, 1 from the cache"
    assert lines[7].startswith("2 runs, 158 requests, 3,025,940 tokens in (600 of them cached), 2,044 out, $0.2500 for 1 of them")
    assert ran.err.startswith("TOKENS are those of the requests that asked for the calls, shared equally")


def test_assistants_have_runs_requests_tokens_and_cost(kept):
    lines = treadle(kept, "stats", "--by", "assistant").out.splitlines()
    assert words(lines[0])[-4:] == ["RUNS", "REQUESTS", "TOKENS", "COST"]
    assert words(lines[1])[-4:] == ["1", "156", "27.9k", "$0.2500"]
    assert words(lines[2])[-4:] == ["1", "2", "3.0M", "-"]
    assert lines[2].startswith("a very long name of an agent a very lon…")


def test_users_without_a_name_have_a_dash(kept):
    assert [words(line)[0] for line in treadle(kept, "stats", "--by", "user").out.splitlines()[1:3]] == ["ann", "-"]


def test_what_was_picked_is_shown_and_nothing_is_said_of_requests_where_tools_are(kept):
    ran = treadle(kept, "stats", "--by", "day", "--tool", "read_*", "--assistant", "clerk", "-m", "m", "--since", "2026-11-01")
    assert ran.out.splitlines()[1].startswith("2026-11-0")
    assert ran.out.splitlines()[-1] == "151 calls, 1 failed (raised 1)"
    assert "requests" not in ran.out
    assert treadle(kept, "stats", "--until", "2026-11-01").err == "There is nothing to count.\n"


def test_spreadsheets_get_figures_and_no_formulas(kept):
    rows = list(csv.DictReader(io.StringIO(treadle(kept, "stats", "--csv").out)))
    assert [row["tool"] for row in rows] == ["read_file", "pay", "'=cmd()", "look"]
    assert (rows[0]["calls"], rows[0]["failed"], rows[0]["p95_seconds"], rows[3]["median_seconds"]) == ("151", "1", "0.0004", "")
    (first, _) = list(csv.DictReader(io.StringIO(treadle(kept, "stats", "--csv", "--by", "model").out)))
    assert (first["model"], first["requests"], first["cost"]) == ("m", "156", "0.25")


def test_a_narrow_terminal_cuts_what_matters_least(kept):
    with Terminal(kept, "stats", "--by", "assistant", COLUMNS="80") as terminal:
        assert terminal.end() == 0
    lines = terminal.shown.replace("\r", "").splitlines()
    assert max(len(line) for line in lines[:3]) <= 80
    assert lines[2].startswith("a very lon")


def test_nothing_was_ever_kept(home):
    ran = treadle(home, "stats")
    assert (ran.code, ran.out, ran.err) == (0, "", "There is nothing to count.\n")
    assert treadle(home, "stats", "--json").json["rows"] == []
    assert not (home / "data").exists()


def test_everything_can_be_counted_anew(kept):
    before = treadle(kept, "stats", "--json").out
    assert treadle(kept, "stats", "--json", "--anew").out == before


def test_a_run_that_cannot_be_read_is_told_of(home):
    path = home / "data" / "treadle.db"
    asyncio.run(write(path, {"r1": a_run(one_round(1, "look")), "r2": a_run(one_round(1, "look"))}))
    database = sqlite3.connect(path)
    database.execute("UPDATE entries SET lines = CAST('?' AS BLOB) WHERE run_id = 'r2'")
    database.commit()
    database.close()
    ran = treadle(home, "stats")
    assert ran.out.splitlines()[-2] == "1 call"
    assert "1 run can't be read" in ran.err


def test_a_person_is_told_when_there_is_much_to_count(home):
    path = home / "data" / "treadle.db"
    asyncio.run(write(path, {"r1": a_run(one_round(1, "look", NOON))}))
    database = sqlite3.connect(path)
    database.executemany("INSERT INTO runs VALUES (?, '', '', '', '', '', 'answered', 0, 0)", [(f"x{n}",) for n in range(1500)])
    database.commit()
    database.close()
    assert treadle(home, "stats").err.startswith("Counting 1,501 runs that are new…")
    assert "Counting" not in treadle(home, "stats").err


@pytest.mark.parametrize("wrong", [("--since", "soon"), ("--by", "colour"), ("--json", "--csv")])
def test_what_makes_no_sense_is_refused(home, wrong):
    ran = treadle(home, "stats", *wrong)
    assert ran.code == 2
    assert ran.err

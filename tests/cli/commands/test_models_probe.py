"""`treadle models probe`: a row for each way, the best one kept, used from then on, listed, and forgotten."""

import json
import signal

import pytest

from cli.running import TOOLBOX, Terminal, asks, script, start, treadle
from treadle.admin.probe import QUESTIONS
from wire import WireServer, refuse, reply, stall

NATIVE = [asks(*question.wanted) if question.wanted else f"It is {question.says}." for question in QUESTIONS]
WORDS = ["It is 417."] * len(QUESTIONS)


def probe(home, model, *words, **env):
    return treadle(home, "models", "probe", model, *words, **env)


def kept(home):
    path = home / "data" / "models.json"
    return json.loads(path.read_text()) if path.exists() else {}


def test_each_way_gets_a_row_and_the_best_is_kept(home):
    model = script(home, *NATIVE, *WORDS, *WORDS)
    ran = probe(home, model)
    rows = [line.split()[:4] for line in ran.out.splitlines()]
    assert ran.code == 0
    scores = [("native", "6"), ("json", "3"), ("hermes", "3")]
    assert rows == [["WAY", "RIGHT", "TIME", "WHAT"], *[[way, right, "of", "6"] for way, right in scores]]
    assert "a call with two arguments, a call with a number, two calls at once" in ran.out
    path = home / "data" / "models.json"
    assert ran.err == (
        f"From now on {model} is made to call this way: native. That is kept in {path}; "
        f"`treadle models probe {model} --forget` removes it.\n"
    )
    assert kept(home)[model]["dialect"] == "native"


def test_what_was_kept_is_used_listed_and_forgotten(home):
    written = '<tool_call>\n{"name": "stock", "arguments": {"item": "A"}}\n</tool_call>'
    (home / "data").mkdir()
    with WireServer([reply(written), reply("40")]) as server:
        (home / "data" / "models.json").write_text('{"openai:m": {"dialect": "hermes", "right": 5, "of": 6}}')
        env = {"OPENAI_BASE_URL": f"{server.url}/v1", "OPENAI_API_KEY": "k"}
        ran = treadle(home, "ask", "x", "-m", "openai:m", "--tools", TOOLBOX, **env)
        assert "tools" not in server.requests[0].body
    assert (ran.code, ran.out) == (0, "40\n")
    assert ["openai:m", "hermes", "5", "of", "6"] in [line.split() for line in treadle(home, "models").out.splitlines()]
    assert treadle(home, "models", "--json").json["probed"]["openai:m"]["right"] == 5
    ran = probe(home, "openai:m", "--forget")
    assert (ran.code, ran.out) == (0, "")
    assert "is forgotten" in ran.err
    ran = probe(home, "openai:m", "--forget")
    assert (ran.code, ran.err) == (1, "treadle: Nothing was found out about openai:m so far; nothing was forgotten.\n")
    assert probe(home, "openai:m", "--forget", "--json").json == {"model": "openai:m", "forgotten": False}
    assert "PROBED" not in treadle(home, "models").out


def test_programs_get_one_object(home):
    model = script(home, *WORDS, *WORDS, *WORDS)
    ran = probe(home, model, "--json")
    assert (ran.code, ran.err) == (0, "")
    assert [(tried["way"]["dialect"], tried["way"]["right"]) for tried in ran.json["ways"]] == [
        ("native", 3),
        ("json", 3),
        ("hermes", 3),
    ]
    assert ran.json["best"] == {"dialect": "native", "sure": 0.0, "flat": False, "right": 3, "of": 6}
    assert ran.json["path"] == str(home / "data" / "models.json")


def test_the_quiet_see_the_table_alone(home):
    ran = probe(home, script(home, *NATIVE, *WORDS, *WORDS), "--quiet")
    assert (ran.code, ran.err) == (0, "")
    assert len(ran.out.splitlines()) == 4


def test_where_nothing_goes_right_nothing_is_kept(home):
    ran = probe(home, script(home, *[" "] * 3 * len(QUESTIONS)))
    assert ran.code == 1
    assert "got nothing right in any way, so nothing was kept" in ran.err
    assert kept(home) == {}


@pytest.mark.parametrize("kind", ["openai", "ollama"])
def test_a_model_that_cannot_be_reached_is_one_sentence(home, kind):
    ran = probe(home, f"{kind}:m", "--base-url", "http://127.0.0.1:9/v1")
    assert ran.code == 1
    assert ran.err.startswith(f"treadle: {kind}:m at 127.0.0.1:9 does not answer")
    assert len(ran.err.splitlines()) == 1
    assert kept(home) == {}


def test_a_model_that_is_not_there_or_has_no_server_is_wrong_usage(home):
    assert probe(home, "nothing").code == 2
    ran = probe(home, script(home, "x"), "--base-url", "http://127.0.0.1:9")
    assert ran.code == 2
    assert "a base URL doesn't apply to it" in ran.err


def test_a_server_that_takes_no_tools_is_tried_by_its_template_too(home):
    def answer(received):
        return refuse(400, "m does not support tools") if "tools" in received.body else reply("It is 417.")

    with WireServer(answer) as server:
        server.pages = {"/api/show": {"template": "{{ if .Tools }}[TOOL_CALLS]{{ end }}"}}
        ran = probe(home, "ollama:m", "--json", OLLAMA_HOST=server.url)
    assert [tried["way"]["dialect"] for tried in ran.json["ways"]] == ["native", "held", "mistral", "json", "hermes"]
    assert "takes no tools" in ran.json["ways"][0]["problem"]
    assert ran.json["best"]["dialect"] == "held"


def test_ctrl_c_keeps_nothing(home):
    with WireServer(lambda _: reply(stall())) as server:
        child = start(home, "models", "probe", "openai:m", OPENAI_BASE_URL=f"{server.url}/v1", OPENAI_API_KEY="k")
        assert child.stdout is not None
        assert child.stdout.readline().startswith("WAY")
        child.send_signal(signal.SIGINT)
        _, told = child.communicate(timeout=60)
    assert (child.returncode, told) == (130, "")
    assert kept(home) == {}


def test_at_a_terminal_each_question_is_counted(home):
    model = script(home, *NATIVE, *WORDS, *WORDS)
    with Terminal(home, "models", "probe", model, COLUMNS="80") as terminal:
        assert terminal.end() == 0
    for drawn in ("native [........................] question 1 of 6", "hermes [####################....] question 6 of 6"):
        assert drawn in terminal.shown
    assert "\r\x1b[Kjson" in terminal.shown  # a row takes the place of the bar

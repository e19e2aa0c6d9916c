import json
import re
import signal
import threading
from pathlib import Path
from subprocess import PIPE

import pytest

from attachments import png
from cli.running import TOOLBOX, Ran, asks, environment, opened, script, start, treadle
from wire import WireServer, call, gate, refuse, reply, stall, think


def wired(server):
    return {"OPENAI_BASE_URL": f"{server.url}/v1", "OPENAI_API_KEY": "key-of-the-test"}


def test_the_answer_is_on_stdout_and_the_calls_are_on_stderr(home):
    model = script(home, {"text": "Let me look.", **asks(("stock", {"item": "A"}), ("stock", {"item": "B"}))}, "There are 40.")
    ran = treadle(home, "ask", "How", "many?", "-m", model, "--tools", TOOLBOX)
    assert (ran.code, ran.out) == (0, "Let me look.\nThere are 40.\n")
    for words in ('→ stock(item="A") allowed by default', '→ stock(item="B")', '← stock(item="B")', ": 40", "2 requests, 2 calls"):
        assert words in ran.err


def test_files_are_shown_to_the_model(home):
    (home / "a.png").write_bytes(png())
    (home / "a.md").write_text("# Title")
    with WireServer(["A square."]) as server:
        words = ("-m", "openai:m", "--attach", str(home / "a.png"), "--attach", str(home / "a.md"), "-q")
        ran = treadle(home, "ask", "What", "is this?", *words, **wired(server))
        content = server.requests[0].body["messages"][-1]["content"]
    assert (ran.code, ran.out, ran.err) == (0, "A square.\n", "")
    assert [part["type"] for part in content] == ["text", "image_url", "text"]
    assert (content[0]["text"], content[2]["text"]) == ("What is this?", "[document a.md]\n# Title")
    (run,) = treadle(home, "runs", "--json").json
    assert run["title"] == "What is this? [image a.png] [document a.md]"


def test_a_file_that_cannot_be_shown_is_a_sentence_and_wrong_usage(home):
    (home / "a.bin").write_bytes(b"\0\1")
    model = script(home, "Never.")
    for file, words in (("a.png", "There is no file"), ("a.bin", "isn't a PDF or a text; convert it"), (".", "is a folder")):
        ran = treadle(home, "ask", "What?", "-m", model, "--attach", str(home / file))
        assert (ran.code, ran.out, ran.err.count("\n"), words in ran.err) == (2, "", 1, True)
    (home / "a.png").write_bytes(png())
    ran = treadle(home, "ask", "What?", "-m", "command:cat", "--attach", str(home / "a.png"))
    assert (ran.code, ran.out) == (2, "")
    assert "treadle: command:cat doesn't take image/png, only text: leave out [image a.png], or ask another model." in ran.err
    assert not (home / "data").exists()


def test_words_are_shown_as_they_come(home):
    go_on = threading.Event()
    with WireServer([reply("first", gate(go_on), " second")]) as server:
        process = start(home, "ask", "x", "-m", "openai:m", "-q", **wired(server))
        assert process.stdout is not None
        assert process.stdout.read(5) == "first"
        go_on.set()
        rest, problems = process.communicate(timeout=120)
    assert (rest, problems, process.returncode) == (" second\n", "", 0)


def test_options_reach_the_model(home):
    told = home / "told.txt"
    told.write_text("Be brief.")
    with WireServer([reply(think("hm"), "ok")]) as server:
        ran = treadle(
            *(home, "ask", "x", "-m", "openai:m", "--base-url", f"{server.url}/v1", "-i", f"@{told}"),
            *("--temperature", "0.5", "--max-tokens", "77", "--tools", TOOLBOX, "--deny", "b*", "--thinking", "--user", "ann"),
            OPENAI_API_KEY="k",
        )
        body = server.requests[0].body
    assert (ran.code, ran.out) == (0, "ok\n")
    assert "hm" in ran.err
    assert (body["temperature"], body["messages"][0]["content"]) == (0.5, "Be brief.")
    assert 77 in body.values()
    assert [tool["function"]["name"] for tool in body["tools"]] == ["stock", "order", "here", "refund"]


def test_a_call_can_be_required_for_one_prompt_or_ruled_out(home):
    model = ("-m", "openai:m", "--tools", TOOLBOX, "-q")
    with WireServer([call("stock", {"item": "A"}), "There are 40.", "You are welcome.", "No."]) as server:
        assert treadle(home, "ask", "How many?", *model, "--call", "--run-id", "r1", **wired(server)).code == 0
        assert treadle(home, "ask", "Thanks", "--run-id", "r1", "-q", **wired(server)).code == 0
        assert treadle(home, "ask", "How many?", *model, "--no-call", **wired(server)).code == 0
        chosen = [request.body.get("tool_choice") for request in server.requests]
    assert chosen == ["required", None, None, "none"]
    ran = treadle(home, "ask", "x", *model, "--call", "--no-call")
    assert (ran.code, "not allowed with" in ran.err) == (2, True)


def test_a_model_is_made_to_call_in_a_dialect_and_again_when_the_run_goes_on(home):
    written = '<tool_call>\n{"name": "stock", "arguments": {"item": "A"}}\n</tool_call>'
    with WireServer([reply(written), reply("40"), reply("two")]) as server:
        env = wired(server)
        words = ("-m", "openai:m", "--tools", TOOLBOX, "--dialect", "hermes", "--run-id", "talk")
        ran = treadle(home, "ask", "x", *words, **env)
        again = treadle(home, "ask", "y", "--run-id", "talk", **env)
        bodies = [received.body for received in server.requests]
    assert (ran.code, ran.out, again.out) == (0, "40\n", "two\n")
    assert all("tools" not in body and "<tool_call>" in body["messages"][0]["content"] for body in bodies)


@pytest.mark.parametrize("command", ["ask", "chat"])
def test_a_dialect_that_is_not_there_is_one_sentence(home, command):
    ran = treadle(home, command, "-m", script(home, "hello"), "--dialect", "zzz", stdin="x")
    assert (ran.code, ran.out) == (2, "")
    assert ran.err.startswith("treadle: There is no dialect 'zzz'. There are: native, held, apertus_json, auto")
    assert len(ran.err.splitlines()) == 1


@pytest.mark.parametrize("words", [["-"], []])
def test_a_prompt_may_come_on_stdin(home, words):
    ran = treadle(home, "ask", *words, "-m", script(home, "ok"), "--json", stdin="from a pipe\n")
    assert ran.code == 0
    assert "from a pipe" in treadle(home, "show", ran.json["run_id"]).out


def test_json_is_all_there_is_on_stdout(home):
    ran = treadle(home, "ask", "x", "-m", script(home, asks(("stock", "{'item': 'A',}")), "40"), "--tools", TOOLBOX, "--json")
    result = ran.json
    assert list(result) == ["run_id", "stopped", "output", "reason", "ungrounded", "usage", "calls", "approvals"]
    assert (result["stopped"], result["output"], result["usage"]["requests"]) == ("answered", "40", 2)
    made = result["calls"][0]
    assert (made["name"], made["arguments"], made["verdict"], made["result"]) == ("stock", {"item": "A"}, "allow", "40")
    assert "single quotes" in made["mended"]


def test_events_are_lines_of_json_that_end_with_the_result(home):
    ran = treadle(home, "ask", "x", "-m", script(home, asks(("stock", {"item": "A"})), "40"), "--tools", TOOLBOX, "--events")
    events = [json.loads(line) for line in ran.out.splitlines()]
    kinds = [event["event"] for event in events]
    assert kinds[0] == "run_started"
    assert {"model_asked", "text_arrived", "call_judged", "call_started", "call_returned"} <= set(kinds)
    assert events[-1]["event"] == "run_ended"
    assert events[-1]["result"]["output"] == "40"


def test_what_models_and_tools_say_cannot_reach_the_terminal(home):
    evil = "a\x1b]0;owned\x07b\x9b2Jc\u202ed"
    ran = treadle(home, "ask", "x", "-m", script(home, asks(("boom", {})), evil), "--tools", TOOLBOX)
    assert ran.out == "abcd\n"
    assert "ValueError: it broke" in ran.err
    assert "Traceback" not in ran.err
    assert "\x1b" not in ran.err + treadle(home, "show", run_of(ran)).out


def run_of(ran: Ran) -> str:
    return ran.err.rpartition("run ")[2].rstrip("]\n")


def test_an_answer_at_a_limit_is_fine_and_said_so(home):
    model = script(home, asks(("stock", {"item": "A"})), "as far as I got")
    ran = treadle(home, "ask", "x", "-m", model, "--tools", TOOLBOX, "--rounds", "1")
    assert (ran.code, ran.out) == (0, "as far as I got\n")
    assert "Stopped at the limit of 1 round" in ran.err


def test_quiet_says_nothing_but_the_answer(home):
    ran = treadle(home, "ask", "x", "-m", script(home, asks(("stock", {"item": "A"})), "40"), "--tools", TOOLBOX, "-q")
    assert ran == Ran(0, "40\n", "")


def test_a_conversation_goes_on_with_the_agent_it_began_with(home):
    with WireServer([reply("one"), reply("two")]) as server:
        env = wired(server)
        treadle(home, "ask", "first", "-m", "openai:m", "-i", "Be brief.", "--run-id", "talk", **env)
        ran = treadle(home, "ask", "second", "--run-id", "talk", **env)
        said = [message["content"] for message in server.requests[1].body["messages"]]
    assert (ran.code, ran.out) == (0, "two\n")
    assert said == ["Be brief.", "first", "one", "second"]


def test_without_a_journal_nothing_is_kept_and_nobody_is_asked(home):
    model = script(home, asks(("order", {"item": "A"})), "I could not.")
    ran = treadle(home, "ask", "x", "-m", model, "--tools", TOOLBOX, "--no-journal")
    assert (ran.code, ran.out) == (0, "I could not.\n")
    assert "no one is there to be asked" in ran.err
    assert not (home / "data").exists()


def test_everything_is_approved_or_denied_if_a_person_says_so_beforehand(home):
    replies = (asks(("order", {"item": "A"})), "done")
    yes = treadle(home, "ask", "x", "-m", script(home, *replies), "--tools", TOOLBOX, "--yes", "--json", "--user", "ann")
    assert yes.json["calls"][0]["result"] == "1 A ordered for ann"
    no = treadle(home, "ask", "x", "-m", script(home, *replies), "--tools", TOOLBOX, "--no-person", "--json")
    assert no.json["calls"][0]["problem"] == "denied"
    allowed = treadle(home, "ask", "x", "-m", script(home, *replies), "--tools", TOOLBOX, "--allow", "ord*", "--json")
    assert allowed.json["calls"][0]["verdict"] == "allow"


def test_a_server_that_is_not_there_is_a_failure_with_a_sentence(home):
    ran = treadle(home, "ask", "x", "-m", "openai:m", "--base-url", "http://127.0.0.1:9/v1", "--tries", "2", OPENAI_API_KEY="k")
    assert (ran.code, ran.out) == (1, "")
    assert "Trying again in" in ran.err
    assert "treadle: openai:m at 127.0.0.1:9 does not answer" in ran.err


def test_a_server_that_refuses_is_a_failure_that_never_shows_the_key(home):
    with WireServer([refuse(401, "bad key")]) as server:
        ran = treadle(home, "ask", "x", "-m", "openai:m", **wired(server))
    assert (ran.code, ran.out) == (1, "")
    assert "OPENAI_API_KEY" in ran.err
    assert "key-of-the-test" not in ran.err


@pytest.mark.parametrize(
    ("words", "sentence"),
    [
        (["x", "-m", "nope:m"], "No kind of model is called 'nope'"),
        (["x", "-m", "gpt-4o"], "Did you mean openai:gpt-4o"),
        (["x", "-m", "openai:m"], "set OPENAI_API_KEY"),
        (["x"], "Set OPENAI_API_KEY, ANTHROPIC_API_KEY"),
        (["  "], "The prompt is empty"),
        ([], "The prompt is empty"),
        (["x", "-m", "scripted:missing.json"], "missing.json can't be opened"),
        (["x", "-m", "scripted:script.json", "--base-url", "http://localhost"], "a base URL doesn't apply"),
        (["x", "-m", "openai:m", "--tools", "no_such_module"], "There is no module no_such_module"),
        (["x", "-m", "openai:m", "--tools", f"{TOOLBOX}:untyped"], "untyped"),
        (["x", "-m", "openai:m", "--policy", "missing.toml"], "missing.toml can't be opened"),
        (["x", "-m", "openai:m", "--run-id", "no/such"], "can't be the name of a run"),
        (["x", "-m", "openai:m", "--run-id", "a", "--no-journal"], "leave one of them out"),
        (["x", "-m", "openai:m", "--demo"], "brings its own model"),
    ],
)
def test_wrong_settings_are_a_sentence(home, words, sentence):
    script(home, "ok")
    key = {} if "et OPENAI_API_KEY" in sentence else {"OPENAI_API_KEY": "k"}
    ran = treadle(home, "ask", *words, cwd=home, **key)
    assert (ran.code, ran.out) == (2, "")
    assert sentence in ran.err
    assert ran.err.startswith("treadle: ")
    assert len(ran.err.splitlines()) == 1


def test_an_interrupt_cancels_the_run_and_keeps_it(home):
    with WireServer([reply("first", stall())]) as server:
        process = start(home, "ask", "x", "-m", "openai:m", "--run-id", "cut", **wired(server))
        assert process.stdout is not None
        assert process.stdout.read(5) == "first"
        process.send_signal(signal.SIGINT)
        _, problems = process.communicate(timeout=120)
    assert process.returncode == 130
    assert "interrupted" in problems
    assert "Traceback" not in problems
    assert "cancelled" in treadle(home, "runs").out


@pytest.mark.parametrize("command", [("ask", "x"), ("ask", "x", "--events"), ("chat",)], ids=" ".join)
def test_an_answer_that_cannot_be_written_fails_and_is_kept(home, command):
    with Path("/dev/full").open("w") as full:
        process = opened(
            *command, "-m", script(home, "hello"), env=environment(home), stdin=PIPE, stdout=full, stderr=PIPE, text=True
        )
        _, problems = process.communicate("x\n", timeout=120)
    assert process.returncode == 1
    said = re.fullmatch(
        r"treadle: the output can't be written: No space left on device\. The run is kept; to see it: (.*)\n", problems
    )
    assert said is not None, problems
    assert treadle(home, *said[1].split()[1:]).code == 0


def test_a_reader_who_leaves_cancels_the_run(home):
    go_on = threading.Event()
    with WireServer([reply("first", gate(go_on), *(["more and more"] * 50), stall())]) as server:
        process = start(home, "ask", "x", "-m", "openai:m", **wired(server))
        assert process.stdout is not None
        assert process.stderr is not None
        assert process.stdout.read(5) == "first"
        process.stdout.close()
        go_on.set()
        assert process.wait(120) == 141
        assert "Traceback" not in process.stderr.read()
        process.stderr.close()
    assert "cancelled" in treadle(home, "runs").out


def test_a_call_may_be_denied_by_a_policy_file(home):
    policy = home / "policy.toml"
    policy.write_text('[[deny]]\ntool = "stock"\nwhere = { item = "A" }\nreason = "not A"\n')
    model = script(home, asks(("stock", {"item": "A"})), "ok")
    ran = treadle(home, "ask", "x", "-m", model, "--tools", TOOLBOX, "--policy", str(policy), "--json")
    assert ran.json["calls"][0]["result"] == "not A"

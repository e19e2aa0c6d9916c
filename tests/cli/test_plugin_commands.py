"""Commands of assistants: `treadle NAME …`."""

import pytest

from cli.running import Terminal, script, start, treadle
from packages import install

COMMANDS = """
import asyncio, os, time

def run(args, host):
    host.terminal.line(f"{args.thing} for {host.user or 'nobody'}", "cyan")
    host.terminal.note("a note")
    host.terminal.tell("a warning")
    return args.code

def options(parser):
    parser.add_argument("thing")
    parser.add_argument("--code", type=int, default=0)

async def think(args, host):
    model = await host.model()
    result = await assistant_agent(probe, host, model).run("Well?", journal=host.home.services())
    host.terminal.line(f"{model.name}: {result.stopped} {result.output_or_none}")
    return 0

def think_plainly(args, host):
    host.terminal.line(assistant_agent(probe, host, args.model).run_sync("Well?", journal=True).output)
    return 0

async def hang(args, host):
    host.terminal.line("hanging")
    await asyncio.Event().wait()

def spin(args, host):
    host.terminal.line("spinning")
    while True:
        time.sleep(0.01)

def fail(args, host):
    raise ValueError("it \\x1b[31mbroke")

async def refuse(args, host):
    raise ToolProblem("no") if args.model else TreadleError("Not today.")

def clash(parser):
    parser.add_argument("-m")

async def talk(args, host):
    session = AssistantSession(probe, host)
    talk = host.talk(session, session.agent(await host.model()))
    async def after(result):
        host.terminal.line(f"after {result.output}")
    shout = SlashCommand("shout", lambda rest: host.terminal.line(rest.upper()), "WORDS")
    async def slowly(rest):
        await asyncio.sleep(0)
        talk.start_afresh()
        host.terminal.line("afresh")
    return await talk.converse({"/shout": shout, "/slow": SlashCommand("be slow", slowly)}, after)

from treadle import ToolProblem, TreadleError
from treadle.assistant import AssistantSession, SlashCommand, assistant_agent

probe = Assistant(
    name="probe", title="Probe", summary="Tries things.", instructions="Try.",
    toolsets=lambda host: [FunctionToolset([look, change])],
    commands=(
        Command("show", "never reached", run),
        Command("try-it", "try a thing, 100 % of it.", run, options, "More about it."),
        Command("think", "think", think), Command("think-plainly", "think", think_plainly),
        Command("talk", "talk", talk), Command("empty", "nothing"),
        Command("many", "several things", parts=(Command("one", "the first", run, options), Command("two", "the second", think))),
        Command("hang", "hang", hang), Command("spin", "spin", spin),
        Command("fail", "fail", fail), Command("refuse", "refuse", refuse), Command("clash", "clash", run, clash),
    ),
)
"""


@pytest.fixture
def path(home):
    """What puts the probe, and something broken, on the path."""
    install(home, "a-probe", "a_probe", COMMANDS, probe="probe")
    install(home, "a-wreck", "a_wreck", "1 / 0", wreck="x")
    return {"PYTHONPATH": str(home)}


def test_what_was_typed_reaches_the_command_and_its_code_is_the_exit_code(home, path):
    ran = treadle(home, "try-it", "tree", "--user", "ann", "--code", "7", **path)
    assert ran == (7, "tree for ann\n", "a note\na warning\n")
    assert treadle(home, "try-it", "tree", "-q", **path) == (0, "tree for nobody\n", "a warning\n")


def test_it_has_help_of_its_own(home, path):
    ran = treadle(home, "try-it", "--help", **path)
    assert ran.code == 0
    for words in ("usage: treadle try-it", "Try a thing, 100 % of it. More about it.", "--code", "common options:", "--base-url"):
        assert words in ran.out
    assert "try a thing, 100 % of it" in treadle(home, "--help", "try-it", **path).out


def test_a_command_may_have_parts_each_with_its_own_options(home, path):
    assert treadle(home, "many", "one", "tree", "--code", "3", "-q", **path) == (3, "tree for nobody\n", "a warning\n")
    assert "answered Fine." in treadle(home, "many", "two", "-m", script(home, "Fine."), **path).out
    assert "the second" in treadle(home, "many", "--help", **path).out
    assert "usage: treadle many one" in treadle(home, "many", "one", "--help", **path).out
    assert "required: ACTION" in treadle(home, "many", **path).err


def test_a_command_that_does_nothing_is_said_to_be_of_no_use(home, path):
    ran = treadle(home, "empty", **path)
    assert (ran.code, ran.err) == (2, "treadle: The command empty can't be used: the assistant probe doesn't say what it does.\n")


def test_a_command_may_hold_a_conversation_with_slashes_of_its_own(home, path):
    lines = "first\n/shout so\n/slow\nsecond\n/help\n/exit\nnever\n"
    ran = treadle(home, "talk", "-m", script(home, "1", "2"), "--user", "ann", stdin=lines, **path)
    assert (ran.code, ran.out) == (0, "1\nafter 1\nSO\nafresh\n2\nafter 2\n")
    assert "/shout WORDS   shout" in ran.err
    kept = treadle(home, "runs", "--json").json
    assert [(run["title"], run["user"], run["agent"]) for run in kept] == [("second", "ann", "probe"), ("first", "ann", "probe")]


def test_wrong_usage_is_told_as_of_any_command(home, path):
    ran = treadle(home, "try-it", "tree", "--code", "x", **path)
    assert ran.code == 2
    assert "treadle try-it: error: argument --code: invalid int value" in ran.err


def test_no_such_command_suggests_the_nearest_and_says_what_is_broken(home, path):
    ran = treadle(home, "try-i", **path)
    assert (ran.code, ran.out) == (2, "")
    for words in ("There is no command 'try-i'. Did you mean try-it", "The assistant wreck of the package a-wreck can't be used"):
        assert words in ran.err
    assert "The command show of the assistant probe can't be used: Treadle itself has one of that name." in ran.err


def test_the_name_of_an_assistant_that_has_no_such_command_is_answered_with_what_to_type(home, path):
    ran = treadle(home, "probe", **path)
    assert ran.code == 2
    assert 'treadle: probe has no such command; ask it: treadle ask -a probe "…"' in ran.err


def test_a_command_of_ours_stays_ours(home, path):
    assert treadle(home, "show", "nothing", **path).err.startswith("treadle: There is no run nothing")


def test_the_model_is_the_one_that_was_named_and_its_run_is_kept(home, path):
    ran = treadle(home, "think", "-m", script(home, "Hm."), **path)
    assert ran.code == 0
    assert ran.out.endswith("script.json: answered Hm.\n")
    assert "probe" in treadle(home, "runs").out


def test_the_model_is_the_default_where_none_was_named(home, path):
    assert treadle(home, "think", TREADLE_MODEL=script(home, "Hm."), **path).out.endswith("answered Hm.\n")
    nowhere = {"TREADLE_MODELS": str(home / "models"), "HF_ENDPOINT": "http://127.0.0.1:9", "PIP_INDEX_URL": "http://127.0.0.1:9"}
    ran = treadle(home, "think", **path, **nowhere)
    assert ran.code == 2
    assert ran.err.startswith("treadle: No model was named, no provider's key is set, and no Ollama is running here.")


def test_an_address_is_for_models_that_have_a_server(home, path):
    ran = treadle(home, "think", "-m", script(home, "Hm."), "--base-url", "http://127.0.0.1:9", **path)
    assert ran.code == 2
    assert "a base URL doesn't apply" in ran.err


def test_a_plain_function_may_run_an_event_loop_of_its_own(home, path):
    assert treadle(home, "think-plainly", "-m", script(home, "Hm."), **path)[:2] == (0, "Hm.\n")
    assert "probe" in treadle(home, "runs").out


def test_what_it_raises_is_a_sentence(home, path):
    cases = {
        ("fail",): (1, "treadle: ValueError: it broke (unexpected; TREADLE_DEBUG=1 shows where)\n"),
        ("refuse",): (1, "treadle: Not today.\n"),
        ("clash",): (2, "treadle: The command clash of the assistant probe can't be used: its options can't be read: "),
    }
    for words, (code, sentence) in cases.items():
        ran = treadle(home, *words, **path)
        assert (ran.code, ran.out) == (code, "")
        assert ran.err.startswith(sentence)
        assert "Traceback" not in ran.err


@pytest.mark.parametrize("words", ["hang", "spin"])
def test_ctrl_c_ends_it(home, path, words):
    with Terminal(home, words, **path) as terminal:
        terminal.until("ing")
        assert terminal.interrupted() == 130
    assert "Traceback" not in terminal.shown


def test_nobody_reading_ends_it(home, path):
    process = start(home, "try-it", "tree", **path)
    assert process.stdout is not None
    assert process.stderr is not None
    process.stdout.close()
    assert process.wait(120) == 141
    assert process.stderr.read() == ""
    process.stderr.close()


def test_lines_are_painted_only_at_a_terminal(home, path):
    with Terminal(home, "try-it", "tree", **path) as terminal:
        assert terminal.end() == 0
    assert "\x1b[36mtree for nobody\x1b[0m" in terminal.shown


def test_at_a_terminal_the_person_answers_for_what_its_model_wants_to_do(home, path):
    model = script(home, {"calls": [{"name": "change", "arguments": {"thing": "tree"}}]}, "Done.")
    with Terminal(home, "think", "-m", model, **path) as terminal:
        terminal.until("Run it?")
        terminal.type("y\n")
        terminal.until("answered Done.")
        assert terminal.end() == 0
    assert treadle(home, "think", "-m", model, "--yes", **path).out.endswith("answered Done.\n")
    assert "waiting None" in treadle(home, "think", "-m", model, **path).out

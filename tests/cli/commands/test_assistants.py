"""`treadle assistants`, and asking one: `treadle ask -a NAME`."""

import json

import pytest

from cli.running import TOOLBOX, asks, script, treadle
from packages import install
from wire import WireServer, reply

PROBE = """
class Own:
    def judge(self, call, tool, situation):
        from treadle import Allow
        return Allow("own")
    def offers(self, tool, situation):
        return True

def told(context):
    return f"Try for {context.user}."

async def told_later(context):
    return told(context)

def run(args, host):
    return 0

def made(name, **more):
    tools = lambda host: [FunctionToolset([look, change])]
    return Assistant(name=name, title=name.title(), summary=f"Is {name}.", toolsets=tools, **more)

probe = made(
    "probe", instructions="Try.", policy=[ask("look", reason="Looking is rude."), allow("change")],
    limits=Limits(rounds=3, calls=1, at_limit="words", words="That is all."),
    questions=("What's up?", "And now?"), commands=(Command("poke", "poke it", run), Command("ask", "never", run)),
)
own = made("own", policy=Own(), instructions=told)
later = made("later", instructions=told_later)
"""


@pytest.fixture
def path(home):
    install(home, "a-probe", "a_probe", PROBE, probe="probe", own="own", later="later")
    install(home, "a-wreck", "a_wreck", "1 / 0", wreck="x")
    return {"PYTHONPATH": str(home)}


def test_they_are_listed_with_what_can_be_typed_and_the_broken_ones_with_why(home, path):
    ran = treadle(home, "assistants", **path)
    assert ran.code == 0
    listed = ran.out[ran.out.index("probe: Probe") :].splitlines()
    assert listed[:5] == [
        "probe: Probe (a-probe 1.0)",
        "  Is probe.",
        "  treadle poke: poke it",
        """  treadle ask -a probe 'What'"'"'s up?'""",
        "  treadle ask -a probe 'And now?'",
    ]
    assert "The assistant wreck of the package a-wreck can't be used: a_wreck:x can't be loaded: ZeroDivisionError" in ran.err
    assert "The command ask of the assistant probe can't be used: Treadle itself has one of that name." in ran.err


def test_programs_read_json(home, path):
    told = treadle(home, "assistants", "--json", **path).json
    [probe] = [each for each in told["assistants"] if each["name"] == "probe"]
    assert probe == {
        "name": "probe",
        "title": "Probe",
        "summary": "Is probe.",
        "commands": [{"name": "poke", "summary": "poke it"}, {"name": "ask", "summary": "never"}],
        "questions": ["What's up?", "And now?"],
        "panel": False,
        "package": "a-probe",
        "version": "1.0",
    }
    assert [(each["name"], each["package"]) for each in told["broken"]] == [("wreck", "a-wreck")]
    assert len(told["clashes"]) == 1


def told(home, path, *words):
    """What a model is asked when an assistant is."""
    with WireServer([reply("ok")]) as server:
        ran = treadle(home, "ask", "x", *words, "-m", "openai:m", "--base-url", f"{server.url}/v1", OPENAI_API_KEY="k", **path)
        assert (ran.code, ran.out) == (0, "ok\n"), ran.err
        body = server.requests[0].body
    return body["messages"][0]["content"], [tool["function"]["name"] for tool in body["tools"]]


def test_its_model_is_told_its_instructions_and_offered_its_tools(home, path):
    assert told(home, path, "-a", "probe") == ("Try.", ["look", "change"])


def test_instructions_and_tools_that_are_typed_come_after_its_own(home, path):
    instructions, tools = told(home, path, "-a", "probe", "-i", "Be brief.", "--tools", f"{TOOLBOX}:stock")
    assert instructions == "Try.\n\nBe brief."
    assert sorted(tools) == ["change", "look", "stock"]


@pytest.mark.parametrize("name", ["own", "later"])
def test_instructions_may_also_be_worked_out(home, path, name):
    assert told(home, path, "-a", name, "--user", "ann")[0] == "Try for ann."
    assert told(home, path, "-a", name, "--user", "ann", "-i", "Be brief.")[0] == "Try for ann.\n\nBe brief."


def test_its_policy_and_its_limits_hold(home, path):
    model = script(home, asks(("change", {"thing": "a"}), ("look", {"thing": "a"})), "ok")
    ran = treadle(home, "ask", "x", "-a", "probe", "-m", model, "--no-person", **path)
    assert (ran.code, ran.out) == (0, "That is all.\n")
    assert 'change(thing="a") allowed by allow("change")' in ran.err
    assert "the limit of 1 call" in ran.err
    ran = treadle(home, "ask", "x", "-a", "probe", "-m", model, "--no-person", "--calls", "9", **path)
    assert (ran.code, ran.out) == (0, "ok\n")
    assert "Looking is rude." in ran.err


def test_rules_that_are_typed_are_added_to_its_own(home, path):
    model = script(home, asks(("change", {"thing": "a"}), ("look", {"thing": "a"})), "ok")
    words = ("-m", model, "--no-person", "--calls", "9")
    ran = treadle(home, "ask", "x", "-a", "probe", "--deny", "change", "--allow", "look", *words, **path)
    assert "Looking is rude." in ran.err
    assert '→ change(thing="a") denied by deny("change")' in ran.err


def test_no_rules_can_be_added_to_a_policy_of_its_own(home, path):
    ran = treadle(home, "ask", "x", "-a", "own", "-m", script(home, "ok"), "--allow", "look", **path)
    assert (ran.code, ran.out) == (2, "")
    assert "judges by a policy of its own" in ran.err
    model = script(home, asks(("change", {"thing": "a"})), "ok")
    assert "allowed by own" in treadle(home, "ask", "x", "-a", "own", "-m", model, **path).err


def test_a_run_of_it_is_resumed_as_it_was(home, path):
    model = script(home, asks(("look", {"thing": "a"})))
    ran = treadle(home, "ask", "x", "-a", "probe", "-m", model, "--run-id", "r", "--user", "ann", "--calls", "5", **path)
    assert ran.code == 3
    opened = json.loads(treadle(home, "show", "r", "--entries").out.splitlines()[0])
    assert (opened["agent"], opened["origin"]["assistant"]) == ("probe", "probe")
    script(home, "Seen.")
    treadle(home, "approve", "r", "call_1_1")
    ran = treadle(home, "resume", "r", **path)
    assert (ran.code, ran.out) == (0, "Seen.\n")
    assert "a look at a" in treadle(home, "show", "r").out
    ran = treadle(home, "resume", "r")
    assert ran.code == 2
    assert "There is no assistant 'probe'." in ran.err


def test_a_conversation_with_it_is_one_run(home, path):
    model = script(home, asks(("change", {"thing": "a"})), "Done.", "Bye.")
    ran = treadle(home, "chat", "-a", "probe", "-m", model, "-q", "--calls", "5", stdin="/tools\nchange a\nbye\n", **path)
    assert (ran.code, ran.out) == (0, "Done.\nBye.\n")
    assert "Change a thing." in ran.err


def test_one_that_is_not_there_is_told_in_a_sentence(home, path):
    ran = treadle(home, "ask", "x", "-a", "prob", "-m", script(home, "ok"), **path)
    assert (ran.code, ran.out) == (2, "")
    assert "There is no assistant 'prob'. Did you mean probe?" in ran.err
    assert "ZeroDivisionError" in treadle(home, "ask", "x", "-a", "wreck", "-m", script(home, "ok"), **path).err


def test_the_demonstration_is_nobody_else(home, path):
    ran = treadle(home, "ask", "x", "-a", "probe", "--demo", **path)
    assert ran.code == 2
    assert "brings its own" in ran.err

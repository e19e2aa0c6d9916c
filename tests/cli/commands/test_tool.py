import pytest

from cli.running import TOOLBOX, treadle


def test_tools_are_listed_as_a_model_is_told_of_them(home):
    listed = treadle(home, "tool", "list", "--tools", TOOLBOX).out.splitlines()
    assert listed[1].split(maxsplit=3) == ["stock", "read", "item", "How many of an item are on the shelf."]
    assert "item [count]" in listed[2]
    (tool,) = treadle(home, "tool", "list", "--tools", f"{TOOLBOX}:stock", "--json").json
    assert tool["spec"]["parameters"]["required"] == ["item"]


def test_a_call_by_hand_prints_its_result_and_is_kept_and_audited(home):
    ran = treadle(home, "tool", "call", "stock", "--arguments", '{"item": "A"}', "--tools", TOOLBOX, "-q")
    assert ran == (0, "40\n", "")
    assert treadle(home, "audit", "--json").json[0]["tool_name"] == "stock"
    assert "Call stock with" in treadle(home, "runs").out


def test_a_call_that_waits_is_approved_and_resumed_like_any_other(home):
    words = ("tool", "call", "order", "--arguments", '{"item": "A"}', "--tools", TOOLBOX, "--user", "ann")
    ran = treadle(home, *words)
    assert (ran.code, ran.out) == (3, "")
    (info,) = treadle(home, "runs", "--json", "--status", "waiting").json
    treadle(home, "approve", info["run_id"], "call_1")
    gone_on = treadle(home, "resume", info["run_id"], "-q")
    assert gone_on == (0, "1 A ordered for ann\n", "")


def test_a_call_may_be_approved_beforehand_and_told_as_json(home):
    ran = treadle(home, "tool", "call", "order", "--arguments", '{"item": "A"}', "--tools", TOOLBOX, "--yes", "--json")
    assert ran.code == 0
    assert ran.json == "1 A ordered for nobody"
    assert "on the phone" in ran.err


@pytest.mark.parametrize(
    ("name", "arguments", "words"),
    [
        ("boom", "{}", "raised: ValueError: it broke"),
        ("boomm", "{}", "Did you mean boom?"),
        ("stock", '{"article": 3}', "item: expected"),
        ("order", '{"item": "A"}', "no one is there"),
    ],
)
def test_a_problem_is_a_failure_and_says_what_it_is(home, name, arguments, words):
    ran = treadle(home, "tool", "call", name, "--arguments", arguments, "--tools", TOOLBOX, "--no-person")
    assert (ran.code, ran.out) == (1, "")
    assert words in ran.err


def test_a_tool_works_in_the_folder_it_is_given(home):
    (home / "space").mkdir()
    ran = treadle(home, "tool", "call", "here", "--tools", TOOLBOX, "--workspace", "space", "-q", "--no-journal", cwd=home)
    assert ran.out == f"{home / 'space'}\n"
    assert not (home / "data").exists()


@pytest.mark.parametrize(
    ("words", "sentence"),
    [
        (["list"], "There are no tools"),
        (["call", "stock", "--arguments", "{", "--tools", TOOLBOX], "JSON object"),
        (["call", "stock", "--tools", f"{TOOLBOX}:untyped"], "untyped"),
        (["call", "stock", "--tools", TOOLBOX, "--workspace", "/no/such/folder"], "can't be entered"),
        (["call", "stock", "--tools", f"{TOOLBOX}:nothing"], "there is no nothing"),
    ],
)
def test_wrong_usage_is_a_sentence(home, words, sentence):
    ran = treadle(home, "tool", *words)
    assert (ran.code, ran.out) == (2, "")
    assert sentence in ran.err
    assert "Traceback" not in ran.err

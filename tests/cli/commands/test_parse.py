import json

import pytest

from cli.running import treadle

CALL = '<tool_call>{"name": "ls", "arguments": {"path": "."}}</tool_call>'
LS = {"name": "ls", "arguments": {"path": "."}}
TOOLS = [
    {"type": "function", "function": {"name": "ls", "parameters": {"type": "object", "properties": {"path": {"type": "string"}}}}}
]


def answers(home, *lines, words=()):
    ran = treadle(
        home,
        "parse",
        "--batch",
        *words,
        stdin="".join(f"{line if isinstance(line, str) else json.dumps(line)}\n" for line in lines),
    )
    assert (ran.code, ran.err) == (0, "")
    return [json.loads(line) for line in ran.out.splitlines()]


def test_a_reply_is_told_apart_however_it_is_cut(home):
    for words in ([], ["--stream", "1"], ["--stream", "7"], ["--dialect", "hermes", "--stream", "1000"]):
        ran = treadle(home, "parse", *words, stdin=f"<think>hm</think>I look.\r\n{CALL}")
        assert (ran.code, ran.err) == (0, "")
        assert ran.json == {"calls": [LS], "text": "I look.\r\n", "thinking": "hm", "problems": []}


def test_numbers_come_out_as_they_were_written(home):
    arguments = '{"a":123456789012345678901234567890,"b":1.0,"c":1,"d":-0.5,"e":[1.0]}'
    ran = treadle(home, "parse", stdin=f'<tool_call>{{"name": "ls", "arguments": {arguments}}}</tool_call>')
    assert f'"arguments":{arguments}' in ran.out


def test_what_is_wrong_with_a_call_is_a_sentence(home):
    (home / "tools.json").write_text(json.dumps(TOOLS))
    words = ("--dialect", "harmony", "--tools", str(home / "tools.json"))
    message = "<|channel|>commentary to=functions.{}<|message|>{}<|call|>"
    text = message.format("rm", "{}") + message.format("ls", "no JSON") + message.format("ls", '{"path": "')
    ran = treadle(home, "parse", *words, stdin=text)
    assert ran.json["calls"] == [{"name": "rm", "arguments": {}}]
    assert [problem.split(":")[0] for problem in ran.json["problems"]] == [
        "There is no tool rm.",
        "The arguments of ls can't be read",
        "The call of ls was cut off before its end.",
    ]


def test_values_are_typed_by_the_tools_with_or_without_their_wrapper(home):
    text = "<tool_use><tool>f</tool><args><n>1</n></args></tool_use>"
    function = {"name": "f", "parameters": {"type": "object", "properties": {"n": {"type": "integer"}}}}
    made = [
        answer["calls"][0]["arguments"]
        for answer in answers(
            home,
            {"text": text, "tools": [{"type": "function", "function": function}]},
            {"text": text, "tools": [function]},
            {"text": text, "tools": [{"name": "f", "description": None, "parameters": None}]},
            {"text": text},
            words=["--dialect", "xml"],
        )
    ]
    assert made == [{"n": 1}, {"n": 1}, {"n": "1"}, {"n": "1"}]


def test_a_batch_answers_line_by_line_and_a_bad_line_with_a_problem(home):
    told = answers(
        home,
        {"text": CALL, "tools": TOOLS, "dialect": "hermes", "reasoning_open": None},
        {"chunks": [CALL[:20], CALL[20:]], "text": None, "tools": None, "dialect": None},
        "",
        "{",
        '{"text": 3}',
        "[1]",
        {"text": "so", "dialect": "klingon"},
        {"text": "so", "tools": [{"type": "function"}]},
        {"text": "so", "tools": [{"function": 3}]},
        {"text": "so", "tools": [{"name": "ls", "parameters": {"properties": {"path": True}}}], "dialect": "xml"},
        {"text": "hm</think>So.", "reasoning_open": True},
        {"text": "hm</think>So.", "reasoning_open": False},
        {"text": "hm</think>So."},
        {"text": "half \ud800", "dialect": "hermes"},
        {},
    )
    assert [answer["calls"] for answer in told[:2]] == [[LS], [LS]]
    assert [bool(answer["problems"]) for answer in told] == [False, False, *[True] * 6, *[False] * 6]
    assert told[2]["problems"][0].startswith("Line 4: ")
    assert [(answer["text"], answer["thinking"]) for answer in told[9:12]] == [("So.", "hm"), ("hm</think>So.", ""), ("So.", "hm")]
    assert told[12]["text"] == "half \ud800"
    assert told[13] == {"calls": [], "text": "", "thinking": "", "problems": []}


def test_calls_with_half_characters_around_them_come_out_too(home):
    (told,) = answers(home, {"text": f"\ud800\n{CALL}"})
    assert (told["calls"], told["text"]) == ([LS], "\ud800\n")


def test_a_line_that_breaks_a_dialect_gets_a_problem_too(home):
    tools = [{"name": "ls", "parameters": {"properties": {"path": True}}}]
    told = answers(
        home,
        {"text": "<tool_use><tool>ls</tool><args><path>.</path></args></tool_use>", "tools": tools, "dialect": "xml"},
        {"text": "So."},
    )
    assert told[1]["text"] == "So."
    assert told[0]["problems"] or told[0]["calls"]


def test_names_arent_checked_by_auto_where_no_tools_are_given(home):
    given, unknown = answers(home, {"text": CALL}, {"text": CALL, "tools": [{"name": "other"}]})
    assert (given["calls"], given["problems"]) == ([LS], [])
    assert (unknown["calls"], unknown["text"]) == ([], CALL)


@pytest.mark.parametrize(
    ("words", "sentence"),
    [
        (["--dialect", "klingon"], "There is no dialect 'klingon'"),
        (["--tools", "/no/such/file"], "can't be read"),
        (["--tools", "{here}"], "JSON list"),
        (["--tools", "{tools}"], "needs a name"),
        (["--stream", "0"], "a whole number from 1 up"),
    ],
)
def test_wrong_usage_is_a_sentence(home, words, sentence):
    (home / "here").write_text("{}")
    (home / "tools").write_text("[{}]")
    ran = treadle(home, "parse", *(word.format(here=home / "here", tools=home / "tools") for word in words))
    assert (ran.code, ran.out) == (2, "")
    assert sentence in ran.err
    assert "Traceback" not in ran.err

"""Datasets: read from YAML, JSON and JSONL, strictly, with a sentence for every mistake."""

from pathlib import Path

import pytest

from treadle.core.errors import SettingsError
from treadle.evals import Case, Dataset, ExpectedCall, ExpectedFile, load_dataset

YAML = """\
name: shop
defaults:
  agent: eval_shop:agent
  approve: [order]
cases:
  - name: stock
    input: How many A-113?
    expected:
      calls: [stock, {tool: "or*", where: {count: "<= 100"}}]
      files: {out.txt: {exists: false}}
      output: {matches: "[0-9]+", json: null}
  - name: conversation
    assistant: reading
    messages:
      - {role: user, text: Hello.}
      - {role: assistant, text: Hello. What do you need?}
      - {role: user, text: Ten B-7.}
"""


def write(folder: Path, name: str, text: str) -> Path:
    path = folder / name
    path.write_text(text)
    return path


def test_a_yaml_dataset_is_read_with_its_defaults(tmp_path: Path):
    dataset = load_dataset(write(tmp_path, "cases.yaml", YAML))
    first, second = dataset.cases
    assert (dataset.name, dataset.folder) == ("shop", tmp_path)
    assert first.agent == "eval_shop:agent"
    assert first.approve == ("order",)
    assert first.expected.calls == ("stock", ExpectedCall("or*", where={"count": "<= 100"}))
    assert first.expected.files == {"out.txt": ExpectedFile(exists=False)}
    assert (second.agent, second.assistant, second.prompt) == ("", "reading", "Ten B-7.")
    assert [message.role for message in second.history] == ["person", "model"]


def test_json_and_jsonl_are_read_too(tmp_path: Path):
    lines = '{"defaults": {"agent": "eval_shop:agent"}}\n\n{"name": "a", "input": "Hello."}\n{"name": "b", "input": "You."}\n'
    dataset = load_dataset(write(tmp_path, "cases.jsonl", lines))
    assert [(case.name, case.agent) for case in dataset.cases] == [("a", "eval_shop:agent"), ("b", "eval_shop:agent")]
    document = '{"cases": [{"name": "a", "input": "Hello."}]}'
    assert load_dataset(write(tmp_path, "one.json", document)).cases == (Case(name="a", input="Hello."),)


def test_every_mistake_is_reported_with_its_line_and_case(tmp_path: Path):
    text = """\
cases:
  - name: one
    inputs: Hello.
  - name: two
    input: Hello.
    expected: {output: {matches: "("}}
  - name: three
    input: Hello.
    workspace: nowhere
  - name: three
    input: Hello.
  - name: four
    input: Hello.
    expected: {calls: [{tool: order, verdict: maybe}]}
"""
    path = write(tmp_path, "cases.yaml", text)
    with pytest.raises(SettingsError) as caught:
        load_dataset(path)
    mistakes = str(caught.value).splitlines()
    assert [mistake.removeprefix(f"{path}, ").partition(":")[0] for mistake in mistakes] == [
        "line 2, case 'one'",
        "line 4, case 'two'",
        "line 7, case 'three'",
        "line 10, case 'three'",
        "line 12, case 'four'",
    ]
    assert "unknown field `inputs`" in mistakes[0]
    assert "no regular expression" in mistakes[1]
    assert "no folder nowhere" in mistakes[2]
    assert "same name" in mistakes[3]
    assert "$.expected.calls[0].verdict" in mistakes[4]


@pytest.mark.parametrize(
    ("name", "text", "says"),
    [
        ("cases.txt", "", "has to be a file that ends in .yaml"),
        ("cases.yaml", "cases: [", "can't be read"),
        ("cases.yaml", "cases: []", "has no cases"),
        ("cases.yaml", "case: []", "can't be read"),
        ("cases.jsonl", "{}\nno", "line 2: it isn't one JSON object"),
        ("cases.jsonl", '{"defaults": 1}\n', "`defaults` has to be an object"),
        ("cases.jsonl", '{"name": "a"}', "either `input` or `messages`"),
        ("cases.jsonl", '{"name": "", "input": "x"}', "`name` is empty"),
        ("cases.jsonl", '{"name": "a", "messages": [{"role": "assistant", "text": "x"}]}', "has to be the user's"),
        ("cases.jsonl", '{"name": "a", "input": "x", "agent": "a:b", "assistant": "c"}', "either `agent` or `assistant`"),
        ("cases.jsonl", '{"name": "a", "input": "x", "checks": ["has_forty"]}', "write MODULE:NAME"),
        ("cases.jsonl", '{"name": "a", "input": "x", "judge": {"rubric": " "}}', "`rubric` is empty"),
        ("cases.jsonl", '{"name": "a", "input": "x", "expected": {"files": {"../x": "y"}}}', "without `..`"),
        ("cases.jsonl", '{"name": "a", "input": "x", "expected": {"cost": -1}}', "can't be negative"),
    ],
)
def test_a_mistake_gets_a_sentence(tmp_path: Path, name: str, text: str, says: str):
    with pytest.raises(SettingsError, match=says.replace("$", ".")):
        load_dataset(write(tmp_path, name, text))


def test_a_file_that_is_not_there_and_names_that_are_not_unique(tmp_path: Path):
    with pytest.raises(SettingsError, match="can't be opened"):
        load_dataset(tmp_path / "none.yaml")
    with pytest.raises(SettingsError, match="2 cases called 'a'"):
        Dataset("shop", (Case(name="a", input="x"), Case(name="a", input="y")))


def test_a_dataset_in_code_is_named_as_an_object_is(tmp_path: Path):
    (tmp_path / "cases.py").write_text(
        "from treadle.evals import Case, Dataset\n"
        "some = Dataset('some', (Case(name='one', input='Hello'),))\n"
        "def made():\n    return some\n"
        "other = 5\n"
    )
    assert load_dataset(f"{tmp_path}/cases.py:some").name == load_dataset(f"{tmp_path}/cases.py:made").name == "some"
    with pytest.raises(SettingsError, match=r"cases.py:other is of type int; it has to be a Dataset"):
        load_dataset(f"{tmp_path}/cases.py:other")


def test_the_setup_of_a_file_is_named_in_it(tmp_path: Path):
    (tmp_path / "cases.json").write_text('{"setup": "parts.py:start", "cases": [{"name": "one", "input": "Hello"}]}')
    assert load_dataset(tmp_path / "cases.json").setup == "parts.py:start"

import json
import shlex

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from msgspec.structs import replace

from dialects.parsing import cut_anyhow, hear, hear_pieces, tool
from treadle.core.calls import Call
from treadle.core.requests import Shorthand
from treadle.core.seams import Dialect
from treadle.dialects import get_dialect

BASH, AUTO = get_dialect("bash"), get_dialect("auto")


def block(*lines: str) -> str:
    return "\n".join(("```bash", *lines, "```"))


@pytest.mark.parametrize(
    ("line", "call"),
    [
        ("read_file src/main.py", ("read_file", {"path": "src/main.py"})),
        ("read_file 007", ("read_file", {"path": "007"})),
        ('grep "def p" . -i --max_count 5', ("grep", {"pattern": "def p", "path": ".", "ignore_case": True, "max_count": 5})),
        ("grep --pattern='a b' --path=. --ignore_case", ("grep", {"pattern": "a b", "path": ".", "ignore_case": True})),
        ("grep --max-count 5 x", ("grep", {"max_count": 5, "pattern": "x"})),
        ("grep x -m 5", ("grep", {"pattern": "x", "max_count": 5})),
        ("grep x --max_count -5", ("grep", {"pattern": "x", "max_count": -5})),
        ("grep -- -i .", ("grep", {"pattern": "-i", "path": "."})),
        ("grep '-i' \"--\"", ("grep", {"pattern": "-i", "path": "--"})),
        ("grep - -5", ("grep", {"pattern": "-", "path": "-5"})),
        ("grep -p x", ("grep", {"p": "x"})),
        ("grep --ignore_case=false x", ("grep", {"ignore_case": False, "pattern": "x"})),
        ("grep --ignore_case true x", ("grep", {"ignore_case": True, "pattern": "x"})),
        ("grep x --ignore_case False", ("grep", {"pattern": "x", "ignore_case": False})),
        ("search q --tags a --tags b", ("search", {"query": "q", "tags": ["a", "b"]})),
        ("search q 3 a b c", ("search", {"query": "q", "limit": 3, "tags": ["a", "b", "c"]})),
        ("read_file a 1 2 3", ("read_file", {"path": "a", "start": 1, "end": 2, "argument 4": "3"})),
        ("read_file --path", ("read_file", {"path": True})),
        ("ls --colour -a", ("ls", {"colour": True, "all": True})),
        ("ls --colour red .", ("ls", {"colour": "red", "path": "."})),
        ("ls", ("ls", {})),
        ("write_file a.txt 'it'\\''s' ", ("write_file", {"path": "a.txt", "content": "it's"})),
        (r'write_file a.txt "a \"b\" \n \$5 $5 c\\"', ("write_file", {"path": "a.txt", "content": 'a "b" \\n $5 $5 c\\'})),
        ("write_file a\\ b.txt ''", ("write_file", {"path": "a b.txt", "content": ""})),
        ("read_file http://x?a=1&b=2#c", ("read_file", {"path": "http://x?a=1&b=2#c"})),
        ("ls src  # the sources", ("ls", {"path": "src"})),
    ],
)
def test_a_command_line_is_a_call(line: str, call: tuple[str, object]) -> None:
    heard = hear(BASH, block(line))
    assert heard.made == [call]
    assert heard.text == ""


def test_flags_may_be_written_together_where_each_is_one() -> None:
    tools = [tool("ls", path="string", all="boolean", long="boolean", depth="integer")]
    assert hear(BASH, block("ls -la"), tools).made == [("ls", {"long": True, "all": True})]
    assert hear(BASH, block("ls -ad ."), tools).made == [("ls", {"ad": "."})]


def test_a_line_may_go_on_and_quotes_may_span_lines() -> None:
    heard = hear(BASH, block('grep "x" \\', "  src \\", "  -i"))
    assert heard.made == [("grep", {"pattern": "x", "path": "src", "ignore_case": True})]
    heard = hear(BASH, block('write_file a.txt "line 1', 'line 2"'))
    assert heard.made == [("write_file", {"path": "a.txt", "content": "line 1\nline 2"})]
    heard = hear(BASH, block('write_file a.md "before', "```python", "x = 1", "```", 'after"'))
    assert heard.made == [("write_file", {"path": "a.md", "content": "before\n```python\nx = 1\n```\nafter"})]


def test_several_lines_are_several_calls_and_the_words_before_them_stay() -> None:
    heard = hear(BASH, "Let me look.\n" + block("# first", "", "ls src", "read_file src/a.py --start 1"))
    assert heard.made == [("ls", {"path": "src"}), ("read_file", {"path": "src/a.py", "start": 1})]
    assert heard.text == "Let me look.\n"
    assert hear(BASH, block("ls") + "\n\n" + block("ls")).names == ["ls", "ls"]


@settings(deadline=None)
@given(st.text(alphabet="ab \n\"'\\$`#-|;"), st.integers(0, 99))
def test_whatever_was_quoted_as_a_shell_wants_it_comes_through(content: str, seed: int) -> None:
    text = block(f"write_file a.txt {shlex.quote(' ' + content)}")
    assert hear_pieces(BASH, cut_anyhow(text, seed)).made == [("write_file", {"path": "a.txt", "content": " " + content})]
    text = block(f"write_file a.txt {json.dumps(content).replace('$', chr(92) + '$').replace('`', chr(92) + '`')}")
    heard = hear_pieces(BASH, cut_anyhow(text, seed))
    assert heard.made == [("write_file", {"path": "a.txt", "content": content.replace("\n", "\\n")})]


def test_a_fence_that_isnt_closed_is_a_call_if_its_last_line_is_whole() -> None:
    assert hear(BASH, "```bash\nread_file c.txt\n").made == [("read_file", {"path": "c.txt"})]
    heard = hear(BASH, "```bash\nls\nread_file c.tx")
    assert [(call.name, call.cut) for call in heard.calls] == [("ls", False), ("read_file", True)]
    heard = hear(BASH, "```bash\nread_file 'c.txt\n")
    assert [(call.name, call.cut, heard.text) for call in heard.calls] == [("read_file", True, "")]


@pytest.mark.parametrize(
    "text",
    [
        "Run this yourself:\n" + block("pip install foo"),
        block("ls", "pip install foo"),
        block("ls src | grep foo"),
        block("ls > files.txt"),
        block("ls; ls"),
        block("ls && ls"),
        block("ls 2>&1"),
        block("read_file $(ls)"),
        block('read_file "$(ls)"'),
        block("# nothing but this"),
        block(""),
        block("ls") + "\nlists the files.",
        block("ls") + "\nlists the files:\n" + block("ls") + "\nas I said.",
        block("ls") + "\n<tool_call>\n```",
        "```python\nls\n```",
        "```\nls\n```",
        "`ls`",
        "ls src",
        block("ls 'src", *["```"] * 12),
    ],
)
def test_where_nobody_taught_it_what_isnt_all_calls_or_has_words_after_it_is_a_sample(text: str) -> None:
    heard = hear(AUTO, text)
    assert (heard.text, heard.calls) == (text, ())


TWO = "Let me look:\n" + block("ls src") + "\n\nNow the file:\n" + block("read_file src/a.py")


@pytest.mark.parametrize("dialect", [BASH, AUTO])
@pytest.mark.parametrize("seed", range(4))
def test_every_block_of_a_reply_that_ends_in_one_counts(dialect: Dialect, seed: int) -> None:
    heard = hear_pieces(dialect, cut_anyhow(TWO, seed))
    assert heard.made == [("ls", {"path": "src"}), ("read_file", {"path": "src/a.py"})]
    assert heard.text == "Let me look:\n\n\nNow the file:\n"


def test_a_model_that_was_taught_it_may_go_on_after_its_calls() -> None:
    heard = hear(BASH, f"{TWO}\nI will wait for the results.")
    assert heard.names == ["ls", "read_file"]
    assert heard.text.endswith("\nI will wait for the results.")


@pytest.mark.parametrize(
    ("line", "name", "told"),
    [
        ("pip install foo", "pip", ""),
        ("ls src | grep foo", "ls", "ls src | grep foo"),
        ("ls > files.txt", "ls", "This is no shell"),
        ("ls; ls", "ls", "one call a line"),
        ("ls && ls", "ls", "not run"),
        ("ls 2>&1", "ls", "not run"),
        ('read_file "$(ls)"', "read_file", "not run"),
    ],
)
def test_a_line_that_is_no_call_is_told_and_the_others_count(line: str, name: str, told: str) -> None:
    heard = hear(BASH, block(line, "ls src"))
    assert [call.name for call in heard.calls] == [name, "ls"]
    assert told in heard.calls[0].problem
    assert (heard.calls[1].text, heard.calls[1].problem) == ('{"path":"src"}', "")


@pytest.mark.parametrize(
    "lines",
    [("pip install foo",), ("cat > a.txt <<EOF", "ls src", "EOF"), ("for a in b; do", "ls $a", "done"), ("# a",), ("",)],
)
def test_a_script_or_what_has_no_call_in_it_is_a_sample_even_of_a_model_that_was_taught(lines: tuple[str, ...]) -> None:
    heard = hear(BASH, block(*lines))
    assert (heard.text, heard.calls) == (block(*lines), ())


EDIT = replace(
    tool("edit", action="string", path="string", start="integer", end="integer", content="string"),
    command_line={
        "": Shorthand(sets={"action": "get"}),
        "f": Shorthand(("path",)),
        "l": Shorthand(("start", "end")),
        "r": Shorthand(("content",), {"action": "put"}),
        "a": Shorthand(("content",), {"action": "add"}),
    },
)
EDIT.parameters["properties"]["action"]["enum"] = ["get", "put", "add"]


@pytest.mark.parametrize(
    ("line", "arguments"),
    [
        ("edit a.py", {"action": "get", "path": "a.py"}),
        ("edit put a.py", {"action": "put", "path": "a.py"}),
        ("edit -f a.py -l 3:7", {"action": "get", "path": "a.py", "start": 3, "end": 7}),
        ("edit -f=a.py -l 3", {"action": "get", "path": "a.py", "start": 3, "end": 3}),
        ("edit -f a.py -l 3:7 -r 'x = 1'", {"action": "put", "path": "a.py", "start": 3, "end": 7, "content": "x = 1"}),
        ("edit -f a.py -a 'x = 1'", {"action": "add", "path": "a.py", "content": "x = 1"}),
        ("edit -a put -f a.py", {"action": "put", "path": "a.py"}),
        ("edit a.py -r x --action add", {"action": "add", "path": "a.py", "content": "x"}),
        ("edit --f a.py", {"action": "get", "f": "a.py"}),
        ("edit a.py -f", {"action": "get", "path": "a.py", "f": True}),
    ],
)
def test_a_tool_may_say_what_the_options_of_its_command_line_stand_for(line: str, arguments: dict[str, object]) -> None:
    assert hear(BASH, block(line), [EDIT]).made == [("edit", arguments)]


def test_a_word_that_is_no_choice_of_an_argument_with_a_default_is_for_the_next_one() -> None:
    check = tool("check", kind="string", path="string")
    check.parameters["properties"]["kind"] |= {"enum": ["go", "npm"], "default": "go"}
    assert hear(BASH, block("check ./a"), [check]).made == [("check", {"path": "./a"})]
    assert hear(BASH, block("check npm ./a"), [check]).made == [("check", {"kind": "npm", "path": "./a"})]
    only = tool("check", kind="string")
    only.parameters["properties"]["kind"] |= {"enum": ["go", "npm"], "default": "go"}
    assert hear(BASH, block("check ./a"), [only]).made == [("check", {"argument 1": "./a"})]


def test_quotes_decide_whether_a_sign_is_the_shells() -> None:
    assert hear(BASH, block("grep --pattern='a;' --path='x|y'")).made == [("grep", {"pattern": "a;", "path": "x|y"})]
    assert hear(BASH, block("grep 'a'; ls")).calls[0].problem


def test_calls_are_spelled_as_lines_of_one_block() -> None:
    calls = [Call("", "ls", {"path": ".", "all": True}), Call("", "grep", {"pattern": "it's"}), Call("", "search", {"a b": [1]})]
    spelled = BASH.spell(calls)
    assert spelled == block("ls --path=. --all=true", "grep --pattern='it'\"'\"'s'", "search --'a b'='[1]'")
    assert hear(BASH, spelled).made == [(call.name, call.arguments) for call in calls]
    assert BASH.spell([]) == ""


def test_the_fence_is_longer_than_any_inside_it() -> None:
    call = Call("", "write_file", {"path": "a.md", "content": "\n".join(["```", "````"] * 9)})
    assert hear(BASH, BASH.spell([call])).made == [(call.name, call.arguments)]

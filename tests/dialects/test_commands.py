import json
import shlex

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from dialects.hearing import cut_anyhow, hear, hear_pieces, tool
from treadle.core.calls import Call
from treadle.dialects import named

BASH = named("bash")


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
        "```python\nls\n```",
        "```\nls\n```",
        "`ls`",
        "ls src",
        block("ls 'src", *["```"] * 12),
    ],
)
def test_what_isnt_all_calls_or_has_words_after_it_is_a_sample(text: str) -> None:
    heard = hear(BASH, text)
    assert (heard.text, heard.calls) == (text, ())


def test_quotes_decide_whether_a_sign_is_the_shells() -> None:
    assert hear(BASH, block("grep --pattern='a;' --path='x|y'")).made == [("grep", {"pattern": "a;", "path": "x|y"})]
    assert hear(BASH, block("grep 'a'; ls")).calls == ()


def test_calls_are_spelled_as_lines_of_one_block() -> None:
    calls = [Call("", "ls", {"path": ".", "all": True}), Call("", "grep", {"pattern": "it's"}), Call("", "search", {"a b": [1]})]
    spelled = BASH.spell(calls)
    assert spelled == block("ls --path=. --all=true", "grep --pattern='it'\"'\"'s'", "search --'a b'='[1]'")
    assert hear(BASH, spelled).made == [(call.name, call.arguments) for call in calls]
    assert BASH.spell([]) == ""


def test_the_fence_is_longer_than_any_inside_it() -> None:
    call = Call("", "write_file", {"path": "a.md", "content": "\n".join(["```", "````"] * 9)})
    assert hear(BASH, BASH.spell([call])).made == [(call.name, call.arguments)]

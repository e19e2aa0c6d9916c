import pytest
from msgspec.structs import replace

from dialects.parsing import TOOLS, hear, tool
from treadle.core.calls import Written
from treadle.core.seams import Dialect
from treadle.dialects import get_dialect
from treadle.dialects.formats.auto import AUTO

MISTRAL, KIMI, V3, V31 = get_dialect("mistral"), get_dialect("kimi_k2"), get_dialect("deepseek_v3"), get_dialect("deepseek_v31")
V31_TAGS, V32 = get_dialect("functionary_v31"), get_dialect("functionary_v32")
LS = ("ls", {"path": "."})
WITH_PYTHON = (*TOOLS, tool("python", code="string"))


@pytest.mark.parametrize(
    "text",
    [
        '[TOOL_CALLS]ls{"path": "."}',
        '[TOOL_CALLS] ls [ARGS] {"path": "."}',
        '[TOOL_CALLS]ls[CALL_ID]abc123xyz[ARGS]{"path": "."}',
        '[TOOL_CALLS][{"name": "ls", "arguments": {"path": "."}, "id": "123456789"}]',
        '[TOOL_CALLS]  [ {"arguments" : {"path": "."}, "name":"ls" } ]',
        '[TOOL_CALLS] [{"name": "ls", "arguments": {"path": "."}}][/TOOL_CALLS]</s>',
        '[TOOL_CALLS]{"name": "ls", "arguments": {"path": "."}}',
        '[{"name": "ls", "arguments": {"path": "."}}]',
    ],
)
def test_mistral_writes_names_or_lists(text: str) -> None:
    heard = hear(MISTRAL, text)
    assert (heard.made, heard.text) == ([LS], "")


def test_mistral_may_put_words_before_its_list() -> None:
    heard = hear(MISTRAL, '[TOOL_CALLS] these ones: [{"name": "ls", "arguments": {"path": "."}}] so')
    assert (heard.made, heard.text) == ([LS], "these ones: so")
    heard = hear(MISTRAL, '[TOOL_CALLS] these ones: [{"name": "ls", "arguments": {"path')
    assert [(call.name, call.cut) for call in heard.calls] == [("ls", True)]
    text = '[TOOL_CALLS] these ones: [{"colour": "red"}] so'
    assert hear(MISTRAL, text).text == text


def test_mistral_thinks_in_brackets() -> None:
    heard = hear(MISTRAL, '[THINK]Maybe [TOOL_CALLS]ls[ARGS]{} or so[/THINK]Fine.[TOOL_CALLS]ls[ARGS]{"path": "."}')
    assert (heard.thinking, heard.text, heard.made) == ("Maybe [TOOL_CALLS]ls[ARGS]{} or so", "Fine.", [LS])


def tokens(text: str) -> str:
    """DeepSeek's tokens have wide bars and a block for each space."""
    return text.replace("|", "\uff5c").replace("_", "\u2581")


@pytest.mark.parametrize(
    "call",
    [
        tokens('<|tool_call_begin|>function<|tool_sep|>ls\n```json\n{"path": "."}\n```<|tool_call_end|>'),
        tokens('<|tool_call_begin|>function<|tool_sep|>ls\n```json\n{"path": "."}```\n<|tool_call_end|>'),
        tokens('<|tool_call_begin|>function<|tool_sep|>ls\n{"path": "."}<|tool_call_end|>'),
        tokens('<|tool_call_begin|>ls<|tool_sep|>{"path": "."}<|tool_call_end|>'),
        tokens('function<|tool_sep|>ls\n```json\n{"path": "."}\n```<|tool_call_end|>'),
        tokens('<|tool_call_begin|>ls<|tool_sep|>{"path": "."}<|tool_call_end|>').replace("\uff5c", "|"),
    ],
)
def test_deepseek_writes_calls_in_tokens(call: str) -> None:
    for dialect in (V3, V31, AUTO):
        heard = hear(dialect, f"{tokens('<|tool_calls_begin|>')}{call}\n{call}{tokens('<|tool_calls_end|>')}")
        assert (heard.made, heard.text) == ([LS, LS], "")


def test_deepseek_at_times_repeats_the_output_of_a_tool() -> None:
    heard = hear(V31, tokens("It says <|tool_output_begin|>22 C<|tool_output_end|> there."))
    assert (heard.text, heard.calls) == ("It says 22 C there.", ())


def kimi(spelled: str, arguments: str = '{"path": "."}') -> str:
    return f"<|tool_call_begin|>{spelled}<|tool_call_argument_begin|>{arguments}<|tool_call_end|>"


def section(*calls: str) -> str:
    return f"<|tool_calls_section_begin|>{''.join(calls)}<|tool_calls_section_end|>"


@pytest.mark.parametrize(
    "spelled", ["functions.ls:0", "functions.ls:17 ", "ls:0", "\nls:0\n", "functions_ls_2", "functions.ls", "ls"]
)
def test_kimi_writes_the_name_in_an_id(spelled: str) -> None:
    for dialect in (KIMI, AUTO):
        heard = hear(dialect, f"So. {section(kimi(spelled))}")
        assert (heard.made, heard.text) == ([LS], "So. ")
        assert hear(dialect, kimi(spelled)).made == [LS]


@pytest.mark.parametrize("spelled", ["functions.rm.0", "weird@id", "", "functions.no such:0"])
def test_an_id_that_names_nothing_is_no_call_and_the_next_one_counts(spelled: str) -> None:
    heard = hear(KIMI, section(kimi(spelled), kimi("functions.ls:1")))
    assert heard.made == [LS]


def test_a_name_in_a_regular_id_is_passed_on_though_there_is_no_such_tool() -> None:
    assert hear(KIMI, kimi("functions.mcp__web-search.go:3", "{}")).made == [("mcp__web-search.go", {})]


def test_where_the_id_is_a_number_the_arguments_say_which_tool_is_meant() -> None:
    assert hear(KIMI, kimi("0", '{"pattern": "a"}')).made == [("grep", {"pattern": "a"})]
    assert hear(KIMI, kimi("0", '{"path": "."}')).calls == ()
    assert hear(KIMI, kimi("0", '{"path": "."')).calls == ()
    assert hear(KIMI, kimi("0"), TOOLS[4:]).made == [LS]
    assert hear(KIMI, kimi("0", '{"path": "."'), TOOLS[4:]).calls == (Written("", "ls", '{"path": "."'),)


def test_kimis_tokens_mean_nothing_where_there_is_no_call() -> None:
    heard = hear(KIMI, f"a{section()}b<|tool_call_end|>c<|tool_call_argument_begin|>d")
    assert (heard.text, heard.calls) == ("abcd", ())


def test_arguments_may_be_left_out_where_it_is_clear_that_none_follow() -> None:
    assert hear(KIMI, kimi("functions.ls:0", "")).made == [("ls", {})]
    assert hear(V31, tokens("<|tool_call_begin|>ls<|tool_sep|><|tool_call_end|>")).made == [("ls", {})]
    assert hear(MISTRAL, '[TOOL_CALLS]ls[ARGS][TOOL_CALLS]ls[ARGS]{"path": "."}').made == [("ls", {}), LS]


def test_the_name_alone_may_end_a_reply_of_mistrals_where_the_tool_takes_nothing() -> None:
    assert hear(MISTRAL, "So. [TOOL_CALLS]now", (*TOOLS, tool("now"))).made == [("now", {})]
    assert hear(replace(MISTRAL, forward=True), "[TOOL_CALLS]now", ()).made == [("now", {})]
    assert hear(V31, tokens("<|tool_call_begin|>now"), (tool("now"),)).made == []


def test_kimi_may_call_without_ending_its_thought() -> None:
    heard = hear(KIMI, f"<think>I need it{section(kimi('functions.ls:0'))}")
    assert heard.made == [LS]


@pytest.mark.parametrize(
    ("dialect", "broken", "sound"),
    [
        (KIMI, kimi("functions.ls:0", '{"path": "he said "hi""} '), kimi("functions.ls:1")),
        (MISTRAL, '[TOOL_CALLS]ls[ARGS]{"path": "he said "hi""} ', '[TOOL_CALLS]ls[ARGS]{"path": "."}'),
        (V31_TAGS, '<function=ls>{"path": "he said "hi""} </function>', '<function=ls>{"path": "."}</function>'),
    ],
)
def test_arguments_that_make_no_sense_are_passed_on(dialect: Dialect, broken: str, sound: str) -> None:
    heard = hear(dialect, broken + sound)
    assert heard.calls == (Written("", "ls", '{"path": "he said "hi""} '), Written("", "ls", '{"path":"."}'))


@pytest.mark.parametrize(
    "text",
    [
        "abc[TOOL not a tag",
        "The token [TOOL_CALLS] comes first.",
        "[TOOL_CALLS]",
        "[TOOL_CALLS]ls",
        "[TOOL_CALLS]ls[ARGS]",
        "[TOOL_CALLS]ls and then {x}",
        "[TOOL_CALLS]" + "ls" * 200 + "{}",
    ],
)
def test_what_has_no_arguments_is_text(text: str) -> None:
    heard = hear(MISTRAL, text)
    assert (heard.text, heard.calls) == (text, ())


def test_functionary_writes_calls_in_tags_and_code_as_it_is() -> None:
    heard = hear(V31_TAGS, 'So. <function=ls>\n{"path": "."}\n</function> and <function=ls>{"path": "."}</function>')
    assert (heard.made, heard.text) == ([LS, LS], "So.  and ")
    heard = hear(V31_TAGS, "<|python_tag|># so\nprint('hey')<|eom_id|>", WITH_PYTHON)
    assert (heard.made, heard.text) == ([("python", {"code": "# so\nprint('hey')"})], "")
    for text in ("<function=ls>", "<function=ls>so</function>", "<function=no name>{}</function>", "<|python_tag|>"):
        assert hear(V31_TAGS, text, WITH_PYTHON).text == text


@pytest.mark.parametrize(
    ("text", "words", "calls"),
    [
        ("all\nHello, world!\nWhat's up?", "Hello, world!\nWhat's up?", []),
        ('ls\n{"path": "."}', "", [LS]),
        ('ls\n{"path": "."}\n>>>ls\n{"path": "."}\n', "", [LS, LS]),
        ('all\nI look.>>>ls\n{"path": "."}', "I look.", [LS]),
        ('all\n>>>ls\n{"path": "."}<|eot_id|>', "", [LS]),
        ("python\n# so\nprint('hey')\n>>>all\nDone.", "Done.", [("python", {"code": "# so\nprint('hey')"})]),
        ("Hello", "Hello", []),
        ("Hello\nthere >>> and on", "Hello\nthere >>> and on", []),
        ("ls\nwere a good thing", "ls\nwere a good thing", []),
        ("python\n", "python\n", []),
        ("all", "all", []),
        ("all {so}", "all {so}", []),
        ("x" * 400, "x" * 400, []),
        ("", "", []),
    ],
)
def test_functionary_names_who_each_part_is_for(text: str, words: str, calls: list[object]) -> None:
    heard = hear(V32, text, WITH_PYTHON)
    assert (heard.text.strip(), heard.made) == (words.strip(), calls)


def test_functionary_is_read_as_any_other_inside_a_thought_that_the_prompt_opened() -> None:
    heard = hear(V32, 'hm</think>all\nSo.>>>ls\n{"path": "."}', reasoning_open=True)
    assert heard.made == [LS]

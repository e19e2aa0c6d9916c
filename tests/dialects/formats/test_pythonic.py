import msgspec
import pytest
from msgspec.structs import replace

from dialects.parsing import TOOLS, Heard, hear
from treadle.core.calls import Written
from treadle.core.seams import Dialect
from treadle.dialects import get_dialect
from treadle.dialects.dialect import TextDialect
from treadle.dialects.json_repair import JsonUnreadable, read_object

LS, GREP = ("ls", {"path": "."}), ("grep", {"pattern": "é", "max_count": 3})
AROUND = {
    "pythonic": ("[", ", ", "]"),
    "pythonic_llama4": ("<|python_start|>[", ", ", "]<|python_end|>"),
    "lfm2_pythonic": ("<|tool_call_start|>[", ", ", "]<|tool_call_end|>"),
    "olmo3_pythonic": ("<function_calls>", "\n", "</function_calls>"),
}
TAGGED = sorted({*AROUND} - {"pythonic"})
every = pytest.mark.parametrize("name", sorted(AROUND))
tagged = pytest.mark.parametrize("name", TAGGED)


def frame(name: str, *calls: str) -> str:
    before, between, after = AROUND[name]
    return before + between.join(calls) + after


def forwarding(name: str) -> Dialect:
    dialect = get_dialect(name)
    assert isinstance(dialect, TextDialect)
    return replace(dialect, forward=True)


def untouched(heard: Heard, text: str) -> bool:
    return (heard.text, heard.calls) == (text, ())


@every
def test_a_call_is_heard_and_not_shown(name: str) -> None:
    heard = hear(get_dialect(name), frame(name, 'ls(path=".")'))
    assert (heard.made, heard.text) == ([LS], "")


@every
def test_several_calls_stand_in_one_frame(name: str) -> None:
    heard = hear(get_dialect(name), frame(name, "ls(path='.')", 'grep(pattern="é", max_count=3)', "ls()"))
    assert (heard.made, heard.text) == ([LS, GREP, ("ls", {})], "")


@every
def test_the_words_around_calls_stay(name: str) -> None:
    heard = hear(get_dialect(name), f"I look: {frame(name, 'ls()')} Then: {frame(name, 'ls()')} done.")
    assert (heard.made, heard.text) == ([("ls", {}), ("ls", {})], "I look:  Then:  done.")


@every
def test_a_mark_inside_a_value_is_part_of_it(name: str) -> None:
    for inner in (*AROUND[name], "</think>", "\n```\n", "ls()]"):
        content = msgspec.json.encode(inner).decode()
        assert hear(get_dialect(name), frame(name, f"write_file(content={content})")).made == [("write_file", {"content": inner})]


@every
def test_a_call_without_its_end_tag_counts(name: str) -> None:
    text = frame(name, "ls(path='.')")
    start = text.index(")") + 1
    for end in range(start, len(text)):
        assert hear(get_dialect(name), text[:end]).made == [LS]


@every
def test_a_call_that_is_cut_off_is_marked_so_and_the_ones_before_it_count(name: str) -> None:
    text = frame(name, "ls(path='.')", "read_file(path='a.py', start=")
    heard = hear(get_dialect(name), text[: text.index("start=") + 6])
    assert heard.made == [LS]
    assert [(call.name, call.cut) for call in heard.calls] == [("ls", False), ("read_file", True)]


@every
def test_a_name_that_is_cut_off_is_text(name: str) -> None:
    start = frame(name, "read_fi")
    text = start[: start.index("read_fi") + 7]
    assert untouched(hear(get_dialect(name), text), text)
    second = frame(name, "ls()", "read_fi")
    heard = hear(get_dialect(name), second[: second.index("read_fi") + 7])
    assert (heard.made, heard.text) == ([("ls", {})], "read_fi")


@every
def test_a_tool_that_isnt_on_offer_counts_where_names_are_forwarded(name: str) -> None:
    text = frame(name, "tools.rm(path='.')")
    assert hear(forwarding(name), text).made == [("tools.rm", {"path": "."})]
    assert hear(forwarding(name), text, ()).made == [("tools.rm", {"path": "."})]


@pytest.mark.parametrize("name", ["pythonic", "olmo3_pythonic"])
def test_a_tool_that_isnt_on_offer_doesnt_count_elsewhere(name: str) -> None:
    text = frame(name, "rm(path='.')")
    assert untouched(hear(get_dialect(name), text), text)
    assert untouched(hear(get_dialect("auto"), text), text)


def test_a_tool_that_isnt_on_offer_counts_between_marks_that_nobody_types() -> None:
    for name in ("pythonic_llama4", "lfm2_pythonic"):
        assert hear(get_dialect("auto"), frame(name, "rm(path='.')")).made == [("rm", {"path": "."})]


@every
def test_a_module_before_the_name_of_a_tool_is_left_out(name: str) -> None:
    assert hear(get_dialect(name), frame(name, "default_api.ls(path='.')")).made == [LS]


@every
def test_arguments_by_position_are_taken_in_the_order_of_the_tool(name: str) -> None:
    assert hear(get_dialect(name), frame(name, "read_file('a', 1, end=2)")).made == [
        ("read_file", {"path": "a", "start": 1, "end": 2})
    ]


@every
def test_a_call_that_makes_no_sense_is_passed_on_and_the_others_count(name: str) -> None:
    heard = hear(get_dialect(name), frame(name, "ls(path=b'.')", "ls(path='.')", "ls(path='x 'y', all=True)"))
    assert [isinstance(read_object(call.text), JsonUnreadable) for call in heard.calls] == [True, False, True]
    assert heard.calls[1] == Written("", "ls", '{"path":"."}')


@every
@pytest.mark.parametrize("inside", ["ls(path='.'])", "ls path='.')", "ls(path='.', all=[)", "ls(path='x 'y"])
def test_brackets_that_dont_fit_make_a_text(name: str, inside: str) -> None:
    text = frame(name, inside).removesuffix("<|python_end|>").removesuffix("<|tool_call_end|>")
    assert untouched(hear(get_dialect(name), text), text)


@every
def test_all_forms_are_heard_where_none_is_named(name: str) -> None:
    text = frame(name, "ls(path='.')")
    assert hear(get_dialect("auto"), text).made == [LS]
    assert hear(get_dialect("auto"), f"I look. {text}").made == [LS]
    assert untouched(hear(get_dialect("auto"), f"`{text}`"), f"`{text}`")


@tagged
def test_json_between_the_tags_counts(name: str) -> None:
    one = '{"name": "ls", "arguments": {"path": "."}}'
    assert hear(get_dialect(name), frame(name, one)).made == [LS]
    assert hear(get_dialect(name), frame(name, one, one)).made == [LS, LS]
    heard = hear(get_dialect(name), AROUND[name][0] + one[:-6])
    assert [(call.name, call.cut) for call in heard.calls] == [("ls", True)]
    text = AROUND[name][0].rstrip("[") + '{"colour": "red"}'
    assert untouched(hear(get_dialect(name), text), text)


@tagged
def test_an_empty_frame_is_passed_over(name: str) -> None:
    opener, closer = AROUND[name][0].rstrip("["), AROUND[name][2].lstrip("]")
    for inside in ("", " ", "[]", "[ ]"):
        heard = hear(get_dialect(name), f"{opener}{inside}{closer}So.")
        assert (heard.text, heard.calls) == ("So.", ())


@tagged
def test_space_and_brackets_between_the_tags_are_as_the_model_likes(name: str) -> None:
    opener, closer = AROUND[name][0].rstrip("["), AROUND[name][2].lstrip("]")
    for inside in ("\n ls(path='.')\n", " [ls(path='.')] ", "[ls(path='.'),]", "ls(path='.'"):
        assert hear(get_dialect(name), opener + inside + closer).made == [LS]


def test_a_list_may_be_fenced_where_it_ends_the_reply() -> None:
    fenced = "```python\n[ls(path='.')]\n```"
    assert hear(get_dialect("pythonic"), fenced).made == [LS]
    assert untouched(hear(get_dialect("pythonic"), fenced + "\nis how"), fenced + "\nis how")


@pytest.mark.parametrize(
    "text",
    [
        "Read [the guide](guide.md), [its source](https://x.org) or [1].",
        "A [note(s)] and [ls(1, 2, 3)](http://x), [",
        "[",
        "[ls",
        "[]",
        "[ls, grep]",
        "[ls()=]",
        "So [ls(path=\t)ls(path=,\t)ls(path=,",
        "[ls(path=x), grep(pattern=y)]",
    ],
)
def test_other_lists_stay_text(text: str) -> None:
    for dialect in (get_dialect("pythonic"), forwarding("pythonic"), get_dialect("auto"), get_dialect("lfm2_pythonic")):
        assert untouched(hear(dialect, text), text)


def test_prose_that_mentions_a_tag_stays() -> None:
    for name in TAGGED:
        text = f"The {AROUND[name][0].rstrip('[')} tag"
        assert untouched(hear(get_dialect("auto"), text), text)
    text = "<function_calls>ls() and so on"
    assert untouched(hear(get_dialect("olmo3_pythonic"), text), text)


def test_words_may_follow_a_list_that_no_tag_closes() -> None:
    heard = hear(get_dialect("pythonic_llama4"), "<|python_start|>[ls()] and so on")
    assert (heard.made, heard.text) == ([("ls", {})], "and so on")


def test_what_one_model_writes_twice_is_one_call() -> None:
    text = frame("lfm2_pythonic", "ls(path='.')")
    heard = hear(get_dialect("lfm2_pythonic"), f"{text}[ls(path='.')]<|tool_call_end|>")
    assert (heard.made, heard.text) == ([LS], "")
    heard = hear(get_dialect("lfm2_pythonic"), f"{text}[1] is a note")
    assert (heard.made, heard.text) == ([LS], "[1] is a note")
    heard = hear(get_dialect("lfm2_pythonic"), f"{text}[1]{text}")
    assert (heard.made, heard.text) == ([LS, LS], "[1]")
    heard = hear(get_dialect("lfm2_pythonic"), f"{text}<|tool_call_end|>Done.")
    assert (heard.made, heard.text) == ([LS], "Done.")


def test_a_server_may_strip_the_tags_of_a_tool_that_is_on_offer() -> None:
    assert hear(forwarding("lfm2_pythonic"), "[ls(path='.')]").made == [LS]
    assert untouched(hear(forwarding("lfm2_pythonic"), "[rm(path='.')]"), "[rm(path='.')]")


def test_a_model_of_llama_4_may_write_bare_json() -> None:
    assert hear(get_dialect("pythonic_llama4"), '{"name": "ls", "parameters": {"path": "."}}').made == [LS]


def test_a_call_comes_out_as_soon_as_its_frame_is_closed() -> None:
    for name in ("pythonic", "pythonic_llama4", "olmo3_pythonic"):
        parser = get_dialect(name).parser(TOOLS)
        text = frame(name, "ls(path='.')")
        assert parser.feed(text[:-1]).calls == ()
        assert [call.name for call in parser.feed(text[-1]).calls] == ["ls"]


@every
def test_no_calls_are_spelled_as_nothing(name: str) -> None:
    assert get_dialect(name).spell([]) == ""

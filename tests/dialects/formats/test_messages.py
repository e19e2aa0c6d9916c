"""JSON in marked messages: Cohere's actions, Inkling's tool messages, GigaChat's function calls."""

import pytest

from dialects.parsing import hear
from treadle.core.calls import Written
from treadle.dialects import auto_dialect, get_dialect

AUTO = auto_dialect(strict=False)
COMMAND_3, COMMAND_4, INKLING, GIGACHAT = (
    get_dialect(name) for name in ("cohere_cmd3", "cohere_cmd4", "inkling", "gigachat3_json")
)
LS = [("ls", {"path": "."})]
ACTION = '<|START_ACTION|>[\n {"tool_call_id": "0", "tool_name": "ls", "parameters": {"path": "."}}\n]<|END_ACTION|>'
CALL = '{"name": "ls", "args": {"path": "."}}'
TOOL = "<|content_invoke_tool_json|>"
FUNCTION = '{"name": "ls", "arguments": {"path": "."}}'
SEP = "<|message_sep|>\n\nfunction call<|role_sep|>\n"


@pytest.mark.parametrize("dialect", [COMMAND_3, COMMAND_4, AUTO])
def test_actions_are_calls_and_the_words_come_out_of_their_wrapping(dialect: object) -> None:
    heard = hear(dialect, f"<|START_THINKING|>hm<|END_THINKING|>{ACTION}<|END_OF_TURN_TOKEN|>")
    assert (heard.thinking, heard.made, heard.text) == ("hm", LS, "")
    for kind in ("TEXT", "RESPONSE"):
        heard = hear(dialect, f"<|START_THINKING|>hm<|START_{kind}|>So.<|END_{kind}|>")
        assert (heard.thinking, heard.text) == ("hm", "So.")
        heard = hear(dialect, f"hm<|END_THINKING|><|START_{kind}|>So.<|END_{kind}|>")
        assert (heard.thinking, heard.text) == ("hm", "So.")
    heard = hear(dialect, f"hm<|END_THINKING|>{ACTION}", reasoning_open=True)
    assert (heard.thinking, heard.made) == ("hm", LS)


def test_an_action_that_was_cut_off_is_marked_so() -> None:
    (call,) = hear(COMMAND_4, ACTION[:80]).calls
    assert (call.name, call.cut) == ("ls", True)
    assert hear(COMMAND_4, ACTION[: -len("<|END_ACTION|>")]).made == LS


@pytest.mark.parametrize("dialect", [INKLING, AUTO])
@pytest.mark.parametrize("header", ["", "<|message_model|>", "<|message_model|>ls", "<|message_model|>other"])
def test_a_tool_message_is_a_call(header: str, dialect: object) -> None:
    for end in ("<|end_message|>", "<|content_model_end_sampling|>", ""):
        heard = hear(dialect, header + TOOL + CALL + end)
        assert (heard.made, heard.text) == (LS, "")


def test_other_messages_are_thinking_or_words() -> None:
    text = (
        "<|content_thinking|>hm<|end_message|><|message_model|><|content_text|>I look.<|end_message|>"
        f"<|message_model|>ls{TOOL}{CALL}<|end_message|>"
        "<|message_model|><|content_tool_error|> Oh.<|end_message|><|message_model|> So.<|end_message|>"
    )
    for dialect in (INKLING, AUTO):
        heard = hear(dialect, text)
        assert (heard.thinking, heard.text, heard.made) == ("hm", "I look. Oh.So.", LS)


@pytest.mark.parametrize(
    "text", ["<|message_model|>So.", "<|message_model|>So.<|end_message|>", f"<|message_model|>{'So. ' * 100}"]
)
def test_a_message_that_doesnt_say_its_kind_is_words(text: str) -> None:
    assert hear(INKLING, text).text == text.removeprefix("<|message_model|>").removesuffix("<|end_message|>")


def test_a_message_that_makes_no_sense_is_the_tools_whose_name_is_in_its_header() -> None:
    text = f"{TOOL}{{not json<|end_message|><|message_model|><|content_text|>So.<|end_message|>"
    heard = hear(INKLING, f"<|message_model|>ls{text}")
    assert (heard.calls, heard.text) == ((Written("", "ls", "{not json"),), "So.")
    heard = hear(INKLING, text)
    assert (heard.calls, heard.text) == ((), f"{TOOL}{{not jsonSo.")
    assert hear(INKLING, f"{TOOL}not json<|end_message|>").calls == ()
    assert hear(auto_dialect(strict=True), f"<|message_model|>rm{TOOL}{{not json").calls == ()


def test_a_tool_message_that_was_cut_off_is_marked_so() -> None:
    for header in ("", "<|message_model|>ls"):
        (call,) = hear(INKLING, header + TOOL + CALL[:-4]).calls
        assert (call.name, call.cut) == ("ls", True)
    assert hear(INKLING, f"<|message_model|>ls{TOOL}{{").calls == (Written("", "ls", "{", cut=True),)


def test_the_end_of_a_message_may_be_inside_a_string() -> None:
    text = f'{TOOL}{{"name": "ls", "args": {{"path": "<|end_message|>"}}}}<|end_message|>'
    assert hear(INKLING, text).made == [("ls", {"path": "<|end_message|>"})]


@pytest.mark.parametrize("dialect", [GIGACHAT, AUTO])
@pytest.mark.parametrize("mark", [SEP, "<|function_call|>", "<|function_call|>\n"])
def test_a_function_call_is_a_call(mark: str, dialect: object) -> None:
    for end in ("", "</s>", "\n"):
        heard = hear(dialect, f"I look.{mark}{FUNCTION}{end}")
        assert (heard.made, heard.text) == (LS, "I look.")


@pytest.mark.parametrize("text", ['{"name": "ls"}', '{"name": "ls", "arguments": 3}', "no JSON", '{"name": "ls", "arguments": {}]'])
def test_a_function_call_without_arguments_is_none(text: str) -> None:
    assert [call for call in hear(GIGACHAT, SEP + text).calls if call.text.startswith("{}")] == []


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("So.<|message_sep|>", "So."),
        ("So.<|message_sep|>\n\nassistant<|role_sep|>\nWell.", "So.Well."),
        ("<|message_sep|>So.", "So."),
        ("So.<|message_sep|> Well.<|message_sep|>", "So.Well."),
    ],
)
def test_what_stands_around_messages_is_dropped(text: str, words: str) -> None:
    assert hear(GIGACHAT, text).text == words


def test_a_function_call_that_was_cut_off_is_marked_so() -> None:
    (call,) = hear(GIGACHAT, SEP + FUNCTION[:-4]).calls
    assert (call.name, call.cut) == ("ls", True)

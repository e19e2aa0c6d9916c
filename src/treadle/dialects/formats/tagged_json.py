"""Calls as JSON in a frame, one object each or all in a list: `<tool_call>{"name": …, "arguments": {…}}</tool_call>`.

A member of the family is a row in this module: what opens and closes its frames, and how it spells a call. Bare JSON isn't
here.
"""

from collections.abc import Sequence

from msgspec import Struct

from treadle.core.calls import Call
from treadle.dialects.dialect import TextDialect
from treadle.dialects.forms import (
    CallMatch,
    Form,
    OfferedTools,
    Placement,
    ThinkingFrame,
    take_closer,
    take_frame_end,
    to_json_text,
)
from treadle.dialects.json_calls import CallShape, JsonSpelling, calls_in_cut, calls_in_text, json_lesson
from treadle.dialects.scanner import Markers, Reading, Tape, peek, take_if_next, take_space, take_until, take_value


class JsonFrame(Struct, frozen=True):
    """The frame around the JSON.

    close   what closes it; people type a frame on a line of its own, so there it must be closed, elsewhere it may be
    inner   what may stand between the opening and the JSON
    then    what the JSON may begin with
    place, fences  see `Form`
    """

    open: str
    close: str = ""
    inner: tuple[str, ...] = ()
    then: str = "{["
    place: Placement = "anywhere"
    fences: tuple[str, ...] = ()
    shape: CallShape = "framed"


def json_form(frame: JsonFrame) -> Form:
    """Return the form of calls in this frame."""
    typed = frame.place == "line" and frame.close != ""
    ends = Markers({frame.close or frame.open, frame.open})

    def read(tape: Tape, mark: str, offer: OfferedTools) -> Reading[CallMatch | None]:
        if (yield from _skip_words(tape, frame.inner)) not in {*frame.then}:
            return None
        start = tape.place()
        ending = yield from take_value(tape, tape.take(1))
        raw = tape.held_since(start)
        if ending == "cut":
            return calls_in_cut(raw, offer, frame.shape)
        if ending == "whole" and (yield from (_take_end if typed else _take_optional_end)(tape, frame)):
            return calls_in_text(raw, offer, frame.shape)
        yield from take_until(tape, ends)
        raw = tape.held_since(start)
        if (frame.close and (yield from take_if_next(tape, frame.close))) or not typed:
            return calls_in_text(raw, offer, frame.shape)
        return None

    then = frame.then + "".join(word[0] for word in frame.inner)
    return Form((frame.open,), read, place=frame.place, then=then, close=frame.close, fences=frame.fences)


def _skip_words(tape: Tape, words: tuple[str, ...]) -> Reading[str]:
    """Take those of the words that come next; return the character after them."""
    for word in words:
        yield from take_if_next(tape, word)
        yield from take_space(tape)
    return (yield from peek(tape))


def _take_end(tape: Tape, frame: JsonFrame) -> Reading[bool]:
    yield from take_space(tape)
    return (yield from take_frame_end(tape, frame.open, frame.close))


def _take_optional_end(tape: Tape, frame: JsonFrame) -> Reading[bool]:
    """Take the closing mark, if it is there: the call counts without it."""
    if frame.close:
        yield from take_closer(tape, frame.close)
    return True


HERMES = json_form(JsonFrame("<tool_call>", "</tool_call>", place="line", fences=("", "xml", "tool_call")))
LONGCAT = json_form(JsonFrame("<longcat_tool_call>", "</longcat_tool_call>"))
GRANITE_20B = json_form(JsonFrame("<function_call>", then="{", place="line"))
GRANITE_3 = json_form(JsonFrame("<|tool_call|>"))
INTERNLM = json_form(JsonFrame("<|action_start|>", "<|action_end|>", inner=("<|plugin|>",)))
MISTRAL_LIST = json_form(JsonFrame("[TOOL_CALLS]", "[/TOOL_CALLS]"))
JAMBA = json_form(JsonFrame("<tool_calls>", "</tool_calls>", then="[", place="line", fences=("", "xml")))
FUNCTOOLS = json_form(JsonFrame("functools", then="[", place="line"))
NEMOTRON = json_form(JsonFrame("<TOOLCALL>", "</TOOLCALL>"))
ACTION = json_form(JsonFrame("Action:", "```", inner=("```", "json"), then="[{", place="line"))
APERTUS = json_form(JsonFrame("<|tools_prefix|>", "<|tools_suffix|>", shape="keyed"))
PYTHON_TAG = json_form(JsonFrame("<|python_tag|>", ";", then="{"))
FORMS = (
    HERMES,
    LONGCAT,
    GRANITE_20B,
    GRANITE_3,
    INTERNLM,
    MISTRAL_LIST,
    JAMBA,
    FUNCTOOLS,
    NEMOTRON,
    ACTION,
    APERTUS,
    PYTHON_TAG,
)

_LESSON = """\
To call a tool, write a line like this one, with the tool's name and its arguments as JSON:
<tool_call>{"name": "TOOL", "arguments": {"ARGUMENT": "VALUE"}}</tool_call>
Write one such line for each call, outside of code blocks."""

_TAGS = JsonSpelling("<tool_call>\n", "\n</tool_call>")


def _spell_keyed(calls: Sequence[Call]) -> str:
    listed = to_json_text([{call.name: call.arguments} for call in calls])
    return f"<|tools_prefix|>{listed}<|tools_suffix|>" if calls else ""


def _make_dialect(
    name: str, form: Form, spelling: JsonSpelling, noise: tuple[str, ...] = (), thoughts: tuple[ThinkingFrame, ...] = ()
) -> TextDialect:
    taught = json_lesson(spelling.spell, listed=spelling.listed)
    return TextDialect(name, (form,), taught, spelling.spell, thoughts, noise)


_ACTION_SPELLING = JsonSpelling("Action:\n```json\n", "\n```", listed=True, keys=("tool_name", "parameters"))
_INNER = ThinkingFrame("<|inner_prefix|>", "<|inner_suffix|>", place="anywhere")
_APRIEL = ThinkingFrame("Here are my reasoning steps:", "[BEGIN FINAL RESPONSE]")
_ROWS = (
    TextDialect("hermes_json", (HERMES,), _LESSON, _TAGS.spell),
    TextDialect("hermes_json_granite4", (HERMES,), _LESSON, _TAGS.spell, noise=("<|end_of_text|>",)),
    TextDialect("ernie45_json", (HERMES,), _LESSON, _TAGS.spell, noise=("<response>", "</response>")),
    _make_dialect("longcat_json", LONGCAT, JsonSpelling("<longcat_tool_call>", "</longcat_tool_call>")),
    _make_dialect("granite20b_json", GRANITE_20B, JsonSpelling("<function_call> "), ("</function_call>", "<|endoftext|>")),
    _make_dialect(
        "internlm2_json",
        INTERNLM,
        JsonSpelling("<|action_start|> <|plugin|>\n", "<|action_end|>", keys=("name", "parameters")),
        ("<|action_end|>", "<|im_end|>"),
    ),
    _make_dialect(
        "tool_calls_json_array",
        JAMBA,
        JsonSpelling("<tool_calls>", "</tool_calls>", listed=True),
        ("<answer>", "</answer>", "[END FINAL RESPONSE]", "<|end|>"),
        (_APRIEL,),
    ),
    _make_dialect("phi4mini_json", FUNCTOOLS, JsonSpelling("functools", listed=True)),
    _make_dialect("firefunction", FUNCTOOLS, JsonSpelling(" functools", listed=True)),
    _make_dialect("nemotron_v2_toolcall", NEMOTRON, JsonSpelling("<TOOLCALL>", "</TOOLCALL>", listed=True)),
    _make_dialect("cohere_r_plus_action", ACTION, _ACTION_SPELLING, ("<|END_OF_TURN_TOKEN|>",)),
    TextDialect("apertus_json", (APERTUS,), json_lesson(_spell_keyed, listed=True), _spell_keyed, (_INNER,)),
    TextDialect(
        "granite3_json",
        (GRANITE_3, HERMES),
        json_lesson(JsonSpelling("<|tool_call|>", listed=True).spell, listed=True),
        JsonSpelling("<|tool_call|>", listed=True).spell,
        noise=("<|end_of_text|>",),
    ),
)
DIALECTS = {row.name: row for row in _ROWS}

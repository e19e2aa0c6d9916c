"""Calls as JSON in a frame, one object each or all in a list: `<tool_call>{"name": …, "arguments": {…}}</tool_call>`.

A member of the family is a row here: what opens and closes its frames, and how it spells a call. Bare JSON isn't here.
"""

from collections.abc import Sequence

from msgspec import Struct

from treadle.core.calls import Call
from treadle.dialects.dialect import TextDialect
from treadle.dialects.extent import take_value
from treadle.dialects.forms import Form, Found, Offer, Place, Thought, closed, json_text, shut
from treadle.dialects.scan import Markers, Reading, Tape, peek, space, took, until
from treadle.dialects.shapes import Shape, calls_in_cut, calls_in_text
from treadle.dialects.spelling import Spelling, lesson


class Frame(Struct, frozen=True):
    """What stands around the JSON.

    close   what closes it; people type what stands on a line of its own, so there it has to be closed, elsewhere it may be
    inner   what may stand between the opening and the JSON
    then    what the JSON may begin with
    place, fences  see `Form`
    """

    open: str
    close: str = ""
    inner: tuple[str, ...] = ()
    then: str = "{["
    place: Place = "anywhere"
    fences: tuple[str, ...] = ()
    shape: Shape = "framed"


def form_of(frame: Frame) -> Form:
    """The form of call in this frame."""
    typed = frame.place == "line" and frame.close != ""
    ends = Markers({frame.close or frame.open, frame.open})

    def read(tape: Tape, mark: str, offer: Offer) -> Reading[Found | None]:
        if (yield from _beyond(tape, frame.inner)) not in {*frame.then}:
            return None
        start = tape.place()
        ending = yield from take_value(tape, tape.take(1))
        raw = tape.since(start)
        if ending == "cut":
            return calls_in_cut(raw, offer, frame.shape)
        if ending == "whole" and (yield from (_closed if typed else _left)(tape, frame)):
            return calls_in_text(raw, offer, frame.shape)
        yield from until(tape, ends)
        raw = tape.since(start)
        if (frame.close and (yield from took(tape, frame.close))) or not typed:
            return calls_in_text(raw, offer, frame.shape)
        return None

    then = frame.then + "".join(word[0] for word in frame.inner)
    return Form((frame.open,), read, place=frame.place, then=then, close=frame.close, fences=frame.fences)


def _beyond(tape: Tape, words: tuple[str, ...]) -> Reading[str]:
    """Takes those of the words that come next; the character after them."""
    for word in words:
        yield from took(tape, word)
        yield from space(tape)
    return (yield from peek(tape))


def _closed(tape: Tape, frame: Frame) -> Reading[bool]:
    yield from space(tape)
    return (yield from closed(tape, frame.open, frame.close))


def _left(tape: Tape, frame: Frame) -> Reading[bool]:
    """Takes the closing, if it is there: the call counts without it."""
    if frame.close:
        yield from shut(tape, frame.close)
    return True


HERMES = form_of(Frame("<tool_call>", "</tool_call>", place="line", fences=("", "xml", "tool_call")))
LONGCAT = form_of(Frame("<longcat_tool_call>", "</longcat_tool_call>"))
GRANITE_20B = form_of(Frame("<function_call>", then="{", place="line"))
GRANITE_3 = form_of(Frame("<|tool_call|>"))
INTERNLM = form_of(Frame("<|action_start|>", "<|action_end|>", inner=("<|plugin|>",)))
MISTRAL_LIST = form_of(Frame("[TOOL_CALLS]", "[/TOOL_CALLS]"))
JAMBA = form_of(Frame("<tool_calls>", "</tool_calls>", then="[", place="line", fences=("", "xml")))
FUNCTOOLS = form_of(Frame("functools", then="[", place="line"))
NEMOTRON = form_of(Frame("<TOOLCALL>", "</TOOLCALL>"))
ACTION = form_of(Frame("Action:", "```", inner=("```", "json"), then="[{", place="line"))
APERTUS = form_of(Frame("<|tools_prefix|>", "<|tools_suffix|>", shape="keyed"))
PYTHON_TAG = form_of(Frame("<|python_tag|>", ";", then="{"))
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

_TAGS = Spelling("<tool_call>\n", "\n</tool_call>")


def _keyed(calls: Sequence[Call]) -> str:
    listed = json_text([{call.name: call.arguments} for call in calls])
    return f"<|tools_prefix|>{listed}<|tools_suffix|>" if calls else ""


def _dialect(
    name: str, form: Form, spelling: Spelling, noise: tuple[str, ...] = (), thoughts: tuple[Thought, ...] = ()
) -> TextDialect:
    taught = lesson(spelling.spell, listed=spelling.listed)
    return TextDialect(name, (form,), taught, spelling.spell, thoughts, noise)


_ACTION_SPELLING = Spelling("Action:\n```json\n", "\n```", listed=True, keys=("tool_name", "parameters"))
_INNER = Thought("<|inner_prefix|>", "<|inner_suffix|>", place="anywhere")
_APRIEL = Thought("Here are my reasoning steps:", "[BEGIN FINAL RESPONSE]")
_ROWS = (
    TextDialect("hermes_json", (HERMES,), _LESSON, _TAGS.spell),
    TextDialect("hermes_json_granite4", (HERMES,), _LESSON, _TAGS.spell, noise=("<|end_of_text|>",)),
    TextDialect("ernie45_json", (HERMES,), _LESSON, _TAGS.spell, noise=("<response>", "</response>")),
    _dialect("longcat_json", LONGCAT, Spelling("<longcat_tool_call>", "</longcat_tool_call>")),
    _dialect("granite20b_json", GRANITE_20B, Spelling("<function_call> "), ("</function_call>", "<|endoftext|>")),
    _dialect(
        "internlm2_json",
        INTERNLM,
        Spelling("<|action_start|> <|plugin|>\n", "<|action_end|>", keys=("name", "parameters")),
        ("<|action_end|>", "<|im_end|>"),
    ),
    _dialect(
        "tool_calls_json_array",
        JAMBA,
        Spelling("<tool_calls>", "</tool_calls>", listed=True),
        ("<answer>", "</answer>", "[END FINAL RESPONSE]", "<|end|>"),
        (_APRIEL,),
    ),
    _dialect("phi4mini_json", FUNCTOOLS, Spelling("functools", listed=True)),
    _dialect("firefunction", FUNCTOOLS, Spelling(" functools", listed=True)),
    _dialect("nemotron_v2_toolcall", NEMOTRON, Spelling("<TOOLCALL>", "</TOOLCALL>", listed=True)),
    _dialect("cohere_r_plus_action", ACTION, _ACTION_SPELLING, ("<|END_OF_TURN_TOKEN|>",)),
    TextDialect("apertus_json", (APERTUS,), lesson(_keyed, listed=True), _keyed, (_INNER,)),
    TextDialect(
        "granite3_json",
        (GRANITE_3, HERMES),
        lesson(Spelling("<|tool_call|>", listed=True).spell, listed=True),
        Spelling("<|tool_call|>", listed=True).spell,
        noise=("<|end_of_text|>",),
    ),
)
DIALECTS = {row.name: row for row in _ROWS}

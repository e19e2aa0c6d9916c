"""The families that tag parameters one by one. A member is a row: its tags, their layout, and its other marks."""

from msgspec.structs import replace

from treadle.dialects.dialect import TextDialect
from treadle.dialects.formats.bare_json import BARE
from treadle.dialects.forms import FencedForm, Form, ThinkingFrame
from treadle.dialects.parameters import ParameterTags
from treadle.dialects.tagged_calls import TaggedCallReader, TagSpelling, tag_lesson

_TOOL_CALL = ("<tool_call>", "</tool_call>")
_SEED_CALL = ("<seed:tool_call>", "</seed:tool_call>")
_MINIMAX_CALL = ("<minimax:tool_call>", "</minimax:tool_call>")
_DOTS_CALL = ("<dots_function_call>", "</dots_function_call>")
_STEP_CALLS = ("<\uff5ctool_calls_begin\uff5c>", "<\uff5ctool_calls_end\uff5c>")
_STEP_CALL = ("<\uff5ctool_call_begin\uff5c>", "<\uff5ctool_call_end\uff5c>", "<\uff5ctool_sep\uff5c>")

_FUNCTION = ParameterTags(
    ("<function=",), "</function>", ("<parameter=",), "</parameter>", (_TOOL_CALL,), naming="plain", layout="lines"
)
_SEED = replace(_FUNCTION, wraps=(_SEED_CALL,))
_INVOKE = ParameterTags(
    ("<invoke name=",), "</invoke>", ("<parameter name=",), "</parameter>", (_MINIMAX_CALL, _DOTS_CALL), declared=True
)


def _prefixed_tags(prefix: str, *wraps: str) -> ParameterTags:
    """Return the tags of invocations that all have the same prefix."""
    return ParameterTags(
        (f"<{prefix}invoke name=",),
        f"</{prefix}invoke>",
        (f"<{prefix}parameter name=",),
        f"</{prefix}parameter>",
        tuple((f"<{prefix}{wrap}>", f"</{prefix}{wrap}>") for wrap in wraps),
        place="anywhere",
    )


def _paired_tags(suffix: str = "") -> ParameterTags:
    """Return tags for names and values in pairs that all have the same suffix."""
    tag = {word: (f"<{word}{suffix}>", f"</{word}{suffix}>") for word in ("tool_call", "arg_key", "arg_value", "tool_calls")}
    return ParameterTags(
        tag["tool_call"][:1],
        tag["tool_call"][1],
        tag["arg_key"][:1],
        tag["arg_value"][1],
        (tag["tool_calls"],),
        naming="pair",
        pair=(tag["arg_key"][1], tag["arg_value"][0], f"<tool_sep{suffix}>"),
    )


_DSML = _prefixed_tags("\uff5cDSML\uff5c", "tool_calls", "function_calls")
_STEP = replace(_prefixed_tags("steptml:"), wraps=(_STEP_CALLS,), between=(f"function{_STEP_CALL[2]}", *_STEP_CALL))
_PARAM = ParameterTags(
    ("<function name=", "<functionname=", "<function\u0120name="),
    "</function>",
    ("<param name=", "<paramname=", "<param\u0120name="),
    "</param>",
    layout="all",
    cdata=True,
    declared=True,
)
_GLM = replace(_paired_tags(), quoted=True)
_HUNYUAN = replace(_paired_tags(), declared=True)
_OPEN_HUNYUAN = replace(_paired_tags(":opensource"), declared=True, place="anywhere")
_POOLSIDE = replace(_paired_tags(), declared=True, shut=True)
_USER = replace(_POOLSIDE, opens=("<user>",), close="</user>", wraps=())

_FUNCTIONS, _PAIRS = TaggedCallReader(_FUNCTION), TaggedCallReader(_GLM)
_OPEN_PAIRS = TaggedCallReader(_OPEN_HUNYUAN).forms()
SEED = TaggedCallReader(_SEED).forms()
INVOKE = TaggedCallReader(_INVOKE).forms()
DSML = TaggedCallReader(_DSML).forms()
STEP = TaggedCallReader(_STEP).forms()
PARAM = TaggedCallReader(_PARAM).forms()
FORMS = (*_FUNCTIONS.forms("line", "<"), *SEED, *INVOKE, *DSML, *STEP, *PARAM, *_OPEN_PAIRS, *_PAIRS.forms("line", "<"))

_FUNCTION_FORMS, _GLM_FORMS = _FUNCTIONS.forms("line"), _PAIRS.forms("line")
_HUNYUAN_FORMS = (*TaggedCallReader(_HUNYUAN).forms("line"), *_OPEN_PAIRS)
_POOLSIDE_FORMS = (*TaggedCallReader(_POOLSIDE).forms("line"), *TaggedCallReader(_USER).forms(), BARE)

_IM_END = ("<|im_end|>", "<|endoftext|>")
_GLM_NOISE = ("<|observation|>", "<|user|>", "<|endoftext|>")
_SENTENCE_END = ("<\uff5cend\u2581of\u2581sentence\uff5c>",)
_SEED_THINK = ThinkingFrame("<seed:think>", "</seed:think>", place="anywhere")
_DSML_THINK = ThinkingFrame("<think>", "</think>", ends=tuple(mark for mark, _ in _DSML.wraps))


def _make_dialect(
    name: str,
    forms: tuple[Form | FencedForm, ...],
    spelling: TagSpelling,
    noise: tuple[str, ...] = (),
    thoughts: tuple[ThinkingFrame, ...] = (),
) -> TextDialect:
    return TextDialect(name, forms, tag_lesson(spelling.spell), spelling.spell, thoughts, noise)


_QWEN = TagSpelling(_FUNCTION, _TOOL_CALL, each=True, inset="\n")
_ROWS = (
    _make_dialect("qwen3_xml", _FUNCTION_FORMS, _QWEN, _IM_END),
    _make_dialect("qwen3_xml_step3p5", _FUNCTION_FORMS, _QWEN, _IM_END),
    _make_dialect("seed_oss_xml", SEED, TagSpelling(_SEED, _SEED_CALL, each=True), ("<seed:eos>",), (_SEED_THINK,)),
    _make_dialect("glm45_xml", _GLM_FORMS, TagSpelling(_GLM), _GLM_NOISE),
    _make_dialect("glm47_xml", _GLM_FORMS, TagSpelling(_GLM, line=""), _GLM_NOISE),
    _make_dialect("ling3_xml", _GLM_FORMS, TagSpelling(_GLM, line="")),
    _make_dialect("poolside_xml", _POOLSIDE_FORMS, TagSpelling(_POOLSIDE)),
    _make_dialect("hunyuan_v3_xml", _HUNYUAN_FORMS, TagSpelling(_HUNYUAN, _HUNYUAN.wraps[0])),
    _make_dialect("minimax_m2_xml", INVOKE, TagSpelling(_INVOKE, _MINIMAX_CALL), ("[e~[",)),
    _make_dialect("deepseek_v32_dsml", DSML, TagSpelling(_DSML, _DSML.wraps[1], typed=True), _SENTENCE_END, (_DSML_THINK,)),
    _make_dialect("deepseek_v4_dsml", DSML, TagSpelling(_DSML, _DSML.wraps[0], typed=True), _SENTENCE_END, (_DSML_THINK,)),
    _make_dialect("step3_steptml", STEP, TagSpelling(_STEP, _STEP_CALLS, line="")),
    _make_dialect("dots_xml", INVOKE, TagSpelling(_INVOKE, _DOTS_CALL, line=""), _DOTS_CALL[1:]),
    _make_dialect("minicpm5_xml", PARAM, TagSpelling(_PARAM, line="")),
)
DIALECTS = {row.name: row for row in _ROWS}

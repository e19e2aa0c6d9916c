"""The families that tag parameters one by one. A member is a row: its tags, how they are laid out, what else it is known by."""

from msgspec.structs import replace

from treadle.dialects.bare_json import BARE
from treadle.dialects.dialect import TextDialect
from treadle.dialects.forms import Block, Form, Thought
from treadle.dialects.parameters import Tags
from treadle.dialects.tag_spelling import TagSpelling, lesson
from treadle.dialects.tagged_calls import CallReader

_TOOL_CALL = ("<tool_call>", "</tool_call>")
_SEED_CALL = ("<seed:tool_call>", "</seed:tool_call>")
_MINIMAX_CALL = ("<minimax:tool_call>", "</minimax:tool_call>")
_DOTS_CALL = ("<dots_function_call>", "</dots_function_call>")
_STEP_CALLS = ("<\uff5ctool_calls_begin\uff5c>", "<\uff5ctool_calls_end\uff5c>")
_STEP_CALL = ("<\uff5ctool_call_begin\uff5c>", "<\uff5ctool_call_end\uff5c>", "<\uff5ctool_sep\uff5c>")

_FUNCTION = Tags(("<function=",), "</function>", ("<parameter=",), "</parameter>", (_TOOL_CALL,), naming="plain", layout="lines")
_SEED = replace(_FUNCTION, wraps=(_SEED_CALL,))
_INVOKE = Tags(("<invoke name=",), "</invoke>", ("<parameter name=",), "</parameter>", (_MINIMAX_CALL, _DOTS_CALL), declared=True)


def _marked(prefix: str, *wraps: str) -> Tags:
    """Invocations whose tags all have the same beginning."""
    return Tags(
        (f"<{prefix}invoke name=",),
        f"</{prefix}invoke>",
        (f"<{prefix}parameter name=",),
        f"</{prefix}parameter>",
        tuple((f"<{prefix}{wrap}>", f"</{prefix}{wrap}>") for wrap in wraps),
        place="anywhere",
    )


def _paired(suffix: str = "") -> Tags:
    """Names and values in pairs of tags that all have the same ending."""
    tag = {word: (f"<{word}{suffix}>", f"</{word}{suffix}>") for word in ("tool_call", "arg_key", "arg_value", "tool_calls")}
    return Tags(
        tag["tool_call"][:1],
        tag["tool_call"][1],
        tag["arg_key"][:1],
        tag["arg_value"][1],
        (tag["tool_calls"],),
        naming="pair",
        pair=(tag["arg_key"][1], tag["arg_value"][0], f"<tool_sep{suffix}>"),
    )


_DSML = _marked("\uff5cDSML\uff5c", "tool_calls", "function_calls")
_STEP = replace(_marked("steptml:"), wraps=(_STEP_CALLS,), between=(f"function{_STEP_CALL[2]}", *_STEP_CALL))
_PARAM = Tags(
    ("<function name=", "<functionname=", "<function\u0120name="),
    "</function>",
    ("<param name=", "<paramname=", "<param\u0120name="),
    "</param>",
    layout="all",
    cdata=True,
    declared=True,
)
_GLM = replace(_paired(), quoted=True)
_HUNYUAN = replace(_paired(), declared=True)
_OPEN_HUNYUAN = replace(_paired(":opensource"), declared=True, place="anywhere")
_POOLSIDE = replace(_paired(), declared=True, shut=True)
_USER = replace(_POOLSIDE, opens=("<user>",), close="</user>", wraps=())

_FUNCTIONS, _PAIRS = CallReader(_FUNCTION), CallReader(_GLM)
_OPEN_PAIRS = CallReader(_OPEN_HUNYUAN).forms()
SEED = CallReader(_SEED).forms()
INVOKE = CallReader(_INVOKE).forms()
DSML = CallReader(_DSML).forms()
STEP = CallReader(_STEP).forms()
PARAM = CallReader(_PARAM).forms()
FORMS = (*_FUNCTIONS.forms("line", "<"), *SEED, *INVOKE, *DSML, *STEP, *PARAM, *_OPEN_PAIRS, *_PAIRS.forms("line", "<"))

_FUNCTION_FORMS, _GLM_FORMS = _FUNCTIONS.forms("line"), _PAIRS.forms("line")
_HUNYUAN_FORMS = (*CallReader(_HUNYUAN).forms("line"), *_OPEN_PAIRS)
_POOLSIDE_FORMS = (*CallReader(_POOLSIDE).forms("line"), *CallReader(_USER).forms(), BARE)

_IM_END = ("<|im_end|>", "<|endoftext|>")
_GLM_NOISE = ("<|observation|>", "<|user|>", "<|endoftext|>")
_SENTENCE_END = ("<\uff5cend\u2581of\u2581sentence\uff5c>",)
_SEED_THINK = Thought("<seed:think>", "</seed:think>", place="anywhere")
_DSML_THINK = Thought("<think>", "</think>", ends=tuple(mark for mark, _ in _DSML.wraps))


def _dialect(
    name: str,
    forms: tuple[Form | Block, ...],
    spelling: TagSpelling,
    noise: tuple[str, ...] = (),
    thoughts: tuple[Thought, ...] = (),
) -> TextDialect:
    return TextDialect(name, forms, lesson(spelling.spell), spelling.spell, thoughts, noise)


_QWEN = TagSpelling(_FUNCTION, _TOOL_CALL, each=True, inset="\n")
_ROWS = (
    _dialect("qwen3_xml", _FUNCTION_FORMS, _QWEN, _IM_END),
    _dialect("qwen3_xml_step3p5", _FUNCTION_FORMS, _QWEN, _IM_END),
    _dialect("seed_oss_xml", SEED, TagSpelling(_SEED, _SEED_CALL, each=True), ("<seed:eos>",), (_SEED_THINK,)),
    _dialect("glm45_xml", _GLM_FORMS, TagSpelling(_GLM), _GLM_NOISE),
    _dialect("glm47_xml", _GLM_FORMS, TagSpelling(_GLM, line=""), _GLM_NOISE),
    _dialect("ling3_xml", _GLM_FORMS, TagSpelling(_GLM, line="")),
    _dialect("poolside_xml", _POOLSIDE_FORMS, TagSpelling(_POOLSIDE)),
    _dialect("hunyuan_v3_xml", _HUNYUAN_FORMS, TagSpelling(_HUNYUAN, _HUNYUAN.wraps[0])),
    _dialect("minimax_m2_xml", INVOKE, TagSpelling(_INVOKE, _MINIMAX_CALL), ("[e~[",)),
    _dialect("deepseek_v32_dsml", DSML, TagSpelling(_DSML, _DSML.wraps[1], typed=True), _SENTENCE_END, (_DSML_THINK,)),
    _dialect("deepseek_v4_dsml", DSML, TagSpelling(_DSML, _DSML.wraps[0], typed=True), _SENTENCE_END, (_DSML_THINK,)),
    _dialect("step3_steptml", STEP, TagSpelling(_STEP, _STEP_CALLS, line="")),
    _dialect("dots_xml", INVOKE, TagSpelling(_INVOKE, _DOTS_CALL, line=""), _DOTS_CALL[1:]),
    _dialect("minicpm5_xml", PARAM, TagSpelling(_PARAM, line="")),
)
DIALECTS = {row.name: row for row in _ROWS}

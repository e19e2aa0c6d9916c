"""What is known about model families: how they write calls, by model name or by chat template. Values only.

The first matching row counts. The results of a probe take precedence over it.
"""

import re

from treadle.core.requests import Traits

SMALL_MODEL_SIZE = 4.0  # billions of parameters; up to here, models do better with a tool for each action

_DIALECTS_BY_NAME: tuple[tuple[str, str], ...] = (
    (r"qwen-?3[.-]?5|qwen-?3-?coder|qwen3-?next|nemotron-?3|mimo-v2", "qwen3_xml"),
    (r"functiongemma", "functiongemma"),
    (r"gemma-?4", "gemma4"),
    (r"gpt-?oss", "harmony"),
    (r"deepseek-?v?4", "deepseek_v4_dsml"),
    (r"deepseek-?v?3\.2", "deepseek_v32_dsml"),
    (r"deepseek-?v?3\.1", "deepseek_v31"),
    (r"deepseek-?(v3|r1)|cogito", "deepseek_v3"),
    (r"glm-?(4\.7|5)", "glm47_xml"),
    (r"glm-?4", "glm45_xml"),
    (r"kimi-?k3", "kimi_k3_xtml"),
    (r"kimi", "kimi_k2"),
    (r"minimax-?m3", "minimax_m3_xml"),
    (r"minimax", "minimax_m2_xml"),
    (r"llama-?4", "pythonic_llama4"),
    (r"llama-?3", "llama3_json"),
    (r"toolace", "pythonic"),
    (r"lfm-?2", "lfm2_pythonic"),
    (r"olmo-?3", "olmo3_pythonic"),
    (r"mistral|mixtral|devstral|magistral|ministral|codestral", "mistral"),
    (r"granite-?4", "hermes_json_granite4"),
    (r"granite-?20b", "granite20b_json"),
    (r"granite", "granite3_json"),
    (r"phi-?4-?mini", "phi4mini_json"),
    (r"firefunction", "firefunction"),
    (r"functionary.*3\.2", "functionary_v32"),
    (r"functionary", "functionary_v31"),
    (r"command-?a|command-?r7b", "cohere_cmd3"),
    (r"command-?r", "cohere_r_plus_action"),
    (r"nemotron-?nano", "nemotron_v2_toolcall"),
    (r"jamba|hunyuan-?a13b|apriel", "tool_calls_json_array"),
    (r"hunyuan|hy3", "hunyuan_v3_xml"),
    (r"seed-?oss", "seed_oss_xml"),
    (r"step-?3\.5", "qwen3_xml_step3p5"),
    (r"step-?3", "step3_steptml"),
    (r"ernie", "ernie45_json"),
    (r"intern(lm|-s1)", "internlm2_json"),
    (r"apertus", "apertus_json"),
    (r"xlam", "xlam_json"),
    (r"longcat", "longcat_json"),
    (r"gigachat", "gigachat3_json"),
    (r"minicpm", "minicpm5_xml"),
    (r"ling-?3|\bring\b", "ling3_xml"),
    (r"qwen2\.5-?coder", "json"),  # it was taught another form, and writes this one
    (r"qwen|qwq|hermes|smollm3", "hermes_json"),
)
_BY_NAME = tuple((re.compile(pattern), dialect) for pattern, dialect in _DIALECTS_BY_NAME)

_DIALECTS_BY_TEMPLATE: tuple[tuple[str, str], ...] = (
    ("<|channel|>", "harmony"),
    ("]<]minimax[>[", "minimax_m3_xml"),
    ("<minimax:tool_call>", "minimax_m2_xml"),
    ("<seed:tool_call>", "seed_oss_xml"),
    ("｜DSML｜tool_calls", "deepseek_v4_dsml"),
    ("｜DSML｜", "deepseek_v32_dsml"),
    ("<steptml:invoke", "step3_steptml"),
    ("function<｜tool▁sep｜>", "deepseek_v3"),
    ("<｜tool▁calls▁begin｜>", "deepseek_v31"),
    ("<|tool_calls_section_begin|>", "kimi_k2"),
    ("<|tool_call_start|>", "lfm2_pythonic"),
    ("<start_function_call>", "functiongemma"),
    ('<|"|>', "gemma4"),
    ("<tool_sep>", "hunyuan_v3_xml"),
    ("<arg_key>", "glm45_xml"),
    ("<longcat_tool_call>", "longcat_json"),
    ("<|START_ACTION|>", "cohere_cmd3"),
    ("<|tools_prefix|>", "apertus_json"),
    ("<|action_start|>", "internlm2_json"),
    ("[TOOL_CALLS]", "mistral"),
    ("<TOOLCALL>", "nemotron_v2_toolcall"),
    ("functools[", "firefunction"),
    ("<function_calls>", "olmo3_pythonic"),
    (">>>all", "functionary_v32"),
    ("<function=", "qwen3_xml"),
    ("<tool_calls>", "tool_calls_json_array"),
    ("<tool_call>", "hermes_json"),
    ("<|python_start|>", "pythonic_llama4"),
    ("<|python_tag|>", "llama3_json"),
)
_SIZE = re.compile(r"(?<![a-z0-9.])(\d+(?:\.\d+)?)([bm])(?![a-z])")


def traits_of(name: str, template: str = "") -> Traits:
    """Return the traits of a model by its name, and by its server's chat template if that could be read."""
    lowered = name.lower()
    return Traits(dialect=_dialect_by_name(lowered) or _dialect_by_template(template) or "auto", flat=_is_small(lowered))


def _dialect_by_name(name: str) -> str:
    return next((dialect for pattern, dialect in _BY_NAME if pattern.search(name)), "")


def _dialect_by_template(template: str) -> str:
    return next((dialect for mark, dialect in _DIALECTS_BY_TEMPLATE if mark in template), "")


def _is_small(name: str) -> bool:
    size = _SIZE.search(name)
    if size is None:
        return False
    return float(size.group(1)) * (1.0 if size.group(2) == "b" else 0.001) <= SMALL_MODEL_SIZE

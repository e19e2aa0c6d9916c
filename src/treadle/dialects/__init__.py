"""Dialects: how models write tool calls as text, and how lenient JSON becomes JSON. Pure, and linear in the input.

Read `forms` first, then `reply_parser`. A grammar family is a module in `formats` with a `DIALECTS` table, loaded when one of
its names is requested.
"""

from importlib import import_module
from typing import TYPE_CHECKING

from treadle.core.errors import SettingsError
from treadle.core.seams import Dialect
from treadle.lazy import lazy_exports

if TYPE_CHECKING:
    from treadle.dialects.dialect import TextDialect
    from treadle.dialects.formats.tagged_json import JsonFrame, json_form
    from treadle.dialects.json_calls import JsonSpelling, json_lesson

_HOMES = {
    "JsonFrame": "treadle.dialects.formats.tagged_json",
    "JsonSpelling": "treadle.dialects.json_calls",
    "TextDialect": "treadle.dialects.dialect",
    "json_form": "treadle.dialects.formats.tagged_json",
    "json_lesson": "treadle.dialects.json_calls",
}

__all__ = [
    "Dialect",
    "JsonFrame",
    "JsonSpelling",
    "TextDialect",
    "auto_dialect",
    "dialect_names",
    "find_dialect",
    "get_dialect",
    "json_form",
    "json_lesson",
]

_MODULES = {
    "apertus_json": "tagged_json",
    "auto": "auto",
    "bare_json": "bare_json",
    "cohere_cmd3": "messages",
    "cohere_cmd4": "messages",
    "cohere_r_plus_action": "tagged_json",
    "deepseek_v3": "named_json",
    "deepseek_v31": "named_json",
    "deepseek_v32_dsml": "parameter_tags",
    "deepseek_v4_dsml": "parameter_tags",
    "dots_xml": "parameter_tags",
    "ernie45_json": "tagged_json",
    "firefunction": "tagged_json",
    "functionary_v31": "named_json",
    "functionary_v32": "named_json",
    "functiongemma": "braces",
    "gemma4": "braces",
    "gigachat3_json": "messages",
    "glm45_xml": "parameter_tags",
    "glm47_xml": "parameter_tags",
    "granite20b_json": "tagged_json",
    "granite3_json": "tagged_json",
    "harmony": "channels",
    "hermes_json": "tagged_json",
    "hermes_json_granite4": "tagged_json",
    "hunyuan_v3_xml": "parameter_tags",
    "inkling": "messages",
    "internlm2_json": "tagged_json",
    "json_array": "bare_json",
    "kimi_k2": "named_json",
    "kimi_k3_xtml": "xtml",
    "lfm2_pythonic": "pythonic",
    "ling3_xml": "parameter_tags",
    "llama3_json": "bare_json",
    "longcat_json": "tagged_json",
    "minicpm5_xml": "parameter_tags",
    "minimax_m2_xml": "parameter_tags",
    "minimax_m3_xml": "nested_parameters",
    "mistral": "named_json",
    "muse_glimmer_atem": "channels",
    "nemotron_v2_toolcall": "tagged_json",
    "olmo3_pythonic": "pythonic",
    "own_bash_fence": "commands",
    "own_json_thoughts": "bare_json",
    "own_xml_tool_use": "tool_use",
    "phi4mini_json": "tagged_json",
    "poolside_xml": "parameter_tags",
    "pythonic": "pythonic",
    "pythonic_llama4": "pythonic",
    "qwen3_xml": "parameter_tags",
    "qwen3_xml_step3p5": "parameter_tags",
    "seed_oss_xml": "parameter_tags",
    "step3_steptml": "parameter_tags",
    "tool_calls_json_array": "tagged_json",
    "xlam_json": "bare_json",
}
_ALIASES = {
    "bash": "own_bash_fence",
    "hermes": "hermes_json",
    "json": "own_json_thoughts",
    "xml": "own_xml_tool_use",
}


def dialect_names(*, aliases: bool = False) -> list[str]:
    """Return the names of all dialects; with `aliases`, also the short ones of some."""
    return sorted([*_MODULES, *_ALIASES] if aliases else _MODULES)


def find_dialect(name: str) -> Dialect | None:
    """Return the dialect by its name or alias; None if there is none."""
    name = _ALIASES.get(name, name)
    return import_module(f"treadle.dialects.formats.{_MODULES[name]}").DIALECTS[name] if name in _MODULES else None


def get_dialect(name: str) -> Dialect:
    """Return the dialect by its name or alias; raise `SettingsError` for an unknown name."""
    dialect = find_dialect(name)
    if dialect is None:
        raise SettingsError(f"There is no dialect {name!r}; choose one of {', '.join(dialect_names())}.")
    return dialect


def auto_dialect(*, strict: bool) -> Dialect:
    """Return the dialect that reads all forms.

    `strict` is for models with native calling that may write a call as text all the same.
    """
    return import_module("treadle.dialects.fallback").FallbackDialect() if strict else get_dialect("auto")


__getattr__, __dir__ = lazy_exports(__name__, _HOMES, __all__)

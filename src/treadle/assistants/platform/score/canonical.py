"""Specs in canonical form, whatever their origin: a file, a model's answer, or the server, whose field names begin in upper case.

What the server doesn't store is left out, so that a difference is one in what would run. In an answer, the first YAML fence is the
spec, or the whole text if that is one.
"""

import re
from collections.abc import Iterator, Mapping, Sequence
from difflib import unified_diff
from functools import cache
from operator import itemgetter
from typing import TYPE_CHECKING, Any, cast

from msgspec import Struct

from treadle.assistants.platform.score.check import check_spec
from treadle.assistants.platform.score.spec import API_VERSION, BadSpec, ScoreSpec, SpecEnvironment
from treadle.assistants.platform.score.yaml_tree import YamlMapping, parse_yaml

if TYPE_CHECKING:
    from yaml import SafeDumper

SpecLike = ScoreSpec | Mapping[str, Any] | str
_OPENING = re.compile(r"(?P<indent>[ \t]*)(?P<fence>`{3,}|~{3,})[ \t]*(?P<language>[^\s`{]*)[^`]*")
_YAML = ("yaml", "yml")


def canonical_spec(value: SpecLike) -> str:
    """Return a spec as canonical YAML. Raises `BadSpec` for a text that isn't a YAML mapping."""
    import yaml

    return yaml.dump(
        _ordered_mapping(value), Dumper=_build_dumper(), sort_keys=False, default_flow_style=False, allow_unicode=True, width=10_000
    )


def diff_specs(old: SpecLike | None, new: SpecLike | None, old_name: str = "running", new_name: str = "new") -> str:
    """Return a unified diff of two specs; empty if they are equal. None is no spec at all."""
    before, after = (("" if each is None else canonical_spec(each)).splitlines(keepends=True) for each in (old, new))
    return "".join(unified_diff(before, after, old_name, new_name))


def spec_from_server(app_json: Mapping[str, Any]) -> dict[str, Any]:
    """Return the spec in a server's application JSON. Field names may be in any case; other fields are dropped."""
    metadata, environment = _mapping_field(app_json, "metadata"), _mapping_field(app_json, "environment")
    spec = {
        "apiVersion": API_VERSION,
        "metadata": {"name": _to_string(_find_field(metadata, "name"))},
        "containers": {name: _container(each) for name, each in _sorted_items(app_json, "containers")},
        "resources": {name: _resource(each) for name, each in _sorted_items(app_json, "resources")},
        "environment": _drop_empty({key: _to_string(_find_field(environment, key)) for key in ("type", "ttl")}),
        "workflows": {name: _sort_keys(each) for name, each in _sorted_items(app_json, "workflows")},
    }
    return _drop_empty(spec)


def spec_to_mapping(spec: ScoreSpec) -> dict[str, Any]:
    """Return a spec as it would be written."""
    environment = spec.environment or SpecEnvironment()
    return {
        "metadata": {"name": spec.name},
        "containers": {name: {"image": each.image, "variables": each.variables} for name, each in spec.containers.items()},
        "resources": {
            name: {"type": each.type, "params": each.params, "properties": each.properties} for name, each in spec.resources.items()
        },
        "environment": {"type": environment.type, "ttl": environment.ttl},
        "workflows": spec.workflows,
    }


def _ordered_mapping(value: SpecLike) -> dict[str, Any]:
    match value:
        case ScoreSpec():
            return spec_from_server(spec_to_mapping(value))
        case str():
            checked = check_spec(value)
            if checked.spec is None:
                raise BadSpec(checked.errors)
            return spec_from_server(_written_mapping(value, checked.spec))
        case _:
            return spec_from_server(value)


def _written_mapping(text: str, spec: ScoreSpec) -> Mapping[str, Any]:
    """Return the spec of a text; one in the server's casing, which no spec is written in, is returned as it is."""
    from treadle.assistants.platform.score.yaml_tree import parse_yaml, plain_value

    return spec_to_mapping(spec) if spec.name else plain_value(parse_yaml(text)[0])


def _container(value: Mapping[str, Any]) -> dict[str, Any]:
    variables = {name: _to_string(each) for name, each in _sort_keys(_mapping_field(value, "variables")).items()}
    return _drop_empty({"image": _to_string(_find_field(value, "image")), "variables": variables})


def _resource(value: Mapping[str, Any]) -> dict[str, Any]:
    kept = {key: _sort_keys(_mapping_field(value, key)) for key in ("params", "properties")}
    return _drop_empty({"type": _to_string(_find_field(value, "type")), **kept})


def _sorted_items(value: Mapping[str, Any], key: str) -> list[tuple[str, Mapping[str, Any]]]:
    """Return named items in the order of their names."""
    return sorted(((str(name), _to_mapping(each)) for name, each in _mapping_field(value, key).items()), key=itemgetter(0))


def _mapping_field(value: Mapping[str, Any], key: str) -> Mapping[str, Any]:
    return _to_mapping(_find_field(value, key))


def _to_mapping(value: object) -> Mapping[str, Any]:
    return cast("Mapping[str, Any]", value) if isinstance(value, Mapping) else {}


def _find_field(value: Mapping[str, Any], key: str) -> Any:
    """Return the field of this name in any case."""
    if key in value:
        return value[key]
    return next((each for name, each in value.items() if str(name).casefold() == key), None)


def _to_string(value: object) -> str:
    match value:
        case None:
            return ""
        case bool():
            return str(value).lower()
        case _:
            return str(value)


def _sort_keys(value: Any) -> Any:
    """Return the value with every mapping sorted by its keys, which are strings as in JSON."""
    if isinstance(value, Mapping):
        items = cast("Mapping[object, Any]", value).items()
        return {
            key: _sort_keys(each) for key, each in sorted(((_to_string(name), each) for name, each in items), key=itemgetter(0))
        }
    if isinstance(value, Sequence) and not isinstance(value, str):
        return [_sort_keys(each) for each in cast("Sequence[Any]", value)]
    return value


def _drop_empty(value: dict[str, Any]) -> dict[str, Any]:
    return {key: each for key, each in value.items() if each not in ("", {}, None)}


@cache
def _build_dumper() -> "type[SafeDumper]":
    import yaml

    class Dumper(yaml.SafeDumper):
        """Writes every value out, however often it is there."""

        def ignore_aliases(self, data: Any) -> bool:
            return True

    return Dumper


class _Block(Struct, frozen=True):
    language: str
    text: str


def find_spec(text: str) -> str | None:
    """Return the first non-empty YAML fence; else a fence without a language, or the whole text, if that is a spec."""
    blocks = [block for block in _find_blocks(text) if block.text.strip()]
    for block in blocks:
        if block.language in _YAML:
            return block.text
    for block in blocks:
        if not block.language and _is_spec(block.text):
            return block.text
    return text if not blocks and _is_spec(text) else None


def _find_blocks(text: str) -> Iterator[_Block]:
    """Yield the fenced blocks in order; an unclosed one extends to the end."""
    lines = iter(text.splitlines())
    for line in lines:
        opening = _OPENING.fullmatch(line)
        if opening is None:
            continue
        inside: list[str] = []
        for within in lines:
            if _is_closing_fence(within, opening["fence"]):
                break
            inside.append(_outdent(within, len(opening["indent"])))
        yield _Block(opening["language"].lower(), "".join(f"{each}\n" for each in inside))


def _is_closing_fence(line: str, fence: str) -> bool:
    bare = line.strip()
    return len(bare) >= len(fence) and not bare.strip(fence[0])


def _outdent(line: str, indent: int) -> str:
    """Return the line without its fence's indentation, as far as it has any."""
    space = len(line) - len(line.lstrip(" \t"))
    return line[min(indent, space) :]


def _is_spec(text: str) -> bool:
    try:
        root, _ = parse_yaml(text)
    except BadSpec:
        return False
    return isinstance(root, YamlMapping) and root.get("metadata") is not None and root.get("containers") is not None

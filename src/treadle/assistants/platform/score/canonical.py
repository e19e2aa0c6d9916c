"""Specs in one form, whoever wrote them: in a file, by a model, or as the server shows them, whose field names begin in upper case.

What isn't kept by the server isn't here either, so that a difference is one in what would run.
"""

from collections.abc import Mapping, Sequence
from difflib import unified_diff
from functools import cache
from operator import itemgetter
from typing import TYPE_CHECKING, Any, cast

from treadle.assistants.platform.score.check import check
from treadle.assistants.platform.score.known import API_VERSION
from treadle.assistants.platform.score.values import BadSpec, Environment, Spec

if TYPE_CHECKING:
    from yaml import SafeDumper

SpecLike = Spec | Mapping[str, Any] | str


def canonical(value: SpecLike) -> str:
    """A spec as YAML that is the same for the same spec. Raises `BadSpec` for a text that is no YAML mapping."""
    import yaml

    return yaml.dump(_ordered(value), Dumper=_dumper(), sort_keys=False, default_flow_style=False, allow_unicode=True, width=10_000)


def difference(old: SpecLike | None, new: SpecLike | None, old_name: str = "running", new_name: str = "new") -> str:
    """What changes from one spec to another, as a unified diff; empty where nothing does. None is no spec at all."""
    before, after = (("" if each is None else canonical(each)).splitlines(keepends=True) for each in (old, new))
    return "".join(unified_diff(before, after, old_name, new_name))


def from_server(app_json: Mapping[str, Any]) -> dict[str, Any]:
    """The spec in what a server says of an application. Field names may be in any case; what isn't of the spec is left out."""
    metadata, environment = _part(app_json, "metadata"), _part(app_json, "environment")
    spec = {
        "apiVersion": API_VERSION,
        "metadata": {"name": _string(_field(metadata, "name"))},
        "containers": {name: _container(each) for name, each in _named(app_json, "containers")},
        "resources": {name: _resource(each) for name, each in _named(app_json, "resources")},
        "environment": _filled({key: _string(_field(environment, key)) for key in ("type", "ttl")}),
        "workflows": {name: _sorted(each) for name, each in _named(app_json, "workflows")},
    }
    return _filled(spec)


def as_mapping(spec: Spec) -> dict[str, Any]:
    """A spec as it would be written."""
    environment = spec.environment or Environment()
    return {
        "metadata": {"name": spec.name},
        "containers": {name: {"image": each.image, "variables": each.variables} for name, each in spec.containers.items()},
        "resources": {
            name: {"type": each.type, "params": each.params, "properties": each.properties} for name, each in spec.resources.items()
        },
        "environment": {"type": environment.type, "ttl": environment.ttl},
        "workflows": spec.workflows,
    }


def _ordered(value: SpecLike) -> dict[str, Any]:
    match value:
        case Spec():
            return from_server(as_mapping(value))
        case str():
            checked = check(value)
            if checked.spec is None:
                raise BadSpec(checked.errors)
            return from_server(_as_written(value, checked.spec))
        case _:
            return from_server(value)


def _as_written(text: str, spec: Spec) -> Mapping[str, Any]:
    """The spec of a text; of one in the server's own casing, which no spec is written in, what it says all the same."""
    from treadle.assistants.platform.score.tree import parse, plain

    return as_mapping(spec) if spec.name else plain(parse(text)[0])


def _container(value: Mapping[str, Any]) -> dict[str, Any]:
    variables = {name: _string(each) for name, each in _sorted(_part(value, "variables")).items()}
    return _filled({"image": _string(_field(value, "image")), "variables": variables})


def _resource(value: Mapping[str, Any]) -> dict[str, Any]:
    kept = {key: _sorted(_part(value, key)) for key in ("params", "properties")}
    return _filled({"type": _string(_field(value, "type")), **kept})


def _named(value: Mapping[str, Any], key: str) -> list[tuple[str, Mapping[str, Any]]]:
    """What is there by name, in the order of the names."""
    return sorted(((str(name), _as_object(each)) for name, each in _part(value, key).items()), key=itemgetter(0))


def _part(value: Mapping[str, Any], key: str) -> Mapping[str, Any]:
    return _as_object(_field(value, key))


def _as_object(value: object) -> Mapping[str, Any]:
    return cast("Mapping[str, Any]", value) if isinstance(value, Mapping) else {}


def _field(value: Mapping[str, Any], key: str) -> Any:
    """The field by this name, in whatever case it is written."""
    if key in value:
        return value[key]
    return next((each for name, each in value.items() if str(name).casefold() == key), None)


def _string(value: object) -> str:
    match value:
        case None:
            return ""
        case bool():
            return str(value).lower()
        case _:
            return str(value)


def _sorted(value: Any) -> Any:
    """The value with every mapping in the order of its keys, which are text as they are in JSON."""
    if isinstance(value, Mapping):
        items = cast("Mapping[object, Any]", value).items()
        return {key: _sorted(each) for key, each in sorted(((_string(name), each) for name, each in items), key=itemgetter(0))}
    if isinstance(value, Sequence) and not isinstance(value, str):
        return [_sorted(each) for each in cast("Sequence[Any]", value)]
    return value


def _filled(value: dict[str, Any]) -> dict[str, Any]:
    return {key: each for key, each in value.items() if each not in ("", {}, None)}


@cache
def _dumper() -> "type[SafeDumper]":
    import yaml

    class Dumper(yaml.SafeDumper):
        """Writes every value out, however often it is there."""

        def ignore_aliases(self, data: Any) -> bool:
            return True

    return Dumper

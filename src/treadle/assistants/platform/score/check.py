"""Check a Score spec: what the server would refuse, what it would silently drop, and what is probably a mistake.

`check_spec` never raises for a text's content; `parse_spec` does. The known keys and suggestions for others are in
`spec`.
"""

import re
from collections.abc import Callable, Collection, Iterable, Mapping
from difflib import get_close_matches
from itertools import islice
from typing import Any, TypeVar, assert_never

from treadle.assistants.platform.score.spec import (
    ADDED_BY_KUBERNETES,
    API_VERSION,
    CONTAINER,
    ENVIRONMENT,
    METADATA,
    RESOURCE,
    TOP,
    WANT_PARAMS,
    WORKFLOW,
    BadSpec,
    CheckedSpec,
    KnownKeys,
    Level,
    ScoreSpec,
    SpecContainer,
    SpecEnvironment,
    SpecFinding,
    SpecResource,
)
from treadle.assistants.platform.score.yaml_tree import (
    YamlEntry,
    YamlList,
    YamlMapping,
    YamlNode,
    YamlScalar,
    iter_texts,
    parse_yaml,
    plain_value,
    shorten_spec_value,
)

MAX_FINDINGS = 100
MAX_NAME_CHARS = 63
MAX_NAMES = 200  # that a misspelt one is compared with

_LABEL = re.compile(r"[a-z0-9]([-a-z0-9]*[a-z0-9])?")
_REFERENCE = re.compile(r"(?<!\$)\$\{resources\.([^.}\s]{1,200})")
_TTL = re.compile(r"([0-9]+(\.[0-9]+)?(ms|s|m|h|d|w))+")

Value = TypeVar("Value")


def parse_spec(text: str) -> ScoreSpec:
    """Parse a spec. Raises `BadSpec` for one with errors."""
    checked = check_spec(text)
    if checked.spec is None or checked.errors:
        raise BadSpec(checked.errors)
    return checked.spec


def check_spec(text: str, provided: Collection[str] | None = None) -> CheckedSpec:
    """Return all findings of a text. With `provided`, the types that have providers, resource types are checked against them."""
    try:
        root, doubled = parse_yaml(text)
    except BadSpec as error:
        return CheckedSpec(None, error.findings)
    notes = _FindingCollector(doubled)
    fields = _read_mapping(root, "", notes)
    if fields is None:
        if not notes.found:
            notes.add(root, "error", "", "There is nothing in it.")
        return CheckedSpec(None, notes.sort())
    spec = _check_top(fields, notes, provided)
    return CheckedSpec(spec, notes.sort())


class _FindingCollector:
    """Collects findings."""

    def __init__(self, found: Iterable[SpecFinding]) -> None:
        self.found = list(found)

    def add(self, at: YamlNode | YamlEntry, level: Level, path: str, message: str) -> None:
        """Add a finding at a position."""
        self.found.append(SpecFinding(at.line, at.column, level, shorten_spec_value(path, 200), message))

    @property
    def full(self) -> bool:
        """Whether there are enough findings, so that no more warnings are needed."""
        return len(self.found) > 2 * MAX_FINDINGS

    def sort(self) -> tuple[SpecFinding, ...]:
        """Return the findings by position. If there are too many, warnings are dropped first."""
        kept = sorted(self.found, key=lambda each: (each.level, each))[:MAX_FINDINGS]
        return tuple(sorted(kept))


def _check_top(top: YamlMapping, notes: _FindingCollector, provided: Collection[str] | None) -> ScoreSpec:
    _check_keys(top, TOP, "", notes)
    _check_api_version(top, notes)
    spec = ScoreSpec(
        _check_name(top, notes),
        _check_each(top, "containers", notes, _check_container),
        _check_each(top, "resources", notes, _check_resource),
        _check_environment(top, notes),
        _check_each(top, "workflows", notes, _check_workflow),
    )
    containers = top.get("containers")
    if not spec.containers and not (containers and _is_not_mapping(containers.value)):
        notes.add(containers or top, "error", "containers", "At least one container has to be named, each with its `image`.")
    _check_types(top, spec.resources, notes, provided)
    _check_references(top, spec.resources, notes)
    return spec


def _check_api_version(top: YamlMapping, notes: _FindingCollector) -> None:
    entry = top.get("apiVersion")
    if entry is None:
        notes.add(top, "error", "apiVersion", f"It is missing; write `apiVersion: {API_VERSION}`.")
    elif plain_value(entry.value) != API_VERSION:
        notes.add(entry.value, "error", "apiVersion", f"It has to be `{API_VERSION}`.")


def _check_name(top: YamlMapping, notes: _FindingCollector) -> str:
    metadata = top.get("metadata")
    fields = _read_mapping(metadata.value, "metadata", notes) if metadata else None
    if fields is None:
        if not (metadata and _is_not_mapping(metadata.value)):
            notes.add(metadata or top, "error", "metadata.name", "The application needs a name.")
        return ""
    _check_keys(fields, METADATA, "metadata", notes)
    name = _require_text(fields, "name", "metadata", notes, "The application needs a name.")
    entry = fields.get("name")
    if name and entry:
        _check_label(name, entry.value, notes)
    return name


def _check_label(name: str, at: YamlNode, notes: _FindingCollector) -> None:
    if len(name) > MAX_NAME_CHARS:
        notes.add(at, "error", "metadata.name", f"The name has {len(name)} characters; {MAX_NAME_CHARS} are the most.")
    elif not _LABEL.fullmatch(name):
        message = (
            f"`{shorten_spec_value(name)}` is no name for an application: "
            "small letters, digits and hyphens, no hyphen at either end."
        )
        notes.add(at, "error", "metadata.name", message)


def _check_container(entry: YamlEntry, path: str, notes: _FindingCollector) -> SpecContainer:
    fields = _read_mapping(entry.value, path, notes)
    if fields is None:
        if not _is_not_mapping(entry.value):
            notes.add(entry, "error", f"{path}.image", "The container needs an image.")
        return SpecContainer()
    _check_keys(fields, CONTAINER, path, notes)
    image = _require_text(fields, "image", path, notes, "The container needs an image.")
    written = fields.get("image")
    if image and written:
        _check_image(image, written.value, f"{path}.image", notes)
    return SpecContainer(image, _check_each(fields, "variables", notes, _check_variable, path))


def _check_image(image: str, at: YamlNode, path: str, notes: _FindingCollector) -> None:
    last = image.rpartition("/")[2]
    if image.strip() == ".":
        notes.add(at, "warning", path, "`.` stands for an image that is filled in elsewhere; the server fills in nothing.")
    elif any(character.isspace() for character in image):
        notes.add(at, "warning", path, "There is space in the image's name.")
    elif "@" not in last and ":" not in last:
        notes.add(at, "warning", path, "The image has no tag, so what runs may change by itself; write one, such as `:1.2.0`.")
    elif last.endswith(":latest"):
        notes.add(at, "warning", path, "`latest` may be another image tomorrow; write a fixed tag.")


def _check_variable(entry: YamlEntry, path: str, notes: _FindingCollector) -> str:
    match entry.value:
        case YamlScalar(value=str(text)):
            return text
        case YamlScalar(value=None):
            notes.add(entry, "warning", path, 'It is empty; write `""` if that is meant.')
            return ""
        case YamlScalar() as scalar:
            notes.add(scalar, "warning", path, f'Variables are text; write it as "{shorten_spec_value(scalar.text)}".')
            return scalar.text
        case YamlList() | YamlMapping() as other:
            notes.add(other, "error", path, f"A variable is text, and this is {_describe_kind(other)}.")
            return ""
        case _:
            assert_never(entry.value)


def _check_resource(entry: YamlEntry, path: str, notes: _FindingCollector) -> SpecResource:
    fields = _read_mapping(entry.value, path, notes)
    if fields is None:
        if not _is_not_mapping(entry.value):
            notes.add(entry, "error", f"{path}.type", "The resource needs a type.")
        return SpecResource()
    _check_keys(fields, RESOURCE, path, notes)
    kind = _require_text(fields, "type", path, notes, "The resource needs a type.")
    return SpecResource(kind, _read_object(fields, "params", path, notes), _read_object(fields, "properties", path, notes))


def _check_types(
    top: YamlMapping, resources: Mapping[str, SpecResource], notes: _FindingCollector, provided: Collection[str] | None
) -> None:
    """Check for types without a provider, and types that need parameters."""
    section = top.get("resources")
    for entry in section.value.entries if section and isinstance(section.value, YamlMapping) else ():
        resource, path = resources[entry.key], f"resources.{entry.key}"
        if provided is not None and resource.type and resource.type not in provided:
            message = f"There is no provider for `{shorten_spec_value(resource.type)}`{_suggest_type(resource.type, provided)}"
            notes.add(_type_entry(entry), "error", f"{path}.type", message)
        elif resource.type in WANT_PARAMS and not resource.params:
            message = f"A {resource.type} resource without `params` gets whatever its provider chooses; say version and size."
            notes.add(entry, "warning", path, message)


def _type_entry(entry: YamlEntry) -> YamlEntry:
    found = entry.value.get("type") if isinstance(entry.value, YamlMapping) else None
    return found or entry


def _suggest_type(kind: str, provided: Collection[str]) -> str:
    near = _suggest_names(kind, provided)
    if near:
        return f"; did you mean {' or '.join(f'`{each}`' for each in near)}?"
    return f"; there are {', '.join(sorted(provided)[:40])}." if provided else "; there is none at all."


def _check_environment(top: YamlMapping, notes: _FindingCollector) -> SpecEnvironment | None:
    entry = top.get("environment")
    fields = _read_mapping(entry.value, "environment", notes) if entry else None
    if entry is None or fields is None:
        return None
    _check_keys(fields, ENVIRONMENT, "environment", notes)
    environment = SpecEnvironment(_read_text(fields, "type", "environment", notes), _read_text(fields, "ttl", "environment", notes))
    if environment.ttl and not _TTL.fullmatch(environment.ttl):
        message = f"`{shorten_spec_value(environment.ttl)}` is no length of time; write it like `24h`, `90m` or `7d`."
        notes.add(fields.get("ttl") or entry, "warning", "environment.ttl", message)
    if environment.type == "kubernetes":
        message = f"It adds resources of its own: {', '.join(ADDED_BY_KUBERNETES)}."
        notes.add(fields.get("type") or entry, "warning", "environment.type", message)
    return environment


def _check_workflow(entry: YamlEntry, path: str, notes: _FindingCollector) -> dict[str, Any]:
    fields = _read_mapping(entry.value, path, notes)
    if fields is None:
        return {}
    _check_keys(fields, WORKFLOW, path, notes)
    steps = fields.get("steps")
    if steps is not None and not isinstance(steps.value, YamlList) and plain_value(steps.value) is not None:
        notes.add(steps.value, "error", f"{path}.steps", f"Steps are a list, and this is {_describe_kind(steps.value)}.")
    return {key: plain_value(found.value) for key in WORKFLOW.known if (found := fields.get(key))}


def _check_references(top: YamlMapping, resources: Collection[str], notes: _FindingCollector) -> None:
    """Check for references to missing resources, wherever they would be resolved."""
    for key in ("containers", "resources", "workflows"):
        entry = top.get(key)
        for path, scalar in iter_texts(entry.value, key) if entry else ():
            if notes.full:
                return
            for name in dict.fromkeys(_REFERENCE.findall(str(scalar.value))):
                if name not in resources:
                    near = "".join(f"; did you mean `{shorten_spec_value(each)}`?" for each in _suggest_names(name, resources)[:1])
                    notes.add(
                        scalar, "warning", path, f"There is no resource `{shorten_spec_value(name)}` under `resources`{near or '.'}"
                    )


def _check_keys(fields: YamlMapping, keys: KnownKeys, path: str, notes: _FindingCollector) -> None:
    """Report the keys that the server silently drops."""
    for entry in fields.entries:
        if entry.key in keys.known or notes.full:
            continue
        where = f"{path}.{entry.key}" if path else entry.key
        near = _suggest_names(entry.key, [known for known in keys.known if fields.get(known) is None])
        if entry.key in keys.hints:
            advice = f": {keys.hints[entry.key]}."
        elif near:
            advice = f"; did you mean `{near[0]}`?"
        else:
            advice = f"; it knows {', '.join(keys.known)} here."
        notes.add(entry, "warning", where, f"The server drops `{shorten_spec_value(entry.key)}` without a word{advice}")


def _check_each(
    fields: YamlMapping,
    key: str,
    notes: _FindingCollector,
    make: Callable[[YamlEntry, str, _FindingCollector], Value],
    above: str = "",
) -> dict[str, Value]:
    """Check each named item of a mapping."""
    entry = fields.get(key)
    path = f"{above}.{key}" if above else key
    named = _read_mapping(entry.value, path, notes) if entry else None
    if named is None:
        return {}
    _check_similar_names(named, path, notes)
    return {each.key: make(each, f"{path}.{each.key}", notes) for each in named.entries}


def _check_similar_names(named: YamlMapping, path: str, notes: _FindingCollector) -> None:
    seen: dict[str, str] = {}
    for entry in named.entries:
        folded = entry.key.casefold()
        if folded in seen:
            message = (
                f"`{shorten_spec_value(entry.key)}` and `{shorten_spec_value(seen[folded])}` "
                "differ in case only; they are two, and easily mixed up."
            )
            notes.add(entry, "warning", f"{path}.{entry.key}", message)
        seen.setdefault(folded, entry.key)


def _require_text(fields: YamlMapping, key: str, above: str, notes: _FindingCollector, message: str) -> str:
    """Return the text of a required key."""
    entry, text = fields.get(key), _read_text(fields, key, above, notes)
    if not text and (entry is None or isinstance(entry.value, YamlScalar)):
        notes.add(entry or fields, "error", f"{above}.{key}", message)
    return text


def _read_text(fields: YamlMapping, key: str, above: str, notes: _FindingCollector) -> str:
    """Return the text of a key, empty if missing. Numbers are accepted as written, with a warning."""
    entry = fields.get(key)
    node = entry.value if entry else None
    match node:
        case YamlScalar(value=str(text)):
            return text.strip()
        case None | YamlScalar(value=None):
            return ""
        case YamlScalar() as scalar:
            notes.add(scalar, "warning", f"{above}.{key}", f'It is text; write it as "{shorten_spec_value(scalar.text)}".')
            return scalar.text
        case YamlList() | YamlMapping() as other:
            notes.add(other, "error", f"{above}.{key}", f"It has to be text, and is {_describe_kind(other)}.")
            return ""
        case _:
            assert_never(node)


def _read_object(fields: YamlMapping, key: str, above: str, notes: _FindingCollector) -> dict[str, Any]:
    entry = fields.get(key)
    found = _read_mapping(entry.value, f"{above}.{key}", notes) if entry else None
    return {} if found is None else plain_value(found)


def _read_mapping(node: YamlNode, path: str, notes: _FindingCollector) -> YamlMapping | None:
    """Return the node as a mapping; None if it is empty, and with an error if it is something else."""
    if isinstance(node, YamlMapping):
        return node
    if _is_not_mapping(node):
        what = "A spec" if not path else "It"
        notes.add(node, "error", path, f"{what} has to be a mapping (`key: value` lines), and is {_describe_kind(node)}.")
    return None


def _is_not_mapping(node: YamlNode) -> bool:
    """Return whether something non-empty is where a mapping should be."""
    return not isinstance(node, YamlMapping) and plain_value(node) is not None


def _describe_kind(node: YamlNode) -> str:
    match node:
        case YamlList():
            return "a list"
        case YamlMapping():
            return "a mapping"
        case YamlScalar():
            return f"`{shorten_spec_value(node.text)}`"
        case _:
            assert_never(node)


def _suggest_names(name: str, names: Iterable[str]) -> list[str]:
    """Return similar names, the likeliest first."""
    by_folded = {each.casefold(): each for each in islice(names, MAX_NAMES)}
    return [by_folded[each] for each in get_close_matches(name[:100].casefold(), by_folded, n=2, cutoff=0.7)]

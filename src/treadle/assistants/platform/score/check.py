"""A Score spec checked: what the server would refuse, what it would drop without a word, and what is probably not meant.

`check` never raises for what is in a text; `read` does. What the keys are and what to write instead of others is `known`.
"""

import re
from collections.abc import Callable, Collection, Iterable, Mapping
from difflib import get_close_matches
from itertools import islice
from typing import Any, TypeVar, assert_never

from treadle.assistants.platform.score.known import (
    ADDED_BY_KUBERNETES,
    API_VERSION,
    CONTAINER,
    ENVIRONMENT,
    METADATA,
    RESOURCE,
    TOP,
    WANT_PARAMS,
    WORKFLOW,
    Keys,
)
from treadle.assistants.platform.score.tree import Entry, Fields, Items, Node, Scalar, parse, plain, shown, texts
from treadle.assistants.platform.score.values import BadSpec, Checked, Container, Environment, Finding, Level, Resource, Spec

MOST_FINDINGS = 100
MOST_NAME = 63
MOST_NAMES = 200  # that a misspelt one is compared with

_LABEL = re.compile(r"[a-z0-9]([-a-z0-9]*[a-z0-9])?")
_REFERENCE = re.compile(r"(?<!\$)\$\{resources\.([^.}\s]{1,200})")
_TTL = re.compile(r"([0-9]+(\.[0-9]+)?(ms|s|m|h|d|w))+")

Value = TypeVar("Value")


def read(text: str) -> Spec:
    """The spec in a text. Raises `BadSpec` for one with errors."""
    checked = check(text)
    if checked.spec is None or checked.errors:
        raise BadSpec(checked.errors)
    return checked.spec


def check(text: str, provided: Collection[str] | None = None) -> Checked:
    """Everything there is to say about a text. With `provided`, the types that have providers, resources are held to them."""
    try:
        root, doubled = parse(text)
    except BadSpec as error:
        return Checked(None, error.findings)
    notes = _Notes(doubled)
    fields = _mapping(root, "", notes)
    if fields is None:
        if not notes.found:
            notes.add(root, "error", "", "There is nothing in it.")
        return Checked(None, notes.sorted())
    spec = _spec(fields, notes, provided)
    return Checked(spec, notes.sorted())


class _Notes:
    """What has been found so far."""

    def __init__(self, found: Iterable[Finding]) -> None:
        self.found = list(found)

    def add(self, at: Node | Entry, level: Level, path: str, message: str) -> None:
        """Note something at a place."""
        self.found.append(Finding(at.line, at.column, level, shown(path, 200), message))

    @property
    def full(self) -> bool:
        """Whether there is enough to be said as it is, so that no more warnings are wanted."""
        return len(self.found) > 2 * MOST_FINDINGS

    def sorted(self) -> tuple[Finding, ...]:
        """All of it from top to bottom. Where it is too much, warnings are left off first."""
        kept = sorted(self.found, key=lambda each: (each.level, each))[:MOST_FINDINGS]
        return tuple(sorted(kept))


def _spec(top: Fields, notes: _Notes, provided: Collection[str] | None) -> Spec:
    _keys(top, TOP, "", notes)
    _api_version(top, notes)
    spec = Spec(
        _name(top, notes),
        _each(top, "containers", notes, _container),
        _each(top, "resources", notes, _resource),
        _environment(top, notes),
        _each(top, "workflows", notes, _workflow),
    )
    containers = top.get("containers")
    if not spec.containers and not (containers and _is_wrong(containers.value)):
        notes.add(containers or top, "error", "containers", "At least one container has to be named, each with its `image`.")
    _types(top, spec.resources, notes, provided)
    _references(top, spec.resources, notes)
    return spec


def _api_version(top: Fields, notes: _Notes) -> None:
    entry = top.get("apiVersion")
    if entry is None:
        notes.add(top, "error", "apiVersion", f"It is missing; write `apiVersion: {API_VERSION}`.")
    elif plain(entry.value) != API_VERSION:
        notes.add(entry.value, "error", "apiVersion", f"It has to be `{API_VERSION}`.")


def _name(top: Fields, notes: _Notes) -> str:
    metadata = top.get("metadata")
    fields = _mapping(metadata.value, "metadata", notes) if metadata else None
    if fields is None:
        if not (metadata and _is_wrong(metadata.value)):
            notes.add(metadata or top, "error", "metadata.name", "The application needs a name.")
        return ""
    _keys(fields, METADATA, "metadata", notes)
    name = _required(fields, "name", "metadata", notes, "The application needs a name.")
    entry = fields.get("name")
    if name and entry:
        _label(name, entry.value, notes)
    return name


def _label(name: str, at: Node, notes: _Notes) -> None:
    if len(name) > MOST_NAME:
        notes.add(at, "error", "metadata.name", f"The name has {len(name)} characters; {MOST_NAME} are the most.")
    elif not _LABEL.fullmatch(name):
        message = f"`{shown(name)}` is no name for an application: small letters, digits and hyphens, no hyphen at either end."
        notes.add(at, "error", "metadata.name", message)


def _container(entry: Entry, path: str, notes: _Notes) -> Container:
    fields = _mapping(entry.value, path, notes)
    if fields is None:
        if not _is_wrong(entry.value):
            notes.add(entry, "error", f"{path}.image", "The container needs an image.")
        return Container()
    _keys(fields, CONTAINER, path, notes)
    image = _required(fields, "image", path, notes, "The container needs an image.")
    written = fields.get("image")
    if image and written:
        _doubts(image, written.value, f"{path}.image", notes)
    return Container(image, _each(fields, "variables", notes, _variable, path))


def _doubts(image: str, at: Node, path: str, notes: _Notes) -> None:
    last = image.rpartition("/")[2]
    if image.strip() == ".":
        notes.add(at, "warning", path, "`.` stands for an image that is filled in elsewhere; the server fills in nothing.")
    elif any(character.isspace() for character in image):
        notes.add(at, "warning", path, "There is space in the image's name.")
    elif "@" not in last and ":" not in last:
        notes.add(at, "warning", path, "The image has no tag, so what runs may change by itself; write one, such as `:1.2.0`.")
    elif last.endswith(":latest"):
        notes.add(at, "warning", path, "`latest` may be another image tomorrow; write a fixed tag.")


def _variable(entry: Entry, path: str, notes: _Notes) -> str:
    match entry.value:
        case Scalar(value=str(text)):
            return text
        case Scalar(value=None):
            notes.add(entry, "warning", path, 'It is empty; write `""` if that is meant.')
            return ""
        case Scalar() as scalar:
            notes.add(scalar, "warning", path, f'Variables are text; write it as "{shown(scalar.text)}".')
            return scalar.text
        case Items() | Fields() as other:
            notes.add(other, "error", path, f"A variable is text, and this is {_kind(other)}.")
            return ""
        case _:
            assert_never(entry.value)


def _resource(entry: Entry, path: str, notes: _Notes) -> Resource:
    fields = _mapping(entry.value, path, notes)
    if fields is None:
        if not _is_wrong(entry.value):
            notes.add(entry, "error", f"{path}.type", "The resource needs a type.")
        return Resource()
    _keys(fields, RESOURCE, path, notes)
    kind = _required(fields, "type", path, notes, "The resource needs a type.")
    return Resource(kind, _object(fields, "params", path, notes), _object(fields, "properties", path, notes))


def _types(top: Fields, resources: Mapping[str, Resource], notes: _Notes, provided: Collection[str] | None) -> None:
    """Types that nobody provides, and such as want to be told more."""
    section = top.get("resources")
    for entry in section.value.entries if section and isinstance(section.value, Fields) else ():
        resource, path = resources[entry.key], f"resources.{entry.key}"
        if provided is not None and resource.type and resource.type not in provided:
            message = f"There is no provider for `{shown(resource.type)}`{_instead(resource.type, provided)}"
            notes.add(_type_of(entry), "error", f"{path}.type", message)
        elif resource.type in WANT_PARAMS and not resource.params:
            message = f"A {resource.type} resource without `params` gets whatever its provider chooses; say version and size."
            notes.add(entry, "warning", path, message)


def _type_of(entry: Entry) -> Entry:
    found = entry.value.get("type") if isinstance(entry.value, Fields) else None
    return found or entry


def _instead(kind: str, provided: Collection[str]) -> str:
    near = _near(kind, provided)
    if near:
        return f"; did you mean {' or '.join(f'`{each}`' for each in near)}?"
    return f"; there are {', '.join(sorted(provided)[:40])}." if provided else "; there is none at all."


def _environment(top: Fields, notes: _Notes) -> Environment | None:
    entry = top.get("environment")
    fields = _mapping(entry.value, "environment", notes) if entry else None
    if entry is None or fields is None:
        return None
    _keys(fields, ENVIRONMENT, "environment", notes)
    environment = Environment(_text(fields, "type", "environment", notes), _text(fields, "ttl", "environment", notes))
    if environment.ttl and not _TTL.fullmatch(environment.ttl):
        message = f"`{shown(environment.ttl)}` is no length of time; write it like `24h`, `90m` or `7d`."
        notes.add(fields.get("ttl") or entry, "warning", "environment.ttl", message)
    if environment.type == "kubernetes":
        message = f"It adds resources of its own: {', '.join(ADDED_BY_KUBERNETES)}."
        notes.add(fields.get("type") or entry, "warning", "environment.type", message)
    return environment


def _workflow(entry: Entry, path: str, notes: _Notes) -> dict[str, Any]:
    fields = _mapping(entry.value, path, notes)
    if fields is None:
        return {}
    _keys(fields, WORKFLOW, path, notes)
    steps = fields.get("steps")
    if steps is not None and not isinstance(steps.value, Items) and plain(steps.value) is not None:
        notes.add(steps.value, "error", f"{path}.steps", f"Steps are a list, and this is {_kind(steps.value)}.")
    return {key: plain(found.value) for key in WORKFLOW.known if (found := fields.get(key))}


def _references(top: Fields, resources: Collection[str], notes: _Notes) -> None:
    """References to resources that aren't there, wherever they would count."""
    for key in ("containers", "resources", "workflows"):
        entry = top.get(key)
        for path, scalar in texts(entry.value, key) if entry else ():
            if notes.full:
                return
            for name in dict.fromkeys(_REFERENCE.findall(str(scalar.value))):
                if name not in resources:
                    near = "".join(f"; did you mean `{shown(each)}`?" for each in _near(name, resources)[:1])
                    notes.add(scalar, "warning", path, f"There is no resource `{shown(name)}` under `resources`{near or '.'}")


def _keys(fields: Fields, keys: Keys, path: str, notes: _Notes) -> None:
    """Name the keys that the server drops without a word."""
    for entry in fields.entries:
        if entry.key in keys.known or notes.full:
            continue
        where = f"{path}.{entry.key}" if path else entry.key
        near = _near(entry.key, [known for known in keys.known if fields.get(known) is None])
        if entry.key in keys.hints:
            advice = f": {keys.hints[entry.key]}."
        elif near:
            advice = f"; did you mean `{near[0]}`?"
        else:
            advice = f"; it knows {', '.join(keys.known)} here."
        notes.add(entry, "warning", where, f"The server drops `{shown(entry.key)}` without a word{advice}")


def _each(
    fields: Fields, key: str, notes: _Notes, make: Callable[[Entry, str, _Notes], Value], above: str = ""
) -> dict[str, Value]:
    """What is under each name of a mapping."""
    entry = fields.get(key)
    path = f"{above}.{key}" if above else key
    named = _mapping(entry.value, path, notes) if entry else None
    if named is None:
        return {}
    _alike(named, path, notes)
    return {each.key: make(each, f"{path}.{each.key}", notes) for each in named.entries}


def _alike(named: Fields, path: str, notes: _Notes) -> None:
    seen: dict[str, str] = {}
    for entry in named.entries:
        folded = entry.key.casefold()
        if folded in seen:
            message = f"`{shown(entry.key)}` and `{shown(seen[folded])}` differ in case only; they are two, and easily mixed up."
            notes.add(entry, "warning", f"{path}.{entry.key}", message)
        seen.setdefault(folded, entry.key)


def _required(fields: Fields, key: str, above: str, notes: _Notes, message: str) -> str:
    """The text of a key that has to be there."""
    entry, text = fields.get(key), _text(fields, key, above, notes)
    if not text and (entry is None or isinstance(entry.value, Scalar)):
        notes.add(entry or fields, "error", f"{above}.{key}", message)
    return text


def _text(fields: Fields, key: str, above: str, notes: _Notes) -> str:
    """The text of a key, empty where there is none. Numbers are taken as they are written, with a warning."""
    entry = fields.get(key)
    node = entry.value if entry else None
    match node:
        case Scalar(value=str(text)):
            return text.strip()
        case None | Scalar(value=None):
            return ""
        case Scalar() as scalar:
            notes.add(scalar, "warning", f"{above}.{key}", f'It is text; write it as "{shown(scalar.text)}".')
            return scalar.text
        case Items() | Fields() as other:
            notes.add(other, "error", f"{above}.{key}", f"It has to be text, and is {_kind(other)}.")
            return ""
        case _:
            assert_never(node)


def _object(fields: Fields, key: str, above: str, notes: _Notes) -> dict[str, Any]:
    entry = fields.get(key)
    found = _mapping(entry.value, f"{above}.{key}", notes) if entry else None
    return {} if found is None else plain(found)


def _mapping(node: Node, path: str, notes: _Notes) -> Fields | None:
    """The node as a mapping; None where it is empty, and with an error where it is something else."""
    if isinstance(node, Fields):
        return node
    if _is_wrong(node):
        what = "A spec" if not path else "It"
        notes.add(node, "error", path, f"{what} has to be a mapping (`key: value` lines), and is {_kind(node)}.")
    return None


def _is_wrong(node: Node) -> bool:
    """Whether something that isn't nothing stands where a mapping should be."""
    return not isinstance(node, Fields) and plain(node) is not None


def _kind(node: Node) -> str:
    match node:
        case Items():
            return "a list"
        case Fields():
            return "a mapping"
        case Scalar():
            return f"`{shown(node.text)}`"
        case _:
            assert_never(node)


def _near(name: str, names: Iterable[str]) -> list[str]:
    """Names that may have been meant, the likeliest first."""
    by_folded = {each.casefold(): each for each in islice(names, MOST_NAMES)}
    return [by_folded[each] for each in get_close_matches(name[:100].casefold(), by_folded, n=2, cutoff=0.7)]

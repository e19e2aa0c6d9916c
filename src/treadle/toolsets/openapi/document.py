"""An OpenAPI document, 3.0 or 3.1: read from JSON or YAML, recognised, and its references followed. What it means is for others."""

from collections.abc import Mapping
from pathlib import Path
from typing import Any, cast
from urllib.parse import unquote

import msgspec

from treadle.core.errors import SettingsError
from treadle.files.named import NotOpened, read_named
from treadle.toolsets.openapi.yaml12 import Unreadable, read_yaml

LARGEST = 60_000_000  # bytes
_LONGEST_CHAIN = 50
Object = dict[str, Any]


def as_object(value: Any) -> Object:
    """The value if it is an object, else an empty one: documents are often wrong, and seldom all of them."""
    return cast("Object", value) if isinstance(value, dict) else {}


def as_list(value: Any) -> list[Any]:
    """The value if it is a list, else an empty one."""
    return cast("list[Any]", value) if isinstance(value, list) else []


def as_text(value: Any) -> str:
    """The value if it is text, else none."""
    return value if isinstance(value, str) else ""


class Document:
    """A document, and where it came from (empty where that is unknown). `old` says that it is of version 3.0."""

    def __init__(self, root: Object, address: str = "") -> None:
        self.root = root
        self.address = address
        self.old = str(root.get("openapi", "")).startswith("3.0")

    def find(self, reference: Any) -> Any:
        """What a reference within the document points to; None where that is nothing."""
        if not isinstance(reference, str) or not reference.startswith("#"):
            return None
        found: Any = self.root
        for step in unquote(reference).split("/")[1:]:
            found = _inside(found, step.replace("~1", "/").replace("~0", "~"))
        return found

    def followed(self, value: Any) -> Object:
        """An object, behind as many references as there are."""
        for _ in range(_LONGEST_CHAIN):
            found = as_object(value)
            if "$ref" not in found:
                return found
            value = self.find(found["$ref"])
        return {}


def _inside(value: Any, step: str) -> Any:
    items = as_list(value)
    if items:
        return items[int(step)] if step.isdecimal() and int(step) < len(items) else None
    return as_object(value).get(step)


def from_file(path: Path) -> Document:
    """The document in a file."""
    try:
        data = read_named(path, LARGEST)
    except NotOpened as error:
        raise SettingsError(f"The OpenAPI document can't be read: {error}") from error
    return from_bytes(data, str(path))


def from_bytes(data: bytes, where: str, address: str = "") -> Document:
    """The document in some bytes; `where` is what a person calls it."""
    try:
        text = data.decode("utf-8-sig")
    except UnicodeDecodeError:
        raise SettingsError(f"What is at {where} is no text, so it is no OpenAPI document.") from None
    if text.lstrip()[:300].lower().startswith(("<!doctype", "<html", "<?xml", "<head")):
        raise SettingsError(f"What is at {where} is a web page, not an OpenAPI document; give the address of its JSON or YAML.")
    return from_value(_parsed(text, where), where, address)


def from_value(value: Any, where: str, address: str = "") -> Document:
    """The document that a value is."""
    if not isinstance(value, Mapping):
        raise SettingsError(f"What is at {where} is no OpenAPI document: there is no object in it.")
    root = dict(cast("Mapping[str, Any]", value))
    version = str(root.get("openapi", ""))
    if "swagger" in root:
        raise SettingsError(f"{where} is a Swagger {root['swagger']} document; convert it to OpenAPI 3 first.")
    if not version:
        raise SettingsError(f"What is at {where} is no OpenAPI document: it doesn't say which version of OpenAPI it is.")
    if not version.startswith(("3.0", "3.1")):
        raise SettingsError(f"{where} is an OpenAPI {version} document; only 3.0 and 3.1 can be read.")
    if not isinstance(root.get("paths"), dict):
        raise SettingsError(f"The OpenAPI document {where} has no paths, so there is nothing to call.")
    return Document(root, address)


def _parsed(text: str, where: str) -> Any:
    if text.lstrip().startswith("{"):
        try:
            return msgspec.json.decode(text)
        except (msgspec.DecodeError, RecursionError) as error:
            broken = str(error) if isinstance(error, msgspec.DecodeError) else "it is nested too deeply"
            raise SettingsError(f"The OpenAPI document {where} is broken JSON: {broken}.") from None
    try:
        return read_yaml(text)
    except Unreadable as error:
        raise SettingsError(f"The OpenAPI document {where} is broken: {error}") from None

"""An OpenAPI document, 3.0 or 3.1: parsed from JSON or YAML, validated, and its references resolved. Other modules interpret it."""

import re
from collections.abc import Mapping
from html import unescape
from pathlib import Path
from typing import Any, cast
from urllib.parse import unquote

import msgspec

from treadle.core.errors import SettingsError
from treadle.files.named_files import NotOpened, read_named
from treadle.toolsets.openapi.yaml_loader import InvalidYaml, read_yaml

MAX_DOCUMENT = 60_000_000  # bytes
_MAX_CHAIN = 50
JsonObject = dict[str, Any]
_TAG = re.compile(r"<!--.*?-->|<(?:script|style)\b.*?</(?:script|style)\s*>|</?[a-zA-Z][^<>]*>", re.DOTALL | re.IGNORECASE)
_BREAK = re.compile(r"</(?:p|div|li|tr|h[1-6])\s*>|<br\s*/?>", re.IGNORECASE)
MAX_INPUT = 20_000  # characters that are looked at


def object_or_empty(value: Any) -> JsonObject:
    """Return the value if it is an object, else an empty one: documents often have errors, but seldom everywhere."""
    return cast("JsonObject", value) if isinstance(value, dict) else {}


def list_or_empty(value: Any) -> list[Any]:
    """Return the value if it is a list, else an empty one."""
    return cast("list[Any]", value) if isinstance(value, list) else []


def text_or_empty(value: Any) -> str:
    """Return the value if it is a string, else an empty one."""
    return value if isinstance(value, str) else ""


class OpenApiDocument:
    """A document, and where it came from (empty where that is unknown). `old` means version 3.0."""

    def __init__(self, root: JsonObject, address: str = "") -> None:
        self.root = root
        self.address = address
        self.old = str(root.get("openapi", "")).startswith("3.0")

    def find(self, reference: Any) -> Any:
        """Return the target of a reference within the document; None where there is none."""
        if not isinstance(reference, str) or not reference.startswith("#"):
            return None
        found: Any = self.root
        for step in unquote(reference).split("/")[1:]:
            found = _step_into(found, step.replace("~1", "/").replace("~0", "~"))
        return found

    def dereference(self, value: Any) -> JsonObject:
        """Return an object, following any references."""
        for _ in range(_MAX_CHAIN):
            found = object_or_empty(value)
            if "$ref" not in found:
                return found
            value = self.find(found["$ref"])
        return {}


def _step_into(value: Any, step: str) -> Any:
    items = list_or_empty(value)
    if items:
        return items[int(step)] if step.isdecimal() and int(step) < len(items) else None
    return object_or_empty(value).get(step)


def load_document(path: Path) -> OpenApiDocument:
    """Load a document from a file."""
    try:
        data = read_named(path, MAX_DOCUMENT)
    except NotOpened as error:
        raise SettingsError(f"The OpenAPI document can't be read: {error}") from error
    return parse_document(data, str(path))


def parse_document(data: bytes, where: str, address: str = "") -> OpenApiDocument:
    """Parse a document; `where` is its name in error messages."""
    try:
        text = data.decode("utf-8-sig")
    except UnicodeDecodeError:
        raise SettingsError(f"What is at {where} is no text, so it is no OpenAPI document.") from None
    if text.lstrip()[:300].lower().startswith(("<!doctype", "<html", "<?xml", "<head")):
        raise SettingsError(f"What is at {where} is a web page, not an OpenAPI document; give the address of its JSON or YAML.")
    return document_from_value(_parse_text(text, where), where, address)


def document_from_value(value: Any, where: str, address: str = "") -> OpenApiDocument:
    """Build a document from a parsed value."""
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
    return OpenApiDocument(root, address)


def _parse_text(text: str, where: str) -> Any:
    if text.lstrip().startswith("{"):
        try:
            return msgspec.json.decode(text)
        except (msgspec.DecodeError, RecursionError) as error:
            broken = str(error) if isinstance(error, msgspec.DecodeError) else "it is nested too deeply"
            raise SettingsError(f"The OpenAPI document {where} is broken JSON: {broken}.") from None
    try:
        return read_yaml(text)
    except InvalidYaml as error:
        raise SettingsError(f"The OpenAPI document {where} is broken: {error}") from None


def strip_markup(text: str) -> str:
    """Return text without tags, with single spaces."""
    text = text[:MAX_INPUT]
    if "<" in text:
        text = _TAG.sub("", _BREAK.sub("\n", text))
    if "&" in text:
        text = unescape(text)
    return "\n".join(words for line in text.split("\n") if (words := " ".join(line.split())))


def truncate_plain_text(text: str, most: int) -> str:
    """Return the beginning of a text, to the end of a sentence or a word where there is one."""
    if len(text) <= most:
        return text
    cut = text[: max(most - 1, 0)]
    sentence = max(cut.rfind(". "), cut.rfind(".\n"))
    if sentence > most // 2:
        return cut[: sentence + 1]
    word = cut.rfind(" ")
    return cut[: word if word > most // 2 else None].rstrip() + "…" if cut else ""

"""Parse and format the front matter of a Markdown file: `name: value` lines between two lines of `---`.

A subset of YAML that can't be made to grow: texts only, no anchors, no nesting. What isn't a text, such as a nested table, is left
out.
"""

from collections.abc import Mapping

from msgspec import Struct

MAX_CHARACTERS = 8_000
_FENCE = "---"
_BLOCKS = (">", ">-", ">+", "|", "|-", "|+")


class FrontMatter(Struct, frozen=True):
    """The values of a file's front matter by name, and the text after it."""

    values: dict[str, str]
    body: str


def parse_front_matter(text: str) -> FrontMatter:
    """Return the front matter of a text; where there is none, or it is too long, all of it is the body."""
    text = text.removeprefix("\ufeff").replace("\r\n", "\n")
    lines = text[:MAX_CHARACTERS].split("\n")
    if lines[0].rstrip() != _FENCE:
        return FrontMatter({}, text)
    end = next((number for number, line in enumerate(lines[1:], 1) if line.rstrip() == _FENCE), None)
    if end is None:
        return FrontMatter({}, text)
    return FrontMatter(_parse_lines(lines[1:end]), "\n".join(text.split("\n")[end + 1 :]).strip())


def _parse_lines(lines: list[str]) -> dict[str, str]:
    found: dict[str, list[str]] = {}
    values: list[str] = []
    for line in lines:
        if line[:1].isspace() or not line.strip():
            values.append(line.strip())
        elif not line.startswith(("#", "-")) and ":" in line:
            name, _, value = line.partition(":")
            values = found[name.strip()] = [value.strip()]
        else:
            values = []  # what belongs to no name
    return {name: text for name, parts in found.items() if (text := _join_value(parts)) is not None}


def _join_value(parts: list[str]) -> str | None:
    """Return a value as one line of text; None for a list or a table."""
    first, more = parts[0], [part for part in parts[1:] if part]
    if first in _BLOCKS:
        return " ".join(more)
    if not first and any(part.startswith("- ") or part.endswith(":") or ": " in part for part in more):
        return None
    joined = " ".join([part for part in (first, *more) if part])
    if joined[:1] in ("[", "{"):
        return None
    return _unquote(joined)


def _unquote(text: str) -> str:
    if len(text) > 1 and text[0] == text[-1] == "'":
        return text[1:-1].replace("''", "'")
    if len(text) > 1 and text[0] == text[-1] == '"':
        return text[1:-1].replace('\\"', '"').replace("\\\\", "\\")
    return text


def format_front_matter(values: Mapping[str, str], body: str) -> str:
    """Return a text with front matter. Each value is written as one quoted line."""
    lines = [f"{name}: {_quote(value)}" for name, value in values.items() if value]
    return "\n".join([_FENCE, *lines, _FENCE, "", body.strip(), ""])


def _quote(value: str) -> str:
    plain = " ".join(value.split())
    return '"' + plain.replace("\\", "\\\\").replace('"', '\\"') + '"'

"""A shallow syntax tree as JSON: the grammar's own types with line ranges and comments, down to a small depth, bodies left out.

Every node has `type` and `line_range`. Unlike the outline it knows no kinds: it is the tree itself, for whoever wants to see that.
"""

from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

from treadle.assistants.reading.outline.comments import Comments, first_line, words
from treadle.assistants.reading.outline.draft import Draft, last_row
from treadle.assistants.reading.outline.grammar import Spot
from treadle.assistants.reading.outline.literals import literal
from treadle.assistants.reading.outline.parsing import Parsed, parse

if TYPE_CHECKING:
    from tree_sitter import Node as Syntax

DEEPEST = 30
_BODY_FIELDS = frozenset(("body", "block", "consequence", "alternative", "then", "else", "catch", "finalizer", "handlers"))
_BODIES = frozenset(("block", "statement_block", "compound_statement"))
_IMPORTS = frozenset(
    (
        "import_statement",
        "import_from_statement",
        "future_import_statement",
        "import_declaration",
        "import_spec",
        "import",
        "use_declaration",
        "extern_crate_declaration",
        "preproc_include",
        "using_directive",
        "using_declaration",
        "namespace_use_declaration",
    )
)
_PARAMETERS = frozenset(
    ("formal_parameters", "parameters", "parameter_list", "method_parameters", "function_value_parameters", "lambda_parameters")
)
_REST = ("rest", "spread", "variadic", "splat")


def seed_json(text: str, language: str, max_depth: int = 2) -> dict[str, Any]:
    """The shallow tree of a text; the root is at depth 0."""
    return shallow(parse(text, language), max_depth)


def shallow(parsed: Parsed, max_depth: int = 2) -> dict[str, Any]:
    """The shallow tree of what was parsed."""
    return _Tree(parsed, min(max(0, max_depth), DEEPEST)).node(parsed.root, 0)


class _Tree:
    """Writes syntax nodes as dictionaries."""

    def __init__(self, parsed: Parsed, max_depth: int) -> None:
        self._spot = Spot(parsed.source, parsed.grammar)
        self._comments = Comments(parsed.comments, parsed.source)
        self._max_depth = max_depth
        self._said: set[int] = set()  # rows whose comments were told: they are those of the outermost node

    def node(self, node: "Syntax", depth: int) -> dict[str, Any]:
        found = {**_plain(node), **self._told(node)}
        inner = list(self._inner(node))
        if depth >= self._max_depth:
            extra = sum([not _is_body(field, child) for field, child in inner])
            return {**found, "extra_children_count": extra} if extra else found
        fields: dict[str, list[dict[str, Any]]] = {}
        children: list[dict[str, Any]] = []
        for field, child in inner:
            written = _plain(child) if _is_body(field, child) else self.node(child, depth + 1)
            (children if field is None else fields.setdefault(field, [])).append(written)
        return {**found, **({"fields": fields} if fields else {}), **({"children": children} if children else {})}

    def _inner(self, node: "Syntax") -> "Iterator[tuple[str | None, Syntax]]":
        """The named children with their fields, without comments."""
        comments = self._spot.grammar.comments
        cursor = node.walk()  # asking a node for the field of each child takes a time that grows with the square of their number
        going = cursor.goto_first_child()
        while going:
            child = cursor.node
            if child is not None and child.is_named and child.type not in comments:
                yield cursor.field_name, child
            going = cursor.goto_next_sibling()

    def _told(self, node: "Syntax") -> dict[str, Any]:
        """What is said of a node beside its place: comments, name, and what some types have of their own."""
        found: dict[str, Any] = {}
        row = node.start_point.row
        if node.parent is not None and row not in self._said:
            self._said.add(row)
            found |= {"leading_comment": said} if (said := words(self._comments.above(row))) else {}
            found |= {"trailing_comment": said} if (said := words([self._comments.beside(row)])) else {}
        if name := next(filter(None, [self._spot.field(node, field) for field in ("name", "identifier", "id")]), ""):
            found["name"] = name
            found |= {"docstring": said} if (said := self._docstring(node)) else {}
        if node.type in _IMPORTS:
            found |= self._import_details(node)
        elif node.type == "variable_declarator":
            found |= self._value(node)
        elif node.type in _PARAMETERS:
            found |= self._parameters(node)
        return found

    def _docstring(self, node: "Syntax") -> str:
        """The first line of what a definition says of itself in its body, where the language has such strings."""
        body, docstring = node.child_by_field_name("body"), self._spot.grammar.docstring
        return first_line(docstring(body.named_children[:2], self._spot)) if body is not None and docstring is not None else ""

    def _import_details(self, node: "Syntax") -> dict[str, Any]:
        rule = self._spot.grammar.rules.get(node.type)
        draft = next((found for found in rule(node, self._spot) if isinstance(found, Draft)), None) if rule else None
        if draft is None or draft.imported is None:
            return {}
        imported = draft.imported
        details = {
            "import_type": imported.kind,
            "namespace_import": imported.namespace or None,
            "default_import": imported.default or None,
            "named_imports": list(imported.names),
            "source": imported.source,
        }
        return {"import_details": details}

    def _value(self, node: "Syntax") -> dict[str, Any]:
        value = node.child_by_field_name("value")
        if value is None:
            return {"value_type": "uninitialized"}
        simple, kind = literal(self._spot.text(value))
        if not kind:
            return {"value_type": value.type, "extra_children_count": value.named_child_count}
        return {"simple_value": simple, "value_type": kind}

    def _parameters(self, node: "Syntax") -> dict[str, Any]:
        listed = [child for child in node.named_children if child.type not in self._spot.grammar.comments]
        rest = (
            any(word in child.type for child in listed for word in _REST)
            or b"..." in self._spot.source[node.start_byte : node.end_byte]
        )
        return {"parameters": [self._parameter(child) for child in listed], "parameter_count": len(listed), "has_rest": rest}

    def _parameter(self, node: "Syntax") -> dict[str, Any]:
        named = [self._spot.field(node, field) for field in ("pattern", "name", "declarator", "left")]
        text = self._spot.text(node)
        default = any(node.child_by_field_name(field) is not None for field in ("value", "default_value", "right"))
        kind = self._spot.field(node, "type").lstrip(": ")
        return {
            "name": next(filter(None, named), "") or text.partition(":")[0].strip(),
            "type": kind or None,
            "has_default": default,
        }


def _plain(node: "Syntax") -> dict[str, Any]:
    return {"type": node.type, "line_range": [node.start_point.row + 1, last_row(node) + 1]}


def _is_body(field: str | None, node: "Syntax") -> bool:
    return field in _BODY_FIELDS or node.type in _BODIES

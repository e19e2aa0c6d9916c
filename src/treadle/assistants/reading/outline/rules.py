"""The rules that languages share, and what rules are made with. Those of one language alone are in its module in `grammars`."""

from collections.abc import Iterable, Iterator
from typing import TYPE_CHECKING

from treadle.assistants.reading.outline.draft import Draft
from treadle.assistants.reading.outline.grammar import Rule, Spot
from treadle.assistants.reading.outline.literals import literal
from treadle.assistants.reading.outline.values import CONTAINERS, Imported, Kind

if TYPE_CHECKING:
    from tree_sitter import Node as Syntax

    from treadle.assistants.reading.outline.grammar import Opened

_LISTS = frozenset(
    (
        "block",
        "statement_block",
        "compound_statement",
        "constructor_body",
        "function_body",
        "body_statement",
        "statements",
        "statement_list",
    )
)
_LONGEST_VALUE = 80  # bytes; longer ones are not looked at


def defines(kind: Kind, name: str = "name", body: str = "body") -> Rule:
    """A rule for what has its name and its body in fields. A function among members is a method."""

    def rule(node: "Syntax", spot: Spot) -> "Iterator[Opened]":
        said: Kind = "method" if kind == "function" and spot.among_members else kind
        yield definition(said, node, spot, spot.field(node, name), node.child_by_field_name(body))

    return rule


def definition(kind: Kind, node: "Syntax", spot: Spot, name: str, body: "Syntax | None" = None) -> Draft:
    """A draft with its annotations, and with its members where it is a container."""
    draft = Draft(kind, node, name, tail=body)
    adorn(draft, node, spot)
    if body is None:
        return draft
    if kind in CONTAINERS or kind == "module":
        draft.members = body.named_children
    else:
        draft.extra = parts(body, spot)
    return draft


def held(node: "Syntax", spot: Spot, name: str, value: "Syntax | None", *, constant: bool) -> Draft:
    """A draft of something that holds a value: a constant, or else a field among members and a variable anywhere else."""
    kind: Kind = "constant" if constant else "variable" if spot.inside in ("", "module", "statement") else "field"
    draft = Draft(kind, node, name, tail=value)
    adorn(draft, node, spot)
    if value is not None and value.end_byte - value.start_byte <= _LONGEST_VALUE:
        draft.value = literal(spot.text(value))
    return draft


def apart(draft: Draft, part: "Syntax", first: "Syntax", value: "Syntax | None") -> Draft:
    """A draft of one of several things declared together, with only its own part in its signature: `int b` of `int a, b`."""
    if part.start_byte > first.start_byte:
        draft.gap = (first.start_byte, part.start_byte)
    if value is None:
        draft.tail = part.end_byte
    return draft


def brings(node: "Syntax", name: str, imported: Imported) -> Draft:
    """A draft of an import."""
    draft = Draft("import", node, name)
    draft.imported = imported
    return draft


def named_from(path: str, divider: str, alias: str = "", *, every: bool = False) -> Imported:
    """What `import a.b.c` brings in where that means the name `c` from `a.b`, or every name of it."""
    if every:
        return Imported("named", path, ("*",))
    source, _, name = path.rpartition(divider)
    return Imported("named", source, (alias or name,))


def adorn(draft: Draft, node: "Syntax", spot: Spot) -> None:
    """Take the annotations at its beginning out of the signature."""
    adorning = spot.grammar.adorning
    if not adorning:
        return
    found: list[str] = []
    for child in _beginning(node):
        if child.type in adorning:
            found.append(spot.text(child))
        else:
            draft.head, draft.leads = child.start_byte, child.start_point.row
            break
    draft.decorators = tuple(found)


def _beginning(node: "Syntax") -> "Iterator[Syntax]":
    """The children, those of a list of modifiers one by one."""
    for child in node.children:
        if child.type == "modifiers":
            yield from child.children
        elif child.type not in ("comment", "line_comment", "block_comment", "multiline_comment"):
            yield child


def parts(body: "Syntax", spot: Spot) -> int:
    """How many statements a body has."""
    if body.type not in _LISTS:
        return 0
    children = body.named_children
    if len(children) == 1 and children[0].type in _LISTS:
        children = children[0].named_children
    return sum([child.type not in spot.grammar.comments for child in children])


def statement(node: "Syntax", spot: Spot) -> "Iterator[Opened]":
    """What defines nothing."""
    draft = Draft("statement", node)
    draft.extra = 1
    yield draft


def through(node: "Syntax", spot: Spot) -> "Iterable[Opened]":
    """Nothing by itself: all that is in it counts as written where it is."""
    return node.named_children


def opens(*types: str) -> Rule:
    """A rule for what counts by its children of some types only: clauses with conditions."""
    wanted = frozenset(types)

    def rule(node: "Syntax", spot: Spot) -> "Iterable[Opened]":
        return [child for child in node.named_children if child.type in wanted]

    return rule


def skip(node: "Syntax", spot: Spot) -> "Iterable[Opened]":
    """Nothing worth a word."""
    return ()


def child_of(node: "Syntax", *types: str) -> "Syntax | None":
    """The first child of one of the types."""
    return next((child for child in node.named_children if child.type in types), None)


def has_token(node: "Syntax", *tokens: str) -> bool:
    """Whether one of the words is a direct child."""
    return any(child.type in tokens for child in node.children)


def string_of(node: "Syntax | None", spot: Spot) -> str:
    """The text of a string without its quotes; of anything else, all of it."""
    text = spot.text(node).strip()
    return text[1:-1] if len(text) > 1 and text[0] in "\"'`<" and text[-1] in "\"'`>" else text


def conditional(node: "Syntax", spot: Spot) -> "Iterable[Opened]":
    """`#if` and its kin: what they hold counts as written where they are, their conditions don't."""
    conditions = {part.start_byte for name in ("condition", "name") if (part := node.child_by_field_name(name)) is not None}
    return [child for child in node.named_children if child.start_byte not in conditions]
